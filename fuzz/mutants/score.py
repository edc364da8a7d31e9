#!/usr/bin/env python3
"""Which faults does the fuzzer find? What `lenz fuzz --score` runs, which has opened the store and begun a run in it.

Takes faults made mechanically, or those of written.toml, builds them in, and runs `lenz fuzz` with one awake after the
other until something fails or the time is up. Of what fails with a fault awake only that counts which holds with none
awake: cases that fail anyway, as eager dies of them, say, are left out once one campaign met them. Of a written fault
the case is reduced, and the stage that it is blamed on compared with the one where the fault is; then come the controls, which have to survive; `--controls` asks them alone, for many cases (controls.py).
What the run has scored already is not asked again. Every fault that is not found is listed: it is equivalent,
unreachable, or the fuzzer is blind to it."""

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import controls
import plant
import written

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FINDINGS = 3  # of a run, that are looked at until one counts
BATCH = 32  # cases that a campaign of one worker has in hand at once
ALONE = 60  # seconds for one case: a worker gives up long before
PATIENCE = 90  # seconds on top of what a campaign was given; what was asked for cases takes three times that at most
FAILED, BAD_INPUT, NOT_COVERED, WRONG = 1, 2, 6, 7  # exit codes, as lenz has them

# Of one fault, as the store has it.
RESULT = {"killed": False, "by": None, "cases": 0, "seconds": 0.0, "others": 0, "stage": None, "right": None, "reduced": None,
          "text": None}


