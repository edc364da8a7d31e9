"""Programs that nothing was tuned for, as wider_blocks.py has them: steps of sequence models, losses, optimisers, bytes.
`lenz bench --peers --module bench/wider_fresh.py`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from workloads import Case, halves, row

F16 = torch.float16
F64 = torch.float64
SHAPES = [(129, 257)] * 7 + [(3, 3, 31, 17)] * 5 + [(257,)] * 23 + [(61, 61)] * 11


def tensors(shapes):
    return [0.1 * torch.randn(s) for s in shapes]


@row(own=True)
def selective_step_f32(b=5, d=1531, n=16):
    """One step of a selective state space, as a decoder takes it."""

    def run(state, x, delta, bias, a, bb, c, skip, z):
        dt = F.softplus(delta + bias)
        new = state * torch.exp(dt[..., None] * -torch.exp(a)) + (dt * x)[..., None] * bb[:, None]
        y = (new * c[:, None]).sum(-1) + skip * x
        return new, y * F.silu(z)

    r = torch.randn
    return Case(run, (r(b, d, n), r(b, d), r(b, d), r(d), r(d, n), r(b, n), r(b, n), r(d), r(b, d)))


@row(own=True)
def time_mix_f32(b=3, t=37, c=389):
    """RWKV's weighted sums over time, kept in range by a running maximum."""

    def run(k, v, w, u):
        a, p = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0])
        m = torch.full_like(a, -1e30)
        out = []
        for i in range(k.shape[1]):
            kk, vv = k[:, i], v[:, i]
            q = torch.maximum(m, u + kk)
            e1, e2 = torch.exp(m - q), torch.exp(u + kk - q)
            out.append((e1 * a + e2 * vv) / (e1 * p + e2))
            q = torch.maximum(m - w, kk)
            e1, e2 = torch.exp(m - w - q), torch.exp(kk - q)
            a, p, m = e1 * a + e2 * vv, e1 * p + e2, q
        return torch.stack(out, 1)

    return Case(run, (torch.randn(b, t, c), torch.randn(b, t, c), torch.rand(c), torch.randn(c)))


@row(own=True)
def ctc_recursion_f32(b=9, t=31, s=43):
    def run(logits, labels, skip):
        lp = torch.log_softmax(logits, -1)
        e = lp.gather(2, labels[:, None].expand(-1, lp.shape[1], -1))
        a = torch.full_like(e[:, 0], -1e30)
        a = torch.where(torch.arange(a.shape[1]) < 2, e[:, 0], a)
        for k in range(1, e.shape[1]):
            one = F.pad(a, (1, -1), value=-1e30)
            two = F.pad(a, (2, -2), value=-1e30).masked_fill(~skip, -1e30)
            a = torch.logsumexp(torch.stack((a, one, two)), 0) + e[:, k]
        return -torch.logaddexp(a[:, -1], a[:, -2])

    return Case(run, (torch.randn(b, t, 30), torch.randint(30, (b, s)), torch.rand(b, s) < 0.5))


