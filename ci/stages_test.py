"""The runner of sign-off and nightly: what fails is named, the gravest code wins, what did not run is not covered."""

import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import stages
from stages import Stage


class Run(unittest.TestCase):
    def run_stages(self, *them, not_covered=()):
        with tempfile.TemporaryDirectory() as folder:
            out = io.StringIO()
            code = stages.run("test", list(them), not_covered, os.environ, Path(folder), out)
            report = json.loads((Path(folder) / "report.json").read_text())
        self.assertEqual(report["code"], code)
        return code, out.getvalue().splitlines(), report

    def test_all_well(self):
        code, lines, _ = self.run_stages(Stage("one", ["true"], "a thing"), not_covered=["CUDA"])
        self.assertEqual(code, stages.FINE)
        self.assertEqual(lines[-1], "VERDICT: pass (test) - not covered: CUDA")

    def test_the_gravest_failure_is_the_verdict(self):
        code, lines, _ = self.run_stages(
            Stage("one", ["false"], "a", stages.WRONG), Stage("two", ["false"], "b", stages.OUR_FAULT), Stage("three", ["true"], "c")
        )
        self.assertEqual(code, stages.WRONG)
        self.assertTrue(lines[-1].startswith("VERDICT: FAIL in one, two (test)"), lines[-1])

    def test_a_command_may_speak_for_itself(self):
        self.assertEqual(self.run_stages(Stage("one", ["sh", "-c", "exit 6"], "a", on_failure=None))[0], stages.NOT_COVERED)
        self.assertEqual(self.run_stages(Stage("one", ["sh", "-c", "exit 99"], "a", on_failure=None))[0], stages.OUR_FAULT)
        self.assertEqual(self.run_stages(Stage("one", ["sh", "-c", "kill -9 $$"], "a", on_failure=None))[0], stages.OUR_FAULT)

    def test_a_missing_program_is_an_unfit_machine(self):
        self.assertEqual(self.run_stages(Stage("one", ["./no-such-program"], "a"))[0], stages.UNFIT)

    def test_a_hang_ends(self):
        code, lines, _ = self.run_stages(Stage("one", ["sleep", "60"], "a", stages.WRONG, timeout=1))
        self.assertEqual(code, stages.WRONG)
        self.assertIn("timed out", "\n".join(lines))

    def test_what_cannot_run_is_not_covered(self):
        code, lines, report = self.run_stages(Stage("one", ["false"], "a thing", unless=lambda: "no plugin"))
        self.assertEqual(code, stages.FINE)
        self.assertEqual(report["not_covered"], ["a thing (no plugin)"])
        self.assertIn("a thing (no plugin)", lines[-1])

    def test_nothing_runs_after_a_vital_failure(self):
        code, _, report = self.run_stages(Stage("build", ["false"], "a", vital=True), Stage("tests", ["true"], "b"))
        self.assertEqual(code, stages.OUR_FAULT)
        self.assertEqual(report["not_covered"], ["b (build failed)"])

    def test_the_log_of_a_failure_is_shown(self):
        _, lines, _ = self.run_stages(Stage("one", ["sh", "-c", "echo the reason; exit 1"], "a"))
        self.assertIn("    the reason", lines)


if __name__ == "__main__":
    unittest.main()
