"""Models of timm, torchvision and transformers with drawn weights: exported, and judged by `lenz check` on every path,
in stretches where they are deep. What no list of ours has: the libraries grow with each version.

As they stand (forward), with open sizes (dynamic), in bfloat16 (halves), or with the gradients of a loss by all their
parameters (gradient). A model that its library does not make or run of small sizes is counted, not asked.

usage: library_models.py [LENZ] [--library NAME ...] [--only NAME ...] [--count N] [--seed S] [--ways WAY ...]
                         [--seconds N] [--keep FOLDER] [--packages FOLDER]
exit code: 0; 7 if any result is wrong; 1 if Lenz fails on one or refuses what capture gives it; 5 if the packages can't
be installed
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

from module_values import FINE, NOT_COVERED, OUR_FAULT, WRONG, open_sizes
from small_configs import model_of as small_transformer
from small_configs import names as transformers_names

HERE = pathlib.Path(__file__).resolve().parent
REQUIREMENTS = HERE / "library_requirements.txt"
UNFIT = 5
WAYS = ("forward", "dynamic", "halves", "gradient")
LIBRARIES = ("transformers", "timm", "torchvision")
SMALL_IMAGE = 64


def install(folder):
    """The packages, in a folder of their own: what is built and tested does not see them."""
    wanted = REQUIREMENTS.read_text()
    mark = folder / "installed.txt"
    if not mark.is_file() or mark.read_text() != wanted:
        print(f"installing what {REQUIREMENTS.name} names to {folder}", flush=True)
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--upgrade", "--target", folder, "-r", REQUIREMENTS]
        if subprocess.run(command, check=False).returncode:
            print("the packages can't be installed; without network, give --packages a folder that has them", file=sys.stderr)
            sys.exit(UNFIT)
        mark.write_text(wanted)
    sys.path.insert(0, str(folder))


def known(library):
    """Names of models, without those that only differ in size from one that is smaller."""
    if library == "transformers":
        import transformers

        return transformers_names(transformers)
    if library == "timm":
        import timm

        smallest = [min(timm.list_models(module=m), key=lambda n: (not n.startswith("test_"), len(n)), default=None)
                    for m in timm.list_modules()]
        return sorted({*filter(None, smallest), *timm.list_models("test_*")})
    import torchvision

    detectors = ("rcnn", "retinanet", "fcos", "ssd", "quantized", "raft")  # boxes whose number hangs on values
    return sorted(n for n in torchvision.models.list_models() if not any(d in n for d in detectors))


def model_of(torch, library, name):
    """(model, arguments, keyword arguments)"""
    if library == "transformers":
        import transformers

        transformers.logging.set_verbosity_error()
        model, given = small_transformer(torch, transformers, name)
        return model, (), given
    if library == "timm":
        import timm

        fixed = timm.get_pretrained_cfg(name)
        sizes = (SMALL_IMAGE, 96, fixed.input_size[-1] if fixed else 224)
        makers = [lambda s: timm.create_model(name, img_size=s), lambda s: timm.create_model(name)]
        shapes = [(2, 3, s, s) for s in sizes]
    else:
        import torchvision

        plain = {"weights": None, **({"weights_backbone": None} if name in torchvision.models.list_models(torchvision.models.segmentation) else {})}
        makers = [lambda s: torchvision.models.get_model(name, **plain)]
        videos = name in torchvision.models.list_models(torchvision.models.video)
        shapes = [(1, 3, 16, s, s) for s in (64, 112, 224)] if videos else [(2, 3, s, s) for s in (SMALL_IMAGE, 96, 224, 299)]
    raised = None
    for shape in shapes:
        for maker in makers:
            try:
                model, x = maker(shape[-1]).eval(), torch.randn(shape)
                with torch.no_grad():
                    model(x)
                return model, (x,), {}
            except Exception as error:  # noqa: BLE001, whatever the library raises
                raised = error
    raise raised


def open_dims(name, value):
    """The batch, and of tokens how many there are."""
    return (0, 1) if name in ("input_ids", "attention_mask", "decoder_input_ids") else (0,) if value.dim() else ()


def with_gradients(torch, model):
    """A function of parameters, buffers and arguments: a loss of all results, and its gradients."""
    parameters, buffers = ([name for name, _ in of()] for of in (model.named_parameters, model.named_buffers))

    def step(weights, state, args, kwargs):
        weights = [w.detach().requires_grad_(True) for w in weights]
        given = {**dict(zip(parameters, weights)), **dict(zip(buffers, state))}
        results = torch.utils._pytree.tree_leaves(torch.func.functional_call(model, given, args, kwargs))
        losses = [(r * r).mean() + r.mean() for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
        gradients = torch.autograd.grad(sum(losses), weights, allow_unused=True)
        return [sum(losses).detach(), *(g for g in gradients if g is not None)]

    return step


def export(torch, lenz, library, name, way, path):
    """Writes the text and the inputs. Returns why it could not, and whether Lenz is to blame."""
    torch.manual_seed(0)
    try:
        model, args, kwargs = model_of(torch, library, name)
        if way == "halves":
            half = lambda t: t.bfloat16() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
            model, (args, kwargs) = model.bfloat16(), torch.utils._pytree.tree_map(half, (args, kwargs))
            with torch.no_grad():
                copy.deepcopy(model)(*args, **kwargs)
        if way == "gradient":
            from torch.fx.experimental.proxy_tensor import make_fx

            given = ([p.detach() for p in model.parameters()], [b.clone() for b in model.buffers()], args, kwargs)
            traced = make_fx(with_gradients(torch, model), tracing_mode="fake")(*given)
    except Exception as error:  # noqa: BLE001, whatever the library or torch's own tracer raises
        return f"not made: {str(error).splitlines()[0][:90] if str(error) else type(error).__name__}", False
    try:
        if way == "gradient":
            made = lenz.export_fx(traced, given, path, sources=False)
        else:
            sizes = open_sizes(torch, model, args, kwargs, open_dims) if way == "dynamic" else None
            with torch.no_grad():
                made = lenz.export(model, args, path, kwargs=kwargs, dynamic=sizes, sources=False)
        made.save_inputs(path.with_suffix(".inputs.npz"))
    except lenz.ExportError as error:
        return f"not exported: {str(error).splitlines()[0]}", "lenz refuses" in str(error)
    except Exception:  # noqa: BLE001
        return f"export raises: {traceback.format_exc()[-600:]}", True
    return None


def in_a_child(limit, work):
    """What the work says, as JSON, in a process of its own that ends after so many seconds: libraries keep state."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as said:
        child = os.fork()
        if child == 0:
            os.setpgrp()
            try:
                result = work()
                pathlib.Path(said.name).write_text(json.dumps(result))
            finally:
                os._exit(0)
        ends = time.monotonic() + limit
        while time.monotonic() < ends:
            if os.waitpid(child, os.WNOHANG)[0]:
                text = said.read()
                return json.loads(text) if text else ["export died", True]
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [f"not made: longer than {limit} s", False]


