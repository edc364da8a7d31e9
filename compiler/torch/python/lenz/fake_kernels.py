"""Fake kernels of torch's that give another dtype, size or layout than the op does, or ask more of sizes than it does."""

import contextlib
import functools
import operator
import unittest.mock

import torch
import torch._prims_common
import torch._refs
from torch._decomp import decomposition_table
from torch._subclasses.fake_impls import op_implementations_dict
from torch.fx.experimental.symbolic_shapes import (
    free_unbacked_symbols,
    guard_or_false,
    guard_or_true,
    statically_known_true,
)

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


def _own_sizes_stay_within(kernel):
    """Of masks among other indices each has a number of its own, of which the result shows one at most. Torch takes masks
    of i8 for what eager takes those of u8 for."""

    @functools.wraps(kernel)
    def mended(fake_mode, func, given, indices):
        env = fake_mode.shape_env
        before = list(env.pending_fresh_unbacked_symbols) if env is not None else []
        with fake_mode:
            indices = [i.to(torch.bool) if i is not None and i.dtype == torch.uint8 else i for i in indices]
        made = kernel(fake_mode, func, given, indices)
        if env is not None:
            shown = free_unbacked_symbols(made)
            env.pending_fresh_unbacked_symbols = [s for s in env.pending_fresh_unbacked_symbols
                                                  if s in before or env.replacements.get(s, s) in shown]
        return made

    return mended


def _of_each_bag(kernel):
    """Of the three results beside the sums torch tells the sizes that one of eager's ways has: eager takes the short one
    for bf16 too, and where no gradient is asked for it keeps a place for the last offset."""

    @functools.wraps(kernel)
    def mended(fake_mode, func, weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False,
               per_sample_weights=None, include_last_offset=False, padding_idx=-1):
        with fake_mode:
            output, bag_of_each, *sizes = torch._meta_registrations.meta_embedding_bag(
                weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                padding_idx)
            if mode == torch._meta_registrations.MODE_SUM:
                scales_lie_apart = per_sample_weights is not None and per_sample_weights.stride(0) != 1
                if weight.dtype == torch.bfloat16 and weight.stride(1) == 1 and padding_idx < 0 and not scales_lie_apart:
                    bag_of_each = offsets.new_empty(0)
                if func is _ATEN._embedding_bag_forward_only.default:
                    sizes = [offsets.new_empty(offsets.size()) for _ in sizes]
        return output, bag_of_each, *sizes

    return mended


def _broadcast_to_the_mask(kernel):
    """As many as there are in what both are broadcast to, at most; torch counts those of the first alone."""

    @functools.wraps(kernel)
    def mended(fake_mode, func, given, mask):
        with fake_mode:
            given, mask = torch.broadcast_tensors(given, mask)
        return kernel(fake_mode, func, given, mask)

    return mended


def _rows_lie_first(kernel):
    """What differs lies row by row, wherever the dim is; torch takes a dim that is counted from the end for none."""

    @functools.wraps(kernel)
    def mended(fake_mode, func, given, *args, **kwargs):
        named = {**dict(zip([a.name for a in func._schema.arguments[1:]], args)), **kwargs}
        dim = named.get("dim")
        if func is _ATEN.unique_consecutive.default and dim == 0 and given.dim() == 1:
            dim = named["dim"] = None  # eager goes the way of all elements then, if 0 is how the dim is called
        if dim is not None:
            named["dim"] = dim = dim % max(given.dim(), 1)
        values, *rest = kernel(fake_mode, func, given, **named)
        if dim:
            lies = values.movedim(dim, 0)
            values = lies.new_empty(lies.shape).movedim(0, dim)
        return values, *rest

    return mended


def _ends_apart(dims, apart):
    """As C++'s std::partition leaves them: it swaps from both ends."""
    kept, first, last = list(dims), 0, len(dims)
    while True:
        while first < last and kept[first] not in apart:
            first += 1
        last -= 1
        while first < last and kept[last] in apart:
            last -= 1
        if first >= last:
            return kept[:first]
        kept[first], kept[last] = kept[last], kept[first]
        first += 1


def _frequencies_lie_last(kernel):
    """Fourier transforms lay the dims that they go over innermost, in an order that strides tell, the others around them."""

    @functools.wraps(kernel)
    def mended(fake_mode, func, given, dim, normalization, how):
        if not dim:
            with fake_mode:
                return kernel(given, dim, normalization, how)
        made, dims = given, list(dim)
        sizes, dtype = list(given.shape), given.dtype
        outermost = lambda a, b: (made.stride(a) < made.stride(b)) - (made.stride(a) > made.stride(b))
        strides = functools.cmp_to_key(outermost)
        if func is _ATEN._fft_r2c.default:
            dims[:-1] = sorted(dims[:-1], key=strides)
            dtype = torch._prims_common.corresponding_complex_dtype(dtype)
            if how:
                sizes[dims[-1]] = sizes[dims[-1]] // 2 + 1
        elif func is _ATEN._fft_c2c.default:
            dims.sort(key=strides)
        else:
            if dims[1:]:  # of all dims but the last one first
                made = mended(fake_mode, _ATEN._fft_c2c.default, given, dims[:-1], normalization, False)
                dims = dims[-1:]
            sizes[dims[0]] = how
            dtype = torch._prims_common.corresponding_real_dtype(dtype)
        order = sorted(_ends_apart(range(given.dim()), dims), key=strides) + dims
        with fake_mode:
            laid = given.new_empty([sizes[d] for d in order], dtype=dtype)
            return laid.permute([order.index(d) for d in range(given.dim())])

    return mended


