"""The rows of wider.py that came later: losses, images, order statistics. Of 23 programs that nobody had looked at, these
are the seven that were slower than a peer when they were run for the first time, with others at work."""

import torch
import torch.nn.functional as F

from workloads import Case, row


@row(own=True)
def focal_loss_f32(rows=3000, classes=91):
    def program(x, target):
        entropy = F.binary_cross_entropy_with_logits(x, target, reduction="none")
        chance = torch.sigmoid(x)
        chance = chance * target + (1 - chance) * (1 - target)
        return ((0.25 * target + 0.75 * (1 - target)) * (1 - chance) ** 2 * entropy).sum() / rows

    return Case(program, (torch.randn(rows, classes), (torch.rand(rows, classes) < 0.02).float()))


@row(own=True)
def dice_loss_f32(batch=4, classes=20, size=100):
    def program(x, target):
        chance = torch.softmax(x, 1)
        wanted = F.one_hot(target, classes).permute(0, 3, 1, 2).float()
        both = (2 * (chance * wanted).sum((2, 3)) + 1) / ((chance + wanted).sum((2, 3)) + 1)
        return 1 - both

    return Case(program, (torch.randn(batch, classes, size, size), torch.randint(0, classes, (batch, size, size))))


@row(own=True)
def upsample_bicubic_f32(batch=2, channels=16, size=45):
    def program(x):
        return F.interpolate(x, size=(2 * size, 2 * size), mode="bicubic", align_corners=False)

    return Case(program, (torch.randn(batch, channels, size, size),))


@row(own=True)
def grid_sample_f32(batch=2, channels=8, size=80):
    def program(x, grid):
        return F.grid_sample(x, grid, align_corners=False)

    return Case(program, (torch.randn(batch, channels, size, size), torch.rand(batch, size, size, 2) * 2 - 1))


@row(own=True)
def cummax_f32(rows=2000, columns=300):
    return Case(lambda x: torch.cummax(x, -1)[0], (torch.randn(rows, columns),))


@row(own=True)
def log_cumsum_exp_f32(rows=1000, columns=300):
    return Case(lambda x: torch.logcumsumexp(x, -1), (torch.randn(rows, columns),))


@row(own=True)
def median_rows_f32(rows=2000, columns=101):
    return Case(lambda x: x.median(-1)[0], (torch.randn(rows, columns),))
