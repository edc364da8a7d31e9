"""Values of parameters, buffers and constants: in a file beside the text, or as a seeded initialiser within it."""

import math
import zipfile

import numpy as np
import torch

INLINE = 64  # elements of a constant that stand in the text itself


def initialiser(tensor, seed):
    """What an input declares: exact for zeros, ones, one value and 0, 1, 2, ...; else of about the same distribution.

    None for integers and bools that are none of these: nothing drawn would do in their place."""
    if tensor.numel() == 0:
        return "zeros"
    flat = tensor.detach().reshape(-1).cpu()
    first = flat[0]
    if bool((flat == first).all()):
        value = first.item()
        if value in (0, 1) and not isinstance(value, complex):
            return "ones" if value else "zeros"
        if not isinstance(value, complex) and math.isfinite(value):
            return f"uniform({value!r}, {value!r})"
    if not (tensor.is_floating_point() or tensor.is_complex()):
        counts = tensor.dtype != torch.bool and tensor.dim() > 0 and bool((flat == torch.arange(len(flat))).all())
        return "permutation(sorted=true)" if counts and tensor.numel() == tensor.shape[-1] else None
    wide = torch.view_as_real(flat.to(torch.complex128)) if tensor.is_complex() else flat.to(torch.float64)
    low, high = wide.min().item(), wide.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    if low >= 0:  # a variance, a scale: stays what it is the root of
        return f"uniform({low:.4g}, {high:.4g}, seed={seed})"
    return f"normal({wide.mean().item():.3g}, {max(wide.std().item(), 1e-6):.3g}, seed={seed})"


def like_example(tensor, seed):
    """What an argument declares: integers in the example's range, which are indices as a rule; None for others."""
    integral = isinstance(tensor, torch.Tensor) and not (tensor.is_floating_point() or tensor.is_complex())
    if not integral or tensor.numel() == 0:
        return None
    return f"integers({int(tensor.min())}, {int(tensor.max())}, seed={seed})"


def as_array(tensor):
    """As it travels in an `.npz`: dtypes that NumPy lacks as their bits."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    if tensor.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return tensor.view(torch.uint8).numpy()
    return tensor.numpy()


def kept_in(path):
    """What `write` wrote there."""
    with np.load(path) as kept:
        return dict(kept)


def write(path, arrays):
    """An `.npz` with the same bytes whenever the values are the same."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array))
