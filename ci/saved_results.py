"""usage: ci/saved_results.py [LENZ] [--on WAY]: what a run saves, judged as anybody's results are.

`lenz run --on WAY --save`, and `lenz check --against` that file: every graph of the corpus that eager runs, and graphs
that the fuzzer draws. Of a GPU (./ci/gpu) it shows what eager libtorch gives there, of what runs here that no right
result is called wrong. Exit codes as in compiler/base/error.h."""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corpus_check import graphs
from stages import BAD_INPUT, FINE, NOT_COVERED, OUR_FAULT, ROOT, WRONG

SETTING = "# fuzz: "  # what a case begins with (fuzz/case.cpp)
RIGHT, WEAK, DRAWS, RAISED, OUTSIDE, FAILED = (
    "right",
    "weak, or nothing that eager runs",
    "draw from another stream than eager here",
    "raised by one of both alone",
    "outside of the bounds",
    "our own failures",
)


def said(command, timeout):
    try:
        # What drawn graphs print, and are named, is any bytes.
        how = {"capture_output": True, "encoding": "utf-8", "errors": "backslashreplace"}
        done = subprocess.run(command, **how, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return OUR_FAULT, f"no answer in {timeout} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def judged(lenz, path, options, folder):
    """What became of it, and what was said."""
    results = Path(folder) / f"{path.stem}-{os.urandom(4).hex()}.npz"
    inputs, timeout = ["--seed", str(options.seed), "--values", options.values], options.timeout
    code, text = said([lenz, "run", path, *inputs, "--on", options.on, "--show", "0", "--save", results], timeout)
    if options.on == "cuda" and "Assertion" in text:  # the GPU's own way to raise, after which it runs nothing
        return RAISED, text
    if not results.exists():  # whoever raises says so in the file; typical sizes may be none of the graph's
        return (WEAK if code == NOT_COVERED or "these sizes break" in text else FAILED), text
    code, text = said([lenz, "check", path, *inputs, "--against", results], timeout)
    results.unlink()
    if code == WRONG and "wrong: ending" in text:
        return RAISED, text
    return {FINE: RIGHT, NOT_COVERED: WEAK, WRONG: OUTSIDE}.get(code, FAILED), text


def draws(lenz):
    """A pattern of calls of rows that draw."""
    rows = json.loads(subprocess.run([lenz, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    packets = {row["packet"] for row in rows if "random" in row["traits"]}
    return re.compile("|".join(rf"{re.escape(packet)}[.(]" for packet in sorted(packets)))


def drawn(lenz, count, seed, folder):
    """Paths of graphs that the fuzzer draws, as it prints them: each behind a line that says on what it is run."""
    command = [lenz, "fuzz", "--print", str(count), "--seed", str(seed)]
    cases = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(SETTING)[1:]
    for number, case in enumerate(cases):
        path = Path(folder) / f"drawn-{seed}-{number}.lenz"
        path.write_text(case.partition("\n")[2])
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default=str(ROOT / "build/lenz"))
    parser.add_argument("--on", default="eager", choices=("eager", "cuda", "llvm", "interp"), help="what runs the graphs (eager)")
    parser.add_argument("--no-corpus", action="store_true", help="drawn graphs alone")
    parser.add_argument("--drawn", type=int, default=300, help="graphs that the fuzzer draws (300)")
    parser.add_argument("--seed", type=int, default=1, help="of inputs and of what is drawn (1)")
    parser.add_argument("--values", default="ordinary", help="kind of inputs, as `lenz run` knows them (ordinary)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (one a core)")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for a graph (120)")
    options = parser.parse_args()
    if not os.access(options.lenz, os.X_OK):
        print(f"error: {options.lenz} is no program\n  help: ./ci/build makes build/lenz", file=sys.stderr)
        return BAD_INPUT
    counts, random = collections.Counter(), draws(options.lenz)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "goldens").mkdir()
        paths = [] if options.no_corpus else list(graphs(Path(folder) / "goldens"))
        if options.drawn:
            paths += drawn(options.lenz, options.drawn, options.seed, folder)
        comparable = [path for path in paths if options.on == "eager" or not random.search(path.read_text())]
        counts[DRAWS] = len(paths) - len(comparable)
        with ThreadPoolExecutor(options.jobs) as pool:
            ends = pool.map(lambda p: judged(options.lenz, p, options, folder), comparable)
            for path, (end, text) in zip(comparable, ends):
                counts[end] += 1
                if end != RIGHT:
                    print(f"{path.name}: {end}: {(text.splitlines() or ['nothing said'])[0]}", flush=True)
    print(f"{len(paths)} graphs, {options.on}: " + ", ".join(f"{n} {word}" for word, n in sorted(counts.items())))
    if counts[OUTSIDE] or (counts[RAISED] and options.on != "cuda"):
        return WRONG
    if counts[FAILED]:
        return OUR_FAULT
    return FINE if counts[RIGHT] else NOT_COVERED  # without a GPU nothing is run there


if __name__ == "__main__":
    sys.exit(main())
