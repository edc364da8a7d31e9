"""Records what PyTorch's own operator database calls, as a file of one-node graphs (compiler/ops/call_file.h).

Each sample of torch.testing._internal.opinfo runs while every ATen call is seen, composite ops before they are taken
apart and what they become; a call of an op that has a row becomes a graph. Integer inputs keep their range of values, others
a range around theirs, so that the calls stay legal. What can't be said, and samples that fail, are counted with a reason.

usage: opinfo_calls.py LENZ OUTPUT [--samples N] [--ops REGEX] [--jobs N]
output: the calls in OUTPUT, and as JSON what was seen, what can't be said and what failed
"""

import argparse
import collections
import functools
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
import warnings

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

DTYPES = {
    torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
    torch.complex64: "c64", torch.complex128: "c128", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
}
FORMATS = {torch.contiguous_format: "contiguous_format", torch.preserve_format: "preserve_format",
           torch.channels_last: "channels_last", torch.channels_last_3d: "channels_last_3d"}
# All samples of these; a few of the others, to see that they exist.
MAIN_DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16)


class Unsayable(Exception):
    """A call that the text form has no words for, and why."""


def require_sayable(t):
    if t.layout != torch.strided:
        raise Unsayable("a tensor that is not strided")
    if t.dtype not in DTYPES:
        raise Unsayable(f"a tensor of {str(t.dtype).removeprefix('torch.')}")
    if t.device.type != "cpu":
        raise Unsayable("a tensor on another device than the CPU")


@functools.cache
def overload_for_numbers(func, numbers):
    """The overload that says the same with a Scalar where a number stands for a tensor: torch hands such a number to
    `add.Tensor` as a tensor that does not take part in promotion, and `add.Scalar` makes just that tensor of its number."""
    packet = getattr(torch.ops.aten, func._schema.name.split("::")[1])

    def kinds(schema, stand_ins=frozenset()):
        return [(p.name, "number" if p.name in stand_ins else str(p.type)) for p in schema.arguments]

    for overload in packet.overloads():
        other = getattr(packet, overload)
        if kinds(other._schema) == kinds(func._schema, numbers):
            return other
    raise Unsayable("a number for a tensor, and no overload that takes a number")


