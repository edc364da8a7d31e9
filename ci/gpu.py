"""./ci/gpu [LENZ]: what a machine with a GPU shows of Lenz.

Graphs that are written for a CPU run by eager libtorch on the GPU, and the float64 reference's bounds judge what comes
out: every graph of the corpus that a CPU runs, and calls of rows that the fuzzer draws. What a GPU refuses, or has no
kernel for, is counted, what is outside of bounds named. Exit codes as in compiler/base/error.h."""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corpus_check import graphs
from stages import FINE, GRAVITY, NOT_COVERED, OUR_FAULT, ROOT, WRONG

SETTING = "# fuzz: "  # what a case begins with (fuzz/case.cpp)
WORDS = {FINE: "right", NOT_COVERED: "weak, or not run", WRONG: "wrong"}


def said(command, timeout):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return NOT_COVERED, f"no answer in {timeout} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def judged(lenz, path, seed, folder, timeout):
    """The exit code, and what was said of it."""
    results = Path(folder) / f"{path.stem}-{seed}-{os.urandom(4).hex()}.npz"
    of_seed = ["--seed", str(seed)]
    code, text = said([lenz, "run", path, *of_seed, "--on", "cuda", "--show", "0", "--save", results], timeout)
    if not results.exists():  # whoever raises says so in the file
        return (code if code in WORDS else NOT_COVERED if "raises" in text else OUR_FAULT), text
    code, text = said([lenz, "check", path, *of_seed, "--against", results], timeout)
    results.unlink()
    return code, text


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
    parser.add_argument("--drawn", type=int, default=300, help="graphs that the fuzzer draws (300)")
    parser.add_argument("--seed", type=int, default=1, help="of inputs and of what is drawn (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (one a core)")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for a graph (120)")
    options = parser.parse_args()
    verdict, counts = FINE, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "goldens").mkdir()
        paths = list(graphs(Path(folder) / "goldens"))
        if options.drawn:
            paths += drawn(options.lenz, options.drawn, options.seed, folder)
        with ThreadPoolExecutor(options.jobs) as pool:
            verdicts = pool.map(lambda p: judged(options.lenz, p, options.seed, folder, options.timeout), paths)
            for path, (code, text) in zip(paths, verdicts):
                counts[WORDS.get(code, "our own failure")] += 1
                if code != FINE:
                    print(f"{path.name}: {code}: {(text.splitlines() or ['nothing said'])[0]}", flush=True)
                if code not in (FINE, NOT_COVERED):
                    print(text if code == WRONG else "", flush=True)
                    verdict = max(verdict, code if code == WRONG else OUR_FAULT, key=GRAVITY.index)
    print(f"{len(paths)} graphs on the GPU: " + ", ".join(f"{n} {word}" for word, n in sorted(counts.items())))
    return verdict


if __name__ == "__main__":
    sys.exit(main())
