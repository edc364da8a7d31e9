"""Holds the op table against PyTorch's own operator database: do the rows' generators reach every class of calls that
occurs in its samples, and do the rows' rules say of these calls what libtorch does?

What is missing, with a reason for each, stands in opinfo_known.txt; anything else that is missing fails, and so does what
stands there and is missing no more.

Writes opinfo_classes.json and opinfo_classes.md into the build folder. The recorded calls are kept there
(opinfo_calls.txt) and made again when the rows, the recorder or torch change.

usage: opinfo_classes.py [LENZ] [--samples N] [--calls N]
exit code: 0; 7 if a rule and libtorch disagree on a call; 6 if something is missing that the list does not have; 1 if the
list is out of date
"""

import argparse
import collections
import hashlib
import importlib.metadata
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FINE, OUT_OF_DATE, MISSING, DISAGREE = 0, 1, 6, 7


def output(command, allowed=(0,)):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def recorded_calls(lenz, build, samples):
    """The file of calls, and what opinfo_calls.py says of it; recorded unless that was done before for the same rows."""
    names = sorted(row["name"] for row in json.loads(output([lenz, "ops", "--json"])))
    key = hashlib.sha256("\n".join([*names, str(samples), importlib.metadata.version("torch"),
                                    (HERE / "opinfo_calls.py").read_text()]).encode()).hexdigest()
    calls, stamp = build / "opinfo_calls.txt", build / "opinfo_calls.json"
    if calls.exists() and stamp.exists():
        known = json.loads(stamp.read_text())
        if known["key"] == key:
            return calls, known["recorded"]
    recorded = json.loads(output([sys.executable, HERE / "opinfo_calls.py", lenz, calls, "--samples", str(samples)]))
    stamp.write_text(json.dumps({"key": key, "recorded": recorded}, indent=1) + "\n")
    return calls, recorded


KINDS = ("missed", "unsaid", "failed")


def read_known(text):
    """The list: {kind: {what is missing: reason}}. `what` is (row, class), a reason of the recorder's, or an entry."""
    known = {kind: {} for kind in KINDS}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, *parts = [part.strip() for part in line.split("|")]
        if kind not in KINDS or len(parts) != (3 if kind == "missed" else 2) or not all(parts):
            raise ValueError(f"line {number}: want `missed | ROWS | CLASSES | REASON` (classes with commas between them), "
                             f"`unsaid | WHAT | REASON` or `failed | ENTRIES | REASON`")
        if kind == "missed":
            things = [(row, c.strip()) for row in parts[0].split() for c in parts[1].split(",")]
        else:
            things = [parts[0]] if kind == "unsaid" else parts[0].split()
        for thing in things:
            if thing in known[kind]:
                raise ValueError(f"line {number}: {thing} stands there twice")
            known[kind][thing] = parts[-1]
    return known


def judge(report, known):
    """The exit code, and what is wrong, a line each."""
    missing = {
        "missed": collections.Counter((row["name"], gap) for row in report["table"] for gap in row["gaps"]),
        "unsaid": collections.Counter(),
        "failed": collections.Counter(),
    }
    for u in report["unsaid"]:
        missing["unsaid"][u["why"]] += u["count"]
    for f in report["failed"]:
        missing["failed"][f["entry"]] += f["count"]
    words = {"missed": "no generated call of {0[0]} is of the class {0[1]}",
             "unsaid": "{1} calls could not be recorded: {0}",
             "failed": "{1} samples of {0} fail here"}
    disagreements = [f"rule and libtorch disagree on {row['disagreements']} calls of {row['name']}"
                     for row in report["table"] if row["disagreements"]]
    unlisted = [words[kind].format(thing, count) + ", and the list does not say why"
                for kind in KINDS for thing, count in missing[kind].items() if thing not in known[kind]]
    stale = [f"the list says `{kind}` of {' '.join(thing) if kind == 'missed' else thing}, and that is so no more"
             for kind in KINDS for thing in known[kind] if thing not in missing[kind]]
    code = DISAGREE if disagreements else MISSING if unlisted else OUT_OF_DATE if stale else FINE
    return code, disagreements + unlisted + stale