@row(own=False)
def cached_decode_f16(b=3, hq=12, hk=3, t=509, d=64):
    """A decoder's step: the cache takes a row, each head of keys serves several of queries."""

    def run(q, k, v, keys, values, at):
        keys, values = keys.index_copy(2, at, k), values.index_copy(2, at, v)
        q = q.view(b, hk, hq // hk, d)
        s = (q @ keys.transpose(-1, -2)).float() * d**-0.5
        s = s.masked_fill(torch.arange(t) > at, -math.inf)
        return (torch.softmax(s, -1).to(q.dtype) @ values).view(b, hq * d), keys, values

    r = lambda *s: torch.randn(*s).to(F16)
    return Case(run, (r(b, hq, d), r(b, hk, 1, d), r(b, hk, 1, d), r(b, hk, t, d), r(b, hk, t, d), torch.tensor([301])))


@row(own=False)
def alibi_attention_bf16(b=2, h=6, t=211, d=40):
    def run(q, k, v):
        slope = torch.pow(2.0, -8.0 * torch.arange(1, h + 1) / h)
        at = torch.arange(t)
        bias = -(at[:, None] - at[None]).abs() * slope[:, None, None]
        s = (q @ k.transpose(-1, -2)) * d**-0.5 + bias.to(q.dtype)
        return torch.softmax(s.float(), -1).to(q.dtype) @ v

    return Case(run, halves(*(torch.randn(b, h, t, d) for _ in range(3))))


@row(own=False)
def dispatched_experts_f32(n=157, d=72, e=7, k=2, hidden=120):
    """Experts that each see all tokens, of which a gate's scatter leaves some."""

    def run(x, gate, up, down):
        p = torch.softmax(x @ gate, -1)
        w, i = p.topk(k, -1)
        dense = torch.zeros_like(p).scatter(1, i, w / w.sum(-1, keepdim=True))
        y = torch.einsum("ned,ne->nd", torch.einsum("neh,ehd->ned", F.silu(torch.einsum("nd,edh->neh", x, up)), down), dense)
        load = (dense > 0).float().mean(0)
        return y, e * (load * p.mean(0)).sum()

    return Case(run, (torch.randn(n, d), torch.randn(d, e), 0.1 * torch.randn(e, d, hidden), 0.1 * torch.randn(e, hidden, d)))


class TimedBlock(nn.Module):
    def __init__(self, c, out, t):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(8, c), nn.GroupNorm(8, out)
        self.c1, self.c2, self.skip = nn.Conv2d(c, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1), nn.Conv2d(c, out, 1)
        self.time = nn.Linear(t, 2 * out)

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x)))
        scale, shift = self.time(F.silu(t))[:, :, None, None].chunk(2, 1)
        return self.c2(F.silu(self.n2(h) * (1 + scale) + shift)) + self.skip(x)


@row(own=False)
def timed_block_f32(b=2, c=40, out=72, s=23, t=128):
    return Case(TimedBlock(c, out, t).eval(), (torch.randn(b, c, s, s), torch.randn(b, t)))


@row(own=False)
def nearest_code_train_f32(b=4, c=24, s=15, k=97):
    def run(z, book):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        d = (flat**2).sum(1, keepdim=True) + (book**2).sum(1) - 2 * flat @ book.t()
        q = F.embedding(d.argmin(1), book).view(z.shape[0], s, s, -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(q.detach(), z)
        return (z + (q - z).detach()) + loss

    return Case(run, (torch.randn(b, c, s, s), torch.randn(k, c)), train=True)


@row(own=True)
def splat_projection_f32(n=20011):
    """Gaussians of space as ellipses on a screen."""

    def run(p, q, scale, view, focal):
        w, x, y, z = F.normalize(q, dim=-1).unbind(-1)
        rot = torch.stack((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z),
                           1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x),
                           1 - 2 * (x * x + y * y)), -1).view(-1, 3, 3)
        m = rot * scale.exp()[:, None]
        cov = (m[:, :, None] * m[:, None]).sum(-1)
        c = (p[:, None] * view[:, :3]).sum(-1) + view[:, 3]
        tz = c[:, 2].clamp_min(0.2)
        zero = torch.zeros_like(tz)
        j = torch.stack((focal / tz, zero, -focal * c[:, 0] / tz**2, zero, focal / tz, -focal * c[:, 1] / tz**2), -1).view(-1, 2, 3)
        t = (j[..., None] * view[:, :3]).sum(2)
        flat = ((t[:, :, :, None] * cov[:, None]).sum(2)[:, :, None] * t[:, None]).sum(-1)
        a, b, d = flat[:, 0, 0] + 0.3, flat[:, 0, 1], flat[:, 1, 1] + 0.3
        det = a * d - b * b
        mid = 0.5 * (a + d)
        radius = 3 * torch.sqrt(mid + torch.sqrt((mid * mid - det).clamp_min(0.1)))
        return torch.stack((d / det, -b / det, a / det), -1), radius.ceil(), focal * c[:, :2] / tz[:, None]

    return Case(run, (torch.randn(n, 3) + torch.tensor([0.0, 0.0, 4.0]), torch.randn(n, 4), 0.3 * torch.randn(n, 3),
                      torch.cat((torch.eye(3), torch.randn(3, 1) * 0.1), 1), torch.tensor(500.0)))


