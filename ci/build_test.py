"""ci/build and ci/signoff: what they say to arguments that they don't have, and to a machine without tools."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "ci").mkdir()
        for name in ("build", "signoff"):
            shutil.copy2(ROOT / "ci" / name, self.root / "ci" / name)

    def run_script(self, name, *arguments, **env):
        command = [self.root / "ci" / name, *arguments]
        return subprocess.run(
            command, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def test_wrong_arguments_are_bad_input(self):
        for name, arguments, said in (
            ("build", ["fast"], "no preset or option 'fast'; there are release"),
            ("build", ["--target"], "--target needs a name"),
            ("build", ["-j"], "-j needs a number of jobs"),
            ("build", ["-j", "many"], "-j needs a number of jobs"),
            ("signoff", ["--quick", "--fast"], "no option '--fast'; there is --quick"),
        ):
            done = self.run_script(name, *arguments)
            self.assertEqual(done.returncode, 2, (name, arguments))
            self.assertIn(f"{name}: {said}", done.stderr)
            self.assertEqual(done.stdout, "")  # nothing was begun

    def test_help_begins_nothing(self):
        for name in ("build", "signoff"):
            done = self.run_script(name, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith(f"./ci/{name} ["), done.stdout)

    def test_a_machine_without_cmake_is_sent_to_setup(self):
        (self.root / "bin").mkdir()
        for name in ("bash", "dirname", "nproc", "env"):
            (self.root / "bin" / name).symlink_to(shutil.which(name))
        done = self.run_script("build", PATH=str(self.root / "bin"))
        self.assertEqual(done.returncode, 5)
        self.assertIn("no cmake; run ./ci/setup first", done.stderr)

    def test_what_cmake_refuses_is_shown(self):
        (self.root / "CMakePresets.json").write_text('{"version": 6, "configurePresets": [{"name": "release"}]}')
        done = self.run_script("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("CMake Error", done.stderr)


if __name__ == "__main__":
    unittest.main()
