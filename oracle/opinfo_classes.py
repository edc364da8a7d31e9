"""Holds the op table against PyTorch's own operator database: do the rows' generators reach every class of calls that
occurs in its samples, and do the rows' rules say of these calls what libtorch does?

Writes opinfo_classes.json and opinfo_classes.md into the build folder, and prints the table. The recorded calls are kept
there (opinfo_calls.txt) and made again when the rows, the recorder or torch change.

usage: opinfo_classes.py [LENZ] [--samples N] [--calls N] [--strict]
exit code: 0, 7 if a rule and libtorch disagree on a call, 6 with --strict if a class is missed
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def output(command, allowed=(0,)):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def recorded_calls(lenz, build, samples):
    """The file of calls, and how it was made; recorded unless that was done before for the same rows."""
    names = sorted(row["name"] for row in json.loads(output([lenz, "ops", "--json"])))
    import importlib.metadata
    key = hashlib.sha256("\n".join([*names, str(samples), importlib.metadata.version("torch"),
                                    (HERE / "opinfo_calls.py").read_text()]).encode()).hexdigest()
    calls, stamp = build / "opinfo_calls.txt", build / "opinfo_calls.json"
    if calls.exists() and stamp.exists():
        known = json.loads(stamp.read_text())
        if known["key"] == key:
            return calls, known["said"]
    said = output([sys.executable, HERE / "opinfo_calls.py", lenz, calls, "--samples", str(samples)]).strip()
    stamp.write_text(json.dumps({"key": key, "said": said}))
    return calls, said


def markdown(report):
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
    if report["not_in_database"]:
        lines += ["", f"Rows that no sample calls ({len(report['not_in_database'])}): "
                  + " ".join(report["not_in_database"])]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default=HERE.parent / "build" / "lenz", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=1000, help="of each database entry and dtype, at most")
    parser.add_argument("--calls", type=int, default=2000, help="generated calls per row")
    parser.add_argument("--strict", action="store_true", help="a missed class fails")
    options = parser.parse_args()
    lenz, build = options.lenz.resolve(), options.lenz.resolve().parent
    calls, said = recorded_calls(lenz, build, options.samples)
    classes = json.loads(output([lenz, "ops", "--classes", "--against", calls, "--calls", str(options.calls), "--json"],
                                (0, 6)))
    check = json.loads(output([lenz, "ops", "--check", "--from", calls, "--json"], (0, 6, 7)))
    checked = {row["name"]: row for row in check["rows"]}
    table = [{**row, "classes": len(row["classes"]), "disagreements": checked[row["name"]]["disagreements"]}
             for row in classes["rows"]]
    seen = {row["name"] for row in check["rows"]}
    rows = json.loads(output([lenz, "ops", "--json"]))
    report = {
        "recorded": said,
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
    (build / "opinfo_classes.json").write_text(json.dumps(report, indent=1) + "\n")
    (build / "opinfo_classes.md").write_text(markdown(report))
    for row in table:
        if row["gaps"] or row["disagreements"]:
            print(f"{row['name']}: {row['classes']} classes, missed: {' '.join(row['gaps']) or 'none'}; "
                  f"{row['disagreements']} disagreements")
    print(said)
    print(f"{report['rows']} rows, {report['classes']} classes, {report['gaps']} missed; {report['checked']} calls, "
          f"{report['disagreements']} disagreements; table in {build / 'opinfo_classes.md'}")
    sys.exit(7 if report["disagreements"] else 6 if options.strict and report["gaps"] else 0)


if __name__ == "__main__":
    main()
