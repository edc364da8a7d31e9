"""usage: corpus/models/make.py [--only NAME]... [--check] [--list]

Writes the text of each model of zoo.py beside this script: the same text each time, weights as seeded initialisers.
--check writes nothing and says which files differ from what would be written (exit code 1). What zoo.py needs beyond
ci/requirements.txt is installed into the running Python's environment first, if it is missing."""

import argparse
import contextlib
import importlib.metadata
import logging
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "compiler" / "torch" / "python")]


def missing():
    """Lines of requirements.txt that are not installed."""
    lines = [line.split("#")[0].strip() for line in (HERE / "requirements.txt").read_text().splitlines()]
    for line in filter(None, lines):
        name, version = line.split("==")
        found = None
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.version(name).split("+")[0]
        if found != version:
            yield line


def install():
    lacks = list(missing())
    if lacks:
        print(f"make: installing {' '.join(lacks)}", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input", "-c",
                        ROOT / "ci" / "requirements.txt", "-r", HERE / "requirements.txt"], check=True)


def export(name, path):
    """Writes the text of one model; returns what lenz.export returns."""
    import lenz
    import zoo

    case = zoo.build(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            return lenz.export(case.module, case.args, path, case.kwargs, case.dynamic, weights="seeded", sources=False)
        finally:
            logging.disable(logging.NOTSET)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[1])
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    import zoo

    if options.list:
        print("\n".join(zoo.MODELS))
        return 0
    unknown = sorted(set(options.only or ()) - set(zoo.MODELS))
    if unknown:
        print(f"make: no model {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    install()
    names = options.only or list(zoo.MODELS)
    stale = failed = 0
    for i, name in enumerate(names, 1):
        began = time.monotonic()
        place = HERE / f"{name}.lenz"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / place.name if options.check else place
            try:
                made = export(name, path)
            except Exception as e:  # the others are still wanted
                print(f"{i}/{len(names)} {name}: {type(e).__name__}: {e}", flush=True)
                failed += 1
                continue
            differs = options.check and (not place.exists() or place.read_text() != made.text)
        stale += bool(differs)
        externs = ", ".join(sorted({schema.split("(")[0] for schema in made.externs})) or "none"
        print(f"{i}/{len(names)} {name}: {made.text.count(' = ')} nodes, {len(made.text)} bytes, externs: {externs}"
              f"{', STALE' if differs else ''} ({time.monotonic() - began:.1f} s)", flush=True)
    if options.check:
        print(f"{stale} files differ from what make.py would write")
    return 1 if stale or failed else 0


if __name__ == "__main__":
    sys.exit(main())
