"""Programs that nothing was tuned for, as wider_blocks.py has them: networks' blocks, with convolutions and products, what
serves and trains them. `lenz bench --peers --module bench/wider_networks.py`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import Case, row


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class RmsNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.w


class GroupedQueries(nn.Module):
    """A decoder's block: heads that share keys, rotary places, a gated MLP."""

    def __init__(self, d, heads, shared):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, d // heads
        self.norm1, self.norm2 = RmsNorm(d), RmsNorm(d)
        self.q = nn.Linear(d, d, bias=False)
        self.kv = nn.Linear(d, 2 * shared * self.size, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, 4 * d, bias=False), nn.Linear(2 * d, d, bias=False)

    def forward(self, x, cos, sin):
        b, t, d = x.shape
        y = self.norm1(x)
        q = self.q(y).view(b, t, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(y).view(b, t, 2, self.shared, self.size).permute(2, 0, 3, 1, 4)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k, v = (z.repeat_interleave(self.heads // self.shared, 1) for z in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, d))
        gate, up = self.up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def places(t, size, dtype):
    angles = torch.arange(t)[:, None] * 10000 ** (-torch.arange(0, size, 2) / size)
    angles = torch.cat([angles, angles], -1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


@row(own=False)
def grouped_queries_f32(t=128, d=256):
    return Case(GroupedQueries(d, 8, 2).eval(), (torch.randn(2, t, d), *places(t, d // 8, torch.float32)))


@row(own=False)
def grouped_queries_bf16(t=128, d=512):
    m = GroupedQueries(d, 8, 2).eval().to(torch.bfloat16)
    return Case(m, (torch.randn(2, t, d).bfloat16(), *places(t, d // 8, torch.bfloat16)))


@row(own=False)
def grouped_queries_train_f32(t=64, d=128):
    return Case(GroupedQueries(d, 4, 2), (torch.randn(4, t, d), *places(t, d // 4, torch.float32)), train=True)


class Basic(nn.Module):
    def __init__(self, c, stride=1):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, stride, padding=1, bias=False)
        self.b = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
        self.skip = nn.Conv2d(c, c, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = F.relu(self.na(self.a(x)))
        return F.relu(self.nb(self.b(y)) + self.skip(x))


@row(own=False)
def residual_blocks_f32(n=2, c=48, s=40):
    m = nn.Sequential(Basic(c), Basic(c, 2), Basic(c)).eval()
    return Case(m, (torch.randn(n, c, s, s),))


@row(own=False)
def residual_block_train_f32(n=8, c=32, s=24):
    return Case(Basic(c), (torch.randn(n, c, s, s),), train=True)


class Inverted(nn.Module):
    def __init__(self, c, wide):
        super().__init__()
        self.a, self.na = nn.Conv2d(c, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.d, self.nd = nn.Conv2d(wide, wide, 5, padding=2, groups=wide, bias=False), nn.BatchNorm2d(wide)
        self.s, self.e = nn.Conv2d(wide, wide // 4, 1), nn.Conv2d(wide // 4, wide, 1)
        self.p, self.np = nn.Conv2d(wide, c, 1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.hardswish(self.na(self.a(x)))
        y = F.hardswish(self.nd(self.d(y)))
        y = y * F.hardsigmoid(self.e(F.relu(self.s(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.np(self.p(y))


@row(own=False)
def inverted_residual_f32(n=4, c=40, s=28):
    return Case(Inverted(c, 4 * c).eval(), (torch.randn(n, c, s, s),))


class Denoise(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(8, c), nn.GroupNorm(8, c)
        self.c1, self.c2 = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.t = nn.Linear(128, c)
        self.down, self.up = nn.Conv2d(c, c, 3, 2, padding=1), nn.Conv2d(2 * c, c, 3, padding=1)

    def forward(self, x, t):
        y = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
        x = x + self.c2(F.silu(self.n2(y)))
        y = F.interpolate(self.down(x), scale_factor=2, mode="nearest")
        return self.up(torch.cat([x, y], 1))


@row(own=False)
def denoising_step_f32(n=2, c=64, s=32):
    return Case(Denoise(c).eval(), (torch.randn(n, c, s, s), torch.randn(n, 128)))


@row(own=False)
def denoising_step_bf16(n=2, c=64, s=32):
    return Case(Denoise(c).eval().bfloat16(), (torch.randn(n, c, s, s).bfloat16(), torch.randn(n, 128).bfloat16()))


@row(own=False)
def segmentation_train_f32(n=4, s=48):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, 2, padding=1)
            self.u, self.o = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(32, 5, 1)

        def forward(self, x, y):
            a = F.relu(self.a(x))
            z = self.o(torch.cat([a, F.relu(self.u(F.relu(self.b(a))))], 1))
            p = z.softmax(1)
            h = F.one_hot(y, 5).permute(0, 3, 1, 2).float()
            dice = 1 - (2 * (p * h).sum((2, 3)) + 1) / (p.sum((2, 3)) + h.sum((2, 3)) + 1)
            return F.cross_entropy(z, y) + dice.mean()

    return Case(Net(), (torch.randn(n, 3, s, s), torch.randint(5, (n, s, s))), train=True)


class Windows(nn.Module):
    """Attention in windows of an image, with a bias for each distance."""

    def __init__(self, d, heads, w):
        super().__init__()
        self.heads, self.w = heads, w
        self.n, self.qkv, self.o = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.table = nn.Parameter(torch.randn((2 * w - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None]).permute(1, 2, 0) + w - 1
        self.register_buffer("which", apart[..., 0] * (2 * w - 1) + apart[..., 1])

    def forward(self, x):
        b, s, _, d = x.shape
        w, k = self.w, s // self.w
        y = torch.roll(self.n(x), (-w // 2, -w // 2), (1, 2))
        y = y.view(b, k, w, k, w, d).transpose(2, 3).reshape(b * k * k, w * w, d)
        q, key, v = self.qkv(y).view(-1, w * w, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = q @ key.transpose(-2, -1) / math.sqrt(d // self.heads) + self.table[self.which].permute(2, 0, 1)
        y = self.o((a.softmax(-1) @ v).transpose(1, 2).reshape(-1, w * w, d))
        y = y.view(b, k, k, w, w, d).transpose(2, 3).reshape(b, s, s, d)
        return x + torch.roll(y, (w // 2, w // 2), (1, 2))


@row(own=False)
def windowed_attention_f32(b=2, s=28, d=96):
    return Case(Windows(d, 3, 7).eval(), (torch.randn(b, s, s, d),))


@row(own=False)
def gru_train_f32(b=16, t=16, h=64):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = nn.GRUCell(h, h), nn.Linear(h, 10)

        def forward(self, x):
            s = torch.zeros(b, h)
            for i in range(t):
                s = self.cell(x[:, i], s)
            return self.out(s)

    return Case(Net(), (torch.randn(b, t, h),), train=True)


@row(own=False)
def both_ways_lstm_train_f32(b=6, t=20, d=32):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = nn.LSTM(d, d, batch_first=True, bidirectional=True)
            self.score, self.out = nn.Linear(2 * d, 1), nn.Linear(2 * d, 4)

        def forward(self, x):
            states = self.steps(x)[0]
            return self.out((self.score(states).softmax(1) * states).sum(1))

    return Case(Net(), (torch.randn(b, t, d),), train=True)


@row(own=False)
def recommender_f32(b=512, rows=2000, d=16):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList(nn.EmbeddingBag(rows, d, mode="sum") for _ in range(6))
            self.low = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, d), nn.ReLU())
            self.top = nn.Sequential(nn.Linear(d + 21, 64), nn.ReLU(), nn.Linear(64, 1))

        def forward(self, dense, words):
            parts = [self.low(dense)] + [bag(words[i]) for i, bag in enumerate(self.bags)]
            z = torch.stack(parts, 1)
            i, j = torch.tril_indices(7, 7, -1)
            pairs = (z @ z.transpose(1, 2))[:, i, j]
            return torch.sigmoid(self.top(torch.cat([parts[0], pairs], 1)))

    return Case(Net().eval(), (torch.randn(b, 13), torch.randint(rows, (6, b, 4))))


@row(own=False)
def routed_experts_f32(n=256, d=64, experts=8):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(d, experts, bias=False)
            self.up, self.down = (nn.Parameter(torch.randn(experts, *s) * 0.1) for s in ((d, 2 * d), (2 * d, d)))

        def forward(self, x):
            p, i = torch.topk(self.gate(x).softmax(-1), 2)
            p = p / p.sum(-1, keepdim=True)
            weight = torch.zeros(n, experts).scatter(1, i, p)
            y = torch.einsum("nd,edh->enh", x, self.up)
            y = torch.einsum("enh,ehd->end", F.gelu(y), self.down)
            balance = weight.mean(0) * F.one_hot(i[:, 0], experts).float().mean(0)
            return (y * weight.t()[:, :, None]).sum(0), balance.sum() * experts

    return Case(Net().eval(), (torch.randn(n, d),))


@row(own=True)
def beam_step_f32(b=8, beams=4, words=8000):
    def run(logits, scores, history):
        p = F.log_softmax(logits, -1) + scores[:, :, None]
        best, at = p.view(b, -1).topk(2 * beams)
        beam, word = at // words, at % words
        done = word == 2
        kept, order = best.masked_fill(done, -1e9).topk(beams)
        beam, word = beam.gather(1, order), word.gather(1, order)
        past = history.gather(1, beam[:, :, None].expand(-1, -1, history.shape[2]))
        return kept, torch.cat([past, word[:, :, None]], -1), done.any(1)

    return Case(run, (torch.randn(b, beams, words), torch.randn(b, beams), torch.randint(words, (b, beams, 20))))


@row(own=True)
def next_word_f32(b=16, words=16000, t=64):
    def run(logits, seen, u):
        old = logits.gather(1, seen)
        logits = logits.scatter(1, seen, torch.where(old < 0, old * 1.2, old / 1.2)) / 0.8
        p = logits.softmax(-1)
        p = torch.where(p < 0.02 * p.amax(-1, keepdim=True), 0.0, p)
        p = p / p.sum(-1, keepdim=True)
        word = (p / u).argmax(-1)
        return word, p.gather(1, word[:, None]).log(), -(p * torch.log(p + 1e-9)).sum(-1)

    return Case(run, (torch.randn(b, words) * 3, torch.randint(words, (b, t)), -torch.rand(b, words).log()))


@row(own=False)
def mel_spectrogram_f32(n=2, length=16000, size=400, hop=160, mels=80):
    at = torch.arange(size // 2 + 1)[:, None] * torch.arange(size) * (2 * math.pi / size)

    def run(x, window, cos, sin, bank):
        frames = F.pad(x[:, None], (size // 2, size // 2), mode="reflect")[:, 0].unfold(1, size, hop) * window
        power = (frames @ cos.t()).square() + (frames @ sin.t()).square()
        y = torch.log10(torch.clamp(power @ bank, min=1e-10))
        y = torch.maximum(y, y.amax((1, 2), keepdim=True) - 8.0)
        return (y.transpose(1, 2) + 4.0) / 4.0

    return Case(run, (torch.randn(n, length), torch.hann_window(size), at.cos(), at.sin(), torch.rand(size // 2 + 1, mels)))


@row(own=False)
def causal_taps_f32(n=4, c=64, t=512):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.taps = nn.ModuleList(nn.Conv1d(c, 2 * c, 3, dilation=2**i) for i in range(3))
            self.mix = nn.ModuleList(nn.Conv1d(c, c, 1) for _ in range(3))

        def forward(self, x):
            out = 0
            for i in range(3):
                a, b = self.taps[i](F.pad(x, (2 ** (i + 1), 0))).chunk(2, 1)
                y = self.mix[i](torch.tanh(a) * torch.sigmoid(b))
                x, out = x + y, out + y
            return F.relu(out)

    return Case(Net().eval(), (torch.randn(n, c, t),))


@row(own=False)
def patches_f32(n=4, s=112, d=192):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj, self.cls = nn.Conv2d(3, d, 16, 16), nn.Parameter(torch.randn(1, 1, d))
            self.at, self.n = nn.Parameter(torch.randn(1, (s // 16) ** 2 + 1, d)), nn.LayerNorm(d)
            self.a, self.b = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            y = self.proj(x).flatten(2).transpose(1, 2)
            y = torch.cat([self.cls.expand(n, -1, -1), y], 1) + self.at
            return y + self.b(F.gelu(self.a(self.n(y))))

    return Case(Net().eval(), (torch.randn(n, 3, s, s),))


@row(own=True)
def clipped_adamw_f32(n=12, d=160):
    shapes = [(d, d), (d,), (d, 3 * d)] * (n // 3)

    def run(params, grads, ms, vs):
        norm = torch.stack([g.norm() for g in grads]).norm()
        scale = torch.clamp(1.0 / (norm + 1e-6), max=1.0)
        new = []
        for p, g, m, v in zip(params, grads, ms, vs):
            g = g * scale
            m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
            new += [p * (1 - 1e-4) - 1e-3 * (m / 0.5) / ((v / 0.3).sqrt() + 1e-8), m, v]
        return new

    made = lambda f: [f(*s) for s in shapes]
    return Case(run, (made(torch.randn), made(torch.randn), made(torch.randn), made(torch.rand)))


@row(own=False)
def similar_pairs_train_f32(b=128, d=96):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = (nn.Sequential(nn.Linear(d, 2 * d), nn.BatchNorm1d(2 * d), nn.ReLU(), nn.Linear(2 * d, d))
                              for _ in range(2))
            self.t = nn.Parameter(torch.tensor(2.0))

        def forward(self, x, y):
            u, v = F.normalize(self.a(x), dim=-1), F.normalize(self.b(y), dim=-1)
            s = u @ v.t() * self.t.exp()
            i = torch.arange(b)
            return (F.cross_entropy(s, i) + F.cross_entropy(s.t(), i)) / 2

    return Case(Net(), (torch.randn(b, d), torch.randn(b, d)), train=True)


@row(own=False)
def discriminator_train_f32(n=8, s=32):
    m = nn.Sequential(nn.Conv2d(3, 24, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(24, 48, 4, 2, 1), nn.InstanceNorm2d(48),
                      nn.LeakyReLU(0.2), nn.Conv2d(48, 1, 4, 1, 1))
    return Case(m, (torch.randn(n, 3, s, s),), train=True)
