#!/usr/bin/env python3
"""One-line faults made mechanically from the syntax trees of the compiler's sources.

usage: mechanical.py --build DIR [--count N] [--seed TEXT] [--out FILE] [ROOM...]

A fault is an expression or a statement, and what may stand in its place: both compile in the same build, and a number
chosen at run time says which one runs (plant.py). Faults are sampled by a hash of where they are: the same sources give
the same faults, whoever asks. Left out is what no graph passes through on its way to machine code (APART): a fault there
changes what is asked, read or told, and no program."""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import clang.cindex as cindex
from clang.cindex import CursorKind as Kind

ROOT = Path(__file__).resolve().parent.parent.parent
# What stands between a graph and its machine code.
ROOMS = "base ops passes lower loops schedule runtime backend".split()
# What has no part in that: generators of test calls, and who draws, reads, breaks, counts and checks these; who compares
# programs, or makes others of them, for tests; who reads what a command line says, or tells people what was done.
APART = """ops/make/ ops/call_maker. ops/fresh_calls. ops/layouts. ops/break_call. ops/call_file. ops/call_classes. ops/symbolic_call.
ops/symbolic_check. ops/select. loops/equal. loops/mutate. passes/selection. schedule/parse_plan. schedule/explain.
base/json_schema. base/suggest.""".split()
WAKE = "::lenz::fault(@ID@)"

FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
# What is evaluated while compiling can't ask which fault is awake.
STATIC = {Kind.STATIC_ASSERT, Kind.ENUM_CONSTANT_DECL, Kind.CASE_STMT, Kind.TEMPLATE_TEMPLATE_PARAMETER,
          Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.TEMPLATE_TYPE_PARAMETER, Kind.PARM_DECL, Kind.FIELD_DECL}


class Finder:
    def __init__(self, unit, path):
        self.path, self.text = path, path.read_bytes()
        self.unit, self.faults = unit, []

    def source(self, start, end):
        return self.text[start:end].decode()

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def here(self, cursor):
        start, end = cursor.extent.start, cursor.extent.end
        return start.file and end.file and start.file.name == str(self.path) == end.file.name and start.offset < end.offset

    def add(self, kind, cursor, replacement, old=None):
        start, end = self.span(cursor)
        self.faults.append({"kind": kind, "file": str(self.path.relative_to(ROOT)), "line": cursor.extent.start.line,
                            "start": start, "end": end, "snippet": self.source(start, end), "spelled": old,
                            "replacement": replacement})

    def walk(self, cursor, parent=None):
        for child in cursor.get_children():
            if child.location.file and child.location.file.name != str(self.path):
                continue
            if child.kind in STATIC or self.is_constexpr(child):
                continue
            if self.here(child):
                self.visit(child, cursor)
            self.walk(child, cursor)

    def is_constexpr(self, cursor):
        if cursor.kind not in (Kind.VAR_DECL, Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.FUNCTION_TEMPLATE):
            return False
        words = []
        for token in cursor.get_tokens():
            if token.spelling in "({=":
                break
            words.append(token.spelling)
        return "constexpr" in words or "consteval" in words

    def visit(self, cursor, parent):
        children = list(cursor.get_children())
        if cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2 and all(map(self.here, children)):
            self.operator(cursor, *children)
        elif cursor.kind == Kind.IF_STMT and children and self.here(children[0]):
            condition = children[0]
            if condition.kind not in (Kind.DECL_STMT, Kind.VAR_DECL) and "constexpr" not in self.source(*self.span(cursor))[:14]:
                start, end = self.span(condition)
                self.add("negated condition", condition, f"(static_cast<bool>({self.source(start, end)}) != {WAKE})")
        elif cursor.kind == Kind.CALL_EXPR and parent.kind == Kind.COMPOUND_STMT:
            start, end = self.span(cursor)
            self.add("skipped statement", cursor, f"if (!{WAKE}) {self.source(start, end)}")
        elif cursor.kind in (Kind.CONTINUE_STMT, Kind.BREAK_STMT) and parent.kind == Kind.IF_STMT:
            start, end = self.span(cursor)
            self.add("skipped jump", cursor, f"{{ if (!{WAKE}) {self.source(start, end)}; }}")
        elif cursor.kind == Kind.CALL_EXPR:
            self.call(cursor)

    def operator(self, cursor, left, right):
        start, end = self.span(cursor)
        (_, left_end), (right_start, _) = self.span(left), self.span(right)
        symbol = self.source(left_end, right_start).strip()
        a, b = self.source(start, left_end), self.source(right_start, end)
        whole = self.source(start, end)
        if symbol in FLIPPED:
            kind = "flipped comparison" if symbol not in ("&&", "||") else "flipped logic"
            self.add(kind, cursor, f"({WAKE} ? ({a} {FLIPPED[symbol]} {b}) : ({whole}))")
        elif symbol in ("+", "-") and cursor.type.get_canonical().spelling in ("int", "long", "unsigned long", "unsigned int"):
            if b.isdigit():
                self.add("off by one", cursor, f"({WAKE} ? ({a} {symbol} {b} + 1) : ({whole}))")
            else:
                self.add("dropped term", cursor, f"({WAKE} ? static_cast<decltype({whole})>({a}) : ({whole}))")
        elif symbol == "*" and cursor.type.get_canonical().spelling in ("int", "long", "unsigned long", "unsigned int", "double"):
            self.add("dropped factor", cursor, f"({WAKE} ? static_cast<decltype({whole})>({a}) : ({whole}))")

    def call(self, cursor):
        arguments = list(cursor.get_arguments())
        if len(arguments) != 2 or not all(a is not None and self.here(a) for a in arguments):
            return
        first, second = arguments
        if first.type.get_canonical().spelling != second.type.get_canonical().spelling or "auto" in cursor.type.spelling:
            return
        (a0, a1), (b0, b1), (start, end) = self.span(first), self.span(second), self.span(cursor)
        if not start < a0 < a1 < b0 < b1 < end or cursor.type.get_canonical().spelling == "void":
            return
        swapped = self.source(start, a0) + self.source(b0, b1) + self.source(a1, b0) + self.source(a0, a1) + self.source(b1, end)
        if swapped != self.source(start, end):
            self.add("swapped operands", cursor, f"({WAKE} ? {swapped} : {self.source(start, end)})")


