"""How values, types, sizes and literals are spelled in a `.lenz` text (compiler/graph/GRAMMAR.md)."""

import math
import re

import sympy
import torch

DTYPES = {
    torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
    torch.complex64: "c64", torch.complex128: "c128", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
}
_PLAIN = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$")


class Unspeakable(Exception):
    """A value that a text can't hold."""


def quoted(text):
    escaped = "".join(
        {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c, c if c.isprintable() else f"\\x{ord(c):02x}")
        for c in text
    )
    return f'"{escaped}"'


def value_name(name):
    return "%" + (name if _PLAIN.match(name) else quoted(name))


def graph_name(name):
    return "@" + (name if _PLAIN.match(name) and "." not in name else quoted(name))


def real(x):
    """A real, with a point or an exponent so that it reads as one."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    text = repr(float(x))
    return text if re.search(r"[.e]", text) else text + ".0"


def dtype_name(dtype):
    if dtype not in DTYPES:
        raise Unspeakable(f"the dtype {dtype}")
    return DTYPES[dtype]


def device_name(device):
    device = torch.device(device)
    if device.type not in ("cpu", "cuda", "meta"):
        raise Unspeakable(f"the device {device}")
    return str(device)


def number(x, dtype):
    """An element of a constant."""
    if isinstance(x, complex):
        return f"complex({number(x.real, dtype)}, {number(x.imag, dtype)})"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float):
        return str(int(x)) if x == int(x if math.isfinite(x) else 0) and abs(x) < 1e15 and not (x == 0 and math.copysign(1, x) < 0) else real(x)
    return str(x)


def constant(tensor):
    """A small tensor, inline."""
    tensor = tensor.detach().cpu()
    dims = ", ".join(map(str, tensor.shape))
    exact = tensor.to(torch.float64) if tensor.is_floating_point() else tensor
    elements = ", ".join(number(x, tensor.dtype) for x in exact.reshape(-1).tolist())
    return f"{dtype_name(tensor.dtype)}[{dims}] [{elements}]"


LAYOUTS = {torch.strided: "strided", torch.sparse_coo: "sparse_coo", torch.sparse_csr: "sparse_csr"}
FORMATS = {
    torch.contiguous_format: "contiguous_format", torch.preserve_format: "preserve_format",
    torch.channels_last: "channels_last", torch.channels_last_3d: "channels_last_3d",
}


def literal(x):
    """An argument that is neither a value of the graph nor a list."""
    if x is None:
        return "none"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(int(x))
    if isinstance(x, float):
        return real(x)
    if isinstance(x, complex):
        return f"complex({real(x.real)}, {real(x.imag)})"
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, torch.dtype):
        return dtype_name(x)
    if isinstance(x, torch.device):
        return device_name(x)
    for table in (LAYOUTS, FORMATS):
        if isinstance(x, tuple(type(k) for k in table)) and x in table:
            return table[x]
    raise Unspeakable(f"an argument of type {type(x).__name__}")


# --- expressions of symbols -------------------------------------------------------------------------------------------

_SUM, _PRODUCT, _UNIT = range(3)


def dim(expression, names):
    """A size as text. `names` gives each symbol's."""
    return _dim(sympy.sympify(expression), names)[0]


def _inside(expression, names, strength):
    text, own = _dim(expression, names)
    return text if own >= strength else f"({text})"


def _dim(e, names):
    """Text, and how strongly it binds."""
    kind = type(e).__name__
    if e.is_Integer:
        return str(int(e)), _UNIT if e >= 0 else _SUM
    if e.is_Symbol:
        return names(e), _UNIT
    numerator, denominator = e.as_numer_denom() if (e.is_Add or e.is_Mul) else (e, sympy.S.One)
    if denominator != 1:  # exact: the facts say that it divides
        if not denominator.is_Integer:
            raise Unspeakable(f"the size {e}")
        return f"{_inside(sympy.expand(numerator), names, _PRODUCT)}//{denominator}", _PRODUCT - 0.5
    if e.is_Add:
        text = ""
        # Constants and negative terms last.
        for term in sorted(e.args, key=lambda t: (t.is_number, t.could_extract_minus_sign(), str(t))):
            negative = bool(text) and term.could_extract_minus_sign()
            body = _inside(-term if negative else term, names, _SUM if not text else _PRODUCT - 0.5)
            text += (" - " if negative else " + ") + body if text else body
        return text, _SUM
    if e.is_Mul:
        factors = sorted(e.args, key=lambda f: (not f.is_number, str(f)))
        return "*".join(_inside(f, names, _UNIT) for f in factors), _PRODUCT - 0.5
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        return "*".join([_inside(e.base, names, _UNIT)] * int(e.exp)), _PRODUCT - 0.5
    if kind == "PowByNatural" and e.args[1].is_Integer:
        return "*".join([_inside(e.args[0], names, _UNIT)] * int(e.args[1])), _PRODUCT - 0.5
    if kind in ("FloorDiv", "CleanDiv"):
        return f"{_inside(e.args[0], names, _UNIT)}//{_inside(e.args[1], names, _UNIT)}", _PRODUCT - 0.5
    if kind in ("Mod", "PythonMod"):
        return f"{_inside(e.args[0], names, _UNIT)} % {_inside(e.args[1], names, _UNIT)}", _PRODUCT - 0.5
    if kind in ("Max", "Min"):
        return f"{kind.lower()}({', '.join(_dim(a, names)[0] for a in e.args)})", _UNIT
    if kind in _ROUNDED:
        factor, unit = _scaled(e.args[0])
        return f"{_ROUNDED[kind]}({real(factor)}*{_inside(unit, names, _UNIT)})", _UNIT
    raise Unspeakable(f"the size {e}")


_ROUNDED = {"FloorToInt": "floor", "TruncToInt": "floor", "CeilToInt": "ceil", "RoundToInt": "round"}


def _scaled(e):
    """A real number times an integer expression."""
    factor, unit = 1.0, None
    quotient = type(e).__name__ in ("FloatTrueDiv", "IntTrueDiv")
    for part in e.args if e.is_Mul or quotient else [e]:
        if quotient and part is e.args[1]:
            if not part.is_number:
                raise Unspeakable(f"the size {e}")
            factor /= float(part)
        elif part.is_number:
            factor *= float(part)
        elif unit is None:
            unit = part.args[0] if type(part).__name__ == "ToFloat" else part
        else:
            raise Unspeakable(f"the size {e}")
    if unit is None:
        raise Unspeakable(f"the size {e}")
    return factor, unit


_RELATIONS = {"Equality": "==", "Unequality": "!=", "StrictLessThan": "<", "LessThan": "<=",
              "StrictGreaterThan": ">", "GreaterThan": ">="}


def conditions(expression, names):
    """The conditions that a boolean expression of sizes is a conjunction of."""
    if expression is sympy.true:
        return []
    if isinstance(expression, sympy.And):
        return [c for e in expression.args for c in conditions(e, names)]
    relation = _RELATIONS.get(type(expression).__name__)
    if relation is None:
        raise Unspeakable(f"the condition {expression}")
    return [f"{dim(expression.lhs, names)} {relation} {dim(expression.rhs, names)}"]
