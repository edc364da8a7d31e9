"""The tracked workloads: what a user would run, as PyTorch programs with the sizes that they are measured at.

A row is a function that makes a Case from sizes; the sizes' defaults are those of the tracked row, others make its
neighbours. Values are drawn from a fixed seed."""

import dataclasses
import functools
import importlib.util
import inspect
import math
import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

ROWS = {}  # name -> Row
BF16 = torch.bfloat16


@dataclasses.dataclass
class Case:
    """A function or module and its arguments. `train`: what is measured is a loss and its gradients, of the parameters and
    of the floats among the arguments. `touched`: bytes that have to move, where not every element of the arguments has to
    be read."""

    program: object
    args: tuple
    train: bool = False
    touched: int | None = None
    kwargs: dict = dataclasses.field(default_factory=dict)
    dynamic: object = None  # as lenz.export takes it


@dataclasses.dataclass
class Row:
    name: str
    make: object
    sizes: dict
    own: bool  # no products, convolutions or attention: nothing but our own code runs
    model: bool = False
    device: str = "cpu"

    def build(self, sizes=None):
        """The same program and values each time."""
        torch.manual_seed(0)
        with torch.device(self.device):
            return self.make(**{**self.sizes, **(sizes or {})})

    def neighbours(self, count, seed=0):
        """Sizes near the tracked ones, of the kinds that tiles don't like: primes, odd ones, one beside a round one."""
        draw = random.Random(f"{self.name} {seed}")
        return [{name: _near(size, draw) for name, size in self.sizes.items() if name not in FIXED} for _ in range(count)]


FIXED = ("heads", "depth")  # sizes that are part of what a row is


def _near(size, draw):
    if size < 16:
        return draw.choice([n for n in (size - 1, size, size + 1, size + 2) if n > 0])
    about = round(size * draw.uniform(0.8, 1.2))
    kind = draw.choice(("prime", "odd", "beside"))
    if kind == "odd":
        return about | 1
    if kind == "beside":
        return max(1, size + draw.choice((-1, 1, 3, -3)))
    while any(about % d == 0 for d in range(2, math.isqrt(about) + 1)):
        about += 1
    return about


def row(own):
    def register(make):
        if make.__name__ in ROWS:
            raise ValueError(f"two workloads {make.__name__}")
        sizes = {name: p.default for name, p in inspect.signature(make).parameters.items()}
        ROWS[make.__name__] = Row(make.__name__, make, sizes, own)
        return make

    return register


def halves(*tensors):
    return tuple(t.to(BF16) for t in tensors)


# --- rows of our own code alone ---------------------------------------------------------------------------------------


@row(own=True)
def pointwise_chain_f32(n=1 << 22):
    def chain(a, b, c, d):
        return torch.relu(a * b + c) * torch.tanh(d)

    return Case(chain, tuple(torch.randn(n) for _ in range(4)))


@row(own=True)
def gelu_bias_bf16(rows=1024, columns=3072):
    def program(x, bias):
        return F.gelu(x + bias)

    return Case(program, halves(torch.randn(rows, columns), torch.randn(columns)))


@row(own=True)
def softmax_rows_f32(rows=4096, columns=1024):
    def program(x):
        return torch.softmax(x, -1)

    return Case(program, (torch.randn(rows, columns),))


@row(own=True)
def softmax_wide_bf16(rows=64, columns=32768):
    def program(x):
        return torch.softmax(x, -1)

    return Case(program, halves(torch.randn(rows, columns)))


@row(own=True)
def layernorm_f32(rows=4096, columns=768):
    def program(x, scale, shift):
        return F.layer_norm(x, x.shape[-1:], scale, shift)

    return Case(program, (torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)))


@row(own=True)
def rmsnorm_residual_bf16(rows=2048, columns=2048):
    def program(x, residual, scale):
        sum_ = x + residual
        wide = sum_.float()
        normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return normal.to(sum_.dtype) * scale, sum_

    return Case(program, halves(torch.randn(rows, columns), torch.randn(rows, columns), torch.randn(columns)))


@row(own=True)
def cross_entropy_bf16(rows=256, classes=50257):
    def program(logits, target):
        return F.cross_entropy(logits.float(), target)

    return Case(program, (*halves(torch.randn(rows, classes)), torch.randint(classes, (rows,))))


@row(own=True)
def sum_all_f32(n=1 << 24):
    def program(x):
        return x.sum()

    return Case(program, (torch.randn(n),))


