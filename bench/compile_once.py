"""usage: compile_once.py ROW [--threads N] [--module FILE]

What TorchInductor takes to compile a workload, in a process of its own and with its caches off: one line of JSON. Both
times are of a process that has compiled something else before: what only the first compilation of a process takes is not
in them.

backend_seconds: Inductor on the captured graph, as torch.compile hands it over; for training the joint graph.
first_seconds: the first call of what torch.compile gives, capture and run included."""

import argparse
import json
import os
import sys
import time

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import torch  # noqa: E402
from torch._inductor.compile_fx import compile_fx  # noqa: E402

import workloads  # noqa: E402


def captured(case):
    """The graph and its arguments, as Dynamo gives them to a backend."""
    if case.train:
        import exporting

        return exporting.joint_graph(case)
    caught = []

    def keep(graph, inputs):
        caught.append((graph, inputs))
        return graph.forward

    with torch.no_grad():
        torch.compile(case.program, backend=keep, dynamic=False)(*case.args, **case.kwargs)
    if len(caught) != 1:
        raise RuntimeError(f"captured as {len(caught)} graphs")
    return caught[0]


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--module")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.zeros(64))
        torch._dynamo.reset()
        row = workloads.all_rows(options.module)[options.row]
        graph, inputs = captured(row.build())
        with torch.no_grad():
            told = {"backend_seconds": seconds(lambda: compile_fx(graph, inputs))}
        torch._dynamo.reset()
        case = row.build()
        call = workloads.measured(case, torch.compile(case.program, dynamic=False))
        told["first_seconds"] = seconds(call)
    except Exception as e:  # the row's fault; the others are still wanted
        told = {"error": f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0]}"}
    print(json.dumps(told), file=answers)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
