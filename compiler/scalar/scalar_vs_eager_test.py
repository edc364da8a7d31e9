#!/usr/bin/env python3
"""Holds every row of the scalar table against eager PyTorch, in every dtype that the row names.

    scalar_vs_eager_test.py LENZ [--count N] [--seed S] [--rows REGEX] [--report]

Each row runs over special and random values: on one long tensor (eager's vectorized path), on a strided one and on
tensors of one element (its scalar paths). Integers and bools must agree in every bit; floats in the place of NaN,
infinities and signed zeros, and else within the row's accuracy or, where eager is worse, within what the row says of
eager. What a row excuses (EagerException) must really differ somewhere, or the excuse is stale and fails the test.
--report prints how far eager was off. A row's dtypes are checked to be those that eager has."""

import argparse
import json
import re
import subprocess
import sys
import time
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "c64": torch.complex64, "c128": torch.complex128, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
}  # fmt: skip
NAMES = {v: k for k, v in DTYPES.items()}
# precision, least normal exponent, greatest exponent
FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023),
           "f8e4m3": (4, -6, 8), "f8e5m2": (3, -14, 15)}  # fmt: skip
BITS_VIEW = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
COMPONENT = {"c64": "f32", "c128": "f64"}


def is_float(name):
    return name in FORMATS


def is_complex(name):
    return name in COMPONENT


# --- values ----------------------------------------------------------------------------------------------------------


def integer_specials(name):
    info = torch.iinfo(DTYPES[name])
    near = {0, 1, 2, 3, 5, 7, 8, 10, 12, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 32767, 32768, 65535, 2**31, 2**62}
    near |= {-v for v in near} | {info.min, info.min + 1, info.max, info.max - 1}
    return sorted(v for v in near if info.min <= v <= info.max)


def float_specials(name):
    p, low, _ = FORMATS[name]
    largest = largest_finite(name)
    values = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.25, 10.0, 100.0, 0.1, 1 / 3, np.pi, np.e, np.pi / 2, 7.0, 20.0]
    values += [2.0**low, 2.0 ** (low - p + 1), 2.0**low * 0.75, largest, largest / 2, largest * 0.75]
    values += [1 + 2.0 ** (1 - p), 1 - 2.0**-p, 2.0 ** (p - 1), 2.0**p + 2, 2.0 ** (p - 2) + 0.5, 4.5, 1e-3, 1e-5, 30.0]
    values += [np.inf, np.nan]
    return [v * s for v in values for s in (1.0, -1.0)]


def largest_finite(name):
    p, _, high = FORMATS[name]
    return 448.0 if name == "f8e4m3" else 2.0**high * (2 - 2.0 ** (1 - p))


def smallest_subnormal(name):
    p, low, _ = FORMATS[name]
    return 2.0 ** (low - p + 1)


def tensor_of(name, values):
    """A tensor of the dtype from Python numbers or a NumPy array; floats are rounded to it."""
    dtype = DTYPES[name]
    if is_float(name):
        wide = torch.from_numpy(np.asarray(values, dtype=np.float64))
        return wide.to(torch.float32).to(dtype) if name not in ("f32", "f64") else wide.to(dtype)
    return torch.tensor(values, dtype=dtype)


def specials(name):
    if name == "bool":
        return torch.tensor([False, True])
    if is_complex(name):
        parts = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-3, 30.0, np.inf, -np.inf, np.nan]
        return torch.tensor([complex(x, y) for x in parts for y in parts], dtype=DTYPES[name])
    if is_float(name):
        return tensor_of(name, float_specials(name))
    return torch.tensor(integer_specials(name), dtype=DTYPES[name])


