"""Conditions on numbers that only a run knows: what a program asserts (`torch._check`), and what it asks and hands on.

They are read off the nodes that compute them. The sympy expressions beside these speak of what torch took such a number
for once the program had asserted it, and by those `n == 3` holds always."""

import operator

import torch
from torch.fx.experimental.symbolic_shapes import cast_symbool_to_symint_guardless

from .errors import ExportError, source_of_node

_ATEN = torch.ops.aten
_COMPARISONS = {operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.le: "le", operator.gt: "gt",
                operator.ge: "ge"}
_ARITHMETIC = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.floordiv: "floor_div",
               operator.mod: "mod", torch.sym_min: "min", torch.sym_max: "max"}
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
_SIGNS = {"add": "+", "sub": "-"}
_JOINED = {operator.and_: "min", operator.or_: "max"}
_READ = {_ATEN.item.default, _ATEN._local_scalar_dense.default}
_SIZE = {_ATEN.sym_size.int, _ATEN.size.int}


def is_condition(node):
    """Whether a call of Python's operators answers yes or no of numbers."""
    if node.target in _COMPARISONS:
        return all(isinstance(_meta(a), (int, torch.SymInt)) for a in node.args)
    return (node.target in _JOINED or node.target is torch.sym_not) and isinstance(_meta(node), (bool, torch.SymBool))


def _is_read(x):
    """Whether a number is one that the program reads from a tensor, or is made of such."""
    if not isinstance(x, torch.fx.Node):
        return False
    return x.target in _READ or (x.target in _ARITHMETIC and any(map(_is_read, x.args)))


def _meta(x):
    return x.meta.get("val") if isinstance(x, torch.fx.Node) else x


class Conditions:
    """Of one graph, whose writer it is."""

    def __init__(self, writer):
        self._writer = writer

    @staticmethod
    def always_holds(node):
        """Whether it says no more than that the size of a result is not below 0."""
        if node.target is not operator.ge or isinstance(_meta(node.args[1]), torch.SymInt):
            return False
        return _meta(node.args[1]) <= 0 and not _is_read(node.args[0])

    def value(self, node, env):
        """The value that holds the answer."""
        if node.target in _COMPARISONS:
            truth = self._truth_beside_one(node, env)
            return truth or self._compared(node, _COMPARISONS[node.target], node.args, env)
        inner = node.args[0]
        if node.target is torch.sym_not and getattr(inner, "target", None) in _COMPARISONS and is_condition(inner):
            return self._compared(node, _OPPOSITE[_COMPARISONS[inner.target]], inner.args, env)
        return self._call(node, f"lenz.sym_ge({self._surplus(node, env)}, 0)")

    def _compared(self, node, relation, operands, env):
        a, b = (self._number(x, env) for x in operands)
        return self._call(node, f"lenz.sym_{relation}({a}, {b})")

    def _call(self, node, call):
        name = self._writer.fresh(node.name)
        self._writer.statement([(name, None)], call, node)
        return name

    @staticmethod
    def _truth_beside_one(node, env):
        """torch compares a bool as an integer with 1."""
        cast, one = node.args
        known = node.target is operator.eq and getattr(cast, "target", None) is cast_symbool_to_symint_guardless and one == 1
        return env.get(cast.args[0]) if known else None

    def _arithmetic(self, node, op, a, b):
        if op in _SIGNS and "%" not in (a[0], b[0]):
            return f"{a} {_SIGNS[op]} ({b})"
        return self._call(node, f"lenz.sym_{op}({a}, {b})")

    def _surplus(self, node, env):
        """A number that is below 0 where the condition does not hold, and there alone."""
        if not isinstance(node, torch.fx.Node) or not is_condition(node):
            raise ExportError(f"a condition of more than numbers ({node}) has no op", source_of_node(node),
                              "compute it with tensors (torch.logical_and, torch.logical_or)")
        minus = lambda a, b: self._arithmetic(node, "sub", a, b)
        if node.target in _JOINED:
            a, b = (self._surplus(x, env) for x in node.args)
            return self._call(node, f"lenz.sym_{_JOINED[node.target]}({a}, {b})")
        if node.target is torch.sym_not:
            return minus("-1", self._surplus(node.args[0], env))
        a, b = (self._number(x, env) for x in node.args)
        relation = _COMPARISONS[node.target]
        over, under = minus(a, b), minus(b, a)
        if relation == "eq":
            return self._call(node, f"lenz.sym_min({over}, {under})")
        if relation == "ne":
            return self._call(node, f"lenz.sym_max({minus(over, '1')}, {minus(under, '1')})")
        return {"ge": over, "gt": minus(over, "1"), "le": under, "lt": minus(under, "1")}[relation]

    def _number(self, x, env):
        """An operand: by the names from before the assertion where torch has others since."""
        symbols = self._writer.symbols
        if not self._settled(x):
            return symbols.dim(_meta(x))
        if x.target in _ARITHMETIC:
            return self._arithmetic(x, _ARITHMETIC[x.target], *(self._number(a, env) for a in x.args))
        with symbols.as_read():
            return symbols.dim(self._own(x))

    @staticmethod
    def _own(x):
        return _meta(x.args[0]).shape[x.args[1]] if x.target in _SIZE else _meta(x)

    def _settled(self, x):
        if not isinstance(x, torch.fx.Node):
            return False
        if x.target in _ARITHMETIC:
            return any(self._settled(a) for a in x.args)
        return (x.target in _READ or x.target in _SIZE) and bool(self._writer.symbols.settled(self._own(x)))
