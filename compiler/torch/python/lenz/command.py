"""The executable `lenz`: where it is, which ops have rows, and its judgement of a text."""

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import torch

from .errors import ExportError


@functools.cache
def command():
    """$LENZ, the build of the repository that this package lies in, or `lenz` on the PATH."""
    if os.environ.get("LENZ"):
        return os.environ["LENZ"]
    for folder in Path(__file__).resolve().parents:
        if (folder / "build" / "lenz").is_file() and (folder / "compiler" / "graph").is_dir():
            return str(folder / "build" / "lenz")
    found = shutil.which("lenz")
    if found is None:
        raise ExportError("no executable `lenz`", remedy="build it (./ci/build), or name it in the variable LENZ")
    return found


def run(*arguments, text="", cwd=None):
    return subprocess.run([command(), *map(str, arguments)], input=text, capture_output=True, text=True, check=False, cwd=cwd)


@functools.cache
def rows():
    """Full names of the ops that have a row ("aten.add.Tensor", "aten.mul.default"), and what each writes to though its
    schema does not say so ("running_mean running_var if training")."""
    done = run("ops", "--json")
    if done.returncode:
        raise ExportError(f"`{command()} ops --json` fails: {done.stderr.strip()}")
    return {f"{row['packet']}.{row['overload'] or 'default'}": row["writes"] for row in json.loads(done.stdout)}


class Refused(Exception):
    """A text that `lenz` does not accept; `line` counts from 1."""

    def __init__(self, message, line):
        super().__init__(message)
        self.line = line


def canonical(text, folder):
    """The text in canonical spelling, verified. Files of constants are looked for in the `folder`."""
    for arguments in (["fmt", "-"], ["verify", "-"]):
        done = run(*arguments, text=text, cwd=folder)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").removeprefix("error: ")
            match = re.search(r":(\d+):\d+", said)
            raise Refused(said, int(match[1]) if match else 0)
        if arguments[0] == "fmt":
            text = done.stdout
    return text


def takes_number(schema, position):
    """Whether an overload of the op that has a row has a number where this one has a tensor."""
    space, packet = schema.name.split("::")
    ops = getattr(getattr(torch.ops, space), packet)
    others = (getattr(ops, name)._schema.arguments for name in ops.overloads() if f"{space}.{packet}.{name}" in rows())
    return any(position < len(p) and isinstance(p[position].type, torch._C.NumberType) for p in others)