def markdown(report, known):
    lines = ["# The op table against PyTorch's operator database", "", report["recorded"] + ".", "",
             f"{report['rows']} rows occur in it, with {report['classes']} classes of calls; the generators "
             f"({report['calls_per_row']} calls a row) miss {report['gaps']}. Of {report['checked']} calls, rule and "
             f"libtorch disagree on {report['disagreements']}.", "",
             "A class is one dtype, rank, layout, way of broadcasting or value of an attribute; pairs are two of them "
             "together, tuples all of a call's together.", "",
             "| op | calls | classes | reached | pairs | reached | tuples | reached | disagreements | classes missed |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"]
    for row in report["table"]:
        lines.append(f"| {row['name']} | {row['calls']} | {row['classes']} | {row['classes'] - len(row['gaps'])} | "
                     f"{row['pairs']} | {row['pairs'] - row['pairs_missed']} | {row['tuples']} | "
                     f"{row['tuples'] - row['tuples_missed']} | {row['disagreements']} | "
                     f"{' '.join('`' + g + '`' for g in row['gaps'])} |")
    lines += ["", "What is missing, and why:", ""]
    lines += [f"- `{row['name']}` `{gap}`: {known['missed'].get((row['name'], gap), 'no reason given')}"
              for row in report["table"] for gap in row["gaps"]]
    lines += [f"- not recorded, {u['count']} calls of `{u['op']}`, {u['why']}: "
              f"{known['unsaid'].get(u['why'], 'no reason given')}" for u in report["unsaid"]]
    lines += [f"- {f['count']} samples of `{f['entry']}` fail ({f['why']}): "
              f"{known['failed'].get(f['entry'], 'no reason given')}" for f in report["failed"]]
    if report["not_in_database"]:
        lines += ["", f"Rows that no sample calls ({len(report['not_in_database'])}): "
                  + " ".join(report["not_in_database"])]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default=HERE.parent / "build" / "lenz", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=20, help="of each database entry and dtype, at most")
    parser.add_argument("--calls", type=int, default=1000, help="generated calls per row")
    options = parser.parse_args()
    lenz, build = options.lenz.resolve(), options.lenz.resolve().parent
    known = read_known((HERE / "opinfo_known.txt").read_text(encoding="utf-8"))
    calls, recorded = recorded_calls(lenz, build, options.samples)
    classes = json.loads(output([lenz, "ops", "--classes", "--against", calls, "--calls", str(options.calls), "--json"],
                                (0, 6)))
    check = json.loads(output([lenz, "ops", "--check", "--from", calls, "--cpu-every", "1", "--json"], (0, 6, 7)))
    checked = {row["name"]: row for row in check["rows"]}
    table = [{**row, "classes": len(row["classes"]), "disagreements": checked[row["name"]]["disagreements"]}
             for row in classes["rows"]]
    seen = {row["name"] for row in check["rows"]}
    rows = json.loads(output([lenz, "ops", "--json"]))
    report = {
        "recorded": recorded["said"],
        "unsaid": recorded["unsaid"],
        "failed": recorded["failed"],
        "rows": len(table),
        "calls_per_row": options.calls,
        "classes": classes["classes"],
        "gaps": classes["gaps"],
        "unreadable": classes["why_unreadable"],
        "checked": check["totals"]["calls"],
        "disagreements": check["totals"]["disagreements"],
        "findings": [{"name": row["name"], **finding} for row in check["rows"] for finding in row["findings"]],
        "not_in_database": [row["name"] for row in rows if row["variant"] == "functional"
                            and row["generator"] and row["name"] not in seen],
        "table": table,
    }
    code, wrong = judge(report, known)
    report["wrong"] = wrong
    (build / "opinfo_classes.json").write_text(json.dumps(report, indent=1) + "\n")
    (build / "opinfo_classes.md").write_text(markdown(report, known))
    for finding in report["findings"]:
        print(f"{finding['name']}: {finding['aspect']}, {finding['count']} calls: {finding['text']}\n{finding['call']}")
    for line in wrong:
        print(line)
    print(recorded["said"])
    print(f"{report['rows']} rows, {report['classes']} classes, {report['gaps']} missed; {report['checked']} calls, "
          f"{report['disagreements']} disagreements; table in {build / 'opinfo_classes.md'}")
    sys.exit(code)


if __name__ == "__main__":
    main()