class Runner:
    def __init__(self, lenz, options):
        self.lenz, self.options = lenz, options
        self.fail_anyway = set()  # numbers of cases of this seed that fail with no fault awake too

    def lenz_says(self, fault, *arguments, limit):
        # Written faults have a stage to blame, and controls are other policies: both are asked what is right alone.
        if arguments[0] == "fuzz" and (self.options.faults == "written" or self.options.by_results):
            arguments = (*arguments, "--no-decisions")
        return subprocess.run([self.lenz, *map(str, arguments)], env={**os.environ, "LENZ_FAULT": str(fault)},
                              capture_output=True, text=True, check=False, timeout=limit)

    def score(self, fault):
        """What the fuzzer finds with this fault awake (0: none)."""
        seconds, cases = self.options.seconds, self.options.cases
        began = time.monotonic()
        total = RESULT | {}
        while True:  # what fails without the fault too ends a campaign, not the search
            took = time.monotonic() - began
            left = cases - total["cases"] if cases else seconds - took
            if left < 1:
                return total | {"seconds": took}
            result = self.campaign(fault, int(left), total["cases"])
            paused = result.pop("paused", False)
            finished = result["killed"] or result["cases"] == 0 or not (result["others"] or paused)
            total = result | {"cases": total["cases"] + result["cases"], "others": total["others"] + result["others"],
                              "seconds": time.monotonic() - began}
            if finished:
                return total

    def campaign(self, fault, left, first):
        seconds, cases = self.options.seconds, self.options.cases
        budget = ["--cases", left] if cases else ["--time", f"{left}s"]
        known = self.left_out(first)
        with tempfile.TemporaryDirectory() as out:
            try:
                done = self.lenz_says(fault["id"], "fuzz", *budget, "--first", first, "--seed", self.options.seed, "--workers", 1,
                                      "--out", out, "--first-finding", "--json", *known, limit=(cases * 3 if cases else seconds) + PATIENCE)
            except subprocess.TimeoutExpired:
                return self.hung(fault, first, Path(out))
            try:
                report = json.loads(done.stdout)
            except json.JSONDecodeError:  # it did not even start
                return RESULT | {"killed": True, "by": f"start: exit code {done.returncode}"}
            result = RESULT | {"cases": report["cases"]}
            if fault["id"] and not report["cases"] and not report["findings"]:  # its time was up before one was seen to the end
                return self.hung(fault, first, Path(out))
            for number, prop, symptom, text in self.findings(Path(out)):
                case = Path(out) / "case.lenz"
                case.write_text(text)
                if self.fails_anyway(fault, number, case, out):
                    result["others"] += 1
                    continue
                result |= {"killed": True, "by": f"{prop} | {symptom}", "text": text}
                if fault.get("blame"):
                    result |= self.reduced(fault, prop, case)
                break
            # Who refuses what he should take fails no property: the command itself says that too many are left out.
            if done.returncode == NOT_COVERED and report["cases"]:
                result |= {"killed": True, "by": f"not covered | {report['not_covered']} of {report['cases']} cases"}
            return result

    def left_out(self, first):
        known = sorted(n for n in set(self.fail_anyway) if n >= first)
        return ["--leave-out", ",".join(map(str, known))] if known else []

    def fails_anyway(self, fault, number, case, out):
        """Whether the case fails with no fault awake: by its number it may be another one then, so by its text too."""
        if fault["id"] and not self.fails_alone(0, number, out + "/without"):
            return self.text_fails_without(case)
        self.fail_anyway.add(number)
        return True

    def hung(self, fault, first, out):
        """A campaign gave no answer: the fault's doing only if one of the cases that it had in hand fails alone, or gives none."""
        reached = self.reached(out, first)
        for number in range(reached, reached + BATCH):
            if self.fails_alone(fault["id"], number, out / "alone") and not self.fails_alone(0, number, out / "without"):
                return RESULT | {"killed": True, "by": "the whole campaign | no answer", "cases": number + 1 - first}
        return RESULT | {"cases": reached + BATCH - first, "paused": True}

    @staticmethod
    def reached(out, first):
        """The first case that is not seen to the end."""
        try:
            with sqlite3.connect(out / "store.sqlite") as store:
                return store.execute("SELECT MAX(first + cases) FROM batch").fetchone()[0] or first
        except sqlite3.Error:  # it had not begun
            return first

    @staticmethod
    def findings(out, most=FINDINGS):
        with sqlite3.connect(out / "store.sqlite") as store:
            return store.execute("SELECT number, property, symptom, text FROM finding ORDER BY number LIMIT ?", (most,)).fetchall()

    def text_fails_without(self, case):
        """Whether the case as it was drawn does: a fault in a rule changes what is drawn of it, and its number is another's."""
        try:
            return self.lenz_says(0, "fuzz", "--replay", case, limit=ALONE).returncode in (FAILED, WRONG)
        except subprocess.TimeoutExpired:
            return True

    def fails_alone(self, fault, number, out):
        """Whether the case with this number fails with this fault awake (0: none)."""
        try:
            done = self.lenz_says(fault, "fuzz", "--seed", self.options.seed, "--first", number, "--cases", 1, "--workers", 1,
                                  "--out", out, "--first-finding", "--json", limit=ALONE)
        except subprocess.TimeoutExpired:
            return True
        try:
            return bool(json.loads(done.stdout)["findings"])
        except json.JSONDecodeError:  # it died, and all that it did with it
            return True

    def reduced(self, fault, prop, case):
        """The size of the smallest case, the stage that it is blamed on, and whether that is right."""
        small = case.with_name("small.lenz")
        try:
            done = self.lenz_says(fault["id"], "reduce", case, "--out", small, "--time", f"{self.options.reduce_seconds}s",
                                  "--jobs", 1, limit=self.options.reduce_seconds * 3 + 120)
        except subprocess.TimeoutExpired:
            return {"stage": prop, "right": False, "reduced": None}
        key = re.search(r"^(?:done|out of time) after \d+ runs: (.*)$", done.stderr, re.M)
        stage = key[1].split(" | ")[1] if key else prop
        text = small.read_text() if small.exists() else ""
        return {"stage": stage, "right": any(fnmatch.fnmatchcase(stage, b) for b in fault["blame"]),
                "reduced": nodes(text) if text else None, "text": text}


def nodes(text):
    """How many nodes a printed graph has."""
    return sum(1 for line in text.splitlines() if line.startswith("  ") and not line.lstrip().startswith(("return", "#")))


def share(part, whole):
    return f"{part} of {whole} ({100 * part / max(whole, 1):.1f} %)"


