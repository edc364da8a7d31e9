#!/usr/bin/env python3
"""What the scoreboard counts as found: no campaign that was merely paused."""

import argparse
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import controls
import score

# A fuzzer whose campaigns never end, or end with no case seen to the end; of its cases only the given one does not either.
FUZZER = """#!/bin/sh
case "$*" in
  *"--first {hangs} --cases 1 "*) if [ $LENZ_FAULT = 0 ]; then echo '{{"findings": 0}}'; else {alone}; fi ;;
  *"--cases 1 "*) echo '{{"cases": 1, "findings": 0}}' ;;
  *) {campaign} ;;
esac
"""
ENDLESS = "exec sleep 60"
NONE_SEEN_TO_THE_END = """echo '{"cases": 0, "findings": []}'"""


# One whose only finding fails by its text whether a fault is awake or not, and by its number only with one.
DRAWN_OTHERWISE = """#!/bin/sh
case "$*" in
  *--replay*) exit {code} ;;
  *"--cases 1 "*) echo '{{"cases": 1, "findings": 0}}' ;;
  *)
    while [ "$1" != --out ]; do shift; done
    python3 -c "import sqlite3, sys
store = sqlite3.connect(sys.argv[1] + '/store.sqlite')
store.execute('CREATE TABLE finding (number, property, symptom, text)')
store.execute('INSERT INTO finding VALUES (3, \\'structure\\', \\'strides\\', \\'a graph\\')')
store.commit()" "$2"
    echo '{{"cases": 4, "findings": 1}}' ;;
esac
"""


class DrawnOtherwise(unittest.TestCase):
    def scored(self, code):
        with tempfile.TemporaryDirectory() as folder:
            lenz = Path(folder) / "lenz"
            lenz.write_text(DRAWN_OTHERWISE.format(code=code))
            lenz.chmod(0o755)
            options = argparse.Namespace(faults="written", seconds=0, cases=4, seed=1, reduce_seconds=1)
            return score.Runner(str(lenz), options).score({"id": 1})

    def test_what_fails_without_the_fault_is_no_find(self):
        result = self.scored(code=7)
        self.assertFalse(result["killed"])
        self.assertEqual(result["others"], 1)

    def test_what_holds_or_cannot_be_read_without_it_is(self):
        self.assertTrue(self.scored(code=0)["killed"])
        self.assertTrue(self.scored(code=2)["killed"])


# One whose cases 3 and 5 fail unless they are left out: 3 whether a fault is awake or not, 5 with one alone.
TWO_FAIL = """#!/bin/sh
case "$*" in
  *--replay*) exit 0 ;;
  *"--first 3 --cases 1 "*) echo '{"findings": 1}'; exit ;;
  *"--cases 1 "*) echo '{"findings": 0}'; exit ;;
esac
echo "$LENZ_FAULT $*" >> $0.log
case "$*" in *"--leave-out 3"*) three= ;; *) three='3,' ;; esac
if [ $LENZ_FAULT = 0 ]; then five=; else five=5; fi
while [ "$1" != --out ]; do shift; done
python3 -c "import sqlite3, sys
store = sqlite3.connect(sys.argv[1] + '/store.sqlite')
store.execute('CREATE TABLE finding (number, property, symptom, text)')
for number in sys.argv[2].strip(',').split(','):
    if number: store.execute('INSERT INTO finding VALUES (?, \\'structure\\', \\'strides\\', \\'a graph\\')', (int(number),))
store.commit()" "$2" "$three$five"
echo '{"cases": 4, "findings": 1}'
"""


