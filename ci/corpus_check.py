"""usage: ci/corpus_check.py LENZ [--seeds N]: every graph of the corpus that can run here through `lenz check`.

What can't run is named with its reason, which must be one of those expected. Exit codes as in compiler/base/error.h."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINE, OUR_FAULT, NOT_COVERED, WRONG = 0, 1, 6, 7
# Graphs that show the text form and are not there to run: part of the message that says so.
NOT_RUN = {
    "devices.lenz": "eager runs on the CPU here",
    "externs.lenz": "libtorch has no op",
    "weights_beside.lenz": "can't open the file",
}


def graphs(folder):
    """Paths of texts of one graph each; of a golden test, what stands before its pass."""
    for path in sorted((ROOT / "corpus").rglob("*.lenz")):
        kind = path.relative_to(ROOT / "corpus").parts[0]
        if kind == "errors":
            continue
        if kind != "passes":
            yield path
            continue
        copy = folder / f"{path.parent.name}-{path.name}"
        copy.write_text(path.read_text().partition("# ---- after ")[0])
        yield copy


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lenz")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    verdict, count, agreed = FINE, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for path in graphs(Path(folder)):
            count += 1
            command = [options.lenz, "check", "--seeds", str(options.seeds), str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            text = (done.stdout + done.stderr).strip()
            if done.returncode == FINE and path.name not in NOT_RUN:
                agreed += 1
                continue
            expected = NOT_RUN.get(path.name)
            if expected and done.returncode != FINE and expected in text:
                print(f"{path.name}: not run: {text.splitlines()[0]}")
                continue
            print(f"{path.name}: exit code {done.returncode}\n{text}")
            verdict = max(verdict, done.returncode if done.returncode in (NOT_COVERED, WRONG) else OUR_FAULT)
    print(f"{count} graphs, {agreed} agree with eager after every pass, {count - agreed} do not or can't run here")
    return verdict


if __name__ == "__main__":
    sys.exit(main())
