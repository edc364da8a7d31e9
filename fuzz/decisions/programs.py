#!/usr/bin/env python3
"""Programs as people write them, as graphs.txt has graphs: programs.py [--most-nodes N] [--most N] MODULE... > programs.txt

Rows of modules as bench/MODULES.md says them, each at two small sizes of its own: what decides between tiles, lanes and
tails goes with sizes, and what is small is interpreted as well. Rows that are not made of small sizes, or whose text is
long, are left out, and told, and so are modules that one before imports. Kept are those in which three ops stand behind each other that do so in no graph before, nor in
graphs.txt: the most for their length first, until one adds fewer than --least. Their inputs are drawn."""

import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import exporting  # noqa: E402
import workloads  # noqa: E402

GRAPHS = Path(__file__).resolve().parent / "graphs.txt"
BEFORE = "# ---- "
FORMS = 2
LONGEST = 5000  # letters of a graph


def small(row, draw):
    """Sizes of a few tiles and a tail at the most."""
    return {name: size if size < 9 or name in workloads.FIXED else draw.choice([9, 12, 17, 24, 33, 40])
            for name, size in row.sizes.items()}


def graphs(row, folder, most_nodes):
    draw = random.Random(row.name)
    for form in range(FORMS):
        case = row.build(small(row, draw))
        path = Path(folder) / f"{row.name}_{form}.lenz"
        exporting.write(case, path)
        text = path.read_text()
        nodes = len(re.findall(r"^  %", text, re.M))
        if len(text) > LONGEST or nodes > most_nodes:
            raise ValueError(f"{nodes} nodes, {len(text)} letters")
        yield f"{row.name}_{form}", text


def chains(text):
    """Which ops, or inputs of which dtypes, stand behind each other, by threes."""
    given, before, found = {}, {}, set()  # who made a value; and who stands before that one
    for name, dtype in re.findall(r"%(\w+): ([a-z0-9]+)\[", text):
        given[name], before[name] = dtype, {""}
    for results, op, rest in re.findall(r"^  (%[^=]*) = ([\w.]+)\((.*)", text, re.M):
        taken = [name for name in re.findall(r"%(\w+)", rest) if name in given]
        found |= {(first, given[name], op) for name in taken for first in before[name]}
        for name in re.findall(r"%(\w+)", results):
            given[name], before[name] = op, {given[t] for t in taken} or {""}
    return found


def rewarding(made, most, least):
    """Of (name, text), those with most chains for their length that none before has."""
    seen = set().union(*map(chains, GRAPHS.read_text().split(BEFORE)))
    left = [(name, text, chains(text)) for name, text in made]
    for _ in range(most):
        left = [g for g in left if len(g[2] - seen) >= least]
        if not left:
            return
        best = max(left, key=lambda g: len(g[2] - seen) / len(g[1]))
        left.remove(best)
        seen |= best[2]
        yield best[0], best[1]


def tell(name, what):
    said = f"{type(what).__name__}: {what}" if isinstance(what, Exception) else what
    print(f"{name}: {said}".splitlines()[0][:150], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--most-nodes", type=int, default=90)
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--least", type=int, default=8)
    options = parser.parse_args()
    if absent := [str(module) for module in options.modules if not module.is_file()]:
        parser.error(f"no such file: {', '.join(absent)}")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for module in options.modules:
            try:
                rows = workloads.rows_of(str(module))
            except ValueError as e:
                tell(module.name, e)
                continue
            for name, row in rows.items():
                try:
                    found += graphs(row, folder, options.most_nodes)
                    tell(name, "made")
                except Exception as e:  # sizes that the program does not fit, mostly
                    tell(name, e)
    for name, text in rewarding(found, options.most, options.least):
        print(f"{BEFORE}{name}\n{text.rstrip()}")


if __name__ == "__main__":
    main()
