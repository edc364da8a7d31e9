#!/usr/bin/env python3
"""Which lines of the compiler does no decision and no case reach: coverage.py [--cases N] [--list] [PATH...]

Builds a copy of the compiler that counts what it runs, asks it for all decisions, then for so many cases without them, and
prints shares of what each reached, room by room. --list lists what neither did, source by source: a fault there can't
be found. PATHs (files or folders, as compiler/loops) say of which sources; --report asks nothing anew."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

from plant import ROOT, Copies

ROOMS = "base scalar graph ops passes lower loops schedule runtime backend driver".split()
WAYS = ("decisions", "cases")


class Counting(Copies):
    # Counters lie in the file itself: workers, which leave without a word, and whoever dies lose none.
    flags = ["-O1", "-fprofile-instr-generate", "-fcoverage-mapping", "-mllvm", "-runtime-counter-relocation"]
    link_flags = ["-fprofile-instr-generate"]

    def run(self):
        self.build_all()
        folders = tuple(f"compiler/{room}/" for room in ROOMS)
        files = [f for f in self.commands if f.startswith(folders) and not f.endswith(("_test.cpp", "_bench.cpp", "_fuzz.cpp"))]
        print(f"building a copy of the compiler that counts what it runs: {len(files)} sources", flush=True)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done, said in enumerate(pool.map(lambda f: self.compile(ROOT / f, f, self.object_of(f)), files), 1):
                if said:
                    raise SystemExit(said)
                if done % 50 == 0:
                    print(f"{done} of {len(files)}", flush=True)
        self.link(files)


def ask(folder, way, arguments):
    for old in folder.glob(way + "*.profraw"):
        old.unlink()
    command = [folder / "lenz", "fuzz", *arguments]
    print("$", " ".join(map(str, command)), flush=True)
    environment = {**os.environ, "LLVM_PROFILE_FILE": f"{folder}/{way}%m%c.profraw"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print("\n".join(done.stdout.splitlines()[-3:]), flush=True)
    raw = list(folder.glob(way + "*.profraw"))
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", "-o", folder / (way + ".profdata"), *raw], check=True)


class Counts:
    """Of one way: how often each region ran, each side of a branch, each function, over all its instances."""

    def __init__(self, folder, way):
        said = subprocess.run(["llvm-cov-19", "export", folder / "lenz", f"-instr-profile={folder / (way + '.profdata')}"],
                              check=True, stdout=subprocess.PIPE).stdout
        self.regions, self.sides, self.functions = {}, {}, {}
        for function in json.loads(said)["data"][0]["functions"]:
            files = [str(Path(f).relative_to(ROOT)) if f.startswith(f"{ROOT}/") else None for f in function["filenames"]]
            first = True
            for *where, count, file, _, kind in function["regions"]:
                if kind != 0 or not files[file]:
                    continue
                self.add(self.regions, (files[file], *where), count)
                if first:
                    self.add(self.functions, (files[file], *where), count)
                first = False
            for *where, yes, no, file, _, _ in function["branches"]:
                if files[file]:
                    self.add(self.sides, (files[file], *where, True), yes)
                    self.add(self.sides, (files[file], *where, False), no)

    @staticmethod
    def add(counts, key, count):
        counts[key] = counts.get(key, 0) + count


def text_of(key):
    file, first, begin, last, end = key[:5]
    lines = (ROOT / file).read_text().split("\n")[first - 1:last]
    lines[-1] = lines[-1][:end - 1] if last > first else lines[-1]
    lines[0] = lines[0][begin - 1:end - 1 if last == first else None]
    words = " ".join(" ".join(lines).split())
    return words if len(words) < 110 else words[:107] + "..."


def listed(both, file):
    """What no way reached in this source: functions, regions within others, and conditions that went one way alone."""
    def never(what):
        return [k for k in getattr(both[0], what) if k[0] == file and not any(getattr(c, what).get(k) for c in both)]
    def inside(key, others):
        return any(key is not o and o[1:3] <= key[1:3] and key[3:5] <= o[3:5] for o in others)
    functions = never("functions")
    regions = [r for r in never("regions") if not inside(r, functions) and r not in functions]
    regions = [r for r in regions if not inside(r, regions)]
    sides = [s for s in never("sides") if not inside(s, functions) and not inside(s, regions)]
    both_ways = {s[:5] for s in sides if (*s[:5], not s[5]) in sides}
    lines = [(f[1], f"no call of  {text_of(f)}") for f in functions] + [(r[1], f"never  {text_of(r)}") for r in regions]
    lines += [(s[1], f"never {str(s[5]).lower():5}  {text_of(s)}") for s in sides if s[:5] not in both_ways]
    return sorted(lines)


def report(folder, paths, lists):
    both = [Counts(folder, way) for way in WAYS]
    files = sorted({k[0] for k in both[0].regions if k[0].startswith("compiler/") and (not paths or k[0].startswith(tuple(paths)))})
    print(f"{'':24}{'regions':>9}{'decisions':>11}{'cases':>8}{'either':>8}   {'branches':>9}{'decisions':>11}{'cases':>8}{'either':>8}")
    rooms = sorted({f.split("/")[1] for f in files})
    for room in [*rooms, "all"]:
        line = f"{room:24}"
        for what in ("regions", "sides"):
            keys = [k for k in getattr(both[0], what) if k[0] in files and room in ("all", k[0].split("/")[1])]
            sets = [{k for k in keys if getattr(c, what).get(k)} for c in both]
            shares = [100 * len(s) / max(len(keys), 1) for s in (*sets, sets[0] | sets[1])]
            line += f"{len(keys):9}{shares[0]:10.1f}%{shares[1]:7.1f}%{shares[2]:7.1f}%   "
        print(line.rstrip())
    for file in files if lists else []:
        if lines := listed(both, file):
            print(f"\n{file}")
            for number, words in lines:
                print(f"{number:5}: {words}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/coverage")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if not options.report:
        Counting(folder, options.build, options.jobs).run()
        ask(folder, "decisions", ["--decisions", str(ROOT / "fuzz/decisions/baseline.txt")])
        ask(folder, "cases", ["--cases", str(options.cases), "--seed", str(options.seed), "--workers", str(options.jobs),
                              "--no-decisions", "--out", str(folder / "found")])
    report(folder, options.paths, options.list)


if __name__ == "__main__":
    sys.exit(main())
