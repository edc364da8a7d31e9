"""Fake kernels of torch's that give another dtype than the op does."""

import functools
import unittest.mock

import torch
from torch._subclasses.fake_impls import op_implementations_dict

_ATEN = torch.ops.aten
_UNIQUE = (_ATEN._unique2.default, _ATEN.unique_dim.default, _ATEN.unique_consecutive.default)


def _indices_are_integers(kernel):
    """The values in their own dtype; where each stands, and how often, in i64."""

    @functools.wraps(kernel)
    def mended(*args, **kwargs):
        values, *counts = kernel(*args, **kwargs)
        return values, *(c.new_empty(c.shape, dtype=torch.int64) for c in counts)

    return mended


def mended_kernels():
    """A context in which they give the op's."""
    return unittest.mock.patch.dict(op_implementations_dict,
                                    {op: _indices_are_integers(op_implementations_dict[op]) for op in _UNIQUE})
