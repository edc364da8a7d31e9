#!/usr/bin/env python3
"""A page of the op table by values: rows by dtypes, each cell what became of its calls.

    build/lenz ops --check --values --json > values.json
    .venv/bin/python reports/values_table.py values.json values.html
"""
import html
import sys

from report_page import make_page, opening

LAYOUTS = ["contiguous", "offset", "odd_ones", "permuted", "channels_last", "gaps", "sliced", "expanded", "overlapping"]
DTYPES = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128", "f8e4m3", "f8e5m2"]

STYLE = """
th { position: sticky; top: 0; background: #fff; text-align: left; padding: 4px 6px; }
td { border: 1px solid #e4e4e4; padding: 2px 6px; white-space: nowrap; }
td.name { font-family: ui-monospace, monospace; border: none; }
.passed { background: #dff2df; } .weak { background: #fdf3cf; } .unbounded { background: #e3e8f5; }
.refused { background: #efefef; } .wrong { background: #f6c9c9; font-weight: bold; } .none { color: #bbb; }
.known { background: #f3dcee; } .why { color: #777; white-space: normal; max-width: 14em; }
"""

LEGEND = [
    ("passed", "all calls that eager runs lie within the bound: how many do"),
    ("weak", "some agree, but more than 5 % of their elements are ambiguous"),
    ("unbounded", "no rule bounds some of the calls"),
    ("refused", "no call was judged: eager refuses them all, or the row has no legal call there"),
    ("known", "some differ where eager is known to be at fault"),
    ("wrong", "some differ, or the process died"),
]
# What becomes of a call, one of these; in words.
VERDICTS = [("passed", "passed"), ("weak", "weak"), ("unbounded", "without a bound"), ("refused", "refused by eager"),
            ("known", "where eager is known to be at fault"), ("wrong", "wrong"), ("died", "died"),
            ("unlowered", "without loops or code")]


def sum_of(counts):
    """How many calls, and what became of them: the numbers add up."""
    return f"{counts['calls']} calls: " + ", ".join(f"{counts[key]} {what}" for key, what in VERDICTS
                                                    if counts[key] or key in ("passed", "wrong"))


def judged(counts):
    return sum(counts.get(key, 0) for key in ("passed", "weak", "known", "wrong"))


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
    return "refused", "no call" if not cell["calls"] else "refused"


def words(cell):
    """What a person wants to know of a cell: layouts, shares, and the first thing that went wrong."""
    parts = [sum_of(cell)]
    if cell["elements"]:
        parts.append(f"{100 * cell['strong'] / cell['elements']:.1f} % of {cell['elements']} elements judged within "
                     f"2^-6 of their value, {100 * cell['ambiguous'] / cell['elements']:.1f} % ambiguous")
    if cell["layouts"]:
        parts.append("operands: " + ", ".join(f"{layout} in {judged(counts)}" for layout, counts in
                                              cell["layouts"].items()))
    if cell.get("variants"):
        parts.append(f"{cell['variants']} legal variants called right" +
                     (f"; bound over the worst of them: {cell['median_tightness']:.3g}"
                      if "median_tightness" in cell else ""))
    if cell.get("uncontrolled_by"):
        parts.append("no variants: " + cell["uncontrolled_by"])
    parts += [cell[key] for key in ("finding", "note") if cell.get(key)]
    return "\n".join(parts)


def layouts_of(row):
    """By class of layouts: judged calls of the row in all its dtypes, wrong ones, and where there are none, why."""
    found = {}
    for layout in LAYOUTS:
        counts = [cell["layouts"].get(layout, {}) for cell in row["cells"].values()]
        whys = [cell["no_layouts"][layout] for cell in row["cells"].values() if layout in cell["no_layouts"]]
        why = max(sorted(set(whys)), key=whys.count) if whys else "none of the given calls lies so"
        where = [f"{dtype}: {cell['no_layouts'][layout]}" for dtype, cell in row["cells"].items()
                 if layout in cell["no_layouts"]]
        found[layout] = (sum(map(judged, counts)), sum(c.get("wrong", 0) for c in counts), why, "\n".join(where))
    return found


def layouts_table(rows):
    out = ["<h2>By layouts of operands</h2><p>How many judged calls have an operand, or an out= tensor, that lies so; "
           "where none has, why. A call may count in several columns. expanded: stride 0; sliced: gaps and an offset; "
           "odd_ones: contiguous but for strides of dims of one element.</p><table><tr><th>row</th>"]
    out += [f"<th>{layout}</th>" for layout in LAYOUTS] + ["</tr>"]
    for row in rows:
        if not row["cells"]:
            continue
        out.append(f"<tr><td class=name>{html.escape(row['name'])}</td>")
        for count, wrong, why, where in layouts_of(row).values():
            title = f' title="{html.escape(where, quote=True)}"' if where else ""
            if count:
                out.append(f"<td class={'wrong' if wrong else 'passed'}{title}>{count}"
                           f"{f', {wrong} wrong' if wrong else ''}</td>")
            else:
                out.append(f"<td class=why{title}>{html.escape(why)}</td>")
        out.append("</tr>")
    return out + ["</table>"]


def page(report):
    totals = report["totals"]
    out = [opening("the op table by values", STYLE), "<h1>The op table by values</h1>",
           f"<p>{totals['cells']} cells of row and dtype of the leading tensor, {report['calls_per_cell']} calls each "
           f"where the row has as many, seed {report['seed']}. {sum_of(totals)}. {totals['cells_without_verdict']} cells "
           "have no call that was judged; they say why when pointed at.</p><p>"]
    out += [f"<span class={name}>&nbsp;{name}&nbsp;</span> {meaning}. " for name, meaning in LEGEND]
    out.append("-: the row does not take the dtype (<code>lenz ops ROW</code> says which it takes). Point at a cell for "
               "its calls, layouts and elements.</p><table><tr><th>row</th>")
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
    return "\n".join(out + layouts_table(report["rows"]))


if __name__ == "__main__":
    sys.exit(make_page("values_table", __doc__, "lenz ops --check --values --json", page, "rows"))
