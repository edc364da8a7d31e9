"""Images and volumes that are read at computed places, and values that all channels share.
`lenz bench --peers --module bench/wider_sampled.py`."""

import torch
import torch.nn.functional as F

from workloads import Case, row


def r(*shape):
    return torch.randn(*shape)


def places(*shape):
    """Mostly inside."""
    return torch.rand(*shape) * 2.2 - 1.1


@row(own=True)
def spatial_transformer_f32(n=8, c=16, size=96):
    def run(x, theta):
        return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)

    return Case(run, (r(n, c, size, size), r(n, 2, 3)))


@row(own=True)
def warp_by_flow_f32(c=64, h=120, w=160):
    def run(x, flow):
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        at = torch.stack([xs, ys], 0).float() + flow
        scale = torch.tensor([w - 1.0, h - 1.0]).view(1, 2, 1, 1)
        return F.grid_sample(x, (2 * at / scale - 1).permute(0, 2, 3, 1), padding_mode="border", align_corners=True)

    return Case(run, (r(1, c, h, w), r(1, 2, h, w)))


@row(own=True)
def sample_nearest_f32(n=8, c=32, size=64):
    def run(x, grid):
        return F.grid_sample(x, grid, mode="nearest", align_corners=False)

    return Case(run, (r(n, c, size, size), places(n, size, size, 2)))


@row(own=True)
def sample_bicubic_f32(n=2, c=16, size=63):
    def run(x, grid):
        return F.grid_sample(x, grid, mode="bicubic", align_corners=False)

    return Case(run, (r(n, c, size, size), places(n, size, size, 2)))


@row(own=True)
def sample_volume_f32(n=2, c=8, size=24):
    def run(x, grid):
        return F.grid_sample(x, grid, align_corners=False)

    return Case(run, (r(n, c, size, size, size), places(n, size, size, size, 3)))


@row(own=True)
def sample_reflected_f32(n=8, c=32, size=40):
    def run(x, grid):
        return F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)

    return Case(run, (r(n, c, 64, 64), places(n, size, size, 2)))


@row(own=True)
def sample_colours_f32(n=4, size=160):
    def run(x, grid):
        return F.grid_sample(x, grid, align_corners=False)

    return Case(run, (r(n, 3, 224, 224), places(n, size, size, 2)))


@row(own=True)
def darkened_images_f32(n=4, c=16, size=100):
    def run(x, centre):
        ys, xs = torch.arange(size).view(1, 1, size, 1), torch.arange(size).view(1, 1, 1, size)
        far = (xs - centre[:, 0].view(n, 1, 1, 1)) ** 2 + (ys - centre[:, 1].view(n, 1, 1, 1)) ** 2
        return x * torch.exp(-far.sqrt() / 50) * torch.cos(far * 1e-4)

    return Case(run, (r(n, c, size, size), torch.rand(n, 2) * size))
