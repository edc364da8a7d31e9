"""The executable from the outside: help, exit codes, the plugin's absence, the time from start to exit.

usage: lenz_test.py PATH/TO/lenz [--sanitized]"""

import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LENZ = Path(sys.argv.pop(1)).resolve()
SANITIZED = "--sanitized" in sys.argv and not sys.argv.remove("--sanitized")
PLUGIN = LENZ.parent / "liblenz_torch.so"


def run(*arguments, lenz=LENZ, **options):
    return subprocess.run([lenz, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)


class Lenz(unittest.TestCase):
    def test_help(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("commands:", done.stdout)
        self.assertIn("\n  ops ", done.stdout)

    def test_every_command_has_help(self):
        listed = run("--help").stdout.split("commands:\n")[1].split("\n\n")[0]
        for line in listed.splitlines():
            done = run(line.split()[0], "--help")
            if not PLUGIN.exists() and "no plugin" in done.stderr:  # a command of the plugin; it says where that is from
                self.assertEqual(done.returncode, 6, line + done.stderr)
                continue
            self.assertEqual(done.returncode, 0, line + done.stderr)
            self.assertTrue(done.stdout, line)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^lenz \d+\.\d+\.\d+\n$")

    def test_no_command_is_bad_usage(self):
        done = run()
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)

    def test_a_slip_gets_a_suggestion(self):
        done = run("opss")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'ops'?", done.stderr)

    def test_an_unknown_command_points_to_help(self):
        done = run("frobnicate")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--help", done.stderr)

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([LENZ, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
            # More than a buffer: what fails is a write long before the last one.
            long = subprocess.run([LENZ, "ops", "--json"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 5)
        self.assertEqual(long.returncode, 5, long.stderr)
        self.assertIn(b"can't write", long.stderr)

    @unittest.skipIf(SANITIZED, "sanitizers take their time")
    def test_starts_at_once(self):
        def once(*arguments):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.assertEqual(run(*arguments).returncode, 0)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        seed = Path(__file__).resolve().parent.parent / "corpus/seeds/mlp.lenz"
        for command in (["--version"], ["fmt", seed], ["verify", seed]):
            with self.subTest(command[0]):
                # The processor's time, the least of many: what the machine does besides is not the executable's fault,
                # and it waits for nothing.
                self.assertLess(min(once(*command) for _ in range(30)), 0.015)


class Plugin(unittest.TestCase):
    """`lenz ops --check` beside no plugin, and beside one of another build."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lenz = self.folder / "lenz"
        shutil.copy2(LENZ, self.lenz)

    def check(self):
        return run("ops", "--check", "--calls", "1", lenz=self.lenz)

    def test_missing(self):
        done = self.check()
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("no plugin", done.stderr)
        self.assertIn("./ci/build", done.stderr)

    def test_not_a_library(self):
        (self.folder / PLUGIN.name).write_bytes(b"not a library")
        done = self.check()
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("can't load", done.stderr)

    @unittest.skipUnless(PLUGIN.exists(), "built without libtorch")
    def test_of_another_build(self):
        binary = PLUGIN.read_bytes()
        version = run("--version").stdout.split()[1].encode()
        at = binary.find(version + b"-")
        self.assertGreater(at, 0)
        changed = binary[: at + len(version) + 1] + b"0000000000000000" + binary[at + len(version) + 17 :]
        (self.folder / PLUGIN.name).write_bytes(changed)
        done = self.check()
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("belongs to another build", done.stderr)


if __name__ == "__main__":
    unittest.main()
