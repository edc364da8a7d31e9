#!/usr/bin/env python3
"""fuzz_command_test.py LENZ: campaigns from the outside: killed and resumed, interrupted, asked for nonsense."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LENZ = sys.argv.pop(1)
KILLS = int(os.environ.get("LENZ_FUZZ_KILLS", "12"))  # nightly: more
CASES = 54 * KILLS


def lenz(*arguments, **options):
    return subprocess.run([LENZ, "fuzz", *arguments], capture_output=True, text=True, check=False, **options)


class Campaigns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "out"

    def campaign(self, *more):
        return ["--only", "text_round_trip,structure", "--cases", str(CASES), "--seed", "9", "--workers", "2",
                "--out", str(self.out), *more]

    def batches(self):
        with sqlite3.connect(self.out / "store.sqlite") as store:
            return store.execute("SELECT first, cases FROM batch ORDER BY first").fetchall()

    def has_done_something(self):
        try:
            return (self.out / "store.sqlite").exists() and bool(self.batches())
        except sqlite3.Error:  # no store yet, or no tables in it
            return False

    def test_a_killed_campaign_loses_nothing_and_does_nothing_twice(self):
        draw = random.Random(1)
        killed = 0
        begun = lenz(*self.campaign()[:2], "--cases", "32", "--seed", "9", "--out", str(self.out))
        self.assertEqual(begun.returncode, 0, begun.stderr)
        for _ in range(KILLS):
            running = subprocess.Popen([LENZ, "fuzz", *self.campaign("--resume")], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                running.wait(draw.uniform(0.05, 0.8))
            except subprocess.TimeoutExpired:
                # Now and then its workers live on for a while.
                if draw.random() < 0.5:
                    os.killpg(running.pid, signal.SIGKILL)
                else:
                    running.kill()
                running.wait()
                killed += 1
        done = lenz(*self.campaign("--resume", "--json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["cases"], CASES)
        batches = self.batches()
        self.assertEqual(sum(cases for _, cases in batches), CASES)
        self.assertEqual([first for first, _ in batches], sorted({first for first, _ in batches}))
        self.assertGreater(killed, 0)
        with sqlite3.connect(self.out / "store.sqlite") as store:
            self.assertEqual(store.execute("PRAGMA integrity_check").fetchone()[0], "ok")

    def findings(self):
        with sqlite3.connect(self.out / "store.sqlite") as store:
            return store.execute("SELECT number, property, symptom FROM finding ORDER BY number").fetchall()

    def test_killed_workers_change_nothing(self):
        draw = random.Random(2)
        cases = 10 * KILLS
        campaign = ["--cases", str(cases), "--seed", "9", "--workers", "2", "--json", "--out", str(self.out)]
        running = subprocess.Popen([LENZ, "fuzz", *campaign], stdout=subprocess.PIPE, text=True)
        killed = 0
        while running.poll() is None and killed < KILLS:
            time.sleep(draw.uniform(0.1, 0.6))
            children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
            try:
                workers = children.read_text().split()
                if workers:
                    os.kill(int(draw.choice(workers)), signal.SIGKILL)
                    killed += 1
            except (FileNotFoundError, ProcessLookupError):  # it has ended by itself
                pass
        said, _ = running.communicate(timeout=1200)
        summary = json.loads(said)
        # One that has nothing to do, nobody misses.
        self.assertTrue(0 < summary["killed"] <= killed, said)
        self.assertEqual((summary["cases"], sum(done for _, done in self.batches())), (cases, cases))
        found = self.findings()
        self.out = self.out.with_name("left_alone")
        campaign[-1] = str(self.out)
        lenz(*campaign)
        self.assertEqual(found, self.findings())

    def test_ctrl_c_ends_it_cleanly(self):
        running = subprocess.Popen([LENZ, "fuzz", "--only", "text_round_trip", "--seed", "9", "--time", "60s", "--out", str(self.out)],
                                   stdout=subprocess.PIPE, text=True)
        for _ in range(300):  # until something is done: a busy machine takes its time
            if self.has_done_something():
                break
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 0)
        self.assertIn("--resume", said)

    def test_resuming_asks_for_the_same_campaign(self):
        self.assertEqual(lenz(*self.campaign()).returncode, 0)
        other = lenz("--resume", "--only", "structure", "--cases", "5", "--out", str(self.out))
        self.assertEqual(other.returncode, 2)
        self.assertIn("other options", other.stderr)
        nothing = lenz("--resume", "--cases", "5", "--out", str(self.out) + "_other")
        self.assertEqual(nothing.returncode, 2)
        self.assertIn("no run to resume", nothing.stderr)

    def test_one_seed_is_one_campaign(self):
        text = [lenz("--print", "5", "--seed", "4").stdout for _ in range(2)]
        self.assertEqual(text[0], text[1])
        self.assertEqual(text[0].count("graph @fuzzed"), 5)

    def test_another_compiler_is_held_to_the_same(self):
        # What eager raises at, it need not; what it takes, it has to give.
        file = self.out.with_suffix(".lenz")
        file.write_text("graph @g(%x: bf16[3, 5] mut init normal(0, 1)) {\n  %y = aten.add_(%x, 1.5)\n"
                        "  %s = aten.sum(%y, [1])\n  %r = aten.relu(%s)\n  return %s, %r\n}\n")
        held = lenz("--subject", "inductor", "--replay", str(file))
        self.assertEqual(held.returncode, 0, held.stdout + held.stderr)
        self.assertIn("every property holds", held.stdout)
        # One that computes something else, or raises, is found out.
        for body, symptom in [("return [r + 1 for r in f(*given)]", "bound"),
                              ("raise ZeroDivisionError('no')", "raises ZeroDivisionError")]:
            spoilt = Path(str(self.out) + "_site")
            spoilt.mkdir(exist_ok=True)
            (spoilt / "sitecustomize.py").write_text(
                "import torch\n\ndef compile(f, **_):\n    def wrong(*given):\n"
                "        if f.__name__ == '<lambda>': return f(*given)\n"
                f"        {body}\n    return wrong\n\ntorch.compile = compile\n")
            found = lenz("--subject", "inductor", "--replay", str(file), env={**os.environ, "PYTHONPATH": str(spoilt)})
            self.assertEqual(found.returncode, 7, found.stdout + found.stderr)
            self.assertIn(f"inductor | torch.compile | {symptom}", found.stdout)
        both = lenz("--subject", "inductor", "--only", "structure", "--replay", str(file))
        self.assertEqual(both.returncode, 2, both.stdout)

    def test_bad_arguments(self):
        for arguments, words in [(["--time", "soon"], "no length of time"), (["--only", "nothing"], "there is no property"),
                                 (["--seed", "-1"], "--seed"), (["--replay", "no.lenz"], "no.lenz"),
                                 (["--cases", "5", "--out", "/proc/no"], "/proc/no")]:
            done = lenz(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)

    def test_a_broken_store_is_left_alone(self):
        self.out.mkdir()
        (self.out / "store.sqlite").write_text("not a database, but a text that is long enough " * 20)
        done = lenz(*self.campaign())
        self.assertEqual(done.returncode, 2)
        self.assertIn("store.sqlite", done.stderr)
        self.assertTrue((self.out / "store.sqlite").read_text().startswith("not a database"))


if __name__ == "__main__":
    unittest.main()
