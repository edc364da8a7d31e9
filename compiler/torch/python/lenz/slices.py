"""How long a slice is, whatever the size of what it is cut from.

A row tells it for the sizes at hand, and guards them: `x[:3]` is 3 long where x has as many. What the program computes
with that length must hold at all sizes."""

import itertools

import sympy
import torch
from torch.utils._sympy.functions import FloorDiv

from . import spelling

_WORDS = {"min": sympy.Min, "max": sympy.Max, "floor": sympy.floor, "ceil": sympy.ceiling}
_TRIED = 64  # sizes of a symbol, from the least; and the greatest


def _given(node, position, name, fallback):
    value = node.args[position] if len(node.args) > position else node.kwargs.get(name)
    value = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
    return fallback if value is None else value


class Slices:
    def __init__(self, symbols):
        self._symbols = symbols
        self._lengths = {}  # torch's symbol -> what it is

    def length(self, node, at, told):
        """The length along dim `at` of what the node gives, for which torch made a symbol: as the row told it, or what that
        is at all sizes."""
        if node is None or node.target is not torch.ops.aten.slice.Tensor:  # op name: the one length that hangs on a guard
            return told
        source, made = node.args[0].meta["val"], node.meta["val"]
        if _given(node, 1, "dim", 0) % source.dim() != at:
            return told
        whole = self._known(source.shape[at])
        start, end = (self._place(self._known(_given(node, i, name, fallback)), whole)
                      for i, name, fallback in ((2, "start", 0), (3, "end", source.shape[at])))
        if start is None or end is None:
            return told
        step = _given(node, 4, "step", 1)
        length = FloorDiv(sympy.Max(end - start, 0) + step - 1, step)
        self._lengths[self._symbols.own(made.shape[at])] = length
        return told if self.agree(length, told) else spelling.dim(length, self._symbols.name)

    def _known(self, size):
        return self._symbols.own(size).xreplace(self._lengths)

    def _place(self, at, whole):
        """A place of a slice, within the whole. None: nobody knows whether it counts from the end."""
        low, high = self._symbols.bounds(at)
        if low is not None and low >= 0:
            return sympy.Min(at, whole)
        if high is not None and high < 0:
            return sympy.Max(at + whole, 0)
        return None

    def agree(self, length, told):
        """Whether they are one number at all sizes, or at those that are tried. A text names sizes as the graph does."""
        words = _WORDS | self._symbols.named()
        try:
            length, told = (sympy.sympify(x, locals=words) for x in (length, told))
        except (sympy.SympifyError, TypeError):
            return True
        free = sorted(length.free_symbols | told.free_symbols, key=str)
        ranges = []
        for symbol in free:
            low, high = self._symbols.bounds(symbol)
            if low is None:
                return True
            last = low + _TRIED if high is None else high
            ranges.append(sorted({*range(int(low), int(min(low + _TRIED, last)) + 1), int(last)}))
        tried = itertools.islice(itertools.product(*ranges), _TRIED * _TRIED)
        return all(length.subs(dict(zip(free, sizes))) == told.subs(dict(zip(free, sizes))) for sizes in tried)