def show(score, faults):
    scored = [(f, score[key(f)]) for f in faults if key(f) in score]
    asked = [(f, s) for f, s in scored if f["kind"] != "control"]
    killed = [(f, s) for f, s in asked if s["killed"]]
    print(share(len(killed), len(asked)) + " faults found", end="")
    print(f", median {statistics.median(s['seconds'] for _, s in killed):.1f} s" if killed else "")
    told = [(f, s) for f, s in asked if not f.get("untold")]
    if len(told) < len(asked):
        print(f"  {share(sum(s['killed'] for _, s in told), len(told))} of those that some result tells")
    by_property = {}
    for _, s in killed:
        by_property.setdefault(s["by"].split(" | ")[0], []).append(s)
    for name, all_of_it in sorted(by_property.items(), key=lambda item: -len(item[1])):
        print(f"  {len(all_of_it):4} by {name}")
    judged = [(f, s) for f, s in killed if s["right"] is not None]
    if judged:
        sizes = [s["reduced"] for _, s in judged if s["reduced"] is not None]
        print(f"the right stage blamed for {share(sum(s['right'] for _, s in judged), len(judged))}"
              + (f"; reduced to {statistics.median(sizes)} ops, median of {len(sizes)}" if sizes else ""))
        for f, s in judged:
            if not s["right"]:
                print(f"  blamed wrongly: {f['name']}: {s['stage']}, not {' or '.join(f['blame'])}")
    for f, s in asked:
        if not s["killed"]:
            besides = f", {s['others']} findings that no fault is needed for" if s["others"] else ""
            print(f"  not found in {s['cases']} cases: {place(f)}: {name_of(f)}: {f.get('untold') or wrong(f)}{besides}")
        elif f.get("untold"):
            print(f"  found, though no result was to tell: {name_of(f)}: {f['untold']}")
    controls = [(f, s) for f, s in scored if f["kind"] == "control"]
    if controls:
        found = [(f, s) for f, s in controls if s["killed"]]
        print(f"controls: {len(found)} of {len(controls)} found, in {sum(s['cases'] for _, s in controls)} cases")
        for f, s in found:
            print(f"  {f['name']}: {s['by']}")
    if len(scored) < len(faults):
        print(f"{len(faults) - len(scored)} are not scored yet")


def fine(score, faults, all_found):
    """No control may be found; every fault must be, if that is asked for."""
    for f in faults:
        s = score.get(key(f))
        if s and f["kind"] == "control" and s["killed"]:
            return False
        if all_found and f["kind"] != "control" and not (s and s["killed"] and s["right"] in (None, 1, True)):
            return False
    return True


def key(fault):
    """What a result holds for: the fault as it stands in the source."""
    return hashlib.sha256(json.dumps([fault.get("name"), plant.edits_of({**fault, "id": 0})]).encode()).hexdigest()[:16]


def name_of(fault):
    return fault.get("name", fault["kind"])


def place(fault):
    return f"{fault['file']}:{fault['line']}"


def wrong(fault):
    return fault.get("wrong") or " ".join(fault["snippet"].split())[:90]


def line(fault, result):
    what = f"{name_of(fault)} at {place(fault)}"
    if not result["killed"]:
        return f"{what}: NOT found in {result['cases']} cases, {result['seconds']:.1f} s"
    more = ""
    if result["right"] is not None:
        more = f"; {result['reduced']} ops, blamed on {result['stage']}: {'right' if result['right'] else 'WRONG'}"
    return f"{what}: after {result['cases']} cases, {result['seconds']:.1f} s by {result['by'][:90]}{more}"


class Scoreboard:
    """The run's rows in the store."""

    COLUMNS = ("killed", "by", "cases", "seconds", "others", "stage", "right", "reduced", "text")

    def __init__(self, store, run):
        self.store, self.run = sqlite3.connect(store, check_same_thread=False, timeout=60), run

    def read(self):
        rows = self.store.execute(f'SELECT key, {", ".join(self.quoted())} FROM fault WHERE run = ?', (self.run,))
        return {row[0]: dict(zip(self.COLUMNS, row[1:])) for row in rows}

    def write(self, fault, result):
        with self.store:
            self.store.execute(
                f'INSERT INTO fault (run, key, name, kind, place, wrong, {", ".join(self.quoted())}) '
                f'VALUES ({", ".join("?" * (6 + len(self.COLUMNS)))})',
                (self.run, key(fault), name_of(fault), fault["kind"], place(fault), wrong(fault),
                 *(result[c] for c in self.COLUMNS)))

    def quoted(self):
        return [f'"{c}"' for c in self.COLUMNS]


