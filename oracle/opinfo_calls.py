"""Records what PyTorch's own operator database calls, as a file of one-node graphs (compiler/ops/call_file.h).

Each sample of torch.testing._internal.opinfo runs while every ATen call is seen, composite ops before they are taken
apart and what they become; a call of an op that has a row becomes a graph. Integer inputs keep their range of values, others
a range around theirs, so that the calls stay legal.

usage: opinfo_calls.py LENZ OUTPUT [--samples N] [--ops REGEX]
"""

import argparse
import collections
import json
import math
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
    """A call that the text form has no words for: sparse, quantised, another dtype, a generator."""


class Writer:
    """One call as text."""

    def __init__(self):
        self.inputs, self.names, self.storages = [], {}, {}

    def tensor(self, t):
        if id(t) in self.names:
            return self.names[id(t)]
        if t.layout != torch.strided or t.dtype not in DTYPES or t.device.type != "cpu" or t.is_conj() or t.is_neg():
            raise Unsayable
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
            low, high = int(t.min()), int(t.max())
            return f" init integers({low}.0, {high}.0)" if max(abs(low), abs(high)) < 2**50 else " init integers(0, 1)"
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
                raise Unsayable
            return DTYPES[a]
        if isinstance(a, torch.device):
            return str(a)
        if a is torch.strided:
            return "strided"
        raise Unsayable

    def call(self, func, args, kwargs):
        schema = func._schema
        given = [(p.name, a) for p, a in zip(schema.arguments, args)] + list(kwargs.items())
        text = ", ".join(f"{name}={self.argument(a)}" for name, a in given)
        name = f"aten.{schema.name.split('::')[1]}.{schema.overload_name or 'default'}"
        results = ", ".join(f"%r{i}" for i in range(len(schema.returns)))
        left = f"{results} = " if results else ""
        return f"graph @call({', '.join(self.inputs)}) {{\n  {left}{name}({text})\n  return {results}".rstrip() + "\n}\n"


class Recorder:
    def __init__(self, rows):
        self.rows = rows
        self.texts = collections.defaultdict(set)
        self.calls = self.unsayable = 0
        self.busy = False

    def see(self, func, args, kwargs):
        """The text of a call of a row, before it runs (it may mutate its operands)."""
        if not isinstance(func, torch._ops.OpOverload) or func.namespace != "aten":
            return None
        name = f"aten.{func._schema.name.split('::')[1]}"
        name += f".{func._schema.overload_name}" if func._schema.overload_name else ""
        if name not in self.rows or self.busy:
            return None
        self.calls += 1
        self.busy = True  # what the writer calls is no call of the database's
        try:
            return name, Writer().call(func, args, kwargs)
        except Unsayable:
            self.unsayable += 1
            return None
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
        if seen:  # it did not raise
            self.recorder.texts[seen[0]].add(seen[1])
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
            if seen:
                recorder.texts[seen[0]].add(seen[1])
            return result

        library.impl(func.name().removeprefix("aten::"), kernel, "AutogradCPU")
    return library


def run(info, dtype, limit, recorder, failures):
    try:
        samples = info.sample_inputs("cpu", dtype, requires_grad=False)
        for number, sample in enumerate(samples):
            if number >= limit:
                break
            with Watch(recorder):
                try:
                    info(sample.input, *sample.args, **sample.kwargs)
                except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AssertionError):
                    failures[info.name] += 1
    except Exception as error:  # a database entry that can't make its samples here
        failures[f"{info.name}: {type(error).__name__}"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz")
    parser.add_argument("output")
    parser.add_argument("--samples", type=int, default=60, help="of each entry and main dtype")
    parser.add_argument("--ops", default="", help="entries of the database whose name matches")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)

    listed = subprocess.run([options.lenz, "ops", "--json"], check=True, capture_output=True, text=True).stdout
    rows = {row["name"] for row in json.loads(listed)}
    recorder, failures, start = Recorder(rows), collections.Counter(), time.monotonic()
    watching = watch_composites(recorder)
    infos = [info for info in op_db if re.search(options.ops, info.name)]
    for number, info in enumerate(infos, 1):
        for dtype in sorted(info.supported_dtypes("cpu"), key=str):
            if dtype in DTYPES:
                run(info, dtype, options.samples if dtype in MAIN_DTYPES else 3, recorder, failures)
        if sys.stderr.isatty():
            print(f"\r{number} of {len(infos)} entries", end=" ", file=sys.stderr)
    texts = [text for name in sorted(recorder.texts) for text in sorted(recorder.texts[name])]
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("%%\n".join(texts))
    del watching
    print(f"{len(texts)} distinct calls of {len(recorder.texts)} rows ({recorder.calls} seen, {recorder.unsayable} without "
          f"words for) from {len(infos)} entries in {time.monotonic() - start:.0f} s; {sum(failures.values())} samples failed")


if __name__ == "__main__":
    main()
