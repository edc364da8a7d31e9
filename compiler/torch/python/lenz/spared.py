"""Whether a text is for sizes 0 and 1, whatever torch says of them.

What `x @ y` does within asks whether a size is 1, and torch makes its answer a condition on the whole program. The graph
shows the op as called, and types it at every size. Such a condition is left out where no decision of the program hangs on
it, and where all values of the graph are as large at the sizes that it excludes as the text says for any. And where torch
has no condition, but values have fewer dims then (`x.squeeze(0)`), the text gets one: what Python made of how many there
are it made of another number."""

import re

import sympy

from . import command, spelling
from .dims import holds

_FEW = 4  # sizes that a condition may exclude
_TRIED = 8  # sizes beyond these, at which it has to hold
_OTHERS = (7, 11, 13, 17, 19, 23, 29, 31)  # what other sizes are meanwhile
_SIZES = re.compile(rf"(?:(%[\w.]+): )?\b(?:{'|'.join(spelling.DTYPES.values())})\[([^\]]*)\]")
_HEAD = re.compile(r"^(graph .*?) \{$", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"\b[su]\d+\b")


def conditions(shape_env, within, decided):
    """Those that may be left out: symbol -> (conditions, sizes that they exclude)."""
    found = {}
    for guard in shape_env.guards if shape_env is not None else ():
        condition = shape_env.replace(guard.expr)
        if guard.expr not in within or len(condition.free_symbols) != 1:
            continue
        (symbol,) = condition.free_symbols
        low = int(shape_env.var_to_range[symbol].lower)
        tried = range(low, low + _FEW + _TRIED)
        missing = [n for n in tried if not holds(condition, symbol, n)]
        if not missing or missing[-1] >= low + _FEW:
            continue
        guards, sizes = found.setdefault(symbol, ([], set()))
        guards.append(guard.expr)
        sizes.update(missing)
    stated = {guard.expr for guard in shape_env.guards} if found else set()
    return {symbol: (guards, sorted(sizes)) for symbol, (guards, sizes) in found.items()
            if not any(_hangs_on(shape_env, asked, answer, symbol, n) for asked, answer in decided
                       if asked not in stated or asked in guards for n in sizes)}


def _hangs_on(shape_env, asked, answer, symbol, size):
    """Whether the program would, or might, go another way at this size."""
    asked = shape_env.replace(asked)
    if symbol not in asked.free_symbols:
        return False
    try:
        there = asked.xreplace({symbol: sympy.Integer(size)})
    except ZeroDivisionError:
        return True
    known = shape_env._maybe_evaluate_static(there, axioms=()) if there.free_symbols else there
    return known is None or bool(known) != answer


def are_excluded(shape_env, symbol, size, left_out):
    """Whether a condition of torch's excludes this size, or its range."""
    ends = shape_env.var_to_range[symbol]
    conditions = (shape_env.replace(guard.expr) for guard in shape_env.guards if guard.expr not in left_out)
    return not ends.lower <= size <= ends.upper or any(
        c.free_symbols == {symbol} and not holds(c, symbol, size) for c in conditions)


def stating(text, sizes, fact="{name} == {size}"):
    """The text of graphs whose heads state this of symbols (name -> size), where they name them; what heads assume, type
    rules say again."""

    def head(match):
        before = match[1].partition(" assuming ")[0]
        stated = [fact.format(name=name, size=size) for name, size in sizes.items() if name in _SYMBOL.findall(before)]
        return before + (", " if ") where " in before else " where ") + ", ".join(stated) + " {" if stated else match[0]

    return _HEAD.sub(head, text)


def without(text, facts):
    """The text of graphs whose heads don't state these facts."""

    def head(match):
        before, where, stated = match[1].rpartition(") where ")
        kept = [f for f in parts(stated) if f not in facts]
        return f"{before}) where {', '.join(kept)} {{" if kept else f"{before}) {{" if where else match[0]

    return _HEAD.sub(head, text)


def parts(text):
    """What commas part that stand in no brackets."""
    found, depth = [""], 0
    for c in text.replace(", ", ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return found


def differs_at(text, folder, sizes, alike=None):
    """The first value that is not `alike`, which is as large as the text says, where symbols are these sizes (name -> size);
    "" if the text is refused there, None if there is no such value."""
    alike = alike or (lambda a, b: a == b or _are_equal(a, b, sizes))
    anywhere, there = (_typed(t, folder) for t in (text, stating(text, sizes)))
    if anywhere is None or there is None or len(anywhere) != len(there):
        return ""
    return next((name for (name, a), (_, b) in zip(anywhere, there) if not alike(a, b)), None)


def have_as_many_dims(a, b):
    return len(parts(a)) == len(parts(b)) and (a == "") == (b == "")


def _typed(text, folder):
    done = command.run("fmt", "--types", "-", text=text, cwd=folder)
    return _SIZES.findall(done.stdout) if done.returncode == 0 else None


def _are_equal(a, b, sizes):
    names = sorted({*_SYMBOL.findall(a), *_SYMBOL.findall(b)} - set(sizes))
    known = {"max": max, "min": min, "__builtins__": {}} | dict(zip(names, _OTHERS)) | sizes
    try:
        return len(names) <= len(_OTHERS) and eval(f"[{a}] == [{b}]", known)  # noqa: S307
    except (ArithmeticError, NameError, SyntaxError):
        return False
