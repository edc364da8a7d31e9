"""What autocast does to one op, and what composite ops are made of: found by running the op on fake tensors."""

import contextlib
import unittest.mock

import torch
from torch._decomp import decompositions
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from .fake_kernels import mended_kernels

_CAST = torch.ops.aten._to_copy.default


class _Casts(TorchDispatchMode):
    """Notes which of the op's own arguments are cast before anything is computed."""

    def __init__(self, arguments):
        super().__init__()
        self.arguments = arguments
        self.dtypes = {}  # index of an argument -> the dtype it is cast to
        self.over = False

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        at = next((i for i, a in enumerate(self.arguments) if a is args[0]), None) if op is _CAST else None
        if op.namespace == "prim":
            pass  # asks for a device: computes nothing
        elif at is None:
            self.over = True
        elif not self.over:
            self.dtypes[at] = result.dtype
        return result


def region(device, dtype, enabled, _cache=True):
    # No cache: each use shows its cast.
    return torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False)


def casts(op, args, kwargs, context, wanted):
    """{index among the flattened arguments: dtype} if op after these casts is what it is under autocast, else None."""
    flat, spec = tree_flatten((args, kwargs))
    with _Casts(flat) as seen, context():
        op(*args, **kwargs)
    with _Casts(flat) as own:  # what the op casts anyway
        try:
            op(*args, **kwargs)
        except RuntimeError:
            pass  # of mixed dtypes, which the casts make one
    dtypes = {i: dtype for i, dtype in seen.dtypes.items() if own.dtypes.get(i) != dtype}
    cast = [x.to(dtypes[i]) if i in dtypes else x for i, x in enumerate(flat)]
    args, kwargs = tree_unflatten(cast, spec)
    try:
        found = op(*args, **kwargs)
    except RuntimeError:
        return None
    same = tree_map(lambda x: getattr(x, "dtype", None), found) == tree_map(lambda x: getattr(x, "dtype", None), wanted)
    return dtypes if same else None


def _in_python(flat):
    """Where sizes are open, ops are taken apart as Python does it: C++ asks recurrent layers for numbers."""
    sizes = (n for x in flat if isinstance(x, torch.Tensor) for n in x.shape)
    open_ = any(isinstance(n, torch.SymInt) for n in sizes)
    return enable_python_dispatcher() if open_ else contextlib.nullcontext()


def _one_layer_lstm(*args, **kwargs):
    """torch's own, which leaves a dim of one step to the last states."""
    out, states = decompositions.one_layer_lstm(*args, **kwargs)
    return out, tuple(state.squeeze(0) if state.dim() == 3 else state for state in states)


def decomposed(op, args, kwargs, context=contextlib.nullcontext):
    """The op as a graph of ops below autograd and autocast; its inputs are the tensors, and open sizes, among the
    flattened arguments."""
    flat, spec = tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(flat) if isinstance(x, (torch.Tensor, torch.SymInt))]

    def call(*inputs):
        given = list(flat)
        for place, value in zip(places, inputs):
            given[place] = value
        a, k = tree_unflatten(given, spec)
        # Without mkldnn: its recurrent layers are one opaque op.
        own = unittest.mock.patch.object(decompositions, "select_one_layer_lstm_function", lambda *_: _one_layer_lstm)
        with context(), torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), own, _in_python(flat):
            return op(*a, **k)

    # What a part asks of tensors that the op makes itself (the window of an istft without one) any run would tell.
    with mended_kernels():
        return make_fx(call, _error_on_data_dependent_ops=False)(*[flat[i] for i in places]), places
