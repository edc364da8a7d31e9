"""Programs of one step: a row at a time through matrices, and others whose structure no other file has.
`lenz bench --peers --module bench/wider_vectors.py`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import BF16, Case, inference, row


class DecodeBlock(nn.Module):
    """One token through a block with rotary places, keys and values that stand in a cache, and gated units."""

    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.deep = heads, groups, width // heads
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.deep, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.gate = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)
        self.n1, self.n2 = nn.RMSNorm(width), nn.RMSNorm(width)

    def forward(self, x, keys, values, cos, sin):
        h, g, d = self.heads, self.groups, self.deep
        q, k, v = self.qkv(self.n1(x)).view(1, h + 2 * g, d).split([h, g, g], 1)

        def turned(t):
            a, b = t.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

        keys = torch.cat([keys, turned(k).transpose(0, 1)], 1)
        values = torch.cat([values, v.transpose(0, 1)], 1)
        scores = turned(q).view(g, h // g, d) @ keys.transpose(1, 2) * d**-0.5
        x = x + self.out((scores.softmax(-1) @ values).reshape(1, -1))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), keys, values


def decode(width, heads, groups, length, dtype):
    d = width // heads
    args = torch.randn(1, width), torch.randn(groups, length, d), torch.randn(groups, length, d)
    args += torch.randn(d // 2), torch.randn(d // 2)
    return inference(DecodeBlock(width, heads, groups).to(dtype), *(a.to(dtype) for a in args))


@row(own=False)
def decode_block_f32(width=512, length=700):
    return decode(width, 8, 8, length, torch.float32)


@row(own=False)
def decode_block_bf16(width=512, length=700):
    return decode(width, 8, 8, length, BF16)


@row(own=False)
def decode_grouped_f32(width=512, length=700):
    return decode(width, 8, 2, length, torch.float32)


@row(own=False)
def matrix_times_vector_f32(rows=3000, columns=1000):
    def program(m, v):
        return torch.relu(m @ v)

    return Case(program, (torch.randn(rows, columns), torch.randn(columns)))


@row(own=False)
def vector_times_matrix_f64(rows=1000, columns=1500):
    def program(v, m):
        return v @ m

    return Case(program, (torch.randn(rows).double(), torch.randn(rows, columns).double()))


@row(own=False)
def one_row_train_f32(width=700):
    layers = nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
    return Case(nn.Sequential(*layers), (torch.randn(1, width),), train=True)


@row(own=False)
def power_iterations_f32(n=900, steps=6):
    def program(m, v):
        for _ in range(steps):
            v = F.normalize(m @ v, dim=0)
        return v, v @ (m @ v)

    return Case(program, (torch.randn(n, n), torch.randn(n)))


@row(own=False)
def conjugate_gradient_f64(n=500, steps=5):
    def program(m, b):
        x, r = torch.zeros_like(b), b
        p, rr = r, r @ r
        for _ in range(steps):
            q = m @ p
            a = rr / (p @ q)
            x, r = x + a * p, r - a * q
            new = r @ r
            p, rr = r + new / rr * p, new
        return x

    m = torch.randn(n, n).double()
    return Case(program, (m @ m.t() / n + torch.eye(n), torch.randn(n).double()))


@row(own=False)
def packed_weights_u8(rows=2048, inner=1024, group=64):
    """Weights of four bits, two in a byte, with a scale and a zero for each group, times one row."""

    def program(x, packed, scales, zeros):
        low, high = packed & 15, packed >> 4
        w = torch.stack([low, high], -1).view(rows, inner // group, group).float()
        w = ((w - zeros.unsqueeze(-1)) * scales.unsqueeze(-1)).view(rows, inner)
        return F.linear(x, w)

    packed = torch.randint(0, 256, (rows, inner // 2), dtype=torch.uint8)
    shape = rows, inner // group
    return Case(program, (torch.randn(1, inner), packed, torch.rand(shape) * 0.1, torch.randint(0, 16, shape).float()))


@row(own=False)
def low_rank_adapters_f32(tokens=96, width=512, rank=8):
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(width, width)
            self.a, self.b = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

        def forward(self, x):
            return self.base(x) + self.b(self.a(x)) * 2.0

    return inference(Adapted(), torch.randn(tokens, width))


@row(own=True)
def factorisation_machine_f32(batch=512, fields=39, deep=16):
    def program(v, w):
        s = v.sum(1)
        return torch.sigmoid(w.sum(-1) + 0.5 * (s * s - (v * v).sum(1)).sum(-1))

    return Case(program, (torch.randn(batch, fields, deep) * 0.1, torch.randn(batch, fields)))


@row(own=True)
def walsh_hadamard_f32(rows=512, n=512):
    def program(x):
        h = 1
        while h < n:
            a, b = x.view(rows, n // (2 * h), 2, h).unbind(2)
            x = torch.stack([a + b, a - b], 2).view(rows, n)
            h *= 2
        return x * n**-0.5

    return Case(program, (torch.randn(rows, n),))


@row(own=False)
def cosines_of_blocks_f32(size=384):
    """Squares of eight by eight pixels to frequencies, rounded to steps, and back."""

    def program(image, basis, steps):
        n = size // 8
        blocks = image.view(3, n, 8, n, 8).permute(0, 1, 3, 2, 4)
        spectrum = torch.round(basis @ blocks @ basis.t() / steps) * steps
        return (basis.t() @ spectrum @ basis).permute(0, 1, 3, 2, 4).reshape(3, size, size)

    k = torch.arange(8.0)
    basis = torch.cos((2 * k + 1) * k[:, None] * math.pi / 16) * 0.5
    basis[0] *= math.sqrt(0.5)
    return Case(program, (torch.rand(3, size, size) * 255, basis, torch.rand(8, 8) * 20 + 1))


@row(own=True)
def hue_and_back_f32(size=300):
    def program(image, turn):
        r, g, b = image.unbind(0)
        most, least = image.amax(0), image.amin(0)
        d = most - least
        h = torch.where(most == r, (g - b) / d % 6, torch.where(most == g, (b - r) / d + 2, (r - g) / d + 4))
        h = torch.where(d == 0, 0.0, h / 6 + turn) % 1
        s = torch.where(most == 0, 0.0, d / most)
        k = (torch.tensor([5.0, 3.0, 1.0]).view(3, 1, 1) + h * 6) % 6
        return most - most * s * torch.clamp(torch.minimum(k, 4 - k), 0, 1)

    return Case(program, (torch.rand(3, size, size), torch.tensor(0.1)))


@row(own=True)
def bilateral_filter_f32(size=160, reach=2):
    def program(x):
        padded = F.pad(x[None, None], (reach,) * 4, mode="reflect")[0, 0]
        total, weights = torch.zeros_like(x), torch.zeros_like(x)
        for i in range(2 * reach + 1):
            for j in range(2 * reach + 1):
                near = padded[i : i + size, j : j + size]
                far = (i - reach) ** 2 + (j - reach) ** 2
                w = torch.exp(-((near - x) ** 2) * 8.0 - far * 0.2)
                total, weights = total + w * near, weights + w
        return total / weights

    return Case(program, (torch.rand(size, size),))


@row(own=True)
def advection_f32(n=400, steps=4):
    def program(u, vx, vy):
        for _ in range(steps):
            left, right = u - u.roll(1, 1), u.roll(-1, 1) - u
            up, down = u - u.roll(1, 0), u.roll(-1, 0) - u
            u = u - 0.1 * (torch.where(vx > 0, vx * left, vx * right) + torch.where(vy > 0, vy * up, vy * down))
        return u

    return Case(program, tuple(torch.randn(n, n) for _ in range(3)))


@row(own=True)
def alignment_scores_f32(time=40, batch=64, states=81):
    """The forward recurrence of a sequence's alignment, in logarithms."""

    def program(scores, skip):
        a = F.pad(scores[0, :, :1], (0, states - 1), value=-1e4)
        for t in range(1, time):
            one, two = F.pad(a, (1, 0), value=-1e4)[:, :-1], F.pad(a, (2, 0), value=-1e4)[:, :-2]
            a = torch.logaddexp(torch.logaddexp(a, one), torch.where(skip, two, -1e4)) + scores[t]
        return torch.logaddexp(a[:, -1], a[:, -2])

    return Case(program, (torch.randn(time, batch, states).log_softmax(-1), torch.rand(batch, states) > 0.5))