class Writer:
    """One call as text."""

    def __init__(self):
        self.inputs, self.names, self.storages = [], {}, {}

    def tensor(self, t):
        if id(t) in self.names:
            return self.names[id(t)]
        require_sayable(t)
        if t.is_conj() or t.is_neg():
            raise Unsayable("an operand that is conjugated or negated when it is read")
        name = f"%x{len(self.inputs)}"
        text = f"{name}: {DTYPES[t.dtype]}{list(t.shape)} strides {list(t.stride())}"
        if t.storage_offset():
            text += f" offset {t.storage_offset()}"
        self.inputs.append(text + self.values(t))
        self.names[id(t)] = name
        return name

    @staticmethod
    def values(t):
        if t.numel() == 0:
            return ""
        if t.dtype == torch.bool:
            return " init integers(0, 1)"
        if not t.is_floating_point() and not t.is_complex():
            if t.numel() > 1 and torch.equal(t.flatten().sort().values, torch.arange(t.numel(), dtype=t.dtype)):
                return " init permutation()"  # and so of a known sum
            low, high = (max(-(2**50), min(int(v), 2**50)) for v in (t.min(), t.max()))
            if low < 0 < high and not (t == 0).any():
                low = 1  # it may be divided by
            return f" init integers({low}.0, {high}.0)"
        flat = (torch.view_as_real(t) if t.is_complex() else t).double()
        flat = flat[flat.isfinite()]
        if not flat.numel():
            return ""
        low, high = math.floor(float(flat.min())), math.ceil(float(flat.max()))  # one text for many draws
        return f" init uniform({low}.0, {high}.0)" if max(abs(low), abs(high)) < 2**40 else " init uniform(-4.0, 4.0)"

    def argument(self, a):
        if isinstance(a, torch.Tensor):
            return self.tensor(a)
        if a is None:
            return "none"
        if isinstance(a, bool):
            return "true" if a else "false"
        if isinstance(a, int):
            return str(int(a))
        if isinstance(a, float):
            a = float(a)
            return "nan" if math.isnan(a) else ("-inf" if a < 0 else "inf") if math.isinf(a) else repr(a)
        if isinstance(a, complex):
            return f"complex({self.argument(a.real)}, {self.argument(a.imag)})"
        if isinstance(a, str):
            return json.dumps(a)
        if isinstance(a, (list, tuple)):
            return "[" + ", ".join(self.argument(x) for x in a) + "]"
        if a in FORMATS:
            return FORMATS[a]
        if isinstance(a, torch.dtype):
            if a not in DTYPES:
                raise Unsayable(f"the dtype {str(a).removeprefix('torch.')} as an argument")
            return DTYPES[a]
        if isinstance(a, torch.device):
            return str(a)
        if a is torch.strided:
            return "strided"
        raise Unsayable(f"an argument of type {type(a).__name__}")

    def call(self, func, args, kwargs):
        schema = func._schema
        given = [(p.name, a) for p, a in zip(schema.arguments, args)] + list(kwargs.items())
        wants = {p.name: str(p.type) for p in schema.arguments}
        numbers = frozenset(n for n, a in given if isinstance(a, (int, float, complex)) and wants[n] in ("Tensor", "Optional[Tensor]"))
        if numbers:
            func = overload_for_numbers(func, numbers)
            schema = func._schema
        text = ", ".join(f"{name}={self.argument(a)}" for name, a in given)
        name = f"aten.{schema.name.split('::')[1]}.{schema.overload_name or 'default'}"
        results = ", ".join(f"%r{i}" for i in range(len(schema.returns)))
        left = f"{results} = " if results else ""
        text = f"graph @call({', '.join(self.inputs)}) {{\n  {left}{name}({text})\n  return {results}".rstrip() + "\n}\n"
        return row_name(func), text


def row_name(func):
    name, overload = func._schema.name.split("::")[1], func._schema.overload_name
    return f"aten.{name}.{overload}" if overload else f"aten.{name}"


class Recorder:
    def __init__(self, rows):
        self.rows = rows
        self.texts = collections.defaultdict(set)
        self.unsayable = collections.Counter()  # (why, op)
        self.calls = 0
        self.busy = False

    def see(self, func, args, kwargs):
        """The text of a call of a row, before it runs (it may mutate its operands)."""
        if self.busy or not isinstance(func, torch._ops.OpOverload) or func.namespace != "aten":
            return None
        if row_name(func) not in self.rows:
            return None
        self.calls += 1
        self.busy = True  # what the writer calls is no call of the database's
        try:
            name, text = Writer().call(func, args, kwargs)
            if name not in self.rows:
                raise Unsayable("a number for a tensor, and no row that takes a number")
            return name, text
        except Unsayable as reason:
            self.unsayable[str(reason), row_name(func)] += 1
            return None
        finally:
            self.busy = False

    def keep(self, seen, result):
        """What was seen, once it did not raise and gave something that can be said."""
        if not seen:
            return
        self.busy = True
        try:
            for r in torch.utils._pytree.tree_leaves(result):
                if isinstance(r, torch.Tensor):
                    require_sayable(r)
                elif isinstance(r, complex):
                    raise Unsayable("a complex number as a value")
            self.texts[seen[0]].add(seen[1])
        except Unsayable as reason:
            self.unsayable[str(reason), seen[0]] += 1
        finally:
            self.busy = False