def drawn(name, count, intervals, rng, inside=False):
    """Random values: half from the row's domain, half of any magnitude."""
    if name == "bool":
        return torch.from_numpy(rng.integers(0, 2, count).astype(bool))
    if is_complex(name):
        part = COMPONENT[name]
        wide = {"f32": 3.0, "f64": 3.0}[part]
        z = rng.uniform(-wide, wide, count) + 1j * rng.uniform(-wide, wide, count)
        z *= np.exp2(rng.uniform(-10, 2, count))
        return torch.from_numpy(z).to(DTYPES[name])
    if is_float(name):
        _, low, high = FORMATS[name]
        wild = np.exp2(rng.uniform(low, min(high, 1000), count)) * rng.choice([-1.0, 1.0], count)
        near = rng.uniform(-8, 8, count)
        if intervals:
            picks = rng.integers(0, len(intervals), count)
            ends = np.asarray(intervals)[picks]
            tame = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * rng.uniform(0, 1, count)
            # wide intervals: uniform in the exponent, or everything would be huge
            logs = np.exp2(rng.uniform(-12, np.log2(np.maximum(np.abs(ends).max(axis=1), 1e-3)).clip(-11, high), count))
            logs = np.where(ends[:, 0] < 0, logs * rng.choice([-1.0, 1.0], count), logs)
            tame = np.where(rng.uniform(0, 1, count) < 0.5, tame, np.clip(logs, ends[:, 0], ends[:, 1]))
        else:
            tame = near
        if inside:
            return tensor_of(name, tame)
        pick = rng.uniform(0, 1, count)
        return tensor_of(name, np.where(pick < 0.6, tame, np.where(pick < 0.8, near, wild)))
    info = torch.iinfo(DTYPES[name])
    big = rng.integers(info.min, info.max, count, endpoint=True, dtype=np.int64)
    small = rng.integers(max(info.min, -20), 20, count)
    return torch.from_numpy(np.where(rng.uniform(0, 1, count) < 0.5, big, small)).to(DTYPES[name])


def operand_dtype(row, compute, i):
    if row["operands"] == "condition_first" and i == 0:
        return "bool"
    if row["operands"] == "integer_first" and i == 0 or row["operands"] == "integer_last" and i == row["arity"] - 1:
        return "i64"
    return compute


def inside_only(x, intervals):
    """Specials of a row whose work grows with its operands: NaN, infinities and what its domain holds, and a little more."""
    if not intervals or not x.dtype.is_floating_point:
        return x
    low, high = min(i[0] for i in intervals), max(i[1] for i in intervals)
    return x[~x.isfinite() | ((x >= low - 3.5) & (x <= high))]