def _rows_of_integers(kernel):
    return _indices_are_integers(_rows_lie_first(kernel))


_MENDED = {_ATEN.index.Tensor: _own_sizes_stay_within, _ATEN._unique2.default: _indices_are_integers,
           _ATEN.unique_dim.default: _rows_of_integers, _ATEN.unique_consecutive.default: _rows_of_integers,
           _ATEN._fft_r2c.default: _frequencies_lie_last, _ATEN._fft_c2c.default: _frequencies_lie_last,
           _ATEN._fft_c2r.default: _frequencies_lie_last, _ATEN.masked_select.default: _broadcast_to_the_mask,
           _ATEN.bincount.default: _counts_are_integers, _ATEN._embedding_bag.default: _of_each_bag,
           _ATEN._embedding_bag_forward_only.default: _of_each_bag}

# Gradients that eager writes row by row, however what they are of lies; torch's definitions keep that layout.
_DENSE = (_ATEN.mse_loss_backward.default, _ATEN.smooth_l1_loss_backward.default, _ATEN.huber_loss_backward.default,
          _ATEN._log_softmax_backward_data.default)


def _lies_densely(definition):
    @functools.wraps(definition)
    def mended(*args, **kwargs):
        return definition(*args, **kwargs).contiguous()

    return mended


def _equal_sizes_first(plain):
    """Sizes that are one expression, or the number 1, broadcast to it, whatever it is: whether it is 1 need not be asked."""

    @functools.wraps(plain)
    def mended(*shapes):
        shapes = [(s,) if isinstance(s, (int, torch.SymInt)) else tuple(s) for s in shapes if s is not None]
        told = {}
        for at in range(-max(map(len, shapes), default=0), 0):
            sizes = [s[at] for s in shapes if len(s) >= -at and not statically_known_true(s[at] == 1)]
            if all(statically_known_true(size == sizes[0]) for size in sizes):
                told[at] = sizes[0] if sizes else 1
        made = plain(*([1 if at - len(s) in told else size for at, size in enumerate(s)] for s in shapes))
        return made and type(made)(told.get(at - len(made), size) for at, size in enumerate(made))

    return mended


def _equal_strides_first(_):
    """A tensor whose strides are products of its sizes is contiguous, whether or not these are 1."""

    def mended(sizes, strides, false_if_dde=False):
        no, yes = (guard_or_false, guard_or_true) if false_if_dde else (bool, bool)
        expected, at_least = 1, 1
        for size, stride in reversed(tuple(zip(sizes, strides))):
            if not (statically_known_true(stride == expected) or statically_known_true(stride == at_least)):
                if no(size == 1):
                    continue
                if yes(stride != expected) and yes(stride != at_least):
                    return False
            expected, at_least = expected * size, at_least * torch.sym_max(size, 1)
        return True

    return mended


def _overlap_unasked(plain):
    """Whether elements share places hangs on sizes that are 1; who compiles what is written there asks that anyway."""
    return lambda x: 0 if any(isinstance(size, torch.SymInt) for size in x.shape) else plain(x)


# Functions of torch's that ask whether sizes are 1 where the answer makes no difference.
_UNASKED = ((torch._subclasses.fake_impls, "infer_size", _equal_sizes_first),
            (torch._refs, "_broadcast_shapes", _equal_sizes_first),
            (torch._prims_common, "check_contiguous_sizes_strides", _equal_strides_first),
            (torch, "_debug_has_internal_overlap", _overlap_unasked))


@contextlib.contextmanager
def mended_kernels():
    """A context in which they give the op's."""
    mended = {op: mend(op_implementations_dict.get(op, op)) for op, mend in _MENDED.items()}
    dense = {op: _lies_densely(decomposition_table[op]) for op in _DENSE}
    # Pools divide as Python does, but ask whether a rest remains before: no size would stay open.
    floors = unittest.mock.patch.object(torch._meta_registrations, "div_rtn", operator.floordiv)
    with contextlib.ExitStack() as changed:
        changed.enter_context(unittest.mock.patch.dict(op_implementations_dict, mended))
        changed.enter_context(unittest.mock.patch.dict(decomposition_table, dense))
        changed.enter_context(floors)
        for of, name, mend in _UNASKED:
            changed.enter_context(unittest.mock.patch.object(of, name, mend(getattr(of, name))))
        yield
