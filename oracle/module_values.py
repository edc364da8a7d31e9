"""Exports the samples of PyTorch's own module database, whole modules with their arguments, and has `lenz check` judge
what each path makes of the graphs: passes, loops, kernels, machine code, by eager and the float64 reference.

A graph that drawn values leave open, or lead out of range, is checked once more on the module's own weights and the
sample's arguments. What PyTorch's capture refuses is counted, and named by its reason.

usage: module_values.py [LENZ] [--only NAME ...] [--samples N] [--dynamic] [--jobs N] [--keep FOLDER]
exit code: 0; 7 if any result is wrong; 1 if Lenz fails on one or refuses what capture gives it
"""

import argparse
import collections
import inspect
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
FINE, OUR_FAULT, NOT_COVERED, WRONG = 0, 1, 6, 7
BATCH = 16  # graphs of one process
DTYPES = ("float32", "bfloat16")


def samples_of(torch, entry, dtype, training, most):
    """(constructor's arguments, call's arguments), each with keywords."""
    torch.manual_seed(1)
    inputs = entry.module_inputs_func(entry, device="cpu", dtype=dtype, requires_grad=False, training=training)
    made = [s for s in inputs if s.forward_input is not None]
    step = max(1, len(made) // most)  # all over the list: neighbours are alike
    return made[::step][:most]


def module_of(torch, entry, sample, dtype, training):
    torch.manual_seed(2)
    args, kwargs = sample.constructor_input.args, sample.constructor_input.kwargs
    try:
        module = entry.module_cls(*args, **kwargs, device="cpu", dtype=dtype)
    except TypeError:  # it has no parameters
        module = entry.module_cls(*args, **kwargs)
    return module.train(training)


def open_sizes(torch, module, args, kwargs, dims_of=lambda name, value: range(value.dim())):
    """As torch.export wants them: each of these sizes of each argument may be another one, if the module allows it."""
    auto = torch.export.Dim.AUTO

    def of(path, value):
        name = next(key.key for key in reversed(path) if isinstance(key, torch.utils._pytree.MappingKey))
        return dict.fromkeys(dims_of(name, value), auto) if isinstance(value, torch.Tensor) else None

    bound = dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
    return torch.utils._pytree.tree_map_with_path(of, bound)


def exported(options, folder):
    """{path: what was written}, and how often what was not, for which reason."""
    import torch
    from torch.testing._internal.common_modules import module_db

    sys.path.insert(0, str(HERE.parent / "compiler" / "torch" / "python"))
    import lenz

    texts, reasons = {}, collections.Counter()
    for entry in module_db:
        if options.only and not any(name in entry.name for name in options.only):
            continue
        print(f"{entry.name} ({len(texts)} samples are exported)", file=sys.stderr, flush=True)
        for dtype in (getattr(torch, name) for name in DTYPES):
            if dtype not in entry.supported_dtypes("cpu"):
                continue
            for training in (True, False) if entry.train_and_eval_differ else (False,):
                for n, sample in enumerate(samples_of(torch, entry, dtype, training, options.samples)):
                    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
                    try:
                        module = module_of(torch, entry, sample, dtype, training)
                        module(*args, **kwargs)  # also makes the parameters of lazy ones
                    except Exception:  # noqa: BLE001, whatever eager refuses
                        reasons["eager refuses the sample"] += 1
                        continue
                    kind = f"{'train' if training else 'eval'}{n}"
                    path = folder / f"{entry.name.replace('.', '_')}-{str(dtype)[6:]}-{kind}.lenz"
                    try:
                        sizes = open_sizes(torch, module, args, kwargs) if options.dynamic else None
                        texts[path] = lenz.export(module, args, path, kwargs=kwargs, dynamic=sizes, sources=False)
                        texts[path].save_inputs(path.with_suffix(".inputs.npz"))
                    except lenz.ExportError as error:
                        reason = str(error).split("(")[0].split("\n")[0].strip()
                        reasons[f"not exported: {reason}"] += 1
                        if "lenz refuses" in reason:
                            print(f"{path.stem}: {error}", flush=True)
    return texts, reasons


def checked(lenz, paths, *options):
    """What `lenz check` says of each file."""
    done = subprocess.run([lenz, "check", *options, "--json", *paths], capture_output=True, text=True, check=False)
    try:
        return {pathlib.Path(report["file"]): report for report in json.loads(done.stdout)}
    except ValueError:  # it died, of one of them
        if len(paths) > 1:
            return {path: checked(lenz, [path], *options)[path] for path in paths}
        return {paths[0]: {"code": OUR_FAULT, "error": f"exit code {done.returncode}\n{done.stderr}", "findings": []}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default=str(HERE.parent / "build" / "lenz"))
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="modules whose names hold one of these")
    parser.add_argument("--samples", type=int, default=100, help="of each module, dtype and mode, at most")
    parser.add_argument("--dynamic", action="store_true", help="leave all sizes of arguments open that may be")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where texts stay; nowhere if absent")
    options = parser.parse_args()
    lenz = pathlib.Path(options.lenz).resolve()
    os.environ["LENZ"] = str(lenz)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        texts, reasons = exported(options, folder.resolve())
        paths = sorted(texts)
        print(f"{len(paths)} samples are exported; checking them", flush=True)
        with ThreadPoolExecutor(options.jobs) as pool:
            parts = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
            reports = {}
            for part in pool.map(lambda some: checked(lenz, some, "--seeds", "1"), parts):
                reports |= part
                print(f"{len(reports)} of {len(paths)} checked", file=sys.stderr, flush=True)
            open_ones = [path for path in paths if reports[path]["code"] == NOT_COVERED]

            def once_more(path):
                return checked(lenz, [path], "--inputs", path.with_suffix(".inputs.npz"))

            for part in pool.map(once_more, open_ones):
                reports |= part
    ends = collections.Counter(reports[path]["code"] for path in paths)
    for path in paths:
        report = reports[path]
        if report["code"] != FINE:
            print(f"{path.stem}: {report.get('error') or [f.get('text') for f in report['findings']] or 'weak'}")
    for reason, count in reasons.most_common():
        print(f"{count} times {reason}")
    refused = sum(count for reason, count in reasons.items() if "lenz refuses" in reason)
    others = sum(ends.values()) - ends[FINE] - ends[NOT_COVERED] - ends[WRONG]
    print(f"{len(paths)} of {len(paths) + sum(reasons.values())} samples of modules: {ends[FINE]} agree, {len(open_ones)} asked "
          f"on their own values, {ends[NOT_COVERED]} weak or not covered, {ends[WRONG]} wrong, {others + refused} our own failures")
    return WRONG if ends[WRONG] else OUR_FAULT if others or refused else FINE


if __name__ == "__main__":
    sys.exit(main())