@row(own=False)
def kernel_regression_f32(points=600, queries=400, deep=3):
    def program(x, y, q):
        near = torch.exp(-torch.cdist(q, x) ** 2 * 2.0)
        return (near @ y) / near.sum(-1, keepdim=True)

    return Case(program, (torch.randn(points, deep), torch.randn(points, 4), torch.randn(queries, deep)))


@row(own=True)
def farthest_points_f32(points=4096, chosen=12):
    def program(x):
        least, last, all_ = x.new_full((points,), 1e10), x[0], [x[0]]
        for _ in range(chosen - 1):
            least = torch.minimum(least, ((x - last) ** 2).sum(-1))
            last = x.index_select(0, least.argmax(0, keepdim=True))[0]
            all_.append(last)
        return torch.stack(all_)

    return Case(program, (torch.randn(points, 3),))


@row(own=True)
def rolling_statistics_f32(series=256, length=2000, window=20):
    def program(x):
        w = x.unfold(-1, window, 1)
        mean = w.mean(-1)
        z = (x[:, window - 1 :] - mean) / (w.std(-1) + 1e-6)
        return z, w.amax(-1) - w.amin(-1)

    return Case(program, (torch.randn(series, length),))


@row(own=True)
def barrier_option_f32(paths=2048, steps=120):
    def program(z):
        s = torch.exp((z * 0.02 - 0.0002).cumsum(-1)) * 100
        alive = (s.amin(-1) > 85) & (s.amax(-1) < 130)
        return (torch.relu(s[:, -1] - 100) * alive).mean(), torch.relu(s.mean(-1) - 100).mean()

    return Case(program, (torch.randn(paths, steps),))