def operands_for(row, compute, count, rng):
    names = [operand_dtype(row, compute, i) for i in range(row["arity"])]
    domains = row["domain"]
    inside = "costly" in row["traits"]
    if row["operands"] in ("integer_first", "integer_last"):  # few integers: eager takes them as Python numbers
        few = torch.arange(0, 6) if row["operands"] == "integer_first" else torch.arange(-3, 6)
        if "int(" not in row["eager"]["call"]:
            few = torch.cat([few, torch.tensor([-1100, -150, -127, -126, -30, 30, 100, 126, 127, 128, 150, 1100])])
        where = 0 if row["operands"] == "integer_first" else row["arity"] - 1
        other = specials(compute)
        if inside:
            other = inside_only(other, domains[1 - where])
        other = torch.cat([other, drawn(compute, count // 4, domains[1 - where], rng, inside)])
        grid = [few.repeat_interleave(len(other)), other.repeat(len(few))]
        return grid if where == 0 else grid[::-1]
    lists = [specials(n) for n in names]
    if inside:
        lists = [inside_only(x, d) for x, d in zip(lists, domains)]
    if len(names) > 1:  # every pair and triple of specials, thinned to a few thousand
        limit = {2: 40, 3: 12}[len(names)]
        lists = [x[torch.from_numpy(rng.permutation(len(x))[: max(limit, 2)])] for x in lists]
        grids = torch.meshgrid(*[torch.arange(len(x)) for x in lists], indexing="ij")
        lists = [x[g.reshape(-1)] for x, g in zip(lists, grids)]
    return [torch.cat([x, drawn(n, count, d, rng, inside)]) for x, n, d in zip(lists, names, domains)]


# --- Lenz ------------------------------------------------------------------------------------------------------------


def bits_of(tensor):
    name = NAMES[tensor.dtype]
    if name == "c128":
        words = torch.view_as_real(tensor).contiguous().view(torch.int64).tolist()
        return ["%016x%016x" % (im & (2**64 - 1), re & (2**64 - 1)) for re, im in words]
    if name == "bool":
        return ["%x" % v for v in tensor.to(torch.uint8).tolist()]
    size = tensor.element_size()
    mask = 2 ** (8 * size) - 1
    return ["%x" % (v & mask) for v in tensor.view(BITS_VIEW[size]).tolist()]


class Reference:
    """What `lenz scalar --eval` answers to a list of calls."""

    def __init__(self, lenz, row, compute, operands, target=None):
        types = compute + (":" + target if target else "")
        columns = [bits_of(x) for x in operands]
        request = "".join("%s %s %s\n" % (row["name"], types, " ".join(words)) for words in zip(*columns))
        run = subprocess.run([lenz, "scalar", "--eval"], input=request, capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit("lenz scalar --eval failed: " + run.stderr)
        lines = [line.split(" ") for line in run.stdout.splitlines()]
        assert len(lines) == len(columns[0]), "lenz scalar --eval answered %d of %d" % (len(lines), len(columns[0]))
        self.raises = np.array([w[0] == "raises" for w in lines])
        lines = [w if w[0] != "raises" else ["0", "0x0p+0", "0x0p+0", "undefined"] for w in lines]
        self.bits = [w[0] for w in lines]
        self.first = np.array([float.fromhex(w[1]) for w in lines])
        self.second = np.array([float.fromhex(w[2]) for w in lines])
        self.defined = np.array([w[3] == "defined" for w in lines]) & ~self.raises


def values_of_bits(name, bits):
    words = [int(b, 16) for b in bits]
    if name == "c128":
        pairs = [[w & (2**64 - 1), w >> 64] for w in words]
        return torch.view_as_complex(torch.from_numpy(np.array(pairs, dtype=np.uint64).view(np.float64)))
    if name == "bool":
        return torch.tensor([bool(w) for w in words])
    size = torch.empty(0, dtype=DTYPES[name]).element_size()
    raw = np.array(words, dtype=np.uint64).astype({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size])
    signed = raw.view({1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[size])
    return torch.from_numpy(signed).view(DTYPES[name])


# --- eager -----------------------------------------------------------------------------------------------------------


def call_eager(row, operands, target):
    scope = {"torch": torch, "int": lambda t: int(t.reshape(-1)[0]), "target": DTYPES.get(target)}
    scope.update(zip("abc", operands))
    return eval(row["eager"]["call"], scope)


def eager_paths(row, operands, target):
    """(path name, result) over the same operands: vectorized, strided, one element at a time."""
    if "int(" in row["eager"]["call"]:
        which = 0 if row["operands"] == "integer_first" else row["arity"] - 1
        order, runs = [], {"vectorized": [], "strided": []}
        for value in operands[which].unique():
            chosen = (operands[which] == value).nonzero().reshape(-1)
            order.append(chosen)
            part = [x[chosen] for x in operands]
            runs["vectorized"].append(call_eager(row, part, target))
            runs["strided"].append(call_eager(row, [strided(x) for x in part], target))
        back = torch.cat(order).argsort()
        for path, parts in runs.items():
            yield path, torch.cat(parts)[back]
        return
    yield "vectorized", call_eager(row, operands, target)
    if "view(target)" in row["eager"]["call"]:
        return
    yield "strided", call_eager(row, [strided(x) for x in operands], target)
    few = [x[:400] for x in operands]
    single = [call_eager(row, [x[i : i + 1] for x in few], target) for i in range(len(few[0]))]
    yield "single", torch.cat(single)


def strided(x):
    doubled = torch.empty(2 * len(x), dtype=x.dtype)
    doubled[::2] = x
    return doubled[::2]


# --- comparison ------------------------------------------------------------------------------------------------------


def last_place(name, magnitude):
    p, low, high = FORMATS[name]
    _, exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 1.0))
    exponent = np.where(magnitude == 0, low, np.clip(exponent - 1, low, high))
    return np.ldexp(1.0, exponent - (p - 1))


def operand_magnitude(row, operands, n):
    """The greatest finite operand, where the row measures its errors by that."""
    if not row["accuracy"]["of_operands"]:
        return np.zeros(n)
    sizes = [np.abs(Check.plain(x[:n])) for x in operands]
    return np.maximum.reduce([np.where(np.isfinite(s), s, 0.0) for s in sizes])


def arithmetic(row, name):
    """What a dtype is computed in, whose last places are counted."""
    return "f32" if name in ("f16", "bf16") and not row["eager"]["narrow_ulps"] else name


def computed_distance(row, name, distance, size):
    """Of what is computed wider, without the one rounding that stores it."""
    if arithmetic(row, name) == name:
        return distance
    return np.maximum(distance - 0.5 * last_place(name, size * (1 + 2.0**-20)), 0)


def float_errors(name, got, ref, row, operands):
    """Per element: how far eager is from the exact result, in last places of what it is computed in; infinite for a wrong
    NaN, infinity or sign."""
    want = values_of_bits(name, ref.bits).double().numpy()
    got = got.double().numpy()
    first, second = ref.first[: len(got)], ref.second[: len(got)]
    want = want[: len(got)]
    with np.errstate(all="ignore"):
        magnitude = np.maximum(np.abs(first), max(row["accuracy"]["absolute"], row["eager"]["absolute"]))
        magnitude = np.maximum(magnitude, operand_magnitude(row, operands, len(got)))
        distance = np.abs((got - first) - np.where(np.isfinite(second), second, 0.0))
        distance = computed_distance(row, name, distance, np.abs(first)) / last_place(arithmetic(row, name), magnitude)
        # an infinity beside a finite number: as if the exponent went on
        p, _, high = FORMATS[name]
        beyond = np.ldexp(2.0, min(high, 1022)) * (2.0 if high == 1023 else 1.0)
        one_infinite = np.isinf(got) != np.isinf(want)
        largest = np.full(len(got), np.ldexp(1.0, high))
        clipped = np.abs(np.clip(np.where(np.isfinite(first), first, np.sign(first) * beyond), -beyond, beyond)
                         - np.clip(got, -beyond, beyond))
        clipped = computed_distance(row, name, clipped, largest) / last_place(arithmetic(row, name), largest)
    errors = np.where(one_infinite, clipped, distance)
    errors = np.where(got == want, np.minimum(np.where(np.isnan(distance), 0, distance), 0.5), errors)
    errors = np.where(np.isnan(got) & np.isnan(want), 0.0, errors)
    errors = np.where(np.isnan(got) != np.isnan(want), np.inf, errors)
    if "loose_zero" not in row["traits"]:
        zeros = (got == 0) & (want == 0)
        errors = np.where(zeros & (np.signbit(got) != np.signbit(want)), np.inf, errors)
    return np.where(np.isnan(errors), np.inf, errors)


def complex_errors(name, got, ref, row, operands):
    part = COMPONENT[name]
    got = got.to(torch.complex128).numpy()
    want = values_of_bits(name, ref.bits).to(torch.complex128).numpy()[: len(got)]
    exact = (ref.first + 1j * ref.second)[: len(got)]
    with np.errstate(all="ignore"):
        magnitude = np.maximum(np.abs(exact), row["accuracy"]["absolute"])
        magnitude = np.maximum(magnitude, operand_magnitude(row, operands, len(got)))
        distance = np.abs(got - exact) / last_place(part, magnitude)
    finite = np.isfinite(want.real) & np.isfinite(want.imag)
    got_finite = np.isfinite(got.real) & np.isfinite(got.imag)
    # A result that is not finite is so on both sides; which part carries it is not looked at.
    errors = np.where(finite & got_finite, distance, np.where(finite == got_finite, 0.0, np.inf))
    return np.where(np.isnan(errors), np.inf, errors)


def exact_errors(name, got, ref):
    want = values_of_bits(name, ref.bits)[: len(got)]
    return np.where((got == want).numpy(), 0.0, np.inf)


def allowed_error(row, compute, result):
    accuracy, eager = row["accuracy"], row["eager"]
    kind = accuracy["class_of_complex" if is_complex(compute) else "class"]
    if is_complex(compute) and result != "bool" and kind != "exact":
        return max(accuracy["complex_ulps"], eager["complex_ulps"])
    bound = {"exact": 0.5, "correctly_rounded": 0.5, "ulps": accuracy["ulps"]}[kind]
    if eager["narrow_ulps"] and compute in ("f16", "bf16"):
        return eager["narrow_ulps"]
    return max(bound, eager["f64_ulps"] or eager["ulps"] if compute == "f64" else eager["ulps"])


class Check:
    def __init__(self, options, rows):
        self.options = options
        self.rows = rows
        self.failures = []
        self.compared = 0
        self.worst = {}  # row -> dtype -> error
        self.excuses_used = set()

    def row(self, row):
        for compute in row["dtypes"]:
            targets = [None]
            if row["result"] == "target":
                targets = [t for t in DTYPES if row["name"] != "bitcast" or self.same_width(compute, t)]
            for target in targets:
                try:
                    self.run(row, compute, target)
                except (RuntimeError, NotImplementedError) as error:
                    self.fail(row, compute + (":" + target if target else ""), "eager raises: " + str(error))
        for i, excuse in enumerate(row["eager"]["exceptions"]):
            if excuse["steady"] and (row["name"], i) not in self.excuses_used:
                self.fail(row, "-", "stale excuse, eager agrees now: " + excuse["reason"])
        self.dtypes(row)

    @staticmethod
    def same_width(a, b):
        size = lambda n: torch.empty(0, dtype=DTYPES[n]).element_size()
        return size(a) == size(b) and "bool" not in (a, b)

    def fail(self, row, where, text):
        self.failures.append("%s %s: %s" % (row["name"], where, text))

    def run(self, row, compute, target):
        where = compute + ("->" + target if target else "")
        rng = np.random.default_rng([self.options.seed, *map(ord, row["name"] + where)])
        operands = operands_for(row, compute, self.options.count, rng)
        ref = Reference(self.options.lenz, row, compute, operands, target)
        for i in np.flatnonzero(ref.raises)[:3]:
            try:
                call_eager(row, [x[i : i + 1] for x in operands], target)
                self.fail(row, where, "we raise, eager does not: " + self.show(operands, i))
            except RuntimeError:
                pass
        keep = ref.defined  # what is the machine's to say is not even called: it may kill the process
        if not keep.all():
            kept = torch.from_numpy(np.flatnonzero(keep))
            operands = [x[kept] for x in operands]
            ref = Reference(self.options.lenz, row, compute, operands, target)
        bound = None
        for path, got in eager_paths(row, operands, target):
            n = len(got)
            result = NAMES.get(got.dtype, str(got.dtype))
            if bound is None:
                bound = allowed_error(row, compute, result)
            expected = self.result_dtype(row, compute, target)
            if result != expected:
                self.fail(row, where, "%s: eager gives %s, the row says %s" % (path, result, expected))
                return
            got = got.resolve_conj()
            if is_complex(result):
                errors = complex_errors(result, got, ref, row, operands)
            elif is_float(result):
                errors = float_errors(result, got, ref, row, operands)
            else:
                errors = exact_errors(result, got, ref)
            errors = np.where(ref.defined[:n], errors, 0.0)
            wrong = errors > bound
            excused = np.zeros(n, dtype=bool)
            for i, excuse in enumerate(row["eager"]["exceptions"]):
                if compute not in excuse["dtypes"]:
                    continue
                arithmetic = COMPONENT.get(compute, compute if compute == "f64" else "f32")
                scope = {"np": np, "r": ref.first[:n], "path": path, "largest": largest_finite(arithmetic),
                         "tiny": smallest_subnormal(arithmetic)}  # fmt: skip
                scope.update(zip("abc", [self.plain(x[:n]) for x in operands]))
                with np.errstate(all="ignore"):
                    hit = np.broadcast_to(eval(excuse["when"], scope), (n,))
                if (hit & wrong).any():
                    self.excuses_used.add((row["name"], i))
                excused = excused | (hit & (errors <= (excuse["ulps"] or np.inf)))
            self.compared += int((ref.defined[:n] & ~excused).sum())
            finite = errors[~excused & np.isfinite(errors)]
            worst = self.worst.setdefault(row["name"], {})
            worst[compute] = max(worst.get(compute, 0.0), finite.max() if len(finite) else 0.0)
            bad = np.flatnonzero(wrong & ~excused)
            if len(bad):
                shown = "; ".join(
                    "%s eager %r, lenz %r (%.3g ulp)"
                    % (self.show(operands, i), got[i].item(), values_of_bits(result, [ref.bits[i]])[0].item(), errors[i])
                    for i in sorted(bad, key=lambda i: -errors[i])[: self.options.show]
                )
                self.fail(row, where, "%s: %d of %d differ by more than %g ulp: %s" % (path, len(bad), n, bound, shown))

    @staticmethod
    def plain(x):
        return x.double().numpy() if x.dtype.is_floating_point else x.numpy()

    @staticmethod
    def show(operands, i):
        return "(%s)" % ", ".join(repr(x[i].item()) for x in operands)

    @staticmethod
    def result_dtype(row, compute, target):
        rule = row["result"]
        if rule == "target":
            return target
        if rule == "real_of":
            return COMPONENT.get(compute, compute)
        return {"same": compute, "boolean": "bool", "int32": "i32", "complex_of": "c64" if compute == "f32" else "c128"}[rule]

    def dtypes(self, row):
        """Eager has no further dtype in which the function works, on one element and on several, and is no promotion."""
        if row["result"] == "target" or not row["eager"]["call"]:
            return
        for name, dtype in DTYPES.items():
            if name in row["dtypes"] or name in row["eager"]["composite"]:
                continue
            try:
                for n in (1, 3):
                    ones = torch.ones(n, dtype=torch.int64)
                    operands = [ones.to(DTYPES[operand_dtype(row, name, i)]) for i in range(row["arity"])]
                    got = call_eager(row, operands, None)
            except (RuntimeError, NotImplementedError, ValueError):
                continue
            rule = row["result"]
            if rule in ("same", "boolean") and got.dtype in (dtype, torch.bool):
                self.fail(row, name, "eager has this dtype, the row lacks it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz")
    parser.add_argument("--count", type=int, default=300, help="random values beside the special ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", default="", help="only rows whose name matches")
    parser.add_argument("--report", action="store_true", help="print eager's greatest error for each row")
    parser.add_argument("--show", type=int, default=3, help="differences to print for each failure")
    options = parser.parse_args()
    rows = json.loads(subprocess.run([options.lenz, "scalar", "--json"], capture_output=True, text=True, check=True).stdout)
    check = Check(options, rows)
    skipped = []
    for row in rows:
        if not re.search(options.rows, row["name"]):
            continue
        if not row["eager"]["call"]:
            skipped.append(row["name"])
            continue
        began = time.monotonic()
        check.row(row)
        if options.report:
            print("%-34s %.1f s" % (row["name"], time.monotonic() - began), flush=True)
    if options.report:
        for name, worst in check.worst.items():
            print("%-34s %s" % (name, "  ".join("%s %.3g" % item for item in worst.items() if item[1] > 0)))
    for failure in check.failures:
        print("FAILED", failure)
    print("%d rows, %d results compared, %d failures; eager has no call for: %s"
          % (len(check.worst), check.compared, len(check.failures), ", ".join(skipped) or "-"))
    if check.compared == 0:
        print("FAILED nothing was compared")
        return 7
    return 7 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
