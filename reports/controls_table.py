#!/usr/bin/env python3
"""A page of the oracle's controls: what each criterion calls wrong of legal results and of mutants, what became of the
mutants that the oracle lets pass, and how tight its bounds are.

    build/lenz controls --graphs 6000 --mutants --json > controls.json
    .venv/bin/python reports/controls_table.py controls.json controls.html
"""
import html
import sys

from report_page import make_page, opening

STYLE = """
table { margin: 0.5em 0 1.5em; }
th, td { border: 1px solid #e4e4e4; padding: 2px 8px; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.silent { background: #e3f0fb; } .less { background: #f6c9c9; } .ours { font-weight: bold; }
"""
OURS = "ours"


def percent(part, whole, digits=1):
    return f"{100 * part / whole:.{digits}f}" if whole else "-"


def row(cells, tag="td", classes=None):
    marked = (f"<{tag}{f' class={name}' if name else ''}>{html.escape(str(cell))}</{tag}>"
              for cell, name in zip(cells, classes or [""] * len(cells)))
    return f"<tr>{''.join(marked)}</tr>"


def silent(scope, runs):
    """The criteria that call no legal result wrong: those that ours is held against. Some are asked in f64 alone."""
    asked = {name for m in scope["mutants"].values() for name, killed in m["killed"].items() if killed}
    return [name for name, alarms in scope["alarms"].items() if alarms == 0 and runs and name in asked - {OURS}]


def rivals_of(scope, runs):
    """For each mutant how many the best silent criterion sees, and which that is."""
    names = silent(scope, runs)
    best = {}
    for mutant, m in scope["mutants"].items():
        if names:
            name = max(names, key=lambda n: m["killed"][n])
            best[mutant] = (name, m["killed"][name])
    return best


def criteria_table(dtype, what, scope, runs):
    names = list(scope["alarms"])
    quiet = silent(scope, runs)
    shade = ["", ""] + ["ours" if n == OURS else "silent" if n in quiet else "" for n in names]
    out = [f"<h3>{dtype}, {what}</h3><table>", row(["caught, %", "mutants", *names], "th", shade)]
    alarms = [percent(scope["alarms"][n], runs, 3) for n in names]
    out.append(row(["called wrong, of legal results", runs, *alarms], "td", shade))
    best = rivals_of(scope, runs)
    for mutant, m in sorted(scope["mutants"].items()):
        less = mutant in best and m["killed"][OURS] < best[mutant][1]
        classes = ["", "", *(["less" if n == OURS and less else c for n, c in zip(names, shade[2:])])]
        out.append(row([mutant, m["made"], *(percent(m["killed"][n], m["made"]) for n in names)], "td", classes))
    return [*out, "</table>"]


def survivors_table(dtype, survivors):
    heads = ["passed by the oracle", "mutants", "reached", "attained", "found", "in the tensor", "redrawn", "beyond",
             "median factor"]
    out = [f"<h3>{dtype}: mutants that the oracle lets pass</h3><table>", row(heads, "th")]
    total = [0] * 7
    for mutant, s in sorted(survivors.items()):
        counts = [s[k] for k in ("survivors", "reached", "attained", "found", "in_tensor", "redrawn", "beyond")]
        total = [a + b for a, b in zip(total, counts)]
        out.append(row([mutant, *counts, f"{s['median_factor']:.2g}" if counts[-1] else ""]))
    out.append(row(["all", *total, ""], "th"))
    return [*out, "</table>"]


def digits(number, count):
    """JSON has words for what is not finite."""
    return number if isinstance(number, str) else f"{number:.{count}g}"


def unreached_table(unreached):
    if not unreached:
        return []
    out = ["<h2>Mutants that no legal result is known to reach at the element itself</h2><table>",
           row(["graph", "dtype", "mutant", "standing", "result of", "expected", "got", "bound", "legal results reach", "factor"], "th")]
    for b in unreached:
        out.append(row([b["index"], b["dtype"], b["mutant"], b["standing"].replace("_", " "), b["op"],
                        *(digits(b[k], n) for k, n in (("expected", 9), ("got", 9), ("bound", 3), ("reached", 3),
                                                       ("factor", 3)))]))
    return [*out, "</table>"]


def dtype_part(dtype, t):
    out = [f"<h2>{dtype}</h2><p>{t['graphs']} graphs, {t['runs']} legal results and {t['extremes']} with every element "
           f"as far out as it gets; {t['extreme_alarms']} of these are called wrong, of eager's own {t['eager_alarms']}. "
           f"{percent(t['strong'], t['elements'])} % of elements have a bound below 2<sup>-6</sup> of their value, "
           f"{percent(t['ambiguous'], t['elements'], 2)} % are ambiguous; {t['weak']} graphs are weak.</p>"]
    for what, scope in t["scopes"].items():
        out += criteria_table(dtype, what, scope, t["runs"])
    out += survivors_table(dtype, t["survivors"])
    out += [f"<h3>{dtype}: bound over the worst deviation that variants reach, median over tensors</h3><table>",
            row(["longest reduction up to", *(k["longest"] for k in t["tightness"])], "th"),
            row(["tensors", *(k["tensors"] for k in t["tightness"])]),
            row(["median", *(f"{k['median']:.3g}" for k in t["tightness"])]), "</table>",
            "<details><summary>the same by op, reductions up to 32</summary><table>",
            row(["op", "elements", "left open, %", "bound below 2^-6, %", "median"], "th")]
    for op, o in sorted(t["ops"].items()):
        out.append(row([op, o["elements"], percent(o["open"], o["elements"], 2), percent(o["strong"], o["elements"]),
                        f"{o['median']:.3g}" if o["median"] else "exact"]))
    return [*out, "</table></details>"]


def page(report):
    out = [opening("the oracle's controls", STYLE), "<h1>The oracle's controls</h1>",
           f"<p>{report['graphs']} random graphs, seed {report['seed']}, {report['seconds']:.0f} s in {report['jobs']} "
           "processes. <span class=silent>Criteria that call no legal result wrong</span> are what the oracle is held "
           "against; <span class=less>fewer caught than by one of them</span>. A mutant that passes is <b>reached</b> if "
           "each element is as near to the exact value as random legal results come there, <b>attained</b> if as near as "
           "the element gets when what is legal is chosen for it alone, <b>found</b> if legal variants come as far once "
           "they are searched; <b>in the tensor</b> if it uses no more of its bound than legal results do of theirs "
           "elsewhere in the tensor, <b>redrawn</b> if no more than they do there for other inputs of the graph; else "
           "<b>beyond</b>, by the factor given.</p>"]
    for dtype, t in report["dtypes"].items():
        out += dtype_part(dtype, t)
    out += unreached_table(report["unreached"])
    return "\n".join(out)


if __name__ == "__main__":
    sys.exit(make_page("controls_table", __doc__, "lenz controls --mutants --json", page, "dtypes"))
