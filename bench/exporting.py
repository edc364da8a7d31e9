"""Workloads as files: NAME.lenz, NAME.inputs.npz with its values, NAME.json with what they were made from.

Files that are up to date stay."""

import hashlib
import inspect
import json
import logging
import sys
import warnings
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGE = ROOT / "compiler" / "torch" / "python"
sys.path.insert(0, str(PACKAGE))

import lenz  # noqa: E402
from lenz.fake_kernels import mended_kernels  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.utils._pytree import tree_map  # noqa: E402

import workloads  # noqa: E402


def joint_graph(case):
    """Forward and backward as one FX graph of ATen calls, and its arguments."""
    held = {**workloads.parameters(case), **workloads.buffers(case)}

    def step(*args):
        own, given = args[: len(case.args)], dict(zip(held, args[len(case.args) :]))
        loss = workloads.loss_of(torch.func.functional_call(case.program, given, own) if given else case.program(*own))
        return (loss, *torch.autograd.grad(loss, [t for t in args if t.requires_grad]))

    args = (*(t.requires_grad_(t.is_floating_point()) for t in case.args), *held.values())
    # oneDNN's recurrent layers keep what they need in bytes of their own.
    with torch.backends.mkldnn.flags(enabled=False), mended_kernels():
        return make_fx(step, tracing_mode="fake")(*args), args


def every_size(case):
    """What lenz.export takes to leave every size open that the program does not fix."""
    if case.train or case.kwargs:
        raise ValueError("sizes are left open of functions of tensors alone")
    return tuple(tree_map(lambda t: [torch.export.Dim.AUTO] * t.dim(), case.args))


def write(case, path, dynamic=None):
    """Writes text and values; returns what lenz.export returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            if case.train:
                graph, args = joint_graph(case)
                made = lenz.export_fx(graph, args, path, weights="seeded", sources=False)
            else:
                made = lenz.export(case.program, case.args, path, case.kwargs, dynamic or case.dynamic, weights="seeded",
                                   sources=False)
        finally:
            logging.disable(logging.NOTSET)
    made.save_inputs(path.with_suffix(".inputs.npz"))
    return made


def made_from(row, *how):
    """What decides the files: the sources that make them, torch, the row and its sizes."""
    digest = hashlib.sha256(json.dumps([torch.__version__, row.name, *how]).encode())
    own = Path(inspect.getsourcefile(row.make)).resolve()
    for source in sorted({*PACKAGE.glob("lenz/*.py"), *HERE.glob("*.py"), ROOT / "corpus/models/zoo.py", own}):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def export(name, row, sizes, folder, dynamic=False):
    """The files of a row at these sizes (none: its own); `name` is theirs. `dynamic`: with every size left open."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path, note = folder / f"{name}.lenz", folder / f"{name}.json"
    key = made_from(row, sizes, dynamic)
    told = {"lenz": str(path), "inputs": str(path.with_suffix(".inputs.npz"))}
    if note.exists() and path.exists() and json.loads(note.read_text()).get("made from") == key:
        return told
    case = row.build(sizes)
    write(case, path, every_size(case) if dynamic else None)
    note.write_text(json.dumps({"made from": key, "row": row.name, "sizes": sizes}, indent=1) + "\n")
    return told
