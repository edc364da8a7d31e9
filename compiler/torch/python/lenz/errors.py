"""Errors that say what, where in the user's source, and what to do; and where in the source a node came from."""

import dataclasses
import inspect
import linecache
import os
import re
import sysconfig
import traceback

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OURS = os.path.dirname(__file__) + os.sep
_PACKAGES = sysconfig.get_path("purelib") + os.sep
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.*)\n(?:    (?P<code>.*))?', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Source:
    """A line of the user's program."""

    file: str
    line: int
    function: str
    code: str

    def __str__(self):
        return f"{self.file}:{self.line}, in {self.function}" + (f"\n    {self.code}" if self.code else "")


class ExportError(Exception):
    """A program that can't become a graph: `what` is wrong, `where` in the user's source, and the `remedy`."""

    def __init__(self, what, where=None, remedy=None):
        self.what, self.where, self.remedy = what, where, remedy
        lines = [what]
        if where is not None:
            lines.append(f"  at {where}")
        if remedy:
            lines.append(f"  remedy: {remedy}")
        super().__init__("\n".join(lines))


def is_users(file):
    """Whether a file is the user's program, or a library of models: not PyTorch's machinery, nor ours."""
    return not file.startswith((_TORCH, _OURS, "<")) and (not file.startswith(_STDLIB) or file.startswith(_PACKAGES))


def _best(frames):
    """The innermost frame of the user's; else the innermost of torch.nn (the line of the layer)."""
    for wanted in (is_users, lambda file: file.startswith(_TORCH + "nn" + os.sep)):
        for frame in reversed(frames):
            if wanted(frame.file):
                return frame
    return None


def may_be_told(file):
    """Whether a frame of this file says something: the user's, or a layer's."""
    return is_users(file) or file.startswith(_TORCH + "nn" + os.sep)


def source_in(text):
    """Where a printed stack ends in the user's source; None if it does not."""
    return _best([Source(m["file"], int(m["line"]), m["function"].strip(), (m["code"] or "").strip())
                  for m in _FRAME.finditer(text)])


def source_of_node(node):
    """Where in the user's source a node of an FX graph came from; None if the graph does not say."""
    return source_in(node.meta.get("stack_trace") or "")


def _sources(stack):
    return [Source(f.filename, f.lineno, f.name, linecache.getline(f.filename, f.lineno).strip()) for f in stack]


def _below_us(stack):
    """The user's innermost line of a stack (as traceback has it) below a frame that is not the user's; None if it has none."""
    frames = _sources(stack)
    inside = next((i for i, f in enumerate(frames) if not is_users(f.file)), len(frames))
    # What stands before the first frame that is not the user's only called us.
    found = _best(frames[inside:])
    return found if found is not None and is_users(found.file) else None


def source_of_exception(error):
    """The user's line below which an exception was raised; looks into what caused it too."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if found := _below_us(traceback.extract_tb(error.__traceback__)):
            return found
        error = error.__cause__ or error.__context__
    return None


def source_of_caught(error):
    """The user's line that raised what the user's program caught: all of such a traceback is below us."""
    return _best(_sources(traceback.extract_tb(error.__traceback__)))


def source_of_here():
    """The user's line that is being run; None if it is none of theirs."""
    return _below_us(traceback.extract_stack())


def source_of_program(model_or_fn):
    """Where a module's forward or a function begins; None if Python does not know."""
    function = inspect.unwrap(getattr(model_or_fn, "forward", model_or_fn))
    try:
        file, (lines, line) = inspect.getsourcefile(function), inspect.getsourcelines(function)
    except (TypeError, OSError):
        return None
    return Source(file, line, getattr(function, "__qualname__", str(function)), lines[0].strip())
