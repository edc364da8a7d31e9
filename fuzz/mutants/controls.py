"""Legal changes of the compiler, asked for many cases: nothing that fails with one awake may hold with it asleep.

Each is asked of the cheapest property in which it changes anything (`live_in` of written.toml), with which a second has most cases.
The cases are dealt out in pieces, to every control in turn, so that whenever the time is up all were asked alike."""

import concurrent.futures
import json
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ALL = 1_000_000  # cases, of all controls together
PIECE = 1024  # cases of one campaign: a minute or so
LAST = 20  # seconds before the time is up, from which on no campaign begins
PATIENCE = 300  # seconds for a campaign's last batch
SAYS_EVERY = 60  # seconds


class Asked:
    """What one control has shown so far."""

    def __init__(self, control):
        self.control, self.cases, self.others, self.unanswered, self.kills, self.seconds = control, 0, 0, 0, [], 0.0


class Asking:
    def __init__(self, runner, controls):
        self.runner, self.all = runner, [Asked(c) for c in controls]
        self.ends = time.monotonic() + runner.options.limit
        self.lock = threading.Lock()

    def piece(self, asked, first, cases):
        begin = time.monotonic()
        left = int(self.ends - begin)
        if left < LAST:
            return
        with tempfile.TemporaryDirectory() as out:
            try:
                done = self.runner.lenz_says(
                    asked.control["id"], "fuzz", "--cases", cases, "--time", f"{left}s", "--first", first, "--seed",
                    self.runner.options.seed, "--workers", 1, "--out", out, "--reductions", 0, "--json",
                    "--only", asked.control["live_in"], *self.runner.left_out(first), limit=left + PATIENCE)
                report = json.loads(done.stdout)
            except (subprocess.TimeoutExpired, json.JSONDecodeError):
                with self.lock:
                    asked.unanswered += 1
                return
            others, kills = 0, []
            for number, prop, symptom, text in self.runner.findings(Path(out), most=-1):
                case = Path(out) / "case.lenz"
                case.write_text(text)
                if self.runner.fails_anyway(asked.control, number, case, out):
                    others += 1
                else:
                    kills.append({"number": number, "by": f"{prop} | {symptom}", "text": text})
        with self.lock:
            asked.cases += report["cases"]
            asked.others += others
            asked.kills += kills
            asked.seconds += time.monotonic() - begin

    def words(self):
        with self.lock:
            return (f"{sum(a.cases for a in self.all)} cases of {len(self.all)} controls; {sum(len(a.kills) for a in self.all)} kills, "
                    f"{sum(a.others for a in self.all)} cases that fail anyway")


def ask(runner, board, controls, says):
    """Asks them until the cases are done or the time is up; how many were killed."""
    asking = Asking(runner, controls)
    each = -(-(runner.options.cases or ALL) // max(len(controls), 1))
    begin = time.monotonic()
    pool = concurrent.futures.ThreadPoolExecutor(runner.options.jobs)
    pieces = [pool.submit(asking.piece, asked, first, min(PIECE, each - first))
              for first in range(0, each, PIECE) for asked in asking.all]
    try:
        waiting = set(pieces)
        while waiting:
            _, waiting = concurrent.futures.wait(waiting, timeout=SAYS_EVERY)
            print(f"{time.monotonic() - begin:.0f} s: {asking.words()}", file=says, flush=True)
        for one in pieces:
            one.result()
    finally:
        pool.shutdown(cancel_futures=True)
    for a in asking.all:
        result = {"killed": bool(a.kills), "by": a.kills[0]["by"] if a.kills else None, "cases": a.cases, "seconds": a.seconds,
                  "others": a.others, "stage": None, "right": None, "reduced": None, "text": a.kills[0]["text"] if a.kills else None}
        board.write(a.control, result)
        unanswered = f", {a.unanswered} campaigns without an answer" if a.unanswered else ""
        outcome = "KILLED" if a.kills else "survives"
        print(f"{a.control['name']}: {outcome} {a.cases} cases of {a.control['live_in']}, {a.others} fail anyway{unanswered}", file=says)
        for kill in a.kills:
            print(f"  case {kill['number']} of seed {runner.options.seed}: {kill['by']}", file=says)
    killed = sum(1 for a in asking.all if a.kills)
    print(f"controls: {killed} of {len(controls)} killed, in {sum(a.cases for a in asking.all)} cases", file=says, flush=True)
    return killed
