#!/usr/bin/env python3
"""The page of seeded faults: what it says of each, and what it refuses."""
import json
import unittest

from page_checks import check_refusals, make_page


def fault(name, **more):
    return {"name": name, "kind": "fault", "place": "a.cpp:3", "wrong": "a < b", "blame": ["lowering"], "killed": 1,
            "by": "loops_interpreted | bound", "cases": 32, "seconds": 2.5, "others": 0, "stage": "lowering", "right": 1,
            "reduced": 2, "text": "graph @g()"} | more


REPORT = {"seed": 1, "each": {"seconds": 60}, "not_scored": 1, "faults": [
    fault("found"), fault("elsewhere", right=0, stage="dead_code"),
    fault("missed", killed=0, by=None, stage=None, right=None, reduced=None, text=None),
    fault("legal", kind="control", killed=0, by=None, stage=None, right=None, reduced=None, text=None)]}


class Page(unittest.TestCase):
    def test_says_what_became_of_each(self):
        done, page = make_page("faults_table.py", json.dumps(REPORT))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 3 (66.7 %) faults found within 60 seconds each", page)
        self.assertIn("the right stage blamed for 1 of 2 (50.0 %)", page)
        self.assertIn("of 1 legal changes 0 were called faults, in 32 cases", page)
        self.assertIn("a &lt; b", page)
        rows = {name: line for line in page.splitlines() for name in ("missed", "elsewhere", "legal", "found")
                if f"<td>{name}</td>" in line}
        self.assertIn("<tr class=missed>", rows["missed"])
        self.assertIn("<tr class=blamed>", rows["elsewhere"])
        self.assertTrue(rows["legal"].startswith("<tr><td>"))
        self.assertIn("graph @g()", rows["found"])

    def test_a_control_that_is_found_is_a_miss(self):
        page = make_page("faults_table.py", json.dumps(REPORT | {"faults": [fault("legal", kind="control")]}))[1]
        self.assertIn("<tr class=missed><td>legal</td>", page)

    def test_refusals(self):
        check_refusals(self, "faults_table.py", json.dumps(REPORT), json.dumps({"faults": [{}]}))


if __name__ == "__main__":
    unittest.main()
