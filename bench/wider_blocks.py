"""Programs that nothing was tuned for, as wider.py has them: blocks, cells and steps as libraries have them.
`lenz bench --peers --module bench/wider_blocks.py`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import Case, row


class Depthwise(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 7, padding=3, groups=c)
        self.n = nn.LayerNorm(c)
        self.b = nn.Linear(c, 4 * c)
        self.c = nn.Linear(4 * c, c)
        self.g = nn.Parameter(torch.full((c,), 0.1))

    def forward(self, x):
        y = self.a(x).permute(0, 2, 3, 1)
        y = self.c(F.gelu(self.b(self.n(y)))) * self.g
        return x + y.permute(0, 3, 1, 2)


@row(own=False)
def convnext_block_f32(c=96, n=28):
    return Case(Depthwise(c).eval(), (torch.randn(2, c, n, n),))


class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.d = nn.Conv2d(c, c // 4, 1)
        self.u = nn.Conv2d(c // 4, c, 1)

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.u(F.silu(self.d(s))))


@row(own=False)
def squeeze_excite_f32(c=128, n=31):
    return Case(Squeeze(c).eval(), (torch.randn(4, c, n, n),))


@row(own=True)
def ssm_scan_f32(b=4, t=48, d=256, s=16):
    def run(x, a, bb, c, dt):
        h = torch.zeros(b, d, s)
        out = []
        for i in range(t):
            w = torch.exp(dt[:, i, :, None] * a)
            h = w * h + dt[:, i, :, None] * bb[:, i, None, :] * x[:, i, :, None]
            out.append((h * c[:, i, None, :]).sum(-1))
        return torch.stack(out, 1)

    return Case(run, (torch.randn(b, t, d), -torch.rand(d, s), torch.randn(b, t, s), torch.randn(b, t, s),
                      torch.rand(b, t, d)))


class Gru(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.x = nn.Linear(i, 3 * h)
        self.h = nn.Linear(h, 3 * h)

    def forward(self, x, h):
        for t in range(x.shape[1]):
            a, b = self.x(x[:, t]), self.h(h)
            r1, z1, n1 = a.chunk(3, -1)
            r2, z2, n2 = b.chunk(3, -1)
            r, z = torch.sigmoid(r1 + r2), torch.sigmoid(z1 + z2)
            n = torch.tanh(n1 + r * n2)
            h = (1 - z) * n + z * h
        return h


@row(own=False)
def gru_steps_f32(b=16, t=20, i=64, h=128):
    return Case(Gru(i, h).eval(), (torch.randn(b, t, i), torch.zeros(b, h)))


@row(own=False)
def kv_cache_step_f32(b=2, heads=8, past=511, d=64):
    def run(q, k, v, kc, vc):
        k, v = torch.cat([kc, k], 2), torch.cat([vc, v], 2)
        w = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d), -1)
        return w @ v, k, v

    one = lambda: torch.randn(b, heads, 1, d)
    return Case(run, (one(), one(), one(), torch.randn(b, heads, past, d), torch.randn(b, heads, past, d)))


@row(own=True)
def box_iou_f32(n=700, m=300):
    def run(a, b):
        area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
        area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        lt = torch.max(a[:, None, :2], b[:, :2])
        rb = torch.min(a[:, None, 2:], b[:, 2:])
        wh = (rb - lt).clamp(min=0)
        inter = wh[..., 0] * wh[..., 1]
        return inter / (area_a[:, None] + area_b - inter)

    def boxes(k):
        p = torch.rand(k, 2) * 50
        return torch.cat([p, p + torch.rand(k, 2) * 20], 1)

    return Case(run, (boxes(n), boxes(m)))


@row(own=True)
def bucketize_and_embed_f32(n=60000, k=33, d=12):
    def run(x, edges, table):
        return table[torch.bucketize(x, edges)] * x[:, None]

    return Case(run, (torch.randn(n), torch.linspace(-2, 2, k), torch.randn(k + 1, d)))


@row(own=True)
def graph_mean_f32(nodes=3000, edges=20000, d=40):
    def run(x, src, dst):
        total = torch.zeros(nodes, d).index_add(0, dst, x[src])
        count = torch.zeros(nodes).index_add(0, dst, torch.ones(edges))
        return torch.relu(total / count.clamp(min=1)[:, None] + x)

    return Case(run, (torch.randn(nodes, d), torch.randint(0, nodes, (edges,)), torch.randint(0, nodes, (edges,))))


@row(own=False)
def moe_top2_f32(t=256, d=128, e=4, h=256):
    def run(x, gate, w1, w2):
        p = torch.softmax(x @ gate, -1)
        v, i = p.topk(2, -1)
        v = v / v.sum(-1, keepdim=True)
        mask = torch.zeros_like(p).scatter(1, i, v)
        y = torch.einsum("td,edh->teh", x, w1)
        y = torch.einsum("teh,ehd->ted", F.silu(y), w2)
        return (y * mask[..., None]).sum(1)

    return Case(run, (torch.randn(t, d), torch.randn(d, e), torch.randn(e, d, h) / 11, torch.randn(e, h, d) / 16))


@row(own=False)
def audio_conv1d_f32(b=4, c=48, t=2000):
    m = nn.Sequential(nn.Conv1d(c, c, 3, padding=2, dilation=2), nn.GroupNorm(4, c), nn.Tanh(), nn.Conv1d(c, c, 1),
                      nn.ELU())
    return Case(m.eval(), (torch.randn(b, c, t),))


@row(own=True)
def layer_scale_dropout_bf16(rows=900, d=768):
    def run(x, y, g):
        return x + F.dropout(y, 0.1, True) * g

    h = torch.bfloat16
    return Case(run, (torch.randn(rows, d).to(h), torch.randn(rows, d).to(h), torch.randn(d).to(h)))


@row(own=True)
def adamw_step_f32(n=12, size=30011):
    def run(p, g, m, v):
        out = []
        for a, b, c, d in zip(p, g, m, v):
            c = torch.lerp(c, b, 0.1)
            d = d * 0.999 + 0.001 * b * b
            out.append((a * (1 - 1e-4) - 1e-3 * (c / 0.1) / ((d / 0.001).sqrt() + 1e-8), c, d))
        return out

    mk = lambda: [torch.randn(size) for _ in range(n)]
    return Case(run, (mk(), mk(), mk(), [t.abs() for t in mk()]))


@row(own=True)
def contrastive_f32(n=384, d=64):
    def run(a, b):
        a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
        s = (a[:, None] * b[None]).sum(-1) * 14.0
        t = torch.arange(n)
        return (F.cross_entropy(s, t) + F.cross_entropy(s.t(), t)) / 2

    return Case(run, (torch.randn(n, d), torch.randn(n, d)))


@row(own=True)
def ssim_like_f32(n=2, s=250):
    def run(a, b):
        p = lambda t: F.avg_pool2d(t, 7, 1, 3)
        ma, mb = p(a), p(b)
        va, vb, c = p(a * a) - ma * ma, p(b * b) - mb * mb, p(a * b) - ma * mb
        return (((2 * ma * mb + 1e-4) * (2 * c + 9e-4)) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4))).mean()

    return Case(run, (torch.rand(n, 3, s, s), torch.rand(n, 3, s, s)))


@row(own=True)
def euler_physics_f64(n=90000):
    def run(x, v, m):
        r2 = (x * x).sum(-1) + 0.01
        a = -x / (r2 * r2.sqrt())[:, None]
        v2 = v + 0.01 * a / m[:, None]
        e = 0.5 * m * (v2 * v2).sum(-1) - 1 / r2.sqrt()
        return x + 0.01 * v2, v2, e

    d = torch.float64
    return Case(run, (torch.randn(n, 3, dtype=d), torch.randn(n, 3, dtype=d), torch.rand(n, dtype=d) + 1))


@row(own=True)
def laplacian_stencil_f32(n=700):
    def run(u):
        for _ in range(3):
            lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
            u = F.pad(u[1:-1, 1:-1] + 0.2 * lap, (1, 1, 1, 1))
        return u

    return Case(run, (torch.randn(n, n),))


@row(own=True)
def unique_word_mask_i64(b=64, t=301):
    def run(ids, table):
        pad = ids != 0
        pos = torch.cumsum(pad.long(), 1) * pad
        e = table[ids] + pos[..., None] * 0.01
        return (e * pad[..., None]).sum(1) / pad.sum(1, keepdim=True)

    return Case(run, (torch.randint(0, 500, (b, t)), torch.randn(500, 64)))


@row(own=True)
def relative_bias_f32(heads=6, n=196):
    def run(s, table, idx):
        b = table[idx].permute(2, 0, 1)
        return torch.softmax(s + b[None], -1)

    return Case(run, (torch.randn(4, heads, n, n), torch.randn(729, heads), torch.randint(0, 729, (n, n))))


@row(own=False)
def linear_attention_f32(b=2, h=8, n=512, d=32):
    def run(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kv = k.transpose(-1, -2) @ v
        z = 1 / (q * k.sum(-2, keepdim=True)).sum(-1, keepdim=True)
        return (q @ kv) * z

    return Case(run, tuple(torch.randn(b, h, n, d) for _ in range(3)))


@row(own=False)
def unet_up_block_f32(c=64, n=24):
    class Up(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1 = nn.Conv2d(2 * c, c, 3, padding=1)
            self.n1 = nn.GroupNorm(8, c)
            self.c2 = nn.Conv2d(c, c, 3, padding=1)
            self.n2 = nn.GroupNorm(8, c)

        def forward(self, x, skip):
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = torch.cat([x, skip], 1)
            x = F.silu(self.n1(self.c1(x)))
            return F.silu(self.n2(self.c2(x))) + skip

    return Case(Up().eval(), (torch.randn(2, c, n, n), torch.randn(2, c, 2 * n, 2 * n)))


@row(own=True)
def weight_norm_spectral_f32(o=800, i=600):
    def run(v, g, u):
        w = g[:, None] * v / v.norm(dim=1, keepdim=True)
        for _ in range(2):
            q = F.normalize((w * u[:, None]).sum(0), dim=0)
            u2 = F.normalize((w * q).sum(1), dim=0)
        return w / (u2 * (w * q).sum(1)).sum()

    return Case(run, (torch.randn(o, i), torch.rand(o), torch.randn(o)))


@row(own=True)
def fake_quant_per_channel_f32(o=256, i=1152):
    def run(w):
        s = w.abs().amax(1, keepdim=True) / 127
        q = (w / s).round().clamp(-128, 127)
        return q.to(torch.int8), q * s, (w - q * s).pow(2).mean(1)

    return Case(run, (torch.randn(o, i),))


@row(own=True)
def mixture_density_f32(b=5000, k=8):
    def run(pi, mu, ls, y):
        logp = -0.5 * ((y[:, None] - mu) * torch.exp(-ls)) ** 2 - ls - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(F.log_softmax(pi, -1) + logp, -1).mean()

    return Case(run, (torch.randn(b, k), torch.randn(b, k), torch.randn(b, k) * 0.1, torch.randn(b)))


@row(own=True)
def rnn_t_joint_bf16(b=4, t=50, u=20, d=256):
    def run(e, p):
        return F.log_softmax(torch.tanh(e[:, :, None] + p[:, None]), -1)

    h = torch.bfloat16
    return Case(run, (torch.randn(b, t, d).to(h), torch.randn(b, u, d).to(h)))


@row(own=True)
def strided_gather_scatter_f32(n=4096, d=96):
    def run(x, i, v):
        y = x.index_copy(0, i, v)
        return y[::2] + y[1::2].flip(0)

    return Case(run, (torch.randn(n, d), torch.randperm(n)[:1024], torch.randn(1024, d)))


@row(own=False)
def deformable_sample_f32(c=32, n=40):
    def run(x, off):
        g = F.affine_grid(torch.eye(2, 3)[None].expand(2, 2, 3), [2, c, n, n], align_corners=False)
        return F.grid_sample(x, g + off * 0.05, align_corners=False)

    return Case(run, (torch.randn(2, c, n, n), torch.randn(2, n, n, 2)))


class Mixer(nn.Module):
    def __init__(self, p, c):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.a, self.b = nn.Linear(p, 2 * p), nn.Linear(2 * p, p)
        self.c, self.d = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def forward(self, x):
        y = self.n1(x).transpose(1, 2)
        x = x + self.b(F.gelu(self.a(y))).transpose(1, 2)
        return x + self.d(F.gelu(self.c(self.n2(x))))


@row(own=False)
def mixer_block_train_f32(p=196, c=128):
    return Case(Mixer(p, c), (torch.randn(4, p, c),), train=True)


@row(own=False)
def vae_loss_train_f32(b=64, d=300):
    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.m, self.s = nn.Linear(d, 128), nn.Linear(128, 16), nn.Linear(128, 16)
            self.d, self.o = nn.Linear(16, 128), nn.Linear(128, d)

        def forward(self, x, eps):
            h = F.relu(self.e(x))
            m, s = self.m(h), self.s(h)
            z = m + eps * torch.exp(0.5 * s)
            y = self.o(F.relu(self.d(z)))
            return F.binary_cross_entropy_with_logits(y, x, reduction="sum") - 0.5 * (1 + s - m * m - s.exp()).sum()

    return Case(Vae(), (torch.rand(b, d), torch.randn(b, 16)), train=True)


@row(own=False)
def small_cnn_train_f32(b=16):
    m = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return Case(m, (torch.randn(b, 3, 32, 32),), train=True)


@row(own=False)
def siren_f32(n=4000, h=128):
    ls = nn.ModuleList([nn.Linear(2, h), nn.Linear(h, h), nn.Linear(h, h), nn.Linear(h, 3)])

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = ls

        def forward(self, x):
            for l in self.l[:-1]:
                x = torch.sin(30 * l(x))
            return self.l[-1](x)

    return Case(S().eval(), (torch.rand(n, 2),))
