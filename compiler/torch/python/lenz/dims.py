"""What `dynamic` asks of sizes: in torch's words, and whether a captured program keeps it."""

import dataclasses
import inspect
import warnings

import sympy
import torch
from torch.utils._sympy.functions import Mod, PythonMod
from torch.utils._sympy.numbers import int_oo

from .errors import ExportError, source_of_program

REMEDY = ("let `dynamic` say what the program is: dims of its tensors, another range, one name for equal sizes, or None for "
          "a size that is fixed")
_FROM_TWO = 2  # torch takes sizes 0 and 1 for constants, if it is not told otherwise
_TRIED = 32  # sizes at each end of a range for which a condition is looked at


class DynamicWarning(UserWarning):
    """A text is for fewer sizes than `dynamic` asks for."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """The range that `dynamic` asks of one dim of a tensor among the arguments; None: it says nothing of that end."""

    tensor: torch.Tensor
    name: str  # of the argument
    dim: int
    low: int | None
    high: int | None
    insists: bool = True  # on the low end; a Dim whose end is 0 may just not have said one

    def __str__(self):
        return f"dim {self.dim} of `{self.name}`"


def as_torch_says(dynamic):
    """`dynamic` with names and ranges as torch.export wants them: the same name is the same size."""
    named, stepped = {}, []

    def bounded(sizes):
        if len(sizes) == 0:
            raise ExportError(f"`dynamic` has {sizes}, in which no size is", remedy="range(a, b) are the sizes from a to b - 1")
        low, high = min(sizes), max(sizes)
        step = abs(sizes.step)
        if low < 0:
            raise ExportError(f"`dynamic` has {sizes}, in which negative sizes are", remedy="begin it at 0")
        if step == 1 or low == high:
            return torch.export.Dim.DYNAMIC(min=low, max=high)
        if low // step < _FROM_TWO:  # of a size that is made of another torch takes 0 and 1 for constants in any case
            raise ExportError(f"`dynamic` has {sizes}, of which torch takes only those from {_FROM_TWO * step + low % step} on "
                              "for one program", remedy=f"begin it there, or ask for range({low}, {high + 1})")
        stepped.append(torch.export.Dim(f"steps{len(stepped)}", min=low // step, max=high // step))
        return step * stepped[-1] + low % step if low % step else step * stepped[-1]

    def one(x):
        if isinstance(x, str):
            return named.setdefault(x, torch.export.Dim(x))
        if isinstance(x, range):
            return bounded(x)
        if isinstance(x, dict):
            return {k: one(v) for k, v in x.items()}
        if isinstance(x, (list, tuple)):
            return type(x)(one(v) for v in x)
        return x

    return one(dynamic)


def by_parameters(dynamic, program, args, kwargs):
    """`dynamic` with one entry for `*args`, as torch wants it, where it is flat: an entry for each argument."""
    taken = _bound(program, args, kwargs)
    if taken is None or not isinstance(dynamic, (list, tuple)):
        return dynamic
    kinds = [taken.signature.parameters[name].kind for name in taken.arguments]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return dynamic
    at = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    count = len(list(taken.arguments.values())[at])
    if len(dynamic) != len(taken.arguments) - 1 + count:
        return dynamic
    nested = len(dynamic) == len(taken.arguments) and isinstance(dynamic[at], (list, tuple)) and len(dynamic[at]) == count
    return dynamic if nested else (*dynamic[:at], tuple(dynamic[at:at + count]), *dynamic[at + count:])


def check(dynamic, program, args, kwargs):
    """That `dynamic` names arguments and dims that there are; what it says of trees of tensors torch compares."""
    if dynamic is None:
        return

    def refuse(what):
        raise ExportError(f"`dynamic` {what}", source_of_program(program), REMEDY)

    if not isinstance(dynamic, (dict, list, tuple)):
        refuse(f"is {dynamic!r}, no dict or tuple with an entry for each argument")
    given = _arguments(program, args, kwargs)
    if given is None:
        return
    if isinstance(dynamic, dict):
        if unknown := [str(name) for name in dynamic if name not in given]:
            refuse(f"names `{unknown[0]}`, which is no argument; those are {', '.join(given)}")
    elif len(dynamic) != len(given):
        refuse(f"has {len(dynamic)} entries for {len(given)} arguments: {', '.join(given)}")
    for name, value, entry in _entries(dynamic, given):
        if not isinstance(value, torch.Tensor) or entry is None:
            continue
        if not isinstance(entry, (dict, list, tuple)):
            refuse(f"says {entry!r} of the tensor `{name}`, no dict from its dims")
        dims = entry if isinstance(entry, dict) else range(len(entry))
        for d in dims:
            if d not in range(value.dim()) or len(dims) != value.dim() and not isinstance(entry, dict):
                refuse(f"names dim {d} of `{name}`, which has {value.dim()} dims")


def _bound(program, args, kwargs):
    try:
        return inspect.signature(getattr(program, "forward", program)).bind(*args, **kwargs)
    except ValueError:  # Python does not know what it takes
        return None


def _arguments(program, args, kwargs):
    taken = _bound(program, args, kwargs)
    return None if taken is None else taken.arguments


def _entries(dynamic, given):
    if isinstance(dynamic, dict):
        return [(name, given[name], entry) for name, entry in dynamic.items()]
    return list(zip(given, given.values(), dynamic))


def asked(dynamic, program, args, kwargs):
    """Every dim that is to vary."""
    given = _arguments(program, args, kwargs) if dynamic is not None else None
    found = []

    def walk(name, value, entry):
        pairs = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, (list, tuple)) else ()
        for key, inner in pairs:
            if not isinstance(value, torch.Tensor):
                try:
                    part = value[key]
                except (IndexError, KeyError, TypeError):
                    raise ExportError(f"`dynamic` names {key!r} of `{name}`, which has no such part",
                                      source_of_program(program), REMEDY) from None
                walk(f"{name}[{key!r}]", part, inner)
            elif inner is not None and not isinstance(inner, int):
                found.append(Asked(value, name, key, *_ends(inner)))

    for name, value, entry in _entries(dynamic, given) if given is not None else ():
        walk(name, value, entry)
    return found


def _ends(entry):
    """The range that one dim's entry states, and whether it insists on the low end. A Dim's own ends, 0 and infinity, are
    no statement; 0 beside another high end may be one."""
    if isinstance(entry, range):
        return (min(entry), max(entry), True) if len(entry) else (None, None, True)
    low, high = getattr(entry, "min", None), getattr(entry, "max", None)
    high = None if high is None or high == int_oo else int(high)
    return (None if low is None or (low == 0 and high is None) else int(low)), high, low != 0


def of_any_size(wanted):
    """Whether sizes are asked for that torch takes for constants if it is not told otherwise."""
    return any(a.low is not None and a.low < _FROM_TWO for a in wanted)


def require_kept(wanted, inputs, shape_env, conditions):
    """That the program is captured for the sizes that were asked for. Another range is an error, and so is an equation
    that holds near one size alone; what else is left out is returned: the condition and the words for it.
    conditions: on sizes, with the user's lines that asked them."""
    if shape_env is None:
        return []
    return [missing for a in wanted for i in inputs
            if i.real is a.tensor and isinstance(i.placeholder.meta.get("val"), torch.Tensor)
            for missing in _require_dim(a, i.placeholder.meta["val"].shape[a.dim], shape_env, conditions)]


