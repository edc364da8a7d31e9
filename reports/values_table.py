#!/usr/bin/env python3
"""A page of the op table by values: rows by dtypes, each cell what became of its calls.

    build/lenz ops --check --values --json > values.json
    .venv/bin/python reports/values_table.py values.json values.html
"""
import html
import sys

from report_page import make_page, opening

DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128", "f8e4m3", "f8e5m2"]

STYLE = """
th { position: sticky; top: 0; background: #fff; text-align: left; padding: 4px 6px; }
td { border: 1px solid #e4e4e4; padding: 2px 6px; white-space: nowrap; }
td.name { font-family: ui-monospace, monospace; border: none; }
.passed { background: #dff2df; } .weak { background: #fdf3cf; } .unbounded { background: #e3e8f5; }
.refused { background: #efefef; } .wrong { background: #f6c9c9; font-weight: bold; } .none { color: #bbb; }
.known { background: #f3dcee; }
"""

LEGEND = [
    ("passed", "all calls lie within the bound"),
    ("weak", "some agree, but more than 5 % of their elements are ambiguous"),
    ("unbounded", "no rule bounds some of the calls"),
    ("refused", "eager refuses, or the row has no legal call there"),
    ("known", "differs where eager is known to be at fault"),
    ("wrong", "differs"),
]


def state_of(cell):
    """The gravest thing that happened in a cell, and the words that stand in it."""
    if cell["wrong"] or cell["died"]:
        return "wrong", f"{cell['wrong'] + cell['died']} wrong"
    if cell.get("known"):
        return "known", f"{cell['known']} known"
    if cell["unbounded"]:
        return "unbounded", f"{cell['passed']} + {cell['unbounded']} unbounded"
    if cell["weak"]:
        return "weak", f"{cell['passed']} + {cell['weak']} weak"
    if cell["passed"]:
        return "passed", str(cell["passed"])
    return "refused", "no legal call" if not cell["calls"] else "refused"


def words(cell):
    """What a person wants to know of a cell: layouts, shares, and the first thing that went wrong."""
    parts = [f"{cell['calls']} calls: {cell['passed']} passed, {cell['weak']} weak, {cell['unbounded']} unbounded, "
             f"{cell['refused']} refused, {cell['wrong']} wrong"]
    if cell["elements"]:
        parts.append(f"{100 * cell['strong'] / cell['elements']:.1f} % of {cell['elements']} elements judged within "
                     f"2^-6 of their value, {100 * cell['ambiguous'] / cell['elements']:.1f} % ambiguous")
    if cell["layouts"]:
        parts.append("layouts: " + ", ".join(cell["layouts"]))
    if cell.get("variants"):
        parts.append(f"{cell['variants']} legal variants called right" +
                     (f"; bound over the worst of them: {cell['median_tightness']:.3g}"
                      if "median_tightness" in cell else ""))
    if cell.get("uncontrolled_by"):
        parts.append("no variants: " + cell["uncontrolled_by"])
    parts += [cell[key] for key in ("finding", "note") if cell.get(key)]
    return "\n".join(parts)


def page(report):
    totals = report["totals"]
    out = [opening("the op table by values", STYLE), "<h1>The op table by values</h1>",
           f"<p>{totals['calls']} calls in {totals['cells']} cells of row and dtype, {report['calls_per_cell']} each, "
           f"seed {report['seed']}: {totals['passed']} passed, {totals['weak']} weak, {totals['unbounded']} without a "
           f"bound, {totals['refused']} refused by eager, <b>{totals['wrong']} wrong</b>.</p><p>"]
    out += [f"<span class={name}>&nbsp;{name}&nbsp;</span> {meaning}. " for name, meaning in LEGEND]
    out.append("An empty place: the row does not take the dtype.</p><table><tr><th>row</th>")
    out += [f"<th>{dtype}</th>" for dtype in DTYPES]
    out.append("</tr>")
    for row in report["rows"]:
        out.append(f"<tr><td class=name>{html.escape(row['name'])}</td>")
        if not row["cells"]:
            out.append(f"<td colspan={len(DTYPES)} class=none>{html.escape(row.get('note', ''))}</td>")
        for dtype in DTYPES if row["cells"] else []:
            cell = row["cells"].get(dtype)
            if cell is None:
                out.append("<td class=none>-</td>")
                continue
            state, text = state_of(cell)
            out.append(f"<td class={state} title=\"{html.escape(words(cell), quote=True)}\">{text}</td>")
        out.append("</tr>")
    out.append("</table>")
    return "\n".join(out)


if __name__ == "__main__":
    sys.exit(make_page("values_table", __doc__, "lenz ops --check --values --json", page, "rows"))
