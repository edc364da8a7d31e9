#!/usr/bin/env python3
"""Which faults does the fuzzer find? score.py [--faults N] [--seconds S] [--jobs J] [--folder DIR] [--again]

Makes faults mechanically, builds them in, and runs `lenz fuzz` with one awake after the other until something fails or the
time is up. What is scored is kept in FOLDER/score.json and not asked again, unless the sources have changed or --again.
Every fault that is not found is listed: it is equivalent, unreachable, or the fuzzer is blind to it."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run(lenz, fault, seconds, seed):
    """What the fuzzer says with this fault awake (0: none)."""
    with tempfile.TemporaryDirectory() as out:
        command = [lenz, "fuzz", "--time", f"{seconds}s", "--seed", str(seed), "--workers", "1", "--out", out, "--first-finding",
                   "--json"]
        began = time.monotonic()
        try:
            done = subprocess.run(command, env={**os.environ, "LENZ_FAULT": str(fault)}, capture_output=True, text=True,
                                  check=False, timeout=seconds * 3 + 120)
        except subprocess.TimeoutExpired:
            return {"killed": True, "by": "the whole campaign hung", "cases": 0, "seconds": seconds}
        took = time.monotonic() - began
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:  # it did not even start
        return {"killed": True, "by": f"start: exit code {done.returncode}", "cases": 0, "seconds": took}
    if not report["findings"]:
        return {"killed": False, "cases": report["cases"], "seconds": took}
    return {"killed": True, "by": report["findings"][0]["name"], "cases": report["cases"], "seconds": took}


def show(score, faults):
    killed = [s for s in score.values() if s["killed"]]
    print(f"{len(killed)} of {len(score)} faults found ({100 * len(killed) / max(len(score), 1):.1f} %)", end="")
    if killed:
        print(f", median {statistics.median(s['seconds'] for s in killed):.1f} s", end="")
    print()
    by_property = {}
    for s in killed:
        by_property.setdefault(s["by"].split(" | ")[0], []).append(s)
    for name, all_of_it in sorted(by_property.items(), key=lambda item: -len(item[1])):
        print(f"  {len(all_of_it):4} by {name}")
    for fault in faults:
        s = score.get(str(fault["id"]))
        if s and not s["killed"]:
            print(f"  not found in {s['cases']} cases: {fault['file']}:{fault['line']}: {fault['kind']}: "
                  f"{' '.join(fault['snippet'].split())[:90]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    listed = options.folder / "faults.json"
    subprocess.run(["/usr/bin/python3", HERE / "mechanical.py", "--count", str(options.faults), "--out", listed], check=True)
    subprocess.run([sys.executable, HERE / "plant.py", "--folder", options.folder], check=True)
    faults = json.loads((options.folder / "planted.json").read_text())
    lenz = options.folder / "source/build/lenz"
    state = hashlib.sha256(listed.read_bytes() + f"{options.seconds} {options.seed}".encode()).hexdigest()
    kept = options.folder / "score.json"
    score = {}
    if kept.exists() and not options.again:
        before = json.loads(kept.read_text())
        score = before["score"] if before["state"] == state else {}
    control = run(lenz, 0, options.seconds, options.seed)
    if control["killed"]:
        print(f"with no fault awake the fuzzer finds something: {control['by']}")
        return 1
    print(f"no fault awake: nothing found in {control['cases']} cases", flush=True)

    def one(fault):
        return fault, run(lenz, fault["id"], options.seconds, options.seed)

    left = [f for f in faults if str(f["id"]) not in score]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for fault, result in pool.map(one, left):
            score[str(fault["id"])] = result
            kept.write_text(json.dumps({"state": state, "score": score}, indent=1))
            verdict = f"found after {result['cases']} cases, {result['seconds']:.1f} s: {result['by'][:90]}" if result["killed"] else "NOT found"
            print(f"{fault['id']:4} {fault['file']}:{fault['line']} {fault['kind']}: {verdict}", flush=True)
    show(score, faults)
    return 0


if __name__ == "__main__":
    sys.exit(main())