def tell(missing, stacklevel):
    for words in dict.fromkeys(missing):
        warnings.warn(DynamicWarning(words), stacklevel=stacklevel + 1)


def left_out(a, sizes, line):
    """The words for sizes that the text is not for though they were asked for."""
    return f"{a}: `dynamic` asks for {_span(a.low or 0, a.high)}; the text is not for {sizes}" + (f"\n  at {line}" if line else "")


def few(wanted, inputs):
    """Sizes 0 and 1 of dims of which they are asked for: (dim, symbol, size)."""
    sizes = [(a, i.placeholder.meta["val"].shape[a.dim]) for a in wanted for i in inputs
             if i.real is a.tensor and isinstance(i.placeholder.meta.get("val"), torch.Tensor)]
    return list({(size.node.expr, n): (a, size.node.expr, n) for a, size in sizes for n in range(_FROM_TWO)
                 if a.low is not None and isinstance(size, torch.SymInt) and size.node.expr.is_Symbol}.values())


def holds(condition, symbol, size):
    """Whether it is known to hold of a size. Where it divides by what is 0 then, so does the program, which raises."""
    try:
        return condition.subs(symbol, size) == sympy.true
    except ZeroDivisionError:
        return False


def _require_dim(a, size, shape_env, conditions):
    e = shape_env.replace(size.node.expr) if isinstance(size, torch.SymInt) else sympy.S.Zero
    if len(e.free_symbols) != 1:
        return []
    (symbol,) = e.free_symbols
    low, high = _range(e, symbol, shape_env)
    values, holes = _some(symbol, shape_env), []
    sizes = lambda vs: ", ".join(str(e.subs(symbol, v)) for v in vs[:6]) + (", ..." if len(vs) > 6 else "")
    for guard in shape_env.guards:
        condition = shape_env.replace(guard.expr)
        if condition.free_symbols != {symbol}:
            continue
        holding = [v for v in values if holds(condition, symbol, v)]
        line = next((at for said, at in conditions if said == guard.expr and at), None)
        if isinstance(condition, sympy.Eq) and not condition.has(Mod, PythonMod) and not set(holding) & set(values[len(values) // 2 :]):
            most = _most(condition, symbol, values, holding)
            if most is not None:
                most = int(e.subs(symbol, most))
                raise ExportError(f"the program takes {a} up to {most}; `dynamic` asks for {_span(low, high)}", line,
                                  f"ask for range({low}, {most + 1}), or write that line for every size")
            raise ExportError(f"the program fixes {a}, which `dynamic` lets vary: of {_span(low, high)} only these sizes are "
                              f"left: {sizes(holding)}", line, "leave that size out of `dynamic`, or write that line for every "
                              "size (n // 2 for int(n * 0.5), tensors for what needs it as a number)")
        if len(holding) < len(values):
            holes.append((guard.expr, sizes([v for v in values if v not in holding]), line))
    too_low, too_high = a.low is not None and low > a.low, a.high is not None and high is not None and high < a.high
    if too_low and not (a.insists or too_high):
        line = _line_that_excludes(e, symbol, a.low, shape_env, conditions)
        below = ", ".join(str(v) for v in range(a.low, min(low, a.low + 6))) + (", ..." if low - a.low > 6 else "")
        holes.append((None, below, line))
    elif too_low or too_high:
        raise ExportError(f"the program is captured for {_span(low, high)} of {a} alone; `dynamic` asks for "
                          f"{_span(a.low or 0, a.high)}",
                          _line_that_excludes(e, symbol, a.low if too_low else a.high, shape_env, conditions),
                          f"ask for range({low}, {'...' if high is None else high + 1}), or write that line for every size")
    if a.low is None and a.high is None:
        return []
    return [(guard, left_out(a, sizes_of_it, line)) for guard, sizes_of_it, line in holes]


def _most(condition, symbol, values, holding):
    """The last value up to which a condition holds that does so from the first few on; None of any other."""
    few = 8
    if holding[:few] != values[:few]:
        return None
    holds_at, not_at = holding[0], values[-1]
    while not_at - holds_at > 1:
        middle = (holds_at + not_at) // 2
        if holds(condition, symbol, middle):
            holds_at = middle
        else:
            not_at = middle
    return holds_at


def _range(e, symbol, shape_env):
    """The ends of a size that grows with its symbol."""
    r = shape_env.var_to_range[symbol]
    return int(e.subs(symbol, int(r.lower))), None if r.upper in (int_oo, sympy.oo) else int(e.subs(symbol, int(r.upper)))


def _some(symbol, shape_env):
    """Values of a symbol, from both ends of its range."""
    r = shape_env.var_to_range[symbol]
    low = int(r.lower)
    high = low + (1 << 20) if r.upper in (int_oo, sympy.oo) else int(r.upper)
    if high - low < 2 * _TRIED:
        return list(range(low, high + 1))
    return [*range(low, low + _TRIED), *range(high - _TRIED + 1, high + 1)]


def _line_that_excludes(e, symbol, size, shape_env, conditions):
    for guard, at in conditions:
        condition = shape_env.replace(guard) if isinstance(guard, sympy.Basic) else sympy.true
        if at and condition.free_symbols == {symbol}:
            value = (size - e.coeff(symbol, 0)) / e.coeff(symbol, 1)
            if not holds(condition, symbol, value):
                return at
    return None


def _span(low, high):
    return f"{low}..{'' if high is None else high}"
