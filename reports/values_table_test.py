#!/usr/bin/env python3
"""The page of the op table by values: every cell stands in it with what became of it; what is no report is refused."""
import json
import unittest

from page_checks import check_refusals, make_page


def cell(**what):
    counts = ("calls", "passed", "weak", "wrong", "refused", "unbounded", "known", "died", "unlowered", "elements", "ambiguous", "strong")
    return {**{name: 0 for name in counts}, "layouts": {}, "no_layouts": {}, **what}


ROWS = [{"name": "aten.sum", "cells": {"f32": cell(calls=3, passed=3, layouts={"gaps": {"calls": 2, "passed": 2}},
                                                      no_layouts={"channels_last": "neither 4 nor 5 dims"}), "f16": cell(calls=3, wrong=1, passed=1, refused=1,
                                                                                  finding="a < b")}},
        {"name": "lenz.cond", "cells": {}, "note": "no generator"}]
REPORT = json.dumps({"totals": {**cell(calls=6, passed=4, wrong=1, refused=1), "cells": 2,
                                 "cells_without_verdict": 0}, "rows": ROWS, "calls_per_cell": 3,
                     "seed": 0})


class ValuesTable(unittest.TestCase):
    def test_cells_say_what_became_of_them(self):
        done, page = make_page("values_table.py", REPORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("class=passed", page)
        self.assertIn("1 wrong", page)
        self.assertIn("a &lt; b", page)
        self.assertIn("no generator", page)

    def test_calls_are_the_sum_of_what_became_of_them(self):
        page = make_page("values_table.py", REPORT)[1]
        self.assertIn("6 calls: 4 passed, 1 refused by eager, 1 wrong.", page)
        self.assertIn("3 calls: 1 passed, 1 refused by eager, 1 wrong", page)

    def test_each_class_of_layouts_has_a_count_or_a_reason(self):
        page = make_page("values_table.py", REPORT)[1]
        self.assertIn("<th>gaps</th>", page)
        self.assertIn('class=passed>2</td>', page)
        self.assertIn("f32: neither 4 nor 5 dims", page)
        self.assertIn(">neither 4 nor 5 dims</td>", page)
        self.assertNotIn("<td></td>", page)

    def test_what_is_no_report_is_refused(self):
        check_refusals(self, "values_table.py", REPORT, json.dumps({"rows": []}))


if __name__ == "__main__":
    unittest.main()