@row(own=True)
def giou_train_f32(n=4001):
    def run(a, b):
        a = torch.cat((a[:, :2], a[:, :2] + a[:, 2:].exp()), 1)
        b = torch.cat((b[:, :2], b[:, :2] + b[:, 2:].exp()), 1)
        area = lambda z: (z[:, 2] - z[:, 0]) * (z[:, 3] - z[:, 1])
        side = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp_min(0)
        inter = side[:, 0] * side[:, 1]
        union = area(a) + area(b) - inter
        hull = torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])
        hull = hull[:, 0] * hull[:, 1]
        return 1 - inter / union + (hull - union) / hull

    return Case(run, (torch.randn(n, 4), torch.randn(n, 4)), train=True)


@row(own=True)
def lamb_step_f32():
    def run(ws, gs, ms, vs):
        out = []
        for w, g, m, v in zip(ws, gs, ms, vs):
            m, v = torch.lerp(m, g, 0.1), v * 0.999 + 0.001 * g * g
            u = (m / 0.9) / ((v / 0.5).sqrt() + 1e-6) + 0.01 * w
            wn, un = w.norm(), u.norm()
            ratio = torch.where((wn > 0) & (un > 0), wn / un, torch.ones_like(wn))
            out.append((w - 1e-3 * ratio * u, m, v))
        return out

    return Case(run, (tensors(SHAPES), tensors(SHAPES), tensors(SHAPES), [t.abs() for t in tensors(SHAPES)]))


@row(own=True)
def grouped_quantise_bf16(n=307, groups=24, per=64):
    def run(x):
        g = x.view(n, groups, per).float()
        lo, hi = g.aminmax(dim=-1, keepdim=True)
        scale = ((hi - lo) / 15).clamp_min(1e-6)
        zero = (-lo / scale).round()
        q = ((g / scale).round() + zero).clamp(0, 15).to(torch.uint8)
        packed = q[..., ::2] | (q[..., 1::2] << 4)
        back = (torch.stack((packed & 15, packed >> 4), -1).flatten(-2).float() - zero) * scale
        return packed, scale.squeeze(-1).to(x.dtype), (back - g).square().mean((1, 2))

    return Case(run, halves(torch.randn(n, groups * per)))


@row(own=False)
def kalman_step_f64(b=701, n=6, m=2):
    def run(x, p, z, f, h, q, r):
        x = (f @ x[..., None])
        p = f @ p @ f.t() + q
        y = z[..., None] - h @ x
        s = h @ p @ h.t() + r
        det = s[:, 0, 0] * s[:, 1, 1] - s[:, 0, 1] * s[:, 1, 0]
        inv = torch.stack((s[:, 1, 1], -s[:, 0, 1], -s[:, 1, 0], s[:, 0, 0]), -1).view(-1, 2, 2) / det[:, None, None]
        k = p @ h.t() @ inv
        x = x + k @ y
        p = (torch.eye(n, dtype=F64) - k @ h) @ p
        return x.squeeze(-1), p, det.log()

    g = lambda *s: torch.randn(*s, dtype=F64)
    a = g(b, n, n)
    return Case(run, (g(b, n), a @ a.transpose(1, 2) + torch.eye(n, dtype=F64), g(b, m), g(n, n), g(m, n), torch.eye(n, dtype=F64), torch.eye(m, dtype=F64)))


@row(own=True)
def one_row_summed_bf16(n=300007):
    return Case(lambda x: x.cumsum(0), halves(torch.randn(n)))


@row(own=True)
def one_row_of_exponentials_bf16(n=200_003):
    return Case(lambda x: torch.logcumsumexp(x, 0), halves(torch.randn(n)))