@row(own=True)
def sum_cols_f32(rows=8192, columns=1024):
    def program(x):
        return x.sum(0)

    return Case(program, (torch.randn(rows, columns),))


@row(own=True)
def transpose_add_f32(n=2048):
    def program(x, y):
        return x + y.t()

    return Case(program, (torch.randn(n, n), torch.randn(n, n)))


@row(own=True)
def batchnorm_train_bf16(batch=8, channels=64, size=56):
    def program(x, scale, shift):
        return F.relu(F.batch_norm(x, None, None, scale.to(x.dtype), shift.to(x.dtype), training=True))

    image = torch.randn(batch, channels, size, size).to(BF16)
    return Case(program, (image, torch.randn(channels), torch.randn(channels)))


@row(own=True)
def dropout_add_layernorm_bf16(rows=2048, columns=1024):
    def program(x, residual, scale, shift):
        return F.layer_norm(F.dropout(x, 0.1, training=True) + residual, x.shape[-1:], scale, shift)

    return Case(program, halves(torch.randn(rows, columns), torch.randn(rows, columns), torch.randn(columns),
                                torch.randn(columns)))


@row(own=True)
def embedding_layernorm_f32(tokens=2048, width=768, words=50257):
    def program(index, table, scale, shift):
        return F.layer_norm(F.embedding(index, table), table.shape[-1:], scale, shift)

    args = (torch.randint(words, (tokens,)), torch.randn(words, width), torch.randn(width), torch.randn(width))
    # Of the table only the rows that are looked up: each once, however often.
    return Case(program, args, touched=4 * width * (len(args[0].unique()) + tokens + 2) + 8 * tokens)


@row(own=True)
def adam_step_100_tensors(large=512, small=256):
    def step(weights, gradients, means, squares):
        after = []
        for w, g, m, v in zip(weights, gradients, means, squares):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            after.append((w - 1e-3 * m / (v.sqrt() + 1e-8), m, v))
        return after

    shapes = [(small, small)] * 60 + [(large,)] * 40
    weights, gradients, means, squares = ([0.1 * torch.randn(shape) for shape in shapes] for _ in range(4))
    return Case(step, (weights, gradients, means, [s.abs() for s in squares]))


# --- rows with products, convolutions and attention -------------------------------------------------------------------


def product(x, y):
    return x @ y


@row(own=False)
def mm_bf16(n=1024):
    return Case(product, halves(torch.randn(n, n), torch.randn(n, n)))


@row(own=False)
def mm_f32(n=1024):
    return Case(product, (torch.randn(n, n), torch.randn(n, n)))


@row(own=False)
def linear_gelu_bf16(rows=512, inner=768, columns=3072):
    def program(x, weight, bias):
        return F.gelu(F.linear(x, weight, bias))

    return Case(program, halves(torch.randn(rows, inner), torch.randn(columns, inner), torch.randn(columns)))


@row(own=False)
def linear_relu_f32(rows=512, inner=768, columns=3072):
    def program(x, weight, bias):
        return F.relu(F.linear(x, weight, bias))

    return Case(program, (torch.randn(rows, inner), torch.randn(columns, inner), torch.randn(columns)))


@row(own=False)
def swiglu_mlp_bf16(rows=256, width=768, hidden=2048):
    def program(x, gate, up, down):
        return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)

    return Case(program, halves(torch.randn(rows, width), 0.02 * torch.randn(hidden, width),
                                0.02 * torch.randn(hidden, width), 0.02 * torch.randn(width, hidden)))


