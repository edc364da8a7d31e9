#!/usr/bin/env python3
"""Which graphs would have decisions reach more of the compiler: distil.py [--cases N] [--seed S] [--limit SECONDS] [FILE...]

Of cases that the fuzzer draws, behind those of FILEs written as fuzz/decisions/graphs.txt is, those are kept that run a
region, or a side of a branch, which neither the baseline's things ran nor the cases kept before. They go to --out as
graphs.txt has them, with how many such there are in each and what it took. Asked is the copy of the compiler that
coverage.py made, one case after the other; its counters are looked at in between. Once more on what it wrote, with the
rewarding ones first, leaves fewer: --again."""

import argparse
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from plant import ROOT

BEFORE = "# ---- "


class Layout:
    """Where the counters of each function lie in the file that a program that runs keeps them in (LLVM's raw profiles)."""

    def __init__(self, path):
        text = path.read_bytes()
        head = struct.unpack("<16Q", text[:128])
        if head[1] & 0xFF != 10:
            raise SystemExit(f"{path}: profiles of another LLVM than 19")
        ids, functions, padding, self.count, delta = head[2], head[3], head[4], head[5], head[10]
        first = 128 + ids
        self.begin = first + functions * 64 + padding
        self.of = {}
        for k in range(functions):
            name, _, counters = struct.unpack_from("<3Q", text, first + k * 64)
            self.of[name] = ((counters - (delta - 64 * k)) & (2**64 - 1)) // 8

    def now(self, path):
        with path.open("rb") as file:
            file.seek(self.begin)
            return np.frombuffer(file.read(self.count * 8), dtype=np.int64)


