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

    def test_cases_may_be_left_out(self):
        done = json.loads(lenz(*self.campaign("--leave-out", "1,40", "--json")).stdout)
        run = done["held"] + done["refused"] + done["not_covered"] + done["found"]
        self.assertEqual((done["cases"], run), (CASES, CASES - 2))

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

    def test_a_store_of_a_newer_lenz_is_left_alone(self):
        self.assertEqual(lenz("--only", "text_round_trip", "--cases", "4", "--out", str(self.out)).returncode, 0)
        with sqlite3.connect(self.out / "store.sqlite") as store:
            store.execute("PRAGMA user_version=99")
        done = lenz(*self.campaign())
        self.assertEqual(done.returncode, 2)
        self.assertIn("newer Lenz", done.stderr)

    def test_a_full_disk_loses_nothing(self):
        self.out.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(self.out)], capture_output=True, check=False)
        if mounted.returncode:
            self.skipTest("may not mount a small disk")
        try:
            begin = ["--only", "text_round_trip", "--seed", "9", "--workers", "1", "--out", str(self.out)]
            full = lenz(*begin, "--cases", "100000")
            self.assertEqual(full.returncode, 2, full.stderr)
            self.assertIn("make room on its disk", full.stderr)
            subprocess.run(["mount", "-o", "remount,size=8m", str(self.out)], check=True)
            stored = sum(cases for _, cases in self.batches())
            more = lenz(*begin, "--cases", str(stored + 64), "--resume", "--json")
            self.assertEqual(more.returncode, 0, more.stderr)
            self.assertEqual(json.loads(more.stdout)["cases"], stored + 64)
            self.assertEqual(sum(cases for _, cases in self.batches()), stored + 64)
        finally:
            subprocess.run(["umount", "--lazy", str(self.out)], check=True)  # sqlite3 closes when it likes

    def test_a_broken_corpus_file_is_named(self):
        for text, words in [("graph @g(%x: f32[4]) {\n  %y = aten.sin(%x", "broken.lenz:2"),
                            ("# fuzz: values=odd\ngraph @g() {\n  return\n}\n", "no mode of values"), ("\0\xff", "broken.lenz")]:
            file = self.out.with_name("broken.lenz")
            file.write_text(text, encoding="latin-1")
            for command in ([LENZ, "fuzz", "--replay", str(file)], [LENZ, "reduce", str(file)]):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)

    def test_what_is_known_is_no_news_and_what_comes_back_is(self):
        begin = ["--only", "text_round_trip", "--seed", "9", "--cases", "8", "--workers", "1", "--out", str(self.out)]
        self.assertEqual(lenz(*begin).returncode, 0)
        # As if a case had failed, and been filed.
        with sqlite3.connect(self.out / "store.sqlite") as store:
            store.execute("INSERT INTO signature (name, state, text, detail) VALUES "
                          "('text_round_trip | text_round_trip | refused | sin', 'open', ?, '')",
                          ("graph @g(%x: f32[4]) {\n  %y = aten.sin(%x)\n  return %y\n}\n",))
            store.execute("INSERT INTO finding (run, number, property, symptom, detail, text, signature) "
                          "VALUES (1, 0, 'text_round_trip', 'refused', '', '', 1)")
        self.assertIn("FOUND text_round_trip", lenz(*begin, "--resume").stdout)

        def met_in_another_run():
            self.assertEqual(lenz(*begin).returncode, 0)
            with sqlite3.connect(self.out / "store.sqlite") as store:
                run = store.execute("SELECT max(id) FROM run").fetchone()[0]
                store.execute("INSERT INTO finding (run, number, property, symptom, detail, text, signature) "
                              "VALUES (?, 0, 'text_round_trip', 'refused', '', '', 1)", (run,))
                store.execute("UPDATE signature SET returned = ?, state = 'open' WHERE state = 'fixed'", (run,))
            return lenz(*begin, "--resume").stdout

        self.assertIn("known, and open still: text_round_trip", met_in_another_run())
        again = lenz("--recheck", "--out", str(self.out))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("fixed: text_round_trip", again.stdout)
        self.assertIn("BACK after it was fixed: text_round_trip", met_in_another_run())

    def test_all_small_graphs_are_run_and_resumed(self):
        begin = ["--exhaustive", "--ops", "sin,add.Tensor", "--deviations", "1", "--only", "text_round_trip,structure",
                 "--workers", "1", "--out", str(self.out), "--json"]
        some = lenz(*begin, "--cases", "40")
        self.assertEqual(json.loads(some.stdout)["cases"], 40, some.stderr)
        all_of_them = int(some.stderr.split()[0])
        self.assertGreater(all_of_them, 40)
        self.assertEqual(json.loads(lenz(*begin, "--resume").stdout)["cases"], all_of_them)
        self.assertEqual(lenz(*begin, "--resume", "--breadth", "3").returncode, 2)  # those are others
        self.assertEqual(lenz("--exhaustive", "--out", str(self.out)).returncode, 2)

    def test_patterns_are_counted(self):
        patterns = str(Path(__file__).parent.parent / "corpus/regressions/upstream.patterns")
        done = lenz("--patterns", patterns, "--cases", "500", "--seed", "1", "--json")
        counted = {p["pattern"]: p for p in json.loads(done.stdout)["patterns"]}
        self.assertEqual(len(counted), 49)
        self.assertGreater(counted["183575"]["cases"], 0)
        self.assertLess(counted["183575"]["low"], counted["183575"]["cases"] / 500)
        bad = lenz("--patterns", __file__)
        self.assertEqual(bad.returncode, 2, bad.stderr)

    def test_a_broken_store_is_left_alone(self):
        self.out.mkdir()
        (self.out / "store.sqlite").write_text("not a database, but a text that is long enough " * 20)
        done = lenz(*self.campaign())
        self.assertEqual(done.returncode, 2)
        self.assertIn("store.sqlite", done.stderr)
        self.assertTrue((self.out / "store.sqlite").read_text().startswith("not a database"))


if __name__ == "__main__":
    unittest.main()
