"""Symbolic sizes: torch's symbols, renamed s0, s1, ... (of inputs) and u0, u1, ... (that only a run knows), and facts."""

import contextlib
import itertools

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.numbers import int_oo

from . import spelling
from .dims import holds
from .errors import ExportError
from .spelling import Unspeakable

_MOST_TRIED = 1 << 14  # sizes for which a condition is looked at one by one


def expression(x):
    """The sympy expression of an int or SymInt."""
    return x.node.expr if isinstance(x, (torch.SymInt, torch.SymBool, torch.SymFloat)) else sympy.sympify(x)


def _sizes(value):
    if isinstance(value, torch.Tensor):
        return [expression(d) for d in value.shape]
    if isinstance(value, (torch.SymInt, int)):
        return [expression(value)]
    return [e for v in value for e in _sizes(v)] if isinstance(value, (list, tuple)) else []


class Symbols:
    def __init__(self, shape_env, asked=()):
        self.shape_env = shape_env
        self.asked = asked  # conditions on sizes, with the user's lines that asked them
        self._names = {}
        self._solved = {}  # torch's symbol -> expression of ours, where inputs show it only within an expression
        self._divisible = []
        self._expression = expression
        self._own_names = set()
        self.read = set()  # names of numbers that are read from tensors, of the graph at hand
        self.equal = []  # facts about sizes that its run alone knows: which of them it asserts to be the same

    def name(self, symbol):
        if symbol not in self._names:
            self._names[symbol] = self._free("u" if free_unbacked_symbols(symbol) else "s")
        return self._names[symbol]

    def _free(self, letter):
        taken = {*self._names.values(), *spelling.DTYPES.values()}  # u8
        return next(name for name in (f"{letter}{i}" for i in itertools.count()) if name not in taken)

    def again(self, symbol):
        """A second name, of a size that two calls make alike: torch remembers what the first of them made of a mask."""
        fresh = self._names[sympy.Dummy(integer=True)] = self._free("u")
        self.equal.append(f"{fresh} == {self.name(symbol)}")
        return fresh

    def dim(self, x):
        """A size as text; raises Unspeakable."""
        if isinstance(x, int):
            return str(x)
        return spelling.dim(self._ours(self._expression(x)), self.name)

    def own(self, x):
        """A size in our symbols."""
        return self._ours(expression(x))

    def named(self):
        """What has a name by now: name -> symbol."""
        return {name: symbol for symbol, name in self._names.items()}

    def bounds(self, e):
        """The least and the greatest that an expression may be; None: nobody knows."""
        if e.is_number:
            return int(e), int(e)
        r = self.shape_env.bound_sympy(e)
        return tuple(int(end) if end.is_Integer else None for end in (r.lower, r.upper))

    def real(self, x):
        """The expression of a SymFloat, of torch's symbols."""
        return expression(x) if self.shape_env is None else self.shape_env.replace(expression(x))

    def _ours(self, e):
        if self.shape_env is not None:
            e = self.shape_env.replace(e)
        return sympy.expand(e.xreplace(self._solved)) if self._solved else e

    def settled(self, value, made=None):
        """The numbers among a value's sizes, or what it is, that torch took for others once the program had asserted that.
        `made`: names that nodes have made so far, where a node makes this value."""
        if isinstance(value, (torch.Tensor, list, tuple)):
            return {s for v in (value.shape if isinstance(value, torch.Tensor) else value) for s in self.settled(v, made)}
        raw = value.node._expr if isinstance(value, torch.SymInt) else None
        if not isinstance(raw, sympy.Symbol) or not free_unbacked_symbols(raw) or self.shape_env.replace(raw) == raw:
            return set()
        if made is not None and {self.name(s) for s in free_unbacked_symbols(self._ours(raw))} <= made:
            self._own_names.add(raw)  # else it is but another name of what this value is
        return {raw} & self._own_names

    @contextlib.contextmanager
    def as_read(self):
        """Sizes by the names that they had before any assertion."""
        ours, expr = self._ours, self._expression
        own = lambda x: isinstance(x, torch.SymInt) and x.node._expr in self._own_names
        self._ours = lambda e: e if e in self._own_names else ours(e)
        self._expression = lambda x: x.node._expr if own(x) else expr(x)
        try:
            yield
        finally:
            self._ours, self._expression = ours, expr

    def fixed(self):
        """How many of torch's symbols stand for something else by now."""
        return 0 if self.shape_env is None else len(self.shape_env.replacements)

    def bind(self, dims):
        """Gives every symbol of these sizes of inputs a name: each must stand alone somewhere, or be solved for."""
        dims = [self.shape_env.replace(expression(d)) for d in dims if isinstance(d, torch.SymInt)]
        alone = {d for d in dims if d.is_Symbol}
        for d in dims:
            if d.is_Symbol:
                self.name(d)
        for d in dims:
            for symbol in sorted(d.free_symbols - alone, key=str):
                if symbol in self._solved:
                    continue
                # size = a*symbol + b: the size gets the name.
                a, b = d.coeff(symbol, 1), d.coeff(symbol, 0)
                if len(d.free_symbols) != 1 or not a.is_Integer or a <= 0 or not b.is_Integer:
                    raise Unspeakable(f"an input's size {d}, from which {symbol} can't be told,")
                size = sympy.Symbol(f"size_of_{symbol}", integer=True)
                self.name(size)
                self._solved[symbol] = (size - b) / a
                self._divisible.append((size, a, b, symbol))

    def same(self, fresh, known):
        """Makes the symbols that two values of one type differ by the same: those of `fresh` are called as `known`'s."""
        for a, b in zip(_sizes(fresh), _sizes(known)):
            if a.is_Symbol and a != b and free_unbacked_symbols(a):
                self._solved[a] = b

    def unbacked(self, value):
        """Names of the symbols of a value that only a run knows."""
        symbols = {self._solved.get(s, s) for s in free_unbacked_symbols(value)}
        return {self.name(s) for s in symbols if s.is_Symbol}

    def _range(self, symbol):
        r = self.shape_env.var_to_range.get(symbol)
        low = 0 if r is None or r.lower in (-int_oo, -sympy.oo) else int(r.lower)
        high = None if r is None or r.upper in (int_oo, sympy.oo) else int(r.upper)
        return low, high

    def _asserted(self, symbol, name):
        """What the program asserts of a number that it reads."""
        if (instead := self._ours(symbol)) != symbol:
            yield f"{name} == {spelling.dim(instead, self.name)}"
        r = self.shape_env.var_to_range.get(symbol)
        told = lambda end: str(int(end)) if isinstance(end, (int, sympy.Integer)) and abs(int(end)) < 1 << 62 else ""
        low, high = (told(r.lower), told(r.upper)) if r is not None else ("", "")
        if low or high:
            yield f"{name} in {low or -1 << 63}..{high}"

    def state_equal(self, a, b):
        """An assertion that torch took for granted from there on (`x[m] + y[m]`), though it calls them by two names."""
        if not free_unbacked_symbols(a) or not free_unbacked_symbols(b):
            return
        a, b = self.dim(a), self.dim(b)
        if a != b:
            self.equal.append(f"{a} == {b}")

    def facts(self, but=()):
        """What is known of the inputs' sizes: ranges, divisibility, the guards that the capture took, but for some."""
        if self.shape_env is None:
            return []
        facts = list(self.equal)
        for symbol, name in self._names.items():
            if symbol in self.shape_env.var_to_range and name[0] == "s":
                low, high = self._range(symbol)
                facts.append(f"{name} in {low}..{'' if high is None else high}")
            if name in self.read:
                facts.extend(self._asserted(symbol, name))
        for size, a, b, symbol in self._divisible:
            low, high = self._range(symbol)
            facts.append(f"{self.name(size)} in {low * a + b}..{'' if high is None else high * a + b}")
            if a != 1:
                facts.append(f"{spelling.dim(sympy.Mod(size - b, a), self.name)} == 0")
        for guard in self.shape_env.guards:
            facts.extend(() if guard.expr in but else self._guard(guard.expr))
        return list(dict.fromkeys(facts))

    def _guard(self, guard):
        e = self.shape_env.replace(guard)
        # By ranges alone: each guard is among the axioms, by which it holds.
        if self.shape_env._maybe_evaluate_static(e, axioms=()) is not None or free_unbacked_symbols(e):
            return []
        try:
            return spelling.conditions(self._ours(self._as_met(e)), self.name)
        except Unspeakable:
            return [self._by_trial(e, guard)]

    def _as_met(self, condition):
        """Of conditions of which one has to hold, those that the example's sizes meet: graphs assume what holds together."""
        if isinstance(condition, sympy.And):
            return sympy.And(*(self._as_met(e) for e in condition.args))
        if not isinstance(condition, sympy.Or):
            return condition
        met = [e for e in condition.args if e.xreplace(self.shape_env.backed_var_to_val) == sympy.true]
        return self._as_met(met[0]) if met else condition

    def _by_trial(self, condition, guard):
        """A condition on real numbers made of one size as the range in which it holds."""
        line = next((at for asked, at in self.asked if asked == guard and at), None)
        (symbol, *others) = condition.free_symbols
        low, high = self._range(symbol)
        few = not others and high is not None and high - low < _MOST_TRIED
        sizes = [n for n in range(low, high + 1) if holds(condition, symbol, n)] if few else []
        if not sizes or sizes[-1] - sizes[0] + 1 != len(sizes):
            raise ExportError(f"the condition {condition}, on which the program was specialised, has no place in a graph", line,
                              "narrow the range of that size in `dynamic`, or fix it")
        if len(sizes) == 1 and low < high:
            raise ExportError(f"the program fixes a size that is to vary from {low} to {high}: it holds for {sizes[0]} alone",
                              line, "leave that size out of `dynamic`, or compute with tensors what needs it as a number")
        return f"{self.name(symbol)} in {sizes[0]}..{sizes[-1]}"

    def facts_about(self, names, facts):
        """Those of the facts that only speak of these symbols."""
        known = set(self._names.values())
        words = lambda fact: {w for w in fact.replace("(", " ").replace(")", " ").replace("*", " ").replace("//", " ").split()}
        return [f for f in facts if words(f) & known <= names]

    def type(self, value):
        """A type as text, of what stands in meta["val"]."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.SymInt):
            return f"int {self.dim(value)}"
        if isinstance(value, (bool, torch.SymBool)):
            return "bool"
        if isinstance(value, (float, torch.SymFloat)):
            return "float"
        if isinstance(value, int):
            return f"int {value}"
        if value is None:
            return "none"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.type(v) for v in value)}]"
        raise Unspeakable(f"a value of type {type(value).__name__}")

    def _tensor(self, t):
        if t.layout != torch.strided:
            raise Unspeakable(f"a tensor of layout {t.layout}")
        if t.is_quantized or getattr(t, "is_nested", False):
            raise Unspeakable("a quantised or nested tensor")
        dims = lambda xs: "[" + ", ".join(self.dim(x) for x in xs) + "]"
        text = spelling.dtype_name(t.dtype) + dims(t.shape)
        if not self._same(t.stride(), t.shape):
            text += f" strides {dims(t.stride())}"
        if expression(t.storage_offset()) != 0:
            text += f" offset {self.dim(t.storage_offset())}"
        if t.device.type != "cpu":
            text += f" on {spelling.device_name(t.device)}"
        return text

    def _same(self, strides, sizes):
        """Whether these are the strides of a contiguous tensor, by its sizes alone."""
        plain, big = sympy.S.One, sympy.S.One
        for stride, size in zip(reversed(strides), reversed(sizes)):
            e = self._ours(self._expression(stride))
            if sympy.expand(e - plain) != 0 and sympy.expand(e - big) != 0:
                return False
            size = self._ours(self._expression(size))
            if size.is_number:
                size = sympy.Max(1, size)
            plain, big = plain * size, big * sympy.Max(1, size)
        return True