@row(own=False)
def style_loss_train_f32(channels=64, size=48):
    def program(x, y):
        def gram(t):
            t = t.flatten(1)
            return t @ t.t() / t.shape[1]

        rough = (x[:, 1:] - x[:, :-1]).abs().mean() + (x[:, :, 1:] - x[:, :, :-1]).abs().mean()
        return F.mse_loss(gram(x), gram(y)) + 0.1 * rough

    return Case(program, (torch.randn(channels, size, size), torch.randn(channels, size, size)), train=True)


@row(own=True)
def segment_softmax_f32(edges=20000, nodes=1500, heads=4):
    def program(scores, to):
        at = to[:, None].expand(-1, heads)
        most = scores.new_full((nodes, heads), -1e30).scatter_reduce(0, at, scores, "amax")
        e = torch.exp(scores - most[to])
        return e / (scores.new_zeros(nodes, heads).scatter_add(0, at, e)[to] + 1e-9)

    return Case(program, (torch.randn(edges, heads), torch.randint(nodes, (edges,))))


@row(own=True)
def hyperbolic_distance_f32(points=700, deep=10):
    def program(x, y):
        d = ((x[:, None] - y) ** 2).sum(-1)
        a, b = 1 - (x * x).sum(-1), 1 - (y * y).sum(-1)
        return torch.acosh(1 + 2 * d / (a[:, None] * b))

    return Case(program, (torch.rand(points, deep) * 0.2, torch.rand(points, deep) * 0.2))
