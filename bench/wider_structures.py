"""Programs of other structures, as wider_blocks.py has blocks: cells, graphs, routing, caches, volumes, iterations.
`lenz bench --peers --module bench/wider_structures.py`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import BF16, Case, row


class NormedCell(nn.Module):
    """A recurrent cell with peepholes and normed gates, unrolled."""

    def __init__(self, i, h):
        super().__init__()
        self.x, self.r = nn.Linear(i, 4 * h), nn.Linear(h, 4 * h, bias=False)
        self.nx, self.nr, self.nc = nn.LayerNorm(4 * h), nn.LayerNorm(4 * h), nn.LayerNorm(h)
        self.peep = nn.Parameter(torch.randn(3, h) * 0.1)
        self.h = h

    def forward(self, xs):
        h = c = xs.new_zeros(xs.shape[1], self.h)
        out = []
        for x in self.nx(self.x(xs)).unbind(0):
            i, f, g, o = (x + self.nr(self.r(h))).chunk(4, -1)
            c = torch.sigmoid(f + self.peep[0] * c) * c + torch.sigmoid(i + self.peep[1] * c) * torch.tanh(g)
            h = torch.sigmoid(o + self.peep[2] * c) * torch.tanh(self.nc(c))
            out.append(h)
        return torch.stack(out)


@row(own=False)
def normed_cell_f32(t=12, b=24, i=80, h=96):
    return Case(NormedCell(i, h).eval(), (torch.randn(t, b, i),))


class SeparableExcite(nn.Module):
    def __init__(self, c, o):
        super().__init__()
        self.d = nn.Conv2d(c, c, 5, padding=2, groups=c, bias=False)
        self.n1, self.n2 = nn.BatchNorm2d(c), nn.BatchNorm2d(o)
        self.s1, self.s2 = nn.Conv2d(c, c // 4, 1), nn.Conv2d(c // 4, c, 1)
        self.p = nn.Conv2d(c, o, 1, bias=False)

    def forward(self, x):
        y = F.hardswish(self.n1(self.d(x)))
        y = y * F.hardsigmoid(self.s2(F.relu(self.s1(F.adaptive_avg_pool2d(y, 1)))))
        return self.n2(self.p(y))


@row(own=False)
def separable_excite_f32(n=3, c=72, o=40, s=30):
    return Case(SeparableExcite(c, o).eval(), (torch.randn(n, c, s, s),))


@row(own=False)
def separable_excite_train_f32(n=6, c=48, o=64, s=26):
    return Case(SeparableExcite(c, o), (torch.randn(n, c, s, s),), train=True)


class RotaryCache(nn.Module):
    """A few new tokens: turned by their places, written into the cache, attended with all before."""

    def __init__(self, d, heads, shared):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, d // heads
        self.q, self.k, self.v = (nn.Linear(d, n * self.size, bias=False) for n in (heads, shared, shared))
        self.o = nn.Linear(d, d, bias=False)
        self.nq, self.nk = nn.RMSNorm(self.size), nn.RMSNorm(self.size)

    def forward(self, x, keys, values, places, table):
        b, t, d = x.shape
        q = self.nq(self.q(x).view(b, t, self.heads, self.size)).transpose(1, 2)
        k = self.nk(self.k(x).view(b, t, self.shared, self.size)).transpose(1, 2)
        v = self.v(x).view(b, t, self.shared, self.size).transpose(1, 2)
        cos, sin = table[places].unbind(-1)

        def turn(y):
            a, b = y.unflatten(-1, (-1, 2)).unbind(-1)
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

        keys = keys.index_copy(2, places, turn(k))
        values = values.index_copy(2, places, v)
        mask = torch.arange(keys.shape[2])[None, :] <= places[:, None]
        q = turn(q).unflatten(1, (self.shared, -1))
        scores = torch.einsum("bgrtd,bgsd->bgrts", q, keys) / math.sqrt(self.size)
        p = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        a = torch.einsum("bgrts,bgsd->bgrtd", p, values).flatten(1, 2)
        return self.o(a.transpose(1, 2).reshape(b, t, d)), keys, values


@row(own=False)
def rotary_cache_f32(b=2, t=5, d=320, heads=10, shared=2, places=411):
    angles = torch.arange(places)[:, None] * 10000 ** (-torch.arange(0, d // heads, 2) / (d // heads))
    cache = [torch.randn(b, shared, places, d // heads) for _ in "kv"]
    return Case(RotaryCache(d, heads, shared).eval(),
                (torch.randn(b, t, d), *cache, torch.arange(300, 300 + t),
                 torch.stack([angles.cos(), angles.sin()], -1)))


class SkipStep(nn.Module):
    """Down and up again, with a time that scales and shifts, and a skip past."""

    def __init__(self, c, e):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, 2 * c, 3, stride=2, padding=1)
        self.m, self.u = nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.Conv2d(3 * c, c, 3, padding=1)
        self.n = nn.ModuleList(nn.GroupNorm(8, k) for k in (c, 2 * c, 3 * c))
        self.t = nn.Linear(e, 4 * c)

    def forward(self, x, t):
        w = torch.exp(torch.arange(32) * (-math.log(10000.0) / 32))
        e = t[:, None] * w
        scale, shift = self.t(F.silu(torch.cat([e.cos(), e.sin()], -1)))[:, :, None, None].chunk(2, 1)
        s = self.a(F.silu(self.n[0](x)))
        y = self.m(F.silu(self.n[1](self.b(s)) * (1 + scale) + shift))
        y = F.interpolate(y, size=s.shape[-2:], mode="bilinear", align_corners=False)
        return x + self.u(F.silu(self.n[2](torch.cat([s, y], 1))))


@row(own=False)
def skip_step_f32(n=2, c=40, s=34):
    return Case(SkipStep(c, 64).eval(), (torch.randn(n, c, s, s), torch.rand(n) * 1000))


@row(own=False)
def skip_step_last_f32(n=2, c=40, s=34):
    x = torch.randn(n, c, s, s).to(memory_format=torch.channels_last)
    return Case(SkipStep(c, 64).eval().to(memory_format=torch.channels_last), (x, torch.rand(n) * 1000))


class GraphAttention(nn.Module):
    def __init__(self, d, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.w = nn.Linear(d, heads * size, bias=False)
        self.s, self.t = nn.Parameter(torch.randn(heads, size) * 0.1), nn.Parameter(torch.randn(heads, size) * 0.1)

    def forward(self, x, source, target):
        n = x.shape[0]
        h = self.w(x).view(n, self.heads, self.size)
        e = F.leaky_relu((h * self.s).sum(-1)[source] + (h * self.t).sum(-1)[target], 0.2)
        at = target[:, None].expand_as(e)
        top = torch.full((n, self.heads), -1e30).scatter_reduce(0, at, e, "amax")
        p = (e - top[target]).exp()
        total = torch.zeros(n, self.heads).scatter_add(0, at, p)
        p = p / (total[target] + 1e-9)
        return F.elu(torch.zeros(n, self.heads, self.size).index_add(0, target, h[source] * p[..., None]).flatten(1))


@row(own=False)
def graph_attention_f32(nodes=1900, edges=13000, d=72, heads=4, size=12):
    ends = torch.randint(0, nodes, (2, edges))
    return Case(GraphAttention(d, heads, size).eval(), (torch.randn(nodes, d), ends[0], ends[1]))


@row(own=False)
def graph_attention_train_f32(nodes=1900, edges=13000, d=72, heads=4, size=12):
    ends = torch.randint(0, nodes, (2, edges))
    return Case(GraphAttention(d, heads, size), (torch.randn(nodes, d), ends[0], ends[1]), train=True)


class CapacityExperts(nn.Module):
    """The two best experts of each token, as many places as an expert has; who comes later is dropped."""

    def __init__(self, d, h, experts, capacity):
        super().__init__()
        self.gate = nn.Linear(d, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, d, h) / math.sqrt(d))
        self.down = nn.Parameter(torch.randn(experts, h, d) / math.sqrt(h))
        self.capacity = capacity

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        w, chosen = p.topk(2, -1)
        w = w / w.sum(-1, keepdim=True)
        hot = F.one_hot(chosen, p.shape[-1])
        place = (hot.transpose(0, 1).flatten(0, 1).cumsum(0) - 1).unflatten(0, (2, -1)).transpose(0, 1)
        place = (place * hot).sum(-1)
        kept = place < self.capacity
        slots = F.one_hot(place.clamp(max=self.capacity - 1), self.capacity) * kept[..., None]
        send = torch.einsum("tke,tkc->tec", hot.float(), slots.float())
        back = torch.einsum("tk,tke,tkc->tec", w, hot.float(), slots.float())
        inside = torch.einsum("tec,td->ecd", send, x)
        y = torch.bmm(F.gelu(torch.bmm(inside, self.up)), self.down)
        balance = (p.mean(0) * hot[:, 0].float().mean(0)).sum() * p.shape[-1]
        return torch.einsum("tec,ecd->td", back, y), balance


@row(own=False)
def capacity_experts_f32(t=190, d=96, h=160, experts=6, capacity=72):
    return Case(CapacityExperts(d, h, experts, capacity).eval(), (torch.randn(t, d),))


class EdgeConv(nn.Module):
    """Points, their nearest neighbours, and the greatest of what pairs give."""

    def __init__(self, d, o, k):
        super().__init__()
        self.k = k
        self.f = nn.Sequential(nn.Linear(2 * d, o), nn.LeakyReLU(0.2), nn.Linear(o, o))
        self.n = nn.BatchNorm1d(o)

    def forward(self, x):
        near = torch.cdist(x, x).topk(self.k, -1, largest=False).indices
        b, n, d = x.shape
        y = x.gather(1, near.flatten(1)[..., None].expand(-1, -1, d)).view(b, n, self.k, d)
        c = x[:, :, None].expand_as(y)
        y = self.f(torch.cat([c, y - c], -1)).amax(2)
        return F.relu(self.n(y.transpose(1, 2)))


@row(own=False)
def edge_conv_f32(b=2, n=340, d=12, o=56, k=9):
    return Case(EdgeConv(d, o, k).eval(), (torch.randn(b, n, d),))


class Volume(nn.Module):
    def __init__(self, c, o):
        super().__init__()
        self.a, self.b = nn.Conv3d(c, o, 3, padding=1, bias=False), nn.Conv3d(o, o, 3, padding=1, bias=False)
        self.na, self.nb, self.s = nn.BatchNorm3d(o), nn.BatchNorm3d(o), nn.Conv3d(c, o, 1)

    def forward(self, x):
        y = F.relu(self.na(self.a(x)))
        return F.max_pool3d(F.relu(self.nb(self.b(y)) + self.s(x)), 2)


@row(own=False)
def volume_f32(n=1, c=16, o=24, s=20):
    return Case(Volume(c, o).eval(), (torch.randn(n, c, s, s, s),))


@row(own=False)
def volume_last_f32(n=1, c=16, o=24, s=20):
    form = torch.channels_last_3d
    return Case(Volume(c, o).eval().to(memory_format=form), (torch.randn(n, c, s, s, s).to(memory_format=form),))


@row(own=True)
def chain_scores_f32(b=40, t=24, k=19):
    """A chain of labels: the logarithm of the sum over all ways, and the best one."""

    def f(emit, move, labels):
        a = best = emit[:, 0]
        for i in range(1, emit.shape[1]):
            a = torch.logsumexp(a[:, :, None] + move, 1) + emit[:, i]
            best = (best[:, :, None] + move).amax(1) + emit[:, i]
        score = emit.gather(2, labels[..., None])[..., 0].sum(1) + move[labels[:, :-1], labels[:, 1:]].sum(1)
        return torch.logsumexp(a, 1) - score, best.amax(1)

    return Case(f, (torch.randn(b, t, k), torch.randn(k, k), torch.randint(0, k, (b, t))))


@row(own=True)
def transport_f32(b=6, n=110, m=75, steps=8):
    """Rows and columns brought to one in turns."""

    def f(cost):
        s = -cost / 0.1
        u, v = torch.zeros(b, n, 1), torch.zeros(b, 1, m)
        for _ in range(steps):
            u = -torch.logsumexp(s + v, 2, keepdim=True)
            v = -torch.logsumexp(s + u, 1, keepdim=True)
        p = (s + u + v).exp()
        return p, (p * cost).sum((1, 2))

    return Case(f, (torch.rand(b, n, m),))


@row(own=False)
def filtered_states_f64(b=300, t=6, n=4, m=2):
    def f(z, a, q, h, r):
        x, p = torch.zeros(b, n, dtype=z.dtype), torch.eye(n, dtype=z.dtype).expand(b, n, n)
        out = []
        for i in range(t):
            x = x @ a.T
            p = a @ p @ a.T + q
            s = h @ p @ h.T + r
            d = s[:, 0, 0] * s[:, 1, 1] - s[:, 0, 1] * s[:, 1, 0]
            turned = torch.stack([s[:, 1, 1], -s[:, 0, 1], -s[:, 1, 0], s[:, 0, 0]], -1)
            inverse = turned.view(b, 2, 2) / d[:, None, None]
            k = p @ h.T @ inverse
            x = x + (k @ (z[:, i] - x @ h.T)[..., None])[..., 0]
            p = (torch.eye(n, dtype=z.dtype) - k @ h) @ p
            out.append(x)
        return torch.stack(out, 1), p

    d = torch.float64
    return Case(f, (torch.randn(b, t, m, dtype=d), torch.eye(n, dtype=d) + 0.1 * torch.randn(n, n, dtype=d),
                    0.1 * torch.eye(n, dtype=d), torch.randn(m, n, dtype=d), torch.eye(m, dtype=d)))


@row(own=True)
def wavelets_f32(n=3, c=11, s=180):
    def f(x):
        out = []
        for _ in range(3):
            a, b, c, d = x[..., ::2, ::2], x[..., ::2, 1::2], x[..., 1::2, ::2], x[..., 1::2, 1::2]
            out += [F.softshrink((e) / 2, 0.1) for e in (a + b - c - d, a - b + c - d, a - b - c + d)]
            x = (a + b + c + d) / 2
            x = x[..., : x.shape[-2] // 2 * 2, : x.shape[-1] // 2 * 2]
        return x, *out

    return Case(f, (torch.randn(n, c, s, s),))


class RelativeShift(nn.Module):
    """Attention with places relative to each other, shifted by a padded view; with a memory before it."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.q, self.kv, self.r, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d), nn.Linear(d, d)
        self.u, self.v = nn.Parameter(torch.randn(heads, 1, self.size)), nn.Parameter(torch.randn(heads, 1, self.size))

    def forward(self, x, memory, places):
        def split(y):
            return y.unflatten(-1, (self.heads, self.size)).transpose(-2, -3)

        all_ = torch.cat([memory, x], 1)
        q, (k, v), r = split(self.q(x)), map(split, self.kv(all_).chunk(2, -1)), split(self.r(places))
        b = (q + self.v) @ r.transpose(-1, -2)
        n, h, t, s = b.shape
        b = F.pad(b, (1, 0)).view(n, h, s + 1, t)[:, :, 1:].reshape(n, h, t, s)
        a = ((q + self.u) @ k.transpose(-1, -2) + b) / math.sqrt(self.size)
        hidden = torch.ones(t, s, dtype=torch.bool).triu(s - t + 1)
        p = a.masked_fill(hidden, float("-inf")).softmax(-1)
        return x + self.o((p @ v).transpose(1, 2).flatten(2))


@row(own=False)
def relative_shift_f32(b=2, t=70, m=50, d=144, heads=6):
    return Case(RelativeShift(d, heads).eval(), (torch.randn(b, t, d), torch.randn(b, m, d), torch.randn(t + m, d)))


@row(own=False)
def relative_shift_train_bf16(b=2, t=70, m=50, d=144, heads=6):
    args = (torch.randn(b, t, d), torch.randn(b, m, d), torch.randn(t + m, d))
    return Case(RelativeShift(d, heads).bfloat16(), tuple(a.to(BF16) for a in args), train=True)