class FailAnyway(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        lenz = Path(folder.name) / "lenz"
        lenz.write_text(TWO_FAIL)
        lenz.chmod(0o755)
        self.log = Path(folder.name) / "lenz.log"
        options = argparse.Namespace(faults="written", seconds=0, cases=4, seed=1, reduce_seconds=1, jobs=1, limit=60)
        self.runner = score.Runner(str(lenz), options)

    def test_what_one_campaign_met_the_next_one_leaves_out(self):
        self.assertEqual(self.runner.score({"id": 0})["others"], 1)
        self.assertTrue(self.runner.score({"id": 7})["killed"])
        self.assertIn("--leave-out 3", self.log.read_text().splitlines()[-1])

    def test_controls_are_killed_by_what_holds_with_them_asleep(self):
        written = []
        board = argparse.Namespace(write=lambda control, result: written.append((control["name"], result)))
        said = io.StringIO()
        asked = [{"id": 0, "name": "legal", "live_in": "fused"}, {"id": 7, "name": "illegal", "live_in": "structure"}]
        self.assertEqual(controls.ask(self.runner, board, asked, said), 1)
        self.assertEqual([(name, r["killed"], r["cases"]) for name, r in written], [("legal", False, 4), ("illegal", True, 4)])
        self.assertIn("controls: 1 of 2 killed, in 8 cases", said.getvalue())
        for awake, alone in ("0 ", "fused"), ("7 ", "structure"):
            campaigns = [line for line in self.log.read_text().splitlines() if line.startswith(awake)]
            self.assertTrue(campaigns and all(f"--only {alone}" in line for line in campaigns), campaigns)

    def test_no_control_is_asked_when_the_time_is_up(self):
        self.runner.options.limit = 0
        board = argparse.Namespace(write=lambda *_: None)
        self.assertEqual(controls.ask(self.runner, board, [{"id": 7, "name": "illegal", "live_in": "fused"}], io.StringIO()), 0)
        self.assertFalse(self.log.exists())


class Hangs(unittest.TestCase):
    def scored(self, hangs, campaign=ENDLESS, alone=ENDLESS):
        with tempfile.TemporaryDirectory() as folder:
            lenz = Path(folder) / "lenz"
            lenz.write_text(FUZZER.format(hangs=hangs, campaign=campaign, alone=alone))
            lenz.chmod(0o755)
            options = argparse.Namespace(faults="written", seconds=2, cases=0, seed=1, reduce_seconds=1)
            with mock.patch.multiple(score, BATCH=3, ALONE=1, PATIENCE=-1):
                return score.Runner(str(lenz), options).score({"id": 1})

    def test_a_pause_is_no_find(self):
        result = self.scored(hangs=99)
        self.assertFalse(result["killed"])
        self.assertEqual(result["cases"], 3)

    def test_a_case_that_hangs_alone_is(self):
        result = self.scored(hangs=1)
        self.assertTrue(result["killed"])
        self.assertEqual(result["cases"], 2)

    def test_a_case_that_says_alone_that_it_hangs_is_too(self):
        self.assertTrue(self.scored(hangs=1, alone="""echo '{"findings": 1}'""")["killed"])

    def test_a_campaign_that_ends_behind_such_a_case_is_looked_into(self):
        self.assertTrue(self.scored(hangs=1, campaign=NONE_SEEN_TO_THE_END)["killed"])
        self.assertFalse(self.scored(hangs=10**9, campaign=NONE_SEEN_TO_THE_END)["killed"])


class Shown(unittest.TestCase):
    def shown(self, *killed):
        faults = [{"id": i, "name": n, "kind": "fault", "file": "f.cpp", "line": 1, "snippet": n, "wrong": "all", "blame": [],
                   "edits": [{"file": "f.cpp", "start": i, "end": i, "line": 1, "snippet": n, "replacement": ""}]}
                  for i, n in enumerate(["told", "missed", "alike"])]
        faults[2]["untold"] = "equivalent"
        results = {score.key(f): {"killed": f["name"] in killed, "seconds": 1, "cases": 1, "others": 0, "by": "fused | bitwise",
                                  "right": None, "stage": None, "reduced": None} for f in faults}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            score.show(results, faults)
        return out.getvalue()

    def test_what_nothing_tells_is_asked_and_does_not_count_among_those_to_find(self):
        shown = self.shown("told")
        self.assertIn("1 of 3 (33.3 %) faults found", shown)
        self.assertIn("1 of 2 (50.0 %) of those that some result tells", shown)
        self.assertIn("alike: equivalent", shown)
        self.assertNotIn("no result was to tell", shown)

    def test_found_all_the_same_it_is_said_to_be(self):
        self.assertIn("found, though no result was to tell: alike", self.shown("told", "alike"))


if __name__ == "__main__":
    unittest.main()
