#!/usr/bin/env python3
"""The page of the controls: figures of each criterion, what is held against ours, survivors; no report is refused."""
import json
import unittest

from page_checks import check_refusals, make_page

SCOPE = {"alarms": {"ours": 0, "NNSmith": 3, "running error": 0},
         "mutants": {"one bad element": {"made": 10, "killed": {"ours": 8, "NNSmith": 10, "running error": 9}},
                     "row unwritten": {"made": 4, "killed": {"ours": 4, "NNSmith": 4, "running error": 3}}}}
TALLY = {"graphs": 5, "runs": 5, "extremes": 10, "extreme_alarms": 0, "eager_alarms": 0, "elements": 100, "strong": 99,
         "ambiguous": 1, "weak": 0, "scopes": {"outputs": SCOPE},
         "survivors": {"one bad element": {"survivors": 2, "reached": 1, "attained": 0, "found": 0, "in_tensor": 0,
                                           "redrawn": 0, "beyond": 1, "factors": [0, 1], "median_factor": 1.2}},
         "tightness": [{"longest": 32, "tensors": 7, "median": 1.7}],
         "ops": {"aten.add": {"elements": 9, "open": 0, "strong": 9, "median": 0}}}

REPORT = json.dumps({"graphs": 5, "seed": 1, "seconds": 2.5, "jobs": 1, "dtypes": {"bf16": TALLY},
                     "unreached": [{"standing": "beyond", "dtype": "bf16", "mutant": "one bad element",
                                    "op": "aten.sum", "graph": "", "index": 4, "result": 0, "element": 7,
                                    "factor": "inf", "expected": 1.5, "got": "nan", "bound": 0.3, "reached": 0.2}]})


class ControlsTable(unittest.TestCase):
    def test_figures_stand_beside_each_other(self):
        done, page = make_page("controls_table.py", REPORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("<td class=less>80.0</td>", page)  # the running error raises no alarm, and sees more
        self.assertIn("<td class=ours>100.0</td>", page)
        self.assertIn("<td class=silent>90.0</td>", page)
        self.assertIn("<td>100.0</td>", page)  # NNSmith does raise alarms
        self.assertIn("<th>all</th><th>2</th><th>1</th><th>0</th><th>0</th><th>0</th><th>0</th><th>1</th>", page)
        self.assertIn("<td>0.2</td><td>inf</td>", page)

    def test_what_is_no_report_is_refused(self):
        check_refusals(self, "controls_table.py", REPORT, json.dumps({"dtypes": {}}))


if __name__ == "__main__":
    unittest.main()
