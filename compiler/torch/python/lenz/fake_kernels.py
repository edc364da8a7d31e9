"""Fake kernels of torch's that give another dtype than the op does."""

import functools
import unittest.mock

import torch
from torch._subclasses.fake_impls import op_implementations_dict

_ATEN = torch.ops.aten


def _indices_are_integers(kernel):
    """The values in their own dtype; where each stands, and how often, in i64."""

    @functools.wraps(kernel)
    def mended(*args, **kwargs):
        values, *counts = kernel(*args, **kwargs)
        return values, *(c.new_empty(c.shape, dtype=torch.int64) for c in counts)

    return mended


def _counts_are_integers(kernel):
    """How often each number is there, in i64; sums of weights as these are, f32 or f64."""

    @functools.wraps(kernel)
    def mended(fake_mode, func, given, weights=None, minlength=0):
        count = kernel(fake_mode, func, given, weights, minlength)
        summed = torch.int64 if weights is None else torch.float32 if weights.dtype == torch.float32 else torch.float64
        return count.new_empty(count.shape, dtype=summed)

    return mended


_MENDED = {_ATEN._unique2.default: _indices_are_integers, _ATEN.unique_dim.default: _indices_are_integers,
           _ATEN.unique_consecutive.default: _indices_are_integers, _ATEN.bincount.default: _counts_are_integers}


def mended_kernels():
    """A context in which they give the op's."""
    return unittest.mock.patch.dict(op_implementations_dict,
                                    {op: mend(op_implementations_dict[op]) for op, mend in _MENDED.items()})
