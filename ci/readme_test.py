"""Every ```sh block of README.md runs as written, in order, from what looks like the root of the repository.

Commands of ./ci/ are only looked up: this test is a part of them. Needs the release build at build/."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CI_COMMAND = re.compile(r"(?<![\w/])\./(ci/\w+)")


def blocks(text):
    """(line number, script) of every block."""
    return [(text.count("\n", 0, match.start()) + 2, match.group(1)) for match in BLOCK.finditer(text)]


def linked_root(folder):
    """Fills a folder with links to the repository's own files, so that what a block writes goes elsewhere."""
    for entry in ROOT.iterdir():
        os.symlink(entry, Path(folder) / entry.name)
    return folder


def run_block(script, folder):
    """The completed process."""
    kept = "\n".join(line for line in script.splitlines() if not CI_COMMAND.match(line))
    command = ["bash", "-euo", "pipefail", "-c", kept]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=280)


class Readme(unittest.TestCase):
    def test_every_block_runs(self):
        found = blocks((ROOT / "README.md").read_text())
        self.assertTrue(found, "README.md shows no commands")
        with tempfile.TemporaryDirectory() as folder:
            linked_root(folder)
            for line, script in found:  # a later block may use what an earlier one wrote
                with self.subTest(f"README.md:{line}"):
                    done = run_block(script, folder)
                    self.assertEqual(done.returncode, 0, f"README.md:{line}\n{script}{done.stdout}{done.stderr}")

    def test_the_scripts_that_it_names_exist(self):
        names = set(CI_COMMAND.findall((ROOT / "README.md").read_text()))
        self.assertLessEqual({"ci/build", "ci/test"}, names)
        for name in names:
            self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_a_block_that_fails_is_noticed(self):
        text = "text\n\n```sh\n./ci/build\nbuild/lenz no-such-command\necho done\n```\n"
        [(line, script)] = blocks(text)
        self.assertEqual(line, 4)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run_block(script, linked_root(folder)).returncode, 2)


if __name__ == "__main__":
    unittest.main()
