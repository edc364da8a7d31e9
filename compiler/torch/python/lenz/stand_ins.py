"""Calls whose parts ask for what only a run knows (whether shares lie between 0 and 1, how long sequences are), or ask sizes
for a faster way, though the whole does not. The capture sees one op of which it is told the result; the text names ATen's."""

import torch
import torch.nn.functional as F

_ATEN = torch.ops.aten
_library = torch.library.Library("lenz_capture", "FRAGMENT")


def _reduced(sizes, dim, keepdim):
    if dim is None:
        return [1] * len(sizes) if keepdim else []
    at = torch._prims_common.canonicalize_dim(len(sizes), dim)
    return [*sizes[:at], *([1] if keepdim else []), *sizes[at + 1 :]] if sizes else []


def _quantile(self, q, dim=None, keepdim=False, *, interpolation="linear"):
    kept = _reduced(list(self.shape), dim, keepdim)
    if isinstance(q, torch.Tensor) and q.dim():
        return self.new_empty([*kept, q.shape[0]]).movedim(-1, 0)
    return self.new_empty(kept)


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    return log_probs.new_empty(log_probs.shape[1:-1] if reduction == 0 else [])


def _cov(self, *, correction=1, fweights=None, aweights=None):
    dtype = self.dtype if self.is_floating_point() or self.is_complex() else torch.get_default_dtype()
    if aweights is not None:
        dtype = torch.promote_types(dtype, aweights.dtype)
    return self.new_empty([*self.shape[:-1]] * 2, dtype=dtype).squeeze()


def _cdist(x1, x2, p=2.0, compute_mode=None):
    return x1.new_empty([*torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]])


def _stand_in(op, result):
    """An op of the same schema that has no parts. Returns the overload."""
    name, overload = op._schema.name.split("::")[1], op._schema.overload_name
    full = f"{name}.{overload}" if overload else name
    _library.define(str(op._schema).removeprefix("aten::"))
    torch.library.register_fake(f"lenz_capture::{full}", result, lib=_library)
    return getattr(getattr(torch.ops.lenz_capture, name), overload or "default")


# What the capture sees, and what it stands for.
STANDS_FOR = {_stand_in(op, result): op
              for result, ops in ((_quantile, (_ATEN.quantile.default, _ATEN.quantile.scalar, _ATEN.nanquantile.default,
                                               _ATEN.nanquantile.scalar)),
                                  (_ctc_loss, (_ATEN.ctc_loss.IntList, _ATEN.ctc_loss.Tensor)),
                                  (_cov, (_ATEN.cov.default, _ATEN.corrcoef.default)), (_cdist, (_ATEN.cdist.default,)))
              for op in ops}


def _combinations(plain, tensor, r=2, with_replacement=False):
    """The places of the elements that are taken together, found as one size that only a run knows; ATen's own way has one
    for each of `r`."""
    if tensor.dim() != 1 or r < 2:
        return plain(tensor, r, with_replacement)
    n = tensor.shape[0]
    line = torch.arange(n, device=tensor.device)
    places = [line.reshape([n if at == k else 1 for at in range(r)]) for k in range(r)]
    taken = torch.ones([n] * r, dtype=torch.bool, device=tensor.device)
    for one, next_one in zip(places, places[1:]):
        taken = taken & (one <= next_one if with_replacement else one < next_one)
    return tensor[taken.nonzero()]


def _cdist_by_name(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    if min(x1.dim(), x2.dim()) < 2 or compute_mode not in modes:
        return torch.cdist(x1, x2, p, compute_mode)
    return _OURS.cdist(x1, x2, p, modes[compute_mode])


def _instead(plain, stand_in):
    """A call with `out` is left as it is."""
    return lambda *args, **kwargs: plain(*args, **kwargs) if kwargs.get("out") is not None else stand_in(*args, **kwargs)


_OURS = torch.ops.lenz_capture


def _ctc_loss_by_name(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    return _OURS.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, F._Reduction.get_enum(reduction),
                          zero_infinity)


# Functions, and what is called for them.
INSTEAD = {plain: _instead(plain, stand_in)
           for stand_in, plains in ((_OURS.quantile, (torch.quantile, torch.Tensor.quantile)),
                                    (_OURS.nanquantile, (torch.nanquantile, torch.Tensor.nanquantile)),
                                    (_OURS.cov, (torch.cov, torch.Tensor.cov)),
                                    (_OURS.corrcoef, (torch.corrcoef, torch.Tensor.corrcoef)),
                                    (_OURS.ctc_loss, (torch.ctc_loss,)))
           for plain in plains}
INSTEAD[F.ctc_loss] = _ctc_loss_by_name
INSTEAD[torch.cdist] = _cdist_by_name
INSTEAD[torch.combinations] = lambda *args, **kwargs: _combinations(torch.combinations, *args, **kwargs)
