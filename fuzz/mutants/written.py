#!/usr/bin/env python3
"""The faults of written.toml as plant.py takes them: with their places in the sources. As a program: prints the list."""

import functools
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIST = HERE / "written.toml"
WAKE = "::lenz::fault(@ID@)"

# Where texts of rules, of definitions and of loops pass by, and the expression there that is the text.
TEXTS = {None: (None, "RuleSet::parse(kRules", "kRules"),
         "definitions": ("compiler/ops/decompose.cpp", "Expander(graph, before, op, op.decompose, args", "op.decompose"),
         "loops": ("compiler/lower/evaluate.cpp", "notation::parsed(node.op->lowering.body)", "node.op->lowering.body")}


@functools.cache
def source(file):
    return (ROOT / file).read_text()


def find(name, file, words):
    """Where these words stand in the file, once, whatever white space is between them."""
    if not (ROOT / file).exists():
        raise SystemExit(f"{LIST.name}: {name}: there is no {file}")
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    found = list(re.finditer(pattern, source(file)))
    if len(found) != 1:
        at = ", ".join(str(source(file)[: m.start()].count("\n") + 1) for m in found)
        raise SystemExit(f"{LIST.name}: {name}: the snippet occurs {len(found)} times in {file}"
                         + (f", at lines {at}" if found else "") + f": {words}")
    return found[0].span()


def quoted(text):
    return 'R"fault(' + text + ')fault"'


def text_edit(entry):
    old, new = entry["text"]
    find(entry["name"], entry["file"], old)
    hub, context, expression = TEXTS[entry.get("in")]
    hub = hub or entry["file"]
    return text_choice(hub, find(entry["name"], hub, context)[0] + context.index(expression), expression, old, new)


def text_choice(file, at, expression, old, new):
    """The text that this expression gives, or one with other words in it."""
    return edit(file, at, at + len(expression), f"::lenz::fault_text(@ID@, @SNIPPET@, {quoted(old)}, {quoted(new)})")


def code_edit(entry, part):
    start, end = find(entry["name"], entry["file"], part["snippet"])
    fault = part.get("fault", "")
    replacement = {
        "expression": f"({WAKE} ? ({fault}) : (@SNIPPET@))",
        "statement": f"if ({WAKE}) {{ {fault} }} else {{ @SNIPPET@ }}",
        "raw": fault.replace("@WAKE@", WAKE),
    }[part.get("as", "expression")]
    return edit(entry["file"], start, end, replacement)


def edit(file, start, end, replacement):
    text = source(file)
    first, last = len(text[:start].encode()), len(text[:end].encode())
    return {"file": file, "start": first, "end": last, "line": text[:start].count("\n") + 1, "snippet": text[start:end],
            "replacement": replacement}


def faults():
    """All entries, numbered from 1, controls last; each with its edits."""
    listed = tomllib.loads(LIST.read_text())
    made = []
    for kind in ("fault", "control"):
        for entry in listed[kind]:
            edits = [text_edit(entry)] if "text" in entry else [code_edit(entry, p) for p in [entry, *entry.get("also", [])]]
            place = find(entry["name"], entry["file"], entry["text"][0] if "text" in entry else entry["snippet"])[0]
            made.append({"id": len(made) + 1, "name": entry["name"], "kind": kind, "file": entry["file"],
                         "line": source(entry["file"])[:place].count("\n") + 1, "snippet": edits[0]["snippet"], "wrong": entry.get("wrong", ""),
                         "blame": entry.get("blame", []), "live_in": entry.get("live_in"),
                         "untold": entry.get("untold"), "edits": edits})
    return made


if __name__ == "__main__":
    for fault in faults():
        print(f"{fault['id']:4} {fault['kind']:8} {fault['name']:36} {fault['file']}:{fault['line']}  {fault['wrong']}")