def chosen(options):
    if options.faults == "written":
        faults = written.faults()
        if options.only:
            names = options.only.split(",")
            unknown = set(names) - {f["name"] for f in faults}
            if unknown:
                print(f"error: there is no fault {', '.join(sorted(unknown))}\n  help: fuzz/mutants/written.toml names them",
                      file=sys.stderr)
                raise SystemExit(BAD_INPUT)
            faults = [f for f in faults if f["name"] in names]
        # Whatever is scored until the time is up is a sample of all; controls last.
        return sorted(faults, key=lambda f: (f["kind"] == "control", hashlib.sha256(f["name"].encode()).digest()))
    listed = options.folder / "faults.json"
    subprocess.run(["/usr/bin/python3", HERE / "mechanical.py", "--build", options.build, "--count", options.faults, "--out",
                    listed], check=True)
    return json.loads(listed.read_text())


def report(options, score, faults):
    rows = [{"name": name_of(f), "kind": f["kind"], "place": place(f), "wrong": wrong(f), "blame": f.get("blame", []),
             **score[key(f)]} for f in faults if key(f) in score]
    budget = {"cases": options.cases} if options.cases else {"seconds": options.seconds}
    return {"seed": options.seed, "each": budget, "faults": rows, "not_scored": len(faults) - len(rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--run", type=int, required=True)
    parser.add_argument("--faults", default="written", help="`written`, or how many made mechanically")
    parser.add_argument("--only", help="these of the written ones alone")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--reduce-seconds", type=int, default=20)
    parser.add_argument("--cases", type=int, default=0, help="so many for each fault, however long they take, instead of --seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--planted", action="store_true", help="the build in --folder has the faults already: made elsewhere, say")
    parser.add_argument("--by-results", action="store_true",
                        help="of those made mechanically: without the baseline of decisions, by what is wrong alone")
    parser.add_argument("--json", action="store_true", help="the scoreboard as JSON")
    parser.add_argument("--controls", action="store_true", help="the controls alone, for --cases of all of them together (10^6)")
    parser.add_argument("--limit", type=int, default=3000, help="of --controls: seconds, after which it ends whatever was asked")
    parser.add_argument("--all-found", action="store_true", help="fails unless every fault is found and blamed rightly")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    says = sys.stderr if options.json else sys.stdout
    if options.planted:  # those made mechanically are who is there: the compiler that finds their places need not be
        faults = json.loads((options.folder / "planted.json").read_text())
        if options.faults == "written":
            there = {key(f): f for f in faults}
            faults = [there[key(a)] for a in chosen(options) if key(a) in there]
        elif not options.controls:  # the written ones may be there, too
            faults = [f for f in faults if f["kind"] not in ("fault", "control")]
    else:
        asked = chosen(options)
        faults = plant.plant(asked, options.folder, options.build, options.jobs, says)
    if not options.planted and options.faults == "written" and len(faults) < len(asked):
        print(f"{len(asked) - len(faults)} written faults have no code any more: mend fuzz/mutants/written.toml; the compiler's words are "
              f"in {options.folder / 'build.log'}", file=sys.stderr)
        return FAILED
    runner = Runner(options.folder / "lenz", options)
    board = Scoreboard(options.store, options.run)
    if options.controls:
        return WRONG if controls.ask(runner, board, [f for f in faults if f["kind"] == "control"], says) else 0
    score = board.read()
    print("with no fault awake: running", file=says, flush=True)
    asleep = runner.score({"id": 0})
    if asleep["cases"] == 0:
        print("with no fault awake not one case runs", file=sys.stderr)
        return FAILED
    found = f"{asleep['others']} cases fail, which count for no fault and are left out" if asleep["others"] else "found nothing"
    print(f"no fault awake: {found}, in {asleep['cases']} cases", file=says, flush=True)
    lock, stopping = threading.Lock(), threading.Event()

    def one(fault):
        result = runner.score(fault)
        if stopping.is_set():  # Ctrl-C has ended its campaign too
            return
        with lock:
            score[key(fault)] = result
            board.write(fault, result)
            print(line(fault, result), file=says, flush=True)

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        list(pool.map(one, [f for f in faults if key(f) not in score]))
    except KeyboardInterrupt:
        stopping.set()
        print("Interrupted; go on with --resume.", file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
    if options.json:
        print(json.dumps(report(options, score, faults), indent=1))
    else:
        show(score, faults)
    return 0 if fine(score, faults, options.all_found) else WRONG


if __name__ == "__main__":
    sys.exit(main())
