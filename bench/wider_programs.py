"""Programs that nothing was tuned for, as wider_blocks.py has them: layers that are trained, losses, small algorithms.
`lenz bench --peers --module bench/wider_programs.py`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import Case, row


@row(own=False)
def encoder_layer_train_f32(b=4, t=64, d=128):
    return Case(nn.TransformerEncoderLayer(d, 4, 256, dropout=0.0, batch_first=True), (torch.randn(b, t, d),),
                train=True)


@row(own=False)
def encoder_layer_infer_bf16(b=4, t=96, d=256):
    m = nn.TransformerEncoderLayer(d, 4, 512, dropout=0.0, batch_first=True, norm_first=True).to(torch.bfloat16)

    class W(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, x):
            y = self.m.norm1(x)
            q, k, v = F.linear(y, self.m.self_attn.in_proj_weight, self.m.self_attn.in_proj_bias).chunk(3, -1)
            f = lambda z: z.view(b, t, 4, d // 4).transpose(1, 2)
            o = F.scaled_dot_product_attention(f(q), f(k), f(v)).transpose(1, 2).reshape(b, t, d)
            x = x + self.m.self_attn.out_proj(o)
            return x + self.m.linear2(F.gelu(self.m.linear1(self.m.norm2(x))))

    return Case(W().eval(), (torch.randn(b, t, d).to(torch.bfloat16),))


@row(own=True)
def vector_quantise_f32(n=2000, k=64, d=16):
    def run(x, code):
        dist = (x * x).sum(1, keepdim=True) - 2 * (x[:, None] * code).sum(-1) + (code * code).sum(1)
        i = dist.argmin(1)
        q = code[i]
        return x + (q - x), i, ((q - x) ** 2).mean()

    return Case(run, (torch.randn(n, d), torch.randn(k, d)))


@row(own=True)
def gumbel_softmax_f32(n=4000, k=40):
    def run(x, u):
        g = -torch.log(-torch.log(u + 1e-9) + 1e-9)
        y = torch.softmax((x + g) / 0.7, -1)
        h = torch.zeros_like(y).scatter(1, y.argmax(-1, keepdim=True), 1.0)
        return h - y + y

    return Case(run, (torch.randn(n, k), torch.rand(n, k)))


@row(own=True)
def triplet_train_f32(n=512, d=96):
    def run(a, p, q):
        return F.relu((a - p).norm(dim=1) - (a - q).norm(dim=1) + 0.5)

    return Case(run, (torch.randn(n, d), torch.randn(n, d), torch.randn(n, d)), train=True)


@row(own=True)
def channel_shuffle_f32(n=4, c=116, s=28):
    def run(x):
        b, c, h, w = x.shape
        return F.relu(x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w) * 1.5)

    return Case(run, (torch.randn(n, c, s, s),))


@row(own=True)
def take_along_and_roll_f32(b=32, t=200, d=40):
    def run(x, i):
        y = torch.take_along_dim(x, i[..., None].expand(-1, -1, x.shape[-1]), 1)
        return y + torch.roll(x, 3, 1)

    return Case(run, (torch.randn(b, t, d), torch.randint(0, t, (b, t))))


@row(own=True)
def histogram_and_bincount_i64(n=100000, k=64):
    def run(x, w):
        i = (x * k).long().clamp(0, k - 1)
        return torch.bincount(i, w, minlength=k), torch.zeros(k).scatter_add(0, i, w)

    return Case(run, (torch.rand(n), torch.randn(n)))


@row(own=True)
def local_response_f32(n=2, c=64, s=27):
    return Case(lambda x: F.local_response_norm(x, 5), (torch.randn(n, c, s, s),))


@row(own=True)
def unfold_patches_f32(n=2, c=16, s=32):
    def run(x):
        p = F.unfold(x, 3, padding=1)
        return F.fold(p * 0.5, (s, s), 3, padding=1) + x

    return Case(run, (torch.randn(n, c, s, s),))


@row(own=True)
def activations_zoo_f32(n=200000):
    def run(x, w):
        y = F.prelu(x, w) + F.softplus(x) + F.logsigmoid(x) + F.selu(x)
        y = y + F.celu(x, 0.5) + F.softshrink(x) + F.tanhshrink(x) + F.hardsigmoid(x) + F.hardtanh(x)
        return F.softsign(y) * F.relu6(y)

    return Case(run, (torch.randn(n), torch.tensor([0.2])))


@row(own=True)
def newton_roots_f64(n=40000):
    def run(a):
        x = torch.ones_like(a)
        for _ in range(12):
            x = x - (x * x * x - a) / (3 * x * x)
        return x

    return Case(run, (torch.rand(n, dtype=torch.float64) * 8 + 0.1,))


@row(own=True)
def quaternion_rotate_f32(n=60000):
    def run(q, v):
        q = q / q.norm(dim=-1, keepdim=True)
        w, u = q[:, :1], q[:, 1:]
        t = 2 * torch.cross(u, v, dim=-1)
        return v + w * t + torch.cross(u, t, dim=-1)

    return Case(run, (torch.randn(n, 4), torch.randn(n, 3)))


@row(own=True)
def spectral_mix_c64(n=256, m=300):
    def run(z, h):
        y = z * h.conj() + torch.polar(z.abs(), z.angle() * 0.5)
        return y.real, y.imag, (y.abs() ** 2).sum(-1)

    return Case(run, (torch.randn(n, m, dtype=torch.complex64), torch.randn(n, m, dtype=torch.complex64)))


@row(own=False)
def lstm_two_layers_f32(b=8, t=16, i=48, h=64):
    class L(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.LSTMCell(i, h)
            self.b = nn.LSTMCell(h, h)

        def forward(self, x):
            z = x.new_zeros(x.shape[0], h)
            s, u = (z, z), (z, z)
            out = []
            for k in range(x.shape[1]):
                s = self.a(x[:, k], s)
                u = self.b(s[0], u)
                out.append(u[0])
            return torch.stack(out, 1)

    return Case(L().eval(), (torch.randn(b, t, i),))


@row(own=False)
def depthwise_separable_train_f32(n=4, c=32, s=28):
    m = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False), nn.BatchNorm2d(c), nn.ReLU6(),
                      nn.Conv2d(c, 2 * c, 1, bias=False), nn.BatchNorm2d(2 * c), nn.Hardswish())
    return Case(m, (torch.randn(n, c, s, s),), train=True)


@row(own=False)
def conv_transpose_decoder_f32(n=4, c=64, s=14):
    m = nn.Sequential(nn.ConvTranspose2d(c, 32, 4, 2, 1), nn.InstanceNorm2d(32, affine=True), nn.LeakyReLU(0.2),
                      nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())
    return Case(m.eval(), (torch.randn(n, c, s, s),))


@row(own=True)
def masked_pool_train_f32(b=16, t=120, d=96):
    def run(x, m):
        w = torch.softmax((x.sum(-1) * 0.1).masked_fill(~m, float("-inf")), -1)
        return (x * w[..., None]).sum(1)

    return Case(run, (torch.randn(b, t, d), torch.rand(b, t) < 0.8), train=True)


@row(own=True)
def label_smooth_kl_train_f32(n=700, k=211):
    def run(x, t):
        lp = F.log_softmax(x, -1)
        q = torch.full_like(lp, 0.1 / (x.shape[1] - 1)).scatter(1, t[:, None], 0.9)
        return (q * (q.log() - lp)).sum(-1)

    return Case(run, (torch.randn(n, k), torch.randint(0, k, (n,))), train=True)


@row(own=True)
def huber_quantile_f32(n=3000, q=32):
    def run(a, b, tau):
        d = b[:, None, :] - a[:, :, None]
        h = torch.where(d.abs() < 1, 0.5 * d * d, d.abs() - 0.5)
        return ((tau[None, :, None] - (d.detach() < 0).float()).abs() * h).mean((1, 2))

    return Case(run, (torch.randn(n, q), torch.randn(n, q), torch.rand(q)))


@row(own=True)
def gae_reverse_scan_f32(t=128, n=256):
    def run(r, v, d):
        a = torch.zeros(v.shape[1])
        out = []
        for i in range(t - 1, -1, -1):
            delta = r[i] + 0.99 * v[i + 1] * d[i] - v[i]
            a = delta + 0.95 * 0.99 * d[i] * a
            out.append(a)
        return torch.stack(out[::-1])

    return Case(run, (torch.randn(t, n), torch.randn(t + 1, n), (torch.rand(t, n) > 0.1).float()))


@row(own=True)
def chained_views_bf16(b=3, t=130, h=6, d=32):
    def run(x):
        y = x.view(b, t, h, d).permute(0, 2, 3, 1).flip(2)
        return (y.reshape(b * h, d, t) * 2).transpose(1, 2).contiguous() + 1

    return Case(run, (torch.randn(b, t, h * d).to(torch.bfloat16),))


@row(own=True)
def top_p_filter_f32(b=8, v=5000):
    def run(x):
        s, i = x.sort(-1, descending=True)
        c = torch.softmax(s, -1).cumsum(-1)
        s = s.masked_fill(c > 0.9, float("-inf"))
        return torch.full_like(x, float("-inf")).scatter(1, i, s)

    return Case(run, (torch.randn(b, v),))


@row(own=True)
def rope_half_train_bf16(b=2, h=8, t=128, d=64):
    def run(x, cos, sin):
        a, c = x.chunk(2, -1)
        return x * cos + torch.cat([-c, a], -1) * sin

    k = torch.bfloat16
    return Case(run, (torch.randn(b, h, t, d).to(k), torch.randn(t, d).to(k), torch.randn(t, d).to(k)), train=True)


@row(own=False)
def small_mlp_train_bf16(b=64, d=128):
    m = nn.Sequential(nn.Linear(d, 256), nn.SiLU(), nn.RMSNorm(256), nn.Linear(256, d)).to(torch.bfloat16)
    return Case(m, (torch.randn(b, d).to(torch.bfloat16),), train=True)


@row(own=True)
def int_hash_mix_i64(n=300000):
    def run(x):
        x = (x ^ (x >> 16)) * 0x45D9F3B
        x = (x ^ (x >> 16)) * 0x45D9F3B
        return (x ^ (x >> 16)) % 1009

    return Case(run, (torch.randint(0, 1 << 30, (n,)),))


@row(own=True)
def distance_field_f32(n=160):
    def run(c, r):
        g = torch.arange(n) / n
        p = torch.stack(torch.meshgrid(g, g, indexing="ij"), -1)
        d = (p[None] - c[:, None, None]).norm(dim=-1) - r[:, None, None]
        return torch.sigmoid(-40 * d.amin(0))

    return Case(run, (torch.rand(12, 2), torch.rand(12) * 0.2))


@row(own=True)
def batch_solve_2x2_f64(n=50000):
    def run(a, b):
        det = a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]
        x = (b[:, 0] * a[:, 1, 1] - b[:, 1] * a[:, 0, 1]) / det
        y = (a[:, 0, 0] * b[:, 1] - a[:, 1, 0] * b[:, 0]) / det
        return torch.stack([x, y], 1)

    return Case(run, (torch.randn(n, 2, 2, dtype=torch.float64), torch.randn(n, 2, dtype=torch.float64)))
