#!/usr/bin/env python3
"""The page of the op table by values: every cell stands in it with what became of it; what is no report is refused."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def cell(**what):
    counts = ("calls", "passed", "weak", "wrong", "refused", "unbounded", "known", "died", "unlowered", "elements", "ambiguous", "strong")
    return {**{name: 0 for name in counts}, "layouts": [], **what}


def make_page(text):
    with tempfile.TemporaryDirectory() as folder:
        report, page = pathlib.Path(folder, "values.json"), pathlib.Path(folder, "values.html")
        report.write_text(text)
        done = subprocess.run([sys.executable, HERE / "values_table.py", report, page], capture_output=True, text=True)
        return done, page.read_text() if page.exists() else None


class ValuesTable(unittest.TestCase):
    def test_cells_say_what_became_of_them(self):
        rows = [{"name": "aten.sum", "cells": {"f32": cell(calls=3, passed=3), "f16": cell(calls=2, wrong=1, passed=1,
                                                                                         finding="a < b")}},
                {"name": "lenz.cond", "cells": {}, "note": "no generator"}]
        totals = {**cell(calls=5, passed=4, wrong=1), "cells": 2}
        done, page = make_page(json.dumps({"totals": totals, "rows": rows, "calls_per_cell": 3, "seed": 0}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("class=passed", page)
        self.assertIn("1 wrong", page)
        self.assertIn("a &lt; b", page)
        self.assertIn("no generator", page)

    def test_what_is_no_report_is_refused(self):
        for text in ("{", "[]", json.dumps({"rows": []})):
            done, page = make_page(text)
            self.assertEqual(done.returncode, 2)
            self.assertIn("help:", done.stderr)
            self.assertIsNone(page)


if __name__ == "__main__":
    unittest.main()