class Watch(TorchDispatchMode):
    """Sees what is called below autograd: all that is left once composite ops are taken apart."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen = self.recorder.see(func, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        self.recorder.keep(seen, result)
        return result


def watch_composites(recorder):
    """A mode never sees composite ops, which are taken apart above it. A kernel of ours on autograd's key sees them, and
    goes on with what takes them apart. The library must live as long as it shall watch."""
    library = torch.library.Library("aten", "IMPL")
    for name in sorted(recorder.rows):
        parts = name.split(".")
        if parts[0] != "aten":
            continue
        overload = parts[2] if len(parts) > 2 else "default"
        func = getattr(getattr(torch.ops.aten, parts[1], None), overload, None)
        if func is None or not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
            continue

        def kernel(*args, func=func, **kwargs):
            seen = recorder.see(func, args, kwargs)
            result = func.decompose(*args, **kwargs)
            recorder.keep(seen, result)
            return result

        library.impl(func.name().removeprefix("aten::"), kernel, "AutogradCPU")
    return library


def in_short(error):
    return f"{type(error).__name__}: {error}".splitlines()[0].split(". ")[0]


def run(info, dtype, limit, recorder, failures):
    """`failures` counts (database entry, error)."""
    try:
        # An entry and dtype draws the same samples whoever ran before it.
        torch.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=False), limit))
    except Exception as error:  # a database entry that can't make its samples here
        failures[info.name, in_short(error)] += 1
        return
    for sample in samples:
        with Watch(recorder):
            try:
                info(sample.input, *sample.args, **sample.kwargs)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AssertionError) as error:
                failures[info.name, in_short(error)] += 1


def record(rows, samples, numbers):
    """Everything that some entries of the database call."""
    recorder, failures = Recorder(rows), collections.Counter()
    watching = watch_composites(recorder)
    for info in (op_db[number] for number in numbers):
        for dtype in sorted(info.supported_dtypes("cpu"), key=str):
            if dtype in DTYPES:
                run(info, dtype, samples if dtype in MAIN_DTYPES else 3, recorder, failures)
    del watching
    return recorder.texts, recorder.unsayable, recorder.calls, failures


def start_worker():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz")
    parser.add_argument("output")
    parser.add_argument("--samples", type=int, default=60, help="of each entry and main dtype")
    parser.add_argument("--ops", default="", help="entries of the database whose name matches")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes; what is recorded does not depend on it")
    options = parser.parse_args()
    listed = subprocess.run([options.lenz, "ops", "--json"], check=True, capture_output=True, text=True).stdout
    rows = {row["name"] for row in json.loads(listed)}
    numbers = [i for i, info in enumerate(op_db) if re.search(options.ops, info.name)]
    texts, unsayable, calls, failures = collections.defaultdict(set), collections.Counter(), 0, collections.Counter()
    start = time.monotonic()
    parts = [numbers[i :: 8 * options.jobs] for i in range(8 * options.jobs)]
    # A process for each part: torch takes a kernel for an op once.
    with multiprocessing.get_context("fork").Pool(options.jobs, start_worker, maxtasksperchild=1) as pool:
        for done, part in enumerate(pool.imap_unordered(functools.partial(record, rows, options.samples), parts), 1):
            for name, some in part[0].items():
                texts[name] |= some
            unsayable += part[1]
            calls += part[2]
            failures += part[3]
            if sys.stderr.isatty():
                print(f"\r{done} of {len(parts)} parts", end=" ", file=sys.stderr)
    everything = [text for name in sorted(texts) for text in sorted(texts[name])]
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("%%\n".join(everything))
    said = (f"{len(everything)} distinct calls of {len(texts)} rows ({calls} seen, {unsayable.total()} without words for) "
            f"from {len(numbers)} entries in {time.monotonic() - start:.0f} s; {failures.total()} samples failed")
    print(json.dumps({
        "said": said,
        "unsaid": [{"why": why, "op": op, "count": n} for (why, op), n in sorted(unsayable.items())],
        "failed": [{"entry": entry, "why": why, "count": n} for (entry, why), n in sorted(failures.items())],
    }, indent=1))


if __name__ == "__main__":
    main()
