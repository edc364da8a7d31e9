"""The rows of wider.py that train: steps of optimisers, forward and backward."""

import torch
import torch.nn.functional as F
from torch import nn

from workloads import Case, row

# --- optimisers -------------------------------------------------------------------------------------------------------


def parameters(*shapes):
    return [torch.randn(s) for s in shapes]


SHAPES = [(300, 301), (301,), (512, 300), (512,), (33, 3, 3, 3), (33,), (1000, 64)]


@row(own=True)
def sgd_momentum_f32():
    def step(weights, gradients, momenta):
        momenta = [0.9 * m + g for m, g in zip(momenta, gradients)]
        return [w - 0.01 * m for w, m in zip(weights, momenta)], momenta

    return Case(step, (parameters(*SHAPES), parameters(*SHAPES), parameters(*SHAPES)))


@row(own=True)
def lion_f32():
    def step(weights, gradients, momenta):
        after = []
        for w, g, m in zip(weights, gradients, momenta):
            after.append((w * (1 - 1e-3) - 1e-3 * torch.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g))
        return after

    return Case(step, (parameters(*SHAPES), parameters(*SHAPES), parameters(*SHAPES)))


@row(own=True)
def adagrad_clipped_f32():
    def step(weights, gradients, sums):
        norm = torch.stack([g.pow(2).sum() for g in gradients]).sum().sqrt()
        shrink = (1.0 / (norm + 1e-6)).clamp_max(1.0)
        after = []
        for w, g, s in zip(weights, gradients, sums):
            g = g * shrink
            s = s + g * g
            after.append((w - 0.01 * g / (s.sqrt() + 1e-10), s))
        return after

    return Case(step, (parameters(*SHAPES), parameters(*SHAPES), [p.abs() for p in parameters(*SHAPES)]))


# --- forward and backward ---------------------------------------------------------------------------------------------


def trained(module):
    """As after some steps: no parameter is 0 or 1 any more, at which gradients vanish."""
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


@row(own=True)
def layer_norm_train_f32(rows=1500, columns=500):
    return Case(trained(nn.LayerNorm(columns)), (torch.randn(rows, columns),), train=True)


@row(own=True)
def rms_norm_train_f32(rows=1500, columns=500):
    return Case(trained(nn.RMSNorm(columns)), (torch.randn(rows, columns),), train=True)


@row(own=True)
def group_norm_train_f32(batch=4, channels=64, size=33):
    return Case(trained(nn.GroupNorm(16, channels)), (torch.randn(batch, channels, size, size),), train=True)


class Softmaxes(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) + torch.log_softmax(x, 0)


@row(own=True)
def softmax_train_f32(rows=1000, columns=501):
    return Case(Softmaxes(), (torch.randn(rows, columns),), train=True)


class Gated(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, -1)
        return F.gelu(a) * torch.sigmoid(b) + F.silu(a)


@row(own=True)
def gates_train_f32(rows=1000, columns=1400):
    return Case(Gated(), (torch.randn(rows, columns),), train=True)


class Pools(nn.Module):
    def forward(self, x):
        return F.avg_pool2d(F.max_pool2d(x, 2), 3, 2, 1)


@row(own=True)
def pools_train_f32(batch=4, channels=32, size=56):
    return Case(Pools(), (torch.randn(batch, channels, size, size),), train=True)


class Looked(nn.Module):
    def __init__(self, words, width, index):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.register_buffer("index", index)

    def forward(self, x):
        return (self.table(self.index) * x).tanh()


@row(own=True)
def embedding_train_f32(tokens=3000, width=200, words=5000):
    return Case(Looked(words, width, torch.randint(words, (tokens,))), (torch.randn(tokens, width),), train=True)
