#!/usr/bin/env python3
"""Faults that nobody chose: of each rewrite rule each line of its `where` left out. conditions.py --out FILE

Of the rule sets whose text is one literal. Many have no effect, as a rewrite compares types whatever its rule asks.
`plant.py --faults FILE` plants them."""

import argparse
import json
import re
import sys
from pathlib import Path

import written


def faults():
    made = []
    for path in sorted((written.ROOT / "compiler").rglob("*.cpp")):
        text, file = path.read_text(), str(path.relative_to(written.ROOT))
        _, context, expression = written.TEXTS[None]
        if text.count(context) != 1:
            continue
        at = text.index(context) + context.index(expression)
        lines, begin = text.split("\n"), None
        for number, line in enumerate(lines):
            if re.match(r"\s*rule \S+ \{", line):
                begin = number
            elif re.match(r"\s*\}", line):
                begin = None
            elif begin is not None and re.match(r"\s*where ", line):
                asked, left_out = "\n".join(lines[begin:number + 1]), "\n".join(lines[begin:number])
                edit = written.text_choice(file, at, expression, asked, left_out)
                made.append({"id": len(made) + 1, "name": f"{lines[begin].split()[1]}:{number + 1}", "kind": "fault", "file": file,
                             "line": number + 1, "snippet": line.strip(), "wrong": f"without `{line.strip()}`", "blame": [],
                             "edits": [edit]})
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    made = faults()
    options.out.write_text(json.dumps(made))
    print(f"{options.out}: {len(made)} faults")


if __name__ == "__main__":
    sys.exit(main())
