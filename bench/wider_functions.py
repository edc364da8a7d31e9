"""The rows of wider.py that are one function each, of numbers that lie in caches: what the function takes is all there is."""

import torch

from workloads import ROWS, Case, Row


def function_row(name, function, numbers, dtype=torch.float32):
    """The row `name`, of a dtype; `numbers` makes so many operands."""
    name = f"{name}_f{dtype.itemsize * 8}"

    def make(n=131_072):
        return Case(lambda x: function(x), (numbers(n).to(dtype),))  # noqa: PLW0108 - export asks for a signature

    ROWS[name] = Row(name, make, {"n": 131_072}, own=True)


def inside(n):
    return torch.rand(n) * 2 - 1


def positive(n):
    return torch.randn(n).abs() + 0.01


for name in ("tanh", "erf", "erfc", "exp", "expm1", "sigmoid", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh"):
    function_row(name, getattr(torch, name), torch.randn)
for name in ("asin", "acos", "atanh", "erfinv"):
    function_row(name, getattr(torch, name), inside)
for name in ("log", "log2", "log10", "log1p", "rsqrt", "lgamma", "digamma"):
    function_row(name, getattr(torch, name), positive)
for name in ("exp", "expm1", "sin", "cos", "tan", "tanh"):
    function_row(name, getattr(torch, name), torch.randn, torch.float64)
for name in ("log", "log2", "log10", "log1p"):
    function_row(name, getattr(torch, name), positive, torch.float64)
