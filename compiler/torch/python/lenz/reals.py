"""Real numbers that Python computes of sizes, or of numbers taken from tensors: `n ** -0.5`, `1 / n`, `x.item() * 2`.

They are computed as Python does it, in float64, by ops on tensors without dims, and read from these where they stand."""

import functools

from . import spelling
from .spelling import Unspeakable

_BINARY = {"IntTrueDiv": "div", "FloatTrueDiv": "div", "FloatPow": "pow", "Pow": "pow"}
_FOLDED = {"Add": "add", "Mul": "mul", "Max": "maximum", "Min": "minimum"}
_UNARY = {"Abs": "abs"}
_OPAQUE = "OpaqueUnaryFn_"  # torch's own functions of reals, named as the ops


class Reals:
    def __init__(self, writer):
        self._writer = writer
        self._numbers = {}  # expression -> the value that holds it as a number
        self._tensors = {}  # expression -> the 0-dim tensor that holds it

    def known(self, value, name):
        """A node of the graph gives this number."""
        self._numbers[self._writer.symbols.real(value)] = name

    def spell(self, value, node):
        e = self._writer.symbols.real(value)
        if e.is_number:
            return spelling.real(float(e))
        if e not in self._numbers:
            self._numbers[e] = self._call(node.name, f"aten._local_scalar_dense({self._tensor(e, node)})", node)
        return self._numbers[e]

    def _call(self, name, call, node):
        name = self._writer.fresh(name)
        self._writer.statement([(name, None)], call, node)
        return name

    def _tensor(self, e, node):
        if e not in self._tensors:
            self._tensors[e] = self._call("real", self._spelled(e, node), node)
        return self._tensors[e]

    def _operand(self, e, node):
        return spelling.real(float(e)) if e.is_number else self._tensor(e, node)

    def _spelled(self, e, node):
        kind = type(e).__name__
        if e in self._numbers:
            return f"aten.scalar_tensor({self._numbers[e]}, dtype=f64)"
        if e.is_number:
            return f"aten.scalar_tensor({spelling.real(float(e))}, dtype=f64)"
        if kind == "ToFloat" or e.is_integer:
            return f"aten.scalar_tensor({self._writer.symbols.dim(e.args[0] if kind == 'ToFloat' else e)}, dtype=f64)"
        if kind in _BINARY:
            a, b = e.args
            if kind.endswith("Pow") and a.is_number:
                return f"aten.pow({spelling.real(float(a))}, {self._tensor(b, node)})"
            return f"aten.{_BINARY[kind]}({self._tensor(a, node)}, {self._operand(b, node)})"
        if kind in _FOLDED:
            op = _FOLDED[kind]
            first, *rest = sorted(e.args, key=lambda a: (a.is_number, str(a)))
            both = self._operand if op in ("add", "mul") else self._tensor
            *most, last = rest
            total = functools.reduce(lambda t, a: self._call("real", f"aten.{op}({t}, {both(a, node)})", node), most,
                                     self._tensor(first, node))
            return f"aten.{op}({total}, {both(last, node)})"
        if kind in _UNARY or kind.startswith(_OPAQUE):
            return f"aten.{_UNARY.get(kind, kind.removeprefix(_OPAQUE))}({self._tensor(e.args[0], node)})"
        raise Unspeakable(f"the number {e}")
