"""What opinfo_classes.py makes of a report: it can fail, for each reason that it has.

usage: opinfo_classes_test.py
"""

import pathlib
import unittest

import opinfo_classes
from opinfo_classes import DISAGREE, FINE, MISSING, OUT_OF_DATE, judge, read_known

LIST = """
# a remark
missed | aten.a aten.b | rank:1, layout:gaps | they can't have it
unsaid | a tensor of complex32 | not a dtype
failed | entry_one entry_two | no kernel
"""


def row(name, gaps=(), disagreements=0):
    return {"name": name, "gaps": list(gaps), "disagreements": disagreements}


def report(table=None, unsaid=("a tensor of complex32",), failed=("entry_one", "entry_two")):
    gaps = ("layout:gaps", "rank:1")
    return {
        "table": [row("aten.a", gaps), row("aten.b", gaps), row("aten.c")] if table is None else table,
        "unsaid": [{"why": why, "op": "aten.a", "count": 2} for why in unsaid],
        "failed": [{"entry": entry, "why": "it says so", "count": 3} for entry in failed],
    }


class Judge(unittest.TestCase):
    def judge(self, of):
        return judge(of, read_known(LIST))

    def test_what_is_listed_passes(self):
        self.assertEqual(self.judge(report()), (FINE, []))

    def test_a_disagreement_fails_whatever_is_listed(self):
        table = report()["table"] + [row("aten.d", disagreements=4)]
        code, wrong = self.judge(report(table))
        self.assertEqual(code, DISAGREE)
        self.assertEqual(wrong, ["rule and libtorch disagree on 4 calls of aten.d"])

    def test_an_unlisted_gap_fails(self):
        table = report()["table"] + [row("aten.d", ["rank:1"])]  # listed of other rows
        code, wrong = self.judge(report(table))
        self.assertEqual(code, MISSING)
        self.assertIn("aten.d is of the class rank:1", wrong[0])

    def test_a_listed_gap_that_is_reached_fails(self):
        code, wrong = self.judge(report([row("aten.a", ["rank:1", "layout:gaps"]), row("aten.b", ["rank:1"])]))
        self.assertEqual(code, OUT_OF_DATE)
        self.assertEqual(wrong, ["the list says `missed` of aten.b layout:gaps, and that is so no more"])

    def test_calls_without_words_need_a_reason(self):
        code, wrong = self.judge(report(unsaid=("a tensor of complex32", "a tensor that is not strided")))
        self.assertEqual(code, MISSING)
        self.assertIn("2 calls could not be recorded: a tensor that is not strided", wrong[0])
        self.assertEqual(self.judge(report(unsaid=()))[0], OUT_OF_DATE)

    def test_failing_samples_need_a_reason(self):
        code, wrong = self.judge(report(failed=("entry_one", "entry_two", "entry_three")))
        self.assertEqual(code, MISSING)
        self.assertIn("3 samples of entry_three fail", wrong[0])
        self.assertEqual(self.judge(report(failed=("entry_one",)))[0], OUT_OF_DATE)

    def test_the_gravest_decides(self):
        code, wrong = self.judge(report([row("aten.d", ["rank:1"], 1)], unsaid=()))
        self.assertEqual(code, DISAGREE)
        self.assertEqual(len(wrong), 1 + 1 + 4 + 1)


class List(unittest.TestCase):
    def test_a_line_without_a_reason_is_refused(self):
        for line in ("missed | aten.a | rank:1", "missed | aten.a | rank:1 |", "unsaid | x", "failed | | y", "other | x | y"):
            with self.assertRaisesRegex(ValueError, "line 1"):
                read_known(line)

    def test_a_thing_stands_there_once(self):
        with self.assertRaisesRegex(ValueError, "line 2.*twice"):
            read_known("failed | a | x\nfailed | b a | y")

    def test_the_list_of_this_room_reads(self):
        text = (pathlib.Path(opinfo_classes.__file__).parent / "opinfo_known.txt").read_text(encoding="utf-8")
        self.assertTrue(all(reason for kind in read_known(text).values() for reason in kind.values()))


if __name__ == "__main__":
    unittest.main()
