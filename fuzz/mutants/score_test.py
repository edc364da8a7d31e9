#!/usr/bin/env python3
"""What the scoreboard counts as found: no campaign that was merely paused."""

import argparse
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import score

# A fuzzer whose campaigns never end, and of whose cases only the given one does not either.
FUZZER = """#!/bin/sh
case "$*" in
  *"--first {hangs} --cases 1"*) exec sleep 60 ;;
  *"--cases 1 "*) echo '{{"cases": 1, "findings": 0}}' ;;
  *) exec sleep 60 ;;
esac
"""


class Hangs(unittest.TestCase):
    def scored(self, hangs):
        with tempfile.TemporaryDirectory() as folder:
            lenz = Path(folder) / "lenz"
            lenz.write_text(FUZZER.format(hangs=hangs))
            lenz.chmod(0o755)
            options = argparse.Namespace(seconds=2, cases=0, seed=1, reduce_seconds=1)
            with mock.patch.multiple(score, BATCH=3, ALONE=1, PATIENCE=-5):
                return score.Runner(str(lenz), options).score({"id": 1})

    def test_a_pause_is_no_find(self):
        result = self.scored(hangs=99)
        self.assertFalse(result["killed"])
        self.assertEqual(result["cases"], 3)

    def test_a_case_that_hangs_alone_is(self):
        result = self.scored(hangs=1)
        self.assertTrue(result["killed"])
        self.assertEqual(result["cases"], 2)


if __name__ == "__main__":
    unittest.main()
