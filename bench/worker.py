"""usage: worker.py [--threads N] [--cache FOLDER] [--module FILE]

Runs workloads in PyTorch for `lenz bench`: one JSON object a line comes in, one goes out. It sleeps between lines.

  {"do": "rows"}                                          names, which are our own code alone, which models
  {"do": "export", "row": R, "name": N, "folder": F}      the workload as files; "sizes" other than the row's own,
                                                          "dynamic": every size left open
  {"do": "neighbours", "row": R, "count": K}              sizes near the row's
  {"do": "load", "row": R}                                makes the program and its values; forgets those before
  {"do": "first", "subject": S}                           its first call: seconds
  {"do": "round", "subject": S, "seconds": T}             calls for so long: "best" and "median" of their times, ms

A subject is `eager` or a mode of torch.compile. What fails answers {"error": text}."""

import argparse
import json
import os
import statistics
import sys
import time
import traceback
from pathlib import Path

# What libraries print must not stand between the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def remedy(error):
    """What installs a package that only models are made of."""
    root = Path(__file__).resolve().parent.parent
    packages = root / "corpus/models/requirements.txt"
    if not isinstance(error, ModuleNotFoundError) or not error.name or not packages.exists():
        return ""
    if not any(line.startswith(error.name.split(".")[0] + "==") for line in packages.read_text().splitlines()):
        return ""
    return f"; it comes by `{sys.executable} -m pip install -c {root / 'ci/requirements.txt'} -r {packages}`"


def compiled(program, subject):
    import torch

    if subject == "eager":
        return program
    return torch.compile(program, mode=None if subject == "default" else subject, dynamic=False)


def at_line(error, module):
    """Where in the user's file that happened, if it did."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if module and f.filename == module]
    return f", at {module}:{frames[-1].lineno}" if frames else ""


class Server:
    def __init__(self, module):
        self.case, self.calls, self.module = None, {}, module

    def rows(self):
        import workloads

        return {"rows": [{"name": r.name, "own": r.own, "model": r.model, "sizes": r.sizes}
                         for r in workloads.all_rows(self.module).values()]}

    def row(self, name):
        import workloads

        rows = workloads.all_rows(self.module)
        if name not in rows:
            raise KeyError(f"no workload {name}")
        return rows[name]

    def export(self, row, name, folder, sizes=None, dynamic=False):
        import exporting

        return exporting.export(name, self.row(row), sizes, folder, dynamic)

    def neighbours(self, row, count, seed=0):
        return {"sizes": self.row(row).neighbours(count, seed)}

    def load(self, row, sizes=None):
        import torch

        self.case = None
        self.calls.clear()
        torch._dynamo.reset()
        self.case = self.row(row).build(sizes)
        return {"touched": self.case.touched}

    def first(self, subject):
        import workloads

        if self.case is None:
            raise ValueError("the workload could not be made")
        call = workloads.measured(self.case, compiled(self.case.program, subject))
        began = time.perf_counter()
        call()
        self.calls[subject] = call
        return {"seconds": time.perf_counter() - began}

    def round(self, subject, seconds):
        call, times = self.calls[subject], []
        call()
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
        return {"best": min(times) * 1e3, "median": statistics.median(times) * 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cache")
    parser.add_argument("--module")
    options = parser.parse_args()
    if options.cache:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", options.cache)
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), file=answers)
    server = Server(options.module)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told = getattr(server, asked.pop("do"))(**asked)
        except Exception as e:  # the row's fault; the others are still wanted
            traceback.print_exc()
            what = str(e).strip().splitlines()[0] if str(e).strip() else ""
            told = {"error": f"{type(e).__name__}: {what}{at_line(e, options.module)}{remedy(e)}"}
        print(json.dumps(told), file=answers)


if __name__ == "__main__":
    main()
