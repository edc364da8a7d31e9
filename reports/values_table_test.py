#!/usr/bin/env python3
"""The page of the op table by values: every cell stands in it with what became of it; what is no report is refused."""
import json
import unittest

from page_checks import check_refusals, make_page


def cell(**what):
    counts = ("calls", "passed", "weak", "wrong", "refused", "unbounded", "known", "died", "unlowered", "elements", "ambiguous", "strong")
    return {**{name: 0 for name in counts}, "layouts": [], **what}


ROWS = [{"name": "aten.sum", "cells": {"f32": cell(calls=3, passed=3), "f16": cell(calls=2, wrong=1, passed=1,
                                                                                  finding="a < b")}},
        {"name": "lenz.cond", "cells": {}, "note": "no generator"}]
REPORT = json.dumps({"totals": {**cell(calls=5, passed=4, wrong=1), "cells": 2}, "rows": ROWS, "calls_per_cell": 3,
                     "seed": 0})


class ValuesTable(unittest.TestCase):
    def test_cells_say_what_became_of_them(self):
        done, page = make_page("values_table.py", REPORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("class=passed", page)
        self.assertIn("1 wrong", page)
        self.assertIn("a &lt; b", page)
        self.assertIn("no generator", page)

    def test_what_is_no_report_is_refused(self):
        check_refusals(self, "values_table.py", REPORT, json.dumps({"rows": []}))


if __name__ == "__main__":
    unittest.main()