class Mapping:
    """The mapping of a function as llvm/ProfileData/Coverage has it: what is counted, as sums of counters."""

    def __init__(self, text, first):
        self.text, self.at, self.first, self.sums = text, 0, first, {}
        self.files = [self.number() for _ in range(self.number())]
        self.expressions = [(self.number(), self.number()) for _ in range(self.number())]

    def number(self):
        value = shift = 0
        while True:
            byte = self.text[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def sum_of(self, counter):
        kind, number = counter & 3, counter >> 2
        if kind == 0:
            return {}
        if kind == 1:
            return {self.first + number: 1}
        if counter not in self.sums:
            left, right = self.expressions[number]
            made = dict(self.sum_of(left))
            for key, times in self.sum_of(right).items():
                made[key] = made.get(key, 0) + (times if kind == 3 else -times)
            self.sums[counter] = made
        return self.sums[counter]

    def regions(self):
        """Where, and of what: regions (0), and of branches the sides that are true (1) and false (2)."""
        for file in self.files:
            line = 0
            for _ in range(self.number()):
                head, counters = self.number(), []
                if head & 3:
                    counters = [(0, head)]
                elif not head & 4 and head >> 3 in (4, 6):
                    counters = [(1, self.number()), (2, self.number())]
                line += self.number()
                where = (file, line, self.number(), self.number(), self.number())
                if where[-1] >> 31:
                    continue  # a gap between statements
                for kind, counter in counters:
                    yield (*where, kind), self.sum_of(counter)


def section(program, name, folder):
    made = folder / name.strip("_")
    subprocess.run(["llvm-objcopy-19", "-O", "binary", f"--only-section={name}", f"--set-section-flags={name}=alloc",
                    program, made], check=True)
    return made.read_bytes()


class Reached:
    def __init__(self, folder, profile):
        self.layout = Layout(profile)
        text, at, places, spots, counters, times = section(folder / "lenz", "__llvm_covfun", folder), 0, {}, [], [], []
        instances = []  # of templates and inline functions: what one of them ran is reached
        while at + 28 <= len(text):
            name, size, _, files = struct.unpack_from("<QIQQ", text, at)
            if name in self.layout.of:
                for where, of in Mapping(text[at + 28:at + 28 + size], self.layout.of[name]).regions():
                    for counter, factor in of.items():
                        spots.append(len(instances))
                        counters.append(counter)
                        times.append(factor)
                    instances.append(places.setdefault((files, *where), len(places)))
            at = (at + 28 + size + 7) & ~7
        self.spots, self.counters, self.times = np.array(spots), np.array(counters), np.array(times, dtype=np.float64)
        self.instances, self.count = np.array(instances), len(places)

    def by(self, counts):
        ran = np.bincount(self.spots, weights=self.times * counts[self.counters], minlength=len(self.instances))
        made = np.zeros(self.count, bool)
        made[self.instances[ran > 0.5]] = True
        return made


class Decider:
    """`lenz fuzz --decide`, and what it counts while it answers."""

    def __init__(self, folder):
        self.folder, self.program = folder, None
        for old in folder.glob("distil*.profraw"):
            old.unlink()

    def ask(self, text):
        """Whether it answers: who dies is a finding, which the fuzzer itself makes."""
        if not self.program or self.program.poll() is not None:
            environment = {**os.environ, "LLVM_PROFILE_FILE": f"{self.folder}/distil%m%c.profraw"}
            self.program = subprocess.Popen([self.folder / "lenz", "fuzz", "--decide"], stdin=subprocess.PIPE, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        try:
            self.program.stdin.write(f"{BEFORE}asked\n{text}{BEFORE}\n")
            self.program.stdin.flush()
        except BrokenPipeError:
            return False
        return self.program.stdout.readline() != ""

    def profile(self):
        return next(self.folder.glob("distil*.profraw"))


def blocks(text, before):
    return [b.rstrip() + "\n" for b in ("\n" + text).split("\n" + before)[1:]]


def drawn(folder, options):
    command = [folder / "lenz", "fuzz", "--print", str(options.cases), "--seed", str(options.seed)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "LLVM_PROFILE_FILE": "/dev/null"})
    # Long ones, and those of many open sizes, take long.
    return ["# fuzz:" + b for b in blocks(said.stdout, "# fuzz:") if len(b) + 300 * b.count(" in ") < 2500]


def given(files, rewarding_first):
    all_of_them = []
    for file in files:
        for block in blocks(file.read_text(), BEFORE):
            head, text = block.split("\n", 1)
            number = re.search(r"reaches=(\d+) seconds=([\d.]+)", head)
            all_of_them.append((int(number[1]) / (float(number[2]) + 0.005) if number else 0, text))
    if rewarding_first:
        all_of_them.sort(key=lambda item: -item[0])
    return [text for _, text in all_of_them]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/coverage")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, help="seconds")
    parser.add_argument("--again", action="store_true", help="of FILEs the rewarding ones first")
    parser.add_argument("--out", type=Path, default=Path("distilled.txt"))
    options = parser.parse_args()
    folder = options.folder.resolve()
    baseline = next(folder.glob("decisions*.profraw"))
    reached, decider = Reached(folder, baseline), Decider(folder)
    seen = reached.by(reached.layout.now(baseline))
    print(f"{int(seen.sum())} of {reached.count} regions and sides of branches are reached by the baseline's things")
    cases = given(options.files, options.again) + (drawn(folder, options) if options.cases else [])
    began, before, kept, asked = time.monotonic(), 0, 0, 0
    with options.out.open("w") as out:
        for text in cases:
            if time.monotonic() - began > options.limit:
                break
            asked, started = asked + 1, time.monotonic()
            if not decider.ask(text):
                before = 0
                print(f"nothing is decided about this one:\n{text}")
                continue
            took, counts = time.monotonic() - started, reached.layout.now(decider.profile())
            ran = reached.by(counts - before)
            before = counts
            if (fresh := int((ran & ~seen).sum())) > 0:
                kept, seen = kept + 1, seen | ran
                out.write(f"{BEFORE}{kept:03} reaches={fresh} seconds={took:.3f}\n{text}")
    print(f"{asked} cases asked, {kept} kept: with them {int(seen.sum())} are")


if __name__ == "__main__":
    sys.exit(main())
