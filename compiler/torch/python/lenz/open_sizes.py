"""Calls that take a size for a plain number, and so would fix it, as calls that leave it open; and who did fix one."""

import contextlib
import functools
import sys
import unittest.mock

import sympy
import torch
import torch._refs
from torch.overrides import TorchFunctionMode

from . import stand_ins
from .errors import is_users, source_of_here

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_library = torch.library.Library("lenz_capture", "DEF")


def _leaves_steps_open(op, base=""):
    """ATen's op, whose schema wants a number of steps, under a schema that wants a size."""
    packet = op._schema.name.split("::")[1]
    _library.define(f"{packet}(Scalar start, Scalar end, SymInt steps{base}, *, {_OPTIONS}) -> Tensor")

    @torch.library.register_fake(f"lenz_capture::{packet}", lib=_library)
    def made(start, end, steps, *_, dtype=None, layout=None, device=None, pin_memory=None):
        like = op(start, end, 1, dtype=dtype, device=device)
        return like.new_empty(steps)

    return getattr(torch.ops.lenz_capture, packet).default


# What the capture sees, and what it stands for.
STANDS_FOR = {_leaves_steps_open(torch.ops.aten.linspace.default): torch.ops.aten.linspace.default,
              _leaves_steps_open(torch.ops.aten.logspace.default, ", float base=10."): torch.ops.aten.logspace.default}
_SPACED = {torch.linspace: torch.ops.lenz_capture.linspace, torch.logspace: torch.ops.lenz_capture.logspace}


def _spaced(func, start, end, steps, *base, requires_grad=False, **options):
    plain = {"dtype", "layout", "device", "pin_memory"} | ({"base"} if func is torch.logspace else set())
    if isinstance(steps, torch.SymInt) and options.keys() <= plain and not requires_grad \
            and not isinstance(start, torch.Tensor) and not isinstance(end, torch.Tensor):
        base = base or ((options.pop("base"),) if "base" in options else ())
        return _SPACED[func](start, end, steps, *base, **options)
    return func(start, end, steps, *base, requires_grad=requires_grad, **options)


def _of_like(tensor, data, *, dtype=None, device=None, **options):
    """new_tensor makes numbers of sizes; what torch.export takes for torch.tensor does not."""
    return torch._refs.tensor(data, dtype=dtype or tensor.dtype, device=device or tensor.device, **options)


def _pools_open(plain):
    """max_pool1d asks for sizes as numbers; what it computes does not."""

    @functools.wraps(plain)
    def pooled(input, *args, **kwargs):
        if _has_open(list(input.shape)):
            return torch.max_pool1d_with_indices(input, *args, **kwargs)[0]
        return plain(input, *args, **kwargs)

    return pooled


def _densely(plain):
    """Python leaves the call out where a tensor lies densely as it is, which hangs on sizes that are 1: the op may tell."""

    @functools.wraps(plain)
    def contiguous(tensor, memory_format=torch.contiguous_format):
        if _has_open(list(tensor.shape)):
            return torch.ops.aten.contiguous.default(tensor, memory_format=memory_format)
        return plain(tensor, memory_format=memory_format)

    return contiguous


def _has_open(data):
    return isinstance(data, (torch.SymInt, torch.SymFloat)) or isinstance(data, (list, tuple)) and any(map(_has_open, data))


class _Leaves(TorchFunctionMode):
    def __init__(self, notes):
        super().__init__()
        self._notes = notes

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _SPACED:
            call = functools.partial(_spaced, func)
        elif getattr(func, "__name__", None) == "new_tensor" and len(args) == 2 and _has_open(args[1]):
            call = _of_like
        elif func in stand_ins.INSTEAD:
            call = stand_ins.INSTEAD[func]
        else:
            call = func
        with _told(self._notes, f"`{getattr(func, '__name__', func)}`"):
            return call(*args, **kwargs)


@contextlib.contextmanager
def _told(notes, who):
    """Notes who asked for the first number among those that the block asks for."""
    before = len(notes.asked)
    yield
    fixed = any(isinstance(guard, sympy.Equality) and any(s.is_number for s in guard.args)
                for guard, _ in notes.asked[before:])
    if fixed and not any(before <= at < len(notes.asked) for at, _, _ in notes.fixed):
        notes.fixed.append((before, who, source_of_here()))


@contextlib.contextmanager
def left_open(notes):
    plain = torch.SymInt.__index__

    def index(size):
        if not is_users(sys._getframe(1).f_code.co_filename):
            return plain(size)
        with _told(notes, "a function of Python's own numbers (float, int, range, math.log)"):
            return plain(size)

    pools = unittest.mock.patch.object(torch, "max_pool1d", _pools_open(torch.max_pool1d))
    dense = unittest.mock.patch.object(torch.Tensor, "contiguous", _densely(torch.Tensor.contiguous))
    with unittest.mock.patch.multiple(torch.SymInt, __index__=index, __int__=index), pools, dense, _Leaves(notes):
        yield
