#!/usr/bin/env python3
"""A page of faults put into the compiler on purpose: which of them the fuzzer found, by which property, in how many cases
and seconds, how small the case became, and whether the right stage was blamed.

    build/lenz fuzz --score --json > score.json
    .venv/bin/python reports/faults_table.py score.json score.html
"""
import html
import statistics
import sys

from report_page import make_page, opening

STYLE = """
th, td { border: 1px solid #e4e4e4; padding: 2px 8px; text-align: left; vertical-align: top; }
td.number { text-align: right; }
.missed { background: #f6c9c9; } .blamed { background: #fbe9c6; } pre { margin: 0; }
"""


def cell(text, kind=""):
    return f"<td{f' class={kind}' if kind else ''}>{html.escape(str(text))}</td>"


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def row(f):
    control = f["kind"] == "control"
    missed = bool(f["killed"]) == control
    kind = "missed" if missed else "blamed" if f["right"] == 0 else ""
    right = "" if f["right"] is None else "right" if f["right"] else "not " + " or ".join(f["blame"])
    small = f"<td><details><summary>{f['reduced']}</summary><pre>{html.escape(f['text'])}</pre></details></td>" \
        if f["reduced"] is not None else "<td></td>"
    found = (f["by"] or "found") if f["killed"] else "survives" if control else "not found"
    return (f"<tr{f' class={kind}' if kind else ''}>" + cell(f["name"]) + cell(f["place"]) + cell(f["wrong"]) + cell(found)
            + cell(f["cases"], "number") + cell(f"{f['seconds']:.1f}", "number") + small + cell(f["stage"] or "") + cell(right)
            + "</tr>")


def page(report):
    faults = [f for f in report["faults"] if f["kind"] != "control"]
    controls = [f for f in report["faults"] if f["kind"] == "control"]
    killed = [f for f in faults if f["killed"]]
    judged = [f for f in killed if f["right"] is not None]
    sizes = [f["reduced"] for f in killed if f["reduced"] is not None]
    budget = " and ".join(f"{n} {what}" for what, n in report["each"].items())
    head = [f"{share(len(killed), len(faults))} faults found within {budget} each, seed {report['seed']}"]
    if killed:
        head.append(f"half of them within {statistics.median(f['seconds'] for f in killed):.1f} s")
    if sizes:
        head.append(f"reduced to {statistics.median(sizes)} ops, median")
    if judged:
        head.append(f"the right stage blamed for {share(sum(bool(f['right']) for f in judged), len(judged))}")
    if controls:
        head.append(f"of {len(controls)} legal changes {sum(bool(f['killed']) for f in controls)} were called faults, in "
                    f"{sum(f['cases'] for f in controls)} cases")
    if report["not_scored"]:
        head.append(f"{report['not_scored']} are not scored yet")
    by = {}
    for f in killed:
        by[f["by"].split(" | ")[0]] = by.get(f["by"].split(" | ")[0], 0) + 1
    heads = ["fault", "place", "what it does", "found by", "cases", "seconds", "reduced to, ops", "blamed on", ""]
    return "\n".join([
        opening("seeded faults", STYLE), "<h1>Seeded faults</h1>", f"<p>{html.escape('; '.join(head))}.</p>",
        "<p>By property: " + html.escape(", ".join(f"{name} {n}" for name, n in sorted(by.items(), key=lambda b: -b[1])))
        + ". <span class=missed>Not found, or a legal change that was</span>; <span class=blamed>blamed wrongly</span>.</p>",
        "<table><tr>" + "".join(f"<th>{h}</th>" for h in heads) + "</tr>",
        *(row(f) for f in sorted(report["faults"], key=lambda f: (f["kind"] == "control", bool(f["killed"]), f["place"]))),
        "</table>"])


if __name__ == "__main__":
    sys.exit(make_page("faults_table", __doc__, "lenz fuzz --score --json", page, "faults"))
