"""Layouts that nothing else is measured with: images with channels last in memory; rows that lie across memory.
`lenz bench --peers --module bench/wider_layouts.py`."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import BF16, Case, row


def images(n, c, s, dtype=torch.float32):
    return torch.randn(n, c, s, s).to(dtype).to(memory_format=torch.channels_last)


class GroupNormed(nn.Module):
    def __init__(self, groups, c):
        super().__init__()
        self.n = nn.GroupNorm(groups, c)

    def forward(self, x):
        return F.silu(self.n(x))


@row(own=True)
def group_norm_few_last_f32(n=4, c=64, s=32):
    return Case(GroupNormed(8, c).eval(), (images(n, c, s),))


@row(own=True)
def group_norm_last_f32(n=4, c=256, s=32):
    return Case(GroupNormed(32, c).eval(), (images(n, c, s),))


@row(own=True)
def group_norm_last_bf16(n=4, c=256, s=32):
    return Case(GroupNormed(32, c).eval().bfloat16(), (images(n, c, s, BF16),))


@row(own=True)
def group_norm_last_train_bf16(n=4, c=256, s=32):
    return Case(GroupNormed(32, c).bfloat16(), (images(n, c, s, BF16),), train=True)


@row(own=True)
def instance_norm_last_f32(n=4, c=64, s=32):
    return Case(nn.InstanceNorm2d(c, affine=True).eval(), (images(n, c, s),))


@row(own=True)
def batch_norm_last_f32(n=4, c=64, s=32):
    return Case(nn.BatchNorm2d(c), (images(n, c, s),))


@row(own=True)
def batch_norm_last_bf16(n=8, c=128, s=32):
    return Case(nn.BatchNorm2d(c).bfloat16(), (images(n, c, s, BF16),))


@row(own=True)
def batch_norm_last_train_f32(n=4, c=64, s=32):
    return Case(nn.BatchNorm2d(c), (images(n, c, s),), train=True)


@row(own=True)
def squeeze_last_f32(n=4, c=128, s=32):
    return Case(lambda x: x * torch.sigmoid(x.mean((2, 3), keepdim=True)), (images(n, c, s),))


@row(own=True)
def softmax_of_channels_last_f32(n=4, c=21, s=48):
    return Case(lambda x: x.softmax(1), (images(n, c, s),))


@row(own=True)
def softmax_turned_f32(rows=1024, columns=1024):
    return Case(lambda x: x.t().softmax(-1), (torch.randn(rows, columns),))


@row(own=True)
def softmax_turned_tall_f32(rows=4096, columns=1000):
    return Case(lambda x: x.t().softmax(-1), (torch.randn(rows, columns),))


@row(own=True)
def layer_norm_turned_f32(rows=1024, columns=1024):
    return Case(lambda x: F.layer_norm(x.t(), (rows,)), (torch.randn(rows, columns),))


@row(own=True)
def log_softmax_of_classes_f32(n=4, classes=21, s=128):
    return Case(lambda x: x.log_softmax(1), (torch.randn(n, classes, s, s),))


@row(own=True)
def softmax_of_channels_f32(n=8, c=64, s=56):
    return Case(lambda x: x.softmax(1), (torch.randn(n, c, s, s),))


@row(own=True)
def running_sum_of_channels_f32(n=8, c=64, s=56):
    return Case(lambda x: x.cumsum(1), (torch.randn(n, c, s, s),))
