#!/usr/bin/env python3
"""usage: inductor.py CACHE_FOLDER

torch.compile as a subject of `lenz fuzz`: one JSON object a line comes in, one goes out.

  {"do": "run", "program": P, "results": R, "mutated": [..]}   runs graph() of the program P, as `lenz python` prints it,
      through torch.compile on inputs(); its results, and inputs by [number, name], go to the .npz R.
      Answers {"outcome": "finished"}, or "raised", "refused" (it says itself that it does not take such programs) with
      "kind" and "text".
  {"do": "same", "program": P}   by the rule that PyTorch's maintainers accept (torch._dynamo.utils.same, with float64
      as the arbiter where the program can be run in it): {"same": true or false, "by": "float64" or "eager alone"}

What fails otherwise answers {"error": text}."""

import ctypes
import json
import os
import signal
import sys
import traceback

# What libraries print must not stand between the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
# It must not outlive who asks.
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
cache = sys.argv[1]
os.environ.update(TORCHINDUCTOR_CACHE_DIR=cache, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", OMP_NUM_THREADS="1")

import numpy as np
import torch
import torch._dynamo
import torch._inductor.config

torch.set_num_threads(1)
torch._inductor.config.compile_threads = 1
torch._inductor.config.fallback_random = True
torch._inductor.config.cpp_cache_precompile_headers = True  # a second less for each case
BITS = {torch.bfloat16: "bf16", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2"}


def array(tensor):
    """A tensor's elements, and what NumPy does not know of them."""
    t = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if t.dtype in BITS:
        return t.view(torch.uint16 if t.itemsize == 2 else torch.uint8).numpy(), {"dtype": BITS[t.dtype]}
    return t.numpy(), None


def save(path, results, inputs, mutated):
    arrays, told = {}, {}

    def add(key, value):
        if isinstance(value, (list, tuple)):
            for i, element in enumerate(value):
                add(f"{key}.{i}", element)
        elif isinstance(value, torch.Tensor):
            arrays[key], said = array(value)
            if said:
                told[key] = said
        elif isinstance(value, (bool, int, float)):
            arrays[key] = np.array(value, dtype={bool: np.bool_, int: np.int64, float: np.float64}[type(value)])

    for i, result in enumerate(results):
        add(f"out{i}", result)
    for number, name in mutated:
        add(name, inputs[number])
    arrays["lenz"] = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def load(program):
    space = {"__name__": "program"}
    with open(program) as file:
        exec(compile(file.read(), program, "exec"), space)
    return space["graph"], space["inputs"]


def run(program, results, mutated):
    graph, inputs = load(program)
    torch._dynamo.reset()
    given = inputs()
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            got = torch.compile(graph, dynamic=False)(*given)
    except torch._dynamo.exc.Unsupported as error:
        return {"outcome": "refused", "kind": type(error).__name__, "text": str(error)}
    except Exception as error:
        inner = error
        while getattr(inner, "inner_exception", None) is not None:
            inner = inner.inner_exception
        # It says in so many words that such a program is beyond it.
        outcome = "refused" if "does not yet" in str(inner) else "raised"
        return {"outcome": outcome, "kind": type(inner).__name__, "text": str(inner)}
    save(results, got, given, mutated)
    return {"outcome": "finished"}


def widened(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    return value


def same(program):
    from torch._dynamo.utils import same as agree

    graph, inputs = load(program)
    torch._dynamo.reset()
    with torch.no_grad():
        given, wide, other = inputs(), [widened(i) for i in inputs()], inputs()
        expected = graph(*given) + given
        try:
            arbiter = graph(*wide) + wide
            arbiter = [widened(a) for a in arbiter]
        except Exception:
            arbiter = None
        got = torch.compile(graph, dynamic=False)(*other) + other
    verdict = agree(expected, got, fp64_ref=arbiter, equal_nan=True, tol=1e-4)
    return {"same": bool(verdict), "by": "float64" if arbiter is not None else "eager alone"}


def main():
    torch.compile(lambda x: x + 1)(torch.ones(8))  # it looks for compilers and instructions first
    print(json.dumps({"torch": torch.__version__}), file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"run": run, "same": same}[asked.pop("do")](**asked)
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
