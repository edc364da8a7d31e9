"""The walk-throughs of compiler/README.md work as written: what they insert compiles, their commands run, and the new op
and the new pass do what the text says.

Works on a copy: the changed files are compiled with the flags of the release build, put into copies of its archives, and
linked as `lenz` is. Nothing of the build itself changes."""

import json
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
STEP = re.compile(
    r"<!-- (?P<what>insert into|file) (?P<path>\S+)(?: after: (?P<after>.*?))? -->\n```cpp\n(?P<code>.*?)^```$"
    r"|^```sh\n(?P<script>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def squeezed(line):
    return " ".join(line.split())


def insert(text, after, code):
    """The text with code behind the line that equals `after`, blanks apart; an error if that is not one line."""
    lines = text.splitlines(True)
    at = [i for i, line in enumerate(lines) if squeezed(line) == squeezed(after)]
    if len(at) != 1:
        raise ValueError(f"{len(at)} lines `{after}`")
    return "".join(lines[: at[0] + 1]) + code + "".join(lines[at[0] + 1 :])


def edited_files(readme):
    """Path -> new content."""
    files = {}
    for step in STEP.finditer(readme):
        path = step["path"]
        if step["what"] == "file":
            files[path] = step["code"]
        elif step["what"]:
            files[path] = insert(files.get(path) or (ROOT / path).read_text(), step["after"], step["code"])
    return files


def scripts(readme):
    return [step["script"] for step in STEP.finditer(readme) if step["script"]]


def check(arguments, **kwargs):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, **kwargs)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, arguments))[:2000]}\n{done.stdout}{done.stderr}")
    return done.stdout


class Copy:
    """A build of edited files beside the real one."""

    def __init__(self, folder, files):
        self.folder, self.archives = Path(folder), {}
        commands = {c["file"]: c for c in json.loads((BUILD / "compile_commands.json").read_text())}
        for path, text in files.items():
            self.compile(path, text, commands)

    def compile(self, path, text, commands):
        source = self.folder / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        beside = (
            c for f, c in sorted(commands.items()) if Path(f).parent == (ROOT / path).parent and "_test" not in f
        )
        like = commands.get(str(ROOT / path)) or next(beside)
        words = shlex.split(like["command"])
        source_at, object_at = words.index("-c") + 1, words.index("-o") + 1
        room = re.search(r"CMakeFiles/(lenz_\w+)\.dir/", words[object_at])[1]
        made = self.folder / (Path(path).name + ".o")
        words[source_at], words[object_at] = str(source), str(made)
        words = [w for w in words if w not in ("-MD",)]
        for flag in ("-MT", "-MF"):
            if flag in words:
                del words[words.index(flag) : words.index(flag) + 2]
        check(words, cwd=like["directory"])
        archive = self.archives.get(room)
        if not archive:
            archive = self.archives[room] = self.folder / f"lib{room}.a"
            shutil.copy(BUILD / f"lib{room}.a", archive)
        check(["ar", "r", archive, made])

    def link(self):
        line = check(["ninja", "-C", BUILD, "-t", "commands", "-s", "lenz"]).strip().splitlines()[-1]
        line = re.sub(r"-o \S+", f"-o {shlex.quote(str(self.folder / 'lenz'))}", line, count=1)
        for room, archive in self.archives.items():
            line = re.sub(rf"(?<![\w/.])(?:{re.escape(str(BUILD))}/)?lib{room}\.a", str(archive), line)
        check(["bash", "-c", line], cwd=BUILD)


class WalkThroughs(unittest.TestCase):
    readme = (ROOT / "compiler" / "README.md").read_text()

    def test_they_work_as_written(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Copy(folder, edited_files(self.readme))
            copy.link()
            told = [
                check(["bash", "-euo", "pipefail", "-c", f"PATH={shlex.quote(folder)}:$PATH\n{script}"])
                for script in scripts(self.readme)
            ]
        op, new_pass = told
        self.assertIn("lenz.squared", op)
        self.assertEqual(op.count("lenz.squared(%x)"), 1, op)
        self.assertIn("= mul.f32", op)  # its loops
        self.assertIn("metadata_operands", new_pass)
        self.assertIn("aten.zeros_like(%x)", new_pass)
        self.assertNotIn("aten.sin", new_pass)

    def test_an_op_is_one_row_and_a_pass_one_file_and_one_line(self):
        steps = [s for s in STEP.finditer(self.readme) if s["what"]]
        self.assertEqual([s["what"] for s in steps], ["insert into", "file", "insert into"])
        self.assertEqual(steps[0]["code"].count("t.row("), 1)
        self.assertEqual(len(steps[2]["code"].splitlines()), 1)

    def test_a_place_that_is_gone_is_noticed(self):
        with self.assertRaises(ValueError):
            insert("a\nb\n", "c", "code\n")
        with self.assertRaises(ValueError):
            insert("a\na\n", "a", "code\n")
        self.assertEqual(insert("a {\nb\n", "a   {", "code\n"), "a {\ncode\nb\n")


if __name__ == "__main__":
    unittest.main()