def judged(lenz, path, limit):
    """(exit code, what it said) of one text with the model's own weights."""
    command = [lenz, "check", path, "--inputs", path.with_suffix(".inputs.npz")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"not judged within {limit} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default=str(HERE.parent / "build" / "lenz"))
    parser.add_argument("--library", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="models whose names are these")
    parser.add_argument("--count", type=int, default=30, help="models in all, drawn by the seed")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400, help="today's day, if not given")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="each model goes one of these")
    parser.add_argument("--seconds", type=int, default=300, help="for making and exporting one, and for judging it")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where texts and inputs stay; nowhere if absent")
    parser.add_argument("--packages", type=pathlib.Path, default=HERE.parent / "build" / "libraries", metavar="FOLDER")
    options = parser.parse_args()
    lenz_binary = pathlib.Path(options.lenz).resolve()
    os.environ["LENZ"] = str(lenz_binary)
    warnings.filterwarnings("ignore")
    install(options.packages.resolve())
    sys.path.insert(0, str(HERE.parent / "compiler" / "torch" / "python"))
    import lenz
    import torch

    torch.set_num_threads(1)  # children are forked: no pool of threads may be there before
    draw = random.Random(options.seed)
    models = [(library, name) for library in options.library for name in known(library)]
    if options.only:
        if unknown := set(options.only) - {name for _, name in models}:
            parser.error(f"no library of {', '.join(options.library)} has a model {', '.join(sorted(unknown))}")
        models = [m for m in models if m[1] in options.only]
    else:  # as many of each library, until one has no more
        draw.shuffle(models)
        turns, of = collections.Counter(), {}
        for library, name in models:
            of[library, name] = turns[library]
            turns[library] += 1
        models = sorted(models, key=of.get)[: options.count]
    print(f"seed {options.seed}: {len(models)} models", flush=True)
    ends = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for number, (library, name) in enumerate(models, 1):
            way = draw.choice(options.ways)
            path = folder.resolve() / f"{library}-{name.replace('/', '_')}-{way}.lenz"
            started = time.monotonic()
            refused = in_a_child(options.seconds, lambda: export(torch, lenz, library, name, way, path))
            if refused:
                code, said = OUR_FAULT if refused[1] else None, refused[0]
            else:
                code, said = judged(lenz_binary, path, options.seconds)
            ends[code] += 1
            word = {FINE: "agrees", NOT_COVERED: "weak or not covered", WRONG: "WRONG", None: ""}.get(code, "FAILS")
            shown = said if code not in (FINE, NOT_COVERED) else said.split(";")[-1].strip() if code else ""
            print(f"{number}/{len(models)} {library} {name} {way} {time.monotonic() - started:.0f} s: {word} {shown}", flush=True)
            if not options.keep:
                for left in folder.glob(f"{path.stem}*"):
                    left.unlink()
    failed = sum(count for code, count in ends.items() if code not in (FINE, NOT_COVERED, WRONG, None))
    print(f"{len(models)} models: {ends[FINE]} agree, {ends[NOT_COVERED]} weak or not covered, {ends[WRONG]} wrong, "
          f"{failed} our own failures, {ends[None]} not asked (their library or torch's tracer refuses, or the time ended)")
    return WRONG if ends[WRONG] else OUR_FAULT if failed else FINE


if __name__ == "__main__":
    sys.exit(main())