@row(own=False)
def attention_written_out_bf16(batch=1, heads=12, length=512, width=64):
    def program(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v

    return Case(program, halves(*(torch.randn(batch, heads, length, width) for _ in range(3))))


@row(own=False)
def attention_alibi_causal_f32(batch=1, heads=12, length=512, width=64):
    def program(q, k, v):
        at = torch.arange(q.shape[-2], device=q.device)
        distance = at[None, :] - at[:, None]
        scores = q @ k.transpose(-1, -2) * 0.125 + 0.01 * distance.float()
        return torch.softmax(scores.masked_fill(distance > 0, -math.inf), -1) @ v

    return Case(program, tuple(torch.randn(batch, heads, length, width) for _ in range(3)))


@row(own=False)
def conv_bn_relu_f32(batch=4, channels=64, size=56):
    def program(x, kernel, mean, variance, scale, shift):
        return F.relu(F.batch_norm(F.conv2d(x, kernel, padding=1), mean, variance, scale, shift))

    one = lambda: torch.randn(channels)
    return Case(program, (torch.randn(batch, channels, size, size), torch.randn(channels, channels, 3, 3), one(),
                          one().abs() + 0.1, one(), one()))


class Block(nn.Module):
    """A transformer's block: norms before causal attention and a feed-forward layer four times as wide."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        split = self.qkv(self.before_attention(x)).unflatten(-1, (3, self.heads, -1))
        attended = F.scaled_dot_product_attention(*split.permute(2, 0, 3, 1, 4), is_causal=True)
        x = x + self.mix(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.before_forward(x))))


def inference(module, *args):
    return Case(module.eval().requires_grad_(False), args)


@row(own=False)
def gpt_block_infer(batch=1, length=256, width=768, heads=12):
    return inference(Block(width, heads), torch.randn(batch, length, width))


@row(own=False)
def gpt_block_small_batch(batch=1, length=16, width=768, heads=12):
    return inference(Block(width, heads), torch.randn(batch, length, width))


@row(own=False)
def gpt_block_train(batch=1, length=128, width=512, heads=8):
    return Case(Block(width, heads), (torch.randn(batch, length, width),), train=True)


@row(own=False)
def mlp8_batch16(batch=16, width=256, depth=8):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return inference(nn.Sequential(*layers), torch.randn(batch, width))


class Bottleneck(nn.Module):
    def __init__(self, channels):
        super().__init__()
        wide = 4 * channels
        self.narrow, self.middle = nn.Conv2d(wide, channels, 1, bias=False), nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.widen = nn.Conv2d(channels, wide, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (channels, channels, wide))

    def forward(self, x):
        y = F.relu(self.norms[0](self.narrow(x)))
        y = F.relu(self.norms[1](self.middle(y)))
        return F.relu(self.norms[2](self.widen(y)) + x)


@row(own=False)
def resnet_bottleneck_x3_f32(batch=2, channels=64, size=56, depth=3):
    blocks = [Bottleneck(channels) for _ in range(depth)]
    return inference(nn.Sequential(*blocks), torch.randn(batch, 4 * channels, size, size))


# --- models -------------------------------------------------------------------------------------------------------------


def of_model(name):
    """A model of models.py as a row."""

    def make():
        import models

        case = models.MODELS[name]()
        return Case(case.module, case.args, kwargs=case.kwargs, dynamic=case.dynamic)

    return Row(name, make, {}, own=False, model=True)


@functools.cache
def rows_of(path):
    """The rows of a file of a user's own, which are made as those here are: `from workloads import Case, row`."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or name in sys.modules:
        raise ValueError(f"'{path}' can't be loaded as a module named {name}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    tracked = set(ROWS)
    try:
        spec.loader.exec_module(module)
    except BaseException:  # who asks again is to hear the same
        del sys.modules[name]
        raise
    if made := {name: r for name, r in ROWS.items() if name not in tracked}:
        return made
    raise ValueError(f"'{path}' has no rows: functions behind @row(own=...) that return a Case (bench/MODULES.md)")


def all_rows(module=None):
    """By name: the tracked ones and the models, or the rows of a user's own module."""
    import models

    return rows_of(module) if module else {**ROWS, **{name: of_model(name) for name in models.MODELS}}


# --- what is measured ---------------------------------------------------------------------------------------------------


def parameters(case):
    return dict(case.program.named_parameters()) if isinstance(case.program, nn.Module) else {}


def buffers(case):
    return dict(case.program.named_buffers()) if isinstance(case.program, nn.Module) else {}


def loss_of(result):
    return result.float().pow(2).mean()


def loss_and_gradients(case, program):
    """A training step without the optimizer: the loss, and the gradients of the arguments and the parameters."""
    leaves = [*(t.requires_grad_(True) for t in case.args if t.is_floating_point()), *parameters(case).values()]

    def step():
        loss = loss_of(program(*case.args))
        return (loss, *torch.autograd.grad(loss, leaves))

    return step


def forward(case, program):
    def call():
        with torch.no_grad():
            return program(*case.args, **case.kwargs)

    return call


def measured(case, program):
    """The call that is timed, of a program in the case's stead: the same one, or what a compiler made of it."""
    return (loss_and_gradients if case.train else forward)(case, program)