def order(seed, fault):
    where = f"{seed}:{fault['file']}:{fault['kind']}:{fault['snippet']}:{fault['line']}"
    return hashlib.sha256(where.encode()).hexdigest()


def parse(index, entry):
    arguments = entry["command"].split()[1:]
    wanted = [a for a in arguments if a.startswith(("-I", "-D", "-std", "-isystem", "-march"))]
    for i, a in enumerate(arguments):
        if a == "-isystem":
            wanted.append(arguments[i + 1])
    return index.parse(entry["file"], args=[*wanted, "-I/usr/lib/llvm-19/lib/clang/19/include"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=ROOMS)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--per-file", type=int, default=3)
    parser.add_argument("--seed", default="lenz")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    entries = json.loads((options.build / "compile_commands.json").read_text())
    folders = tuple(f"{ROOT}/compiler/{room}/" for room in options.rooms)
    apart = tuple(f"{ROOT}/compiler/{name}" for name in APART)
    chosen = [e for e in entries if e["file"].startswith(folders) and not e["file"].startswith(apart)]
    chosen = [e for e in chosen if not e["file"].endswith(("_test.cpp", "_bench.cpp", "_fuzz.cpp"))]
    # Commands and tables of rows are not what is asked about.
    chosen = [e for e in chosen if "/rows/" not in e["file"] and not e["file"].endswith("_command.cpp")]
    chosen.sort(key=lambda e: hashlib.sha256((options.seed + e["file"][len(str(ROOT)):]).encode()).hexdigest())
    faults, index = [], cindex.Index.create()
    for entry in chosen:
        if len(faults) >= options.count:
            break
        unit = parse(index, entry)
        finder = Finder(unit, Path(entry["file"]))
        finder.walk(unit.cursor)
        taken = []
        for fault in sorted(finder.faults, key=lambda f: order(options.seed, f)):
            if len(taken) == options.per_file:
                break
            if "\n#" in fault["snippet"] or "LENZ_" in fault["snippet"] or any(f["start"] < fault["end"] and fault["start"] < f["end"] for f in taken):
                continue
            taken.append(fault)
        faults += taken
        print(f"\r{len(faults)} of {options.count} faults; {entry['file'][len(str(ROOT)) + 1:]}\33[K", end="", file=sys.stderr)
    print(file=sys.stderr)
    faults = faults[: options.count]
    for number, fault in enumerate(faults, 1):
        fault["id"] = number
    text = json.dumps(faults, indent=1)
    if options.out:
        options.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
