"""What the op table lacks: packets of ATen's core set and of PyTorch's operator database without a row, what becomes of
a program that calls them, and why they have none. Writes compiler/ops/ABSENT.md; --check: is it what it would write?

usage: absent.py [LENZ] [--check]"""

import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "compiler/ops/ABSENT.md"
sys.path.insert(0, str(ROOT / "compiler/torch/python"))
from lenz.stand_ins import STANDS_FOR  # noqa: E402

# Every absent packet matches one line, the first that it does; a line that matches none is an error.
REASONS = [
    ("_fft_* fft_* stft istft", "transforms of whole lines: no loops but a contraction's would serve them, libtorch's library does"),
    ("linalg_* cholesky* geqrf ormqr qr svd lu_* matrix_exp triangular_solve pinverse logdet det slogdet matrix_power",
     "factorisations and what is computed by them: LAPACK's, from where libtorch has them too; products, norms and cross "
     "products have rows"),
    ("_embedding_bag embedding_bag",
     "the sizes of three of its results depend on the kernel that eager picks; `embedding` and a reduction are the same"),
    ("ctc_loss", "a recurrence over the lengths of each sequence"),
    ("fractional_max_pool?d", "windows that random samples place"),
    ("unique_consecutive segment_reduce", "sizes and segments that data decide; `_unique2` and the scatters have rows"),
    ("histogram histogramdd hash_tensor", "edges of bins, and a hash, that eager's kernels define by their order; `histc` has a row"),
    ("resize_ resize_as_", "changes a storage, and what it held before shows"),
    ("resolve_neg", "whether a view is lazily negated its type does not say; what an import hands over never is"),
    ("to_sparse sparse_*", "no dense tensor"),
    ("sym_is_contiguous", "a question about a layout, which a graph's types answer"),
    ("item", "`_local_scalar_dense` is its row"),
    ("_pdist_forward", "`pdist` is its row: the same with another check"),
    ("meshgrid broadcast_tensors gradient", "lists of views of several operands"),
    ("_unsafe_masked_index*", "`_unsafe_index` and `where` are the same"),
    ("_batch_norm_with_update", "a batch norm that picks its kernel and says so; `_native_batch_norm_legit` has a row"),
    ("_chunk_cat combinations sum_to_size chalf _scaled_mm*", "seldom called, and composed of ops that have rows"),
    ("_flash_attention_forward _efficient_attention_forward", "for GPUs alone"),
]


def packets():
    """{packet: where it is named}, of ATen's own."""
    named, dispatched = {}, set()  # what TorchScript alone knows is not dispatched
    for qualified in torch._C._dispatch_get_all_op_names():
        space, _, rest = qualified.partition("::")
        name, _, overload = rest.partition(".")
        if space != "aten":
            continue
        dispatched.add(name)
        op = getattr(getattr(torch.ops.aten, name, None), overload or "default", None)
        if op is not None and torch.Tag.core in op.tags:
            named.setdefault(name, "core")
    for entry in op_db:
        for name in {entry.aten_name, entry.name.rpartition(".")[2]} - {None}:
            if name in dispatched:
                named.setdefault(name, "database")
    return named


def on_import(name):
    packet = getattr(torch.ops.aten, name)
    ops = [getattr(packet, overload) for overload in packet.overloads()]
    apart = sum(op._can_decompose() for op in ops if "out" not in op._overloadname and op not in STANDS_FOR.values())
    return "taken apart" if apart else "extern"


def page(lenz):
    rows = json.loads(subprocess.run([lenz, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    have = {row["packet"].removeprefix("aten.") for row in rows}
    named = packets()
    absent = sorted(set(named) - have)
    groups, unsaid = {}, []
    for name in absent:
        why = next((i for i, (names, _) in enumerate(REASONS) if any(fnmatch.fnmatchcase(name, n) for n in names.split())), None)
        if why is None:
            unsaid.append(name)
        else:
            groups.setdefault(why, []).append(name)
    errors = [f"{name}: no row, and no reason why not" for name in unsaid]
    errors += [f"`{names}`: all have rows" for i, (names, _) in enumerate(REASONS) if i not in groups]
    core = [n for n in absent if named[n] == "core"]
    text = f"""# What has no row

Of {sum(v == "core" for v in named.values())} packets of ATen's core set {len(core)} have no row, of {len(named)} in that set or in PyTorch's operator database
{len(absent)}. An imported program that calls one of them is written with the ops that it is made of (*taken apart*), or declares
it `extern`: libtorch runs it, and it is counted. `oracle/absent.py` writes this page; a test asks whether it is current.

| packets (**core**) | on import | why |
|---|---|---|
"""
    for i, names in sorted(groups.items()):
        for how in ("extern", "taken apart"):
            these = [f"**{n}**" if named[n] == "core" else n for n in names if on_import(n) == how]
            if these:
                text += f"| {' '.join(these)} | {how} | {REASONS[i][1]} |\n"
    return text, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default="build/lenz")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text, errors = page(options.lenz)
    for error in errors:
        print(error)
    if options.check and text != PAGE.read_text():
        errors.append(f"{PAGE}: not what would be written now; run oracle/absent.py")
        print(errors[-1])
    if not options.check and not errors:
        PAGE.write_text(text)
    return 7 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
