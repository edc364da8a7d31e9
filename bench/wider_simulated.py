"""Pictures filtered, grids and particles simulated, sequences aligned: programs that nothing was tuned for.
`lenz bench --peers --module bench/wider_simulated.py`."""

import math

import torch
import torch.nn.functional as F

from workloads import Case, row

BF16 = torch.bfloat16


def r(*shape):
    return torch.randn(*shape)


@row(own=True)
def mandelbrot_f32(h=211, w=317, steps=24):
    def run(re, im):
        x, y, count = torch.zeros_like(re), torch.zeros_like(re), torch.zeros_like(re)
        for _ in range(steps):
            x, y = x * x - y * y + re, 2 * x * y + im
            x, y = x.clamp(-4, 4), y.clamp(-4, 4)
            count = count + (x * x + y * y < 4)
        return count

    re = torch.linspace(-2, 1, w).expand(h, w).contiguous()
    return Case(run, (re, torch.linspace(-1, 1, h)[:, None].expand(h, w).contiguous()))


@row(own=True)
def game_of_life_u8(n=509, steps=3):
    def run(cells):
        for _ in range(steps):
            rows = cells + cells.roll(1, 0) + cells.roll(-1, 0)
            near = rows + rows.roll(1, 1) + rows.roll(-1, 1) - cells
            cells = ((near == 3) | ((cells == 1) & (near == 2))).to(torch.uint8)
        return cells

    return Case(run, (torch.randint(0, 2, (n, n), dtype=torch.uint8),))


@row(own=True)
def edges_f32(n=2, h=301, w=403):
    """Gradients' sizes and directions, and what is a crest across its direction."""

    def run(x):
        p = F.pad(x, (1, 1, 1, 1), mode="replicate")
        smooth = p[:, :, :-2] + 2 * p[:, :, 1:-1] + p[:, :, 2:]
        steep = p[:, :, 2:] - p[:, :, :-2]
        gx = smooth[..., 2:] - smooth[..., :-2]
        gy = steep[..., :-2] + 2 * steep[..., 1:-1] + steep[..., 2:]
        size = torch.sqrt(gx * gx + gy * gy)
        q = F.pad(size, (1, 1, 1, 1))
        across = gx.abs() > gy.abs()
        a = torch.where(across, q[..., 1:-1, :-2], q[..., :-2, 1:-1])
        b = torch.where(across, q[..., 1:-1, 2:], q[..., 2:, 1:-1])
        return torch.where((size >= a) & (size >= b), size, torch.zeros_like(size))

    return Case(run, (r(n, 1, h, w),))


@row(own=True)
def corners_f32(n=2, h=301, w=403):
    def run(x):
        gx = x[..., 1:-1, 2:] - x[..., 1:-1, :-2]
        gy = x[..., 2:, 1:-1] - x[..., :-2, 1:-1]
        xx, yy, xy = (F.avg_pool2d(v, 5, 1, 2) for v in (gx * gx, gy * gy, gx * gy))
        score = xx * yy - xy * xy - 0.05 * (xx + yy) ** 2
        return torch.where(F.max_pool2d(score, 3, 1, 1) == score, score, torch.zeros_like(score))

    return Case(run, (r(n, 1, h, w),))


@row(own=True)
def median_of_nine_f32(n=2, h=151, w=203):
    def run(x):
        return F.pad(x, (1, 1, 1, 1), mode="reflect").unfold(2, 3, 1).unfold(3, 3, 1).flatten(-2).median(-1).values

    return Case(run, (r(n, 1, h, w),))


@row(own=True)
def n_body_f32(n=701):
    def run(at, mass):
        apart = at[None] - at[:, None]
        far = (apart * apart).sum(-1) + 1e-3
        return (apart * (mass[None] * far.rsqrt() / far)[..., None]).sum(1)

    return Case(run, (r(n, 3), torch.rand(n)))


def rendered(sigma, colours, steps):
    alpha = 1 - torch.exp(-F.relu(sigma) * steps)
    seen = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    weights = alpha * seen
    return (weights[..., None] * torch.sigmoid(colours)).sum(1), (weights * steps.cumsum(1)).sum(1)


@row(own=True)
def rays_rendered_f32(rays=1999, n=64):
    return Case(rendered, (r(rays, n), r(rays, n, 3), torch.rand(rays, n) / n))


@row(own=True)
def rays_rendered_train_f32(rays=1999, n=64):
    def run(sigma, colours, steps):
        colour, depth = rendered(sigma, colours, steps)
        return (colour - 0.5).square().mean() + depth.mean()

    return Case(run, (r(rays, n), r(rays, n, 3), torch.rand(rays, n) / n), train=True)


@row(own=True)
def best_path_f32(b=11, t=29, s=67):
    """The likeliest states, and from which each came."""

    def run(seen, moves):
        score, back = seen[:, 0], []
        for i in range(1, seen.shape[1]):
            best, at = (score[:, :, None] + moves).max(1)
            score = best + seen[:, i]
            back.append(at)
        return score, torch.stack(back, 1)

    return Case(run, (r(b, t, s), r(s, s)))


@row(own=True)
def folded_patches_train_f32(n=3, c=12, h=62, w=78):
    def run(x, weight):
        patches = F.unfold(x, 3, padding=1, stride=2) * weight
        return F.fold(patches, x.shape[2:], 3, padding=1, stride=2).square().mean()

    return Case(run, (r(n, c, h, w), r(c * 9, 1)), train=True)


@row(own=True)
def equalised_u8(h=401, w=603):
    def run(x):
        counts = torch.bincount(x.flatten().long(), minlength=256)
        table = (counts.cumsum(0) * 255 // x.numel()).to(torch.uint8)
        return table[x.long()]

    return Case(run, (torch.randint(30, 200, (h, w), dtype=torch.uint8),))


@row(own=True)
def upsampled_train_f32(n=3, c=21, h=31, w=37):
    def run(x, skip, scale):
        up = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return (F.silu(up + skip) * scale[:, None, None]).square().mean()

    return Case(run, (r(n, c, h, w), r(n, c, 2 * h, 2 * w), r(c)), train=True)


@row(own=True)
def edit_distances_i32(b=257, n=17):
    """Along diagonals, each of which hangs on two before it."""

    def run(a, b_):
        size = a.shape[1]
        two = torch.zeros(a.shape[0], 1, dtype=torch.int32)
        one = torch.ones(a.shape[0], 2, dtype=torch.int32)
        for d in range(2, 2 * size + 1):
            low, high = max(0, d - size), min(d, size)
            first = max(0, d - 1 - size)
            inner = torch.arange(max(low, 1), min(high, d - 1) + 1)
            cost = (a[:, inner - 1] != b_[:, d - inner - 1]).int()
            step = torch.minimum(one[:, inner - 1 - first], one[:, inner - first]) + 1
            jump = two[:, inner - 1 - max(0, d - 2 - size)] + cost
            new = torch.minimum(step, jump)
            edge = torch.full((a.shape[0], 1), d, dtype=torch.int32)
            new = torch.cat([edge, new], 1) if low == 0 else new
            two, one = one, torch.cat([new, edge], 1) if high == d else new
        return one[:, 0]

    return Case(run, (torch.randint(0, 4, (b, n)), torch.randint(0, 4, (b, n))))


@row(own=False)
def attention_of_bytes_f32(b=3, heads=8, t=511, d=64):
    """One step of a decoder whose keys and values are bytes with a scale for each place."""

    def run(q, k, ks, v, vs):
        score = torch.einsum("bhd,bhtd->bht", q, k.float() * ks) / math.sqrt(d)
        return torch.einsum("bht,bhtd->bhd", torch.softmax(score, -1), v.float() * vs)

    k, v = (torch.randint(-127, 128, (b, heads, t, d), dtype=torch.int8) for _ in range(2))
    return Case(run, (r(b, heads, d), k, torch.rand(b, heads, t, 1) / 64, v, torch.rand(b, heads, t, 1) / 64))


@row(own=False)
def blocks_rounded_f32(n=2, h=248, w=304):
    """Cosines of blocks of eight, rounded as pictures are stored, and back."""

    def run(x, base, table):
        blocks = x.unflatten(2, (-1, 8)).unflatten(1, (-1, 8)).transpose(2, 3)
        kept = torch.round(base @ blocks @ base.mT / table) * table
        return (base.mT @ kept @ base).transpose(2, 3).flatten(3, 4).flatten(1, 2)

    return Case(run, (50 * r(n, h, w), torch.linalg.qr(r(8, 8))[0], torch.randint(1, 60, (8, 8)).float()))


@row(own=True)
def jittered_colours_u8(n=3, h=223, w=225):
    def run(x, bright, contrast, saturation, mean, std):
        x = (x.float() / 255 * bright[:, None, None, None]).clamp(0, 1)
        grey = (x * torch.tensor([0.299, 0.587, 0.114])).sum(-1, keepdim=True)
        x = ((x - grey.mean((1, 2, 3), keepdim=True)) * contrast[:, None, None, None] + 0.5).clamp(0, 1)
        grey = (x * torch.tensor([0.299, 0.587, 0.114])).sum(-1, keepdim=True)
        x = (grey + (x - grey) * saturation[:, None, None, None]).clamp(0, 1)
        return ((x - mean) / std).permute(0, 3, 1, 2).contiguous()

    x = torch.randint(0, 256, (n, h, w, 3), dtype=torch.uint8)
    return Case(run, (x, torch.rand(n) + 0.5, torch.rand(n) + 0.5, torch.rand(n) + 0.5, torch.rand(3), torch.rand(3) + 0.1))


@row(own=True)
def vocabulary_loss_train_bf16(rows=61, words=32003):
    def run(logits, labels):
        x = 30 * torch.tanh(logits.float() / 30)
        z = torch.logsumexp(x, -1)
        return (z - x.gather(1, labels[:, None])[:, 0]).mean() + 1e-4 * z.square().mean()

    return Case(run, (r(rows, words).to(BF16), torch.randint(0, words, (rows,))), train=True)


@row(own=True)
def boxes_decoded_f32(b=2, n=4001, classes=21, k=100):
    def run(moved, anchors, logits):
        size = anchors[:, 2:] - anchors[:, :2]
        middle = anchors[:, :2] + size / 2
        at = moved[..., :2] * 0.1 * size + middle
        half = torch.exp((moved[..., 2:] * 0.2).clamp(max=4.1)) * size / 2
        boxes = torch.cat([at - half, at + half], -1).clamp(0, 512)
        score, label = torch.softmax(logits, -1)[..., 1:].max(-1)
        best, which = score.topk(k, 1)
        return best, label.gather(1, which), boxes.gather(1, which[..., None].expand(-1, -1, 4))

    low = torch.rand(n, 2) * 400
    return Case(run, (r(b, n, 4), torch.cat([low, low + torch.rand(n, 2) * 100 + 1], 1), r(b, n, classes)))


@row(own=True)
def neighbours_embedded_train_f32(n=487):
    """The loss that lays points out in a plane so that near ones stay near."""

    def run(y, p):
        far = (y[:, None] - y[None]).square().sum(-1)
        near = (1 / (1 + far)) * (1 - torch.eye(y.shape[0]))
        q = (near / near.sum()).clamp(min=1e-12)
        return (p * (torch.log(p) - torch.log(q))).sum()

    return Case(run, (r(n, 2), torch.softmax(r(n * n), 0).view(n, n)), train=True)


@row(own=True)
def harmonics_f32(n=30011):
    """Colours of splats, of their directions, by spherical harmonics of degree three."""

    def run(way, c):
        x, y, z = F.normalize(way, dim=-1).unbind(-1)
        xx, yy, zz = x * x, y * y, z * z
        base = torch.stack(
            [
                torch.full_like(x, 0.2820948), -0.4886025 * y, 0.4886025 * z, -0.4886025 * x, 1.0925484 * x * y,
                -1.0925484 * y * z, 0.3153916 * (2 * zz - xx - yy), -1.0925484 * x * z, 0.5462742 * (xx - yy),
                -0.5900436 * y * (3 * xx - yy), 2.8906114 * x * y * z, -0.4570458 * y * (4 * zz - xx - yy),
                0.3731763 * z * (2 * zz - 3 * xx - 3 * yy), -0.4570458 * x * (4 * zz - xx - yy),
                1.4453057 * z * (xx - yy), -0.5900436 * x * (xx - 3 * yy),
            ],
            -1,
        )  # fmt: skip
        return ((base[..., None] * c).sum(1) + 0.5).clamp(min=0)

    return Case(run, (r(n, 3), r(n, 16, 3)))


@row(own=True)
def rays_and_triangles_f32(rays=307, triangles=211):
    def run(start, way, a, b, c):
        e1, e2 = b - a, c - a
        p = torch.linalg.cross(way[:, None], e2[None])
        det = (p * e1).sum(-1)
        inverse = torch.where(det.abs() > 1e-6, 1 / det, torch.zeros_like(det))
        t = start[:, None] - a
        u = (p * t).sum(-1) * inverse
        q = torch.linalg.cross(t, e1[None].expand_as(t))
        v = (q * way[:, None]).sum(-1) * inverse
        far = (q * e2).sum(-1) * inverse
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (far > 0)
        return torch.where(hit, far, math.inf).min(-1)

    return Case(run, (r(rays, 3), F.normalize(r(rays, 3), dim=-1), *(2 * r(triangles, 3) for _ in range(3))))


@row(own=True)
def fluid_on_a_grid_f32(h=127, w=253):
    """One step of a fluid in nine directions: what each cell has moves on, and settles."""
    ways = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4

    def run(f, wall):
        f = torch.stack([f[i].roll((dy, dx), (0, 1)) for i, (dx, dy) in enumerate(ways)])
        rho = f.sum(0)
        ux = sum(dx * f[i] for i, (dx, _) in enumerate(ways)) / rho
        uy = sum(dy * f[i] for i, (_, dy) in enumerate(ways)) / rho
        still = 1.5 * (ux * ux + uy * uy)
        out = []
        for i, (dx, dy) in enumerate(ways):
            along = 3 * (dx * ux + dy * uy)
            out.append(f[i] - 1.2 * (f[i] - weights[i] * rho * (1 + along + along * along / 2 - still)))
        back = [0, 3, 4, 1, 2, 7, 8, 5, 6]
        return torch.where(wall, f[back], torch.stack(out))

    return Case(run, (torch.rand(9, h, w) + 0.5, torch.rand(h, w) < 0.1))


@row(own=True)
def noise_of_gradients_f32(h=257, w=389, cells=16):
    def run(at, table, slopes):
        low = at.floor()
        x, y = (at - low).unbind(-1)
        i, j = low.long().unbind(-1)

        def corner(di, dj):
            g = slopes[table[(table[(i + di) % 256] + j + dj) % 256] % 8]
            return g[..., 0] * (x - di) + g[..., 1] * (y - dj)

        u, v = (t * t * t * (t * (t * 6 - 15) + 10) for t in (x, y))
        top = torch.lerp(corner(0, 0), corner(1, 0), u)
        return torch.lerp(top, torch.lerp(corner(0, 1), corner(1, 1), u), v)

    return Case(run, (torch.rand(h, w, 2) * cells, torch.randperm(256), r(8, 2)))


@row(own=True)
def option_values_f64(n=100003):
    def run(s, k, t, rate, vol):
        root = vol * t.sqrt()
        d1 = (torch.log(s / k) + (rate + vol * vol / 2) * t) / root
        n1, n2 = (0.5 * (1 + torch.erf(d / math.sqrt(2))) for d in (d1, d1 - root))
        call = s * n1 - k * torch.exp(-rate * t) * n2
        density = torch.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
        return call, call - s + k * torch.exp(-rate * t), n1, density / (s * root), s * density * t.sqrt()

    return Case(run, tuple(torch.rand(n, dtype=torch.float64) + 0.5 for _ in range(5)))


@row(own=True)
def skinned_vertices_f32(n=6007, bones=23):
    def run(at, weights, turns, moves):
        q = F.normalize(turns, dim=-1)
        w, x, y, z = q.unbind(-1)
        m = torch.stack(
            [
                1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z),
                1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x),
                1 - 2 * (x * x + y * y),
            ],
            -1,
        ).unflatten(-1, (3, 3))  # fmt: skip
        placed = (m[None] * at[:, None, None]).sum(-1) + moves
        return (placed * torch.softmax(weights, -1)[..., None]).sum(1)

    return Case(run, (r(n, 3), r(n, bones), r(bones, 4), r(bones, 3)))


@row(own=True)
def waves_f32(h=301, w=403, steps=4):
    """A membrane whose rim is held."""

    def run(now, before, speed):
        for _ in range(steps):
            inner = now[1:-1, 1:-1]
            bent = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * inner
            new = torch.zeros_like(now)
            new[1:-1, 1:-1] = 2 * inner - before[1:-1, 1:-1] + speed[1:-1, 1:-1] * bent
            now, before = new, now
        return now, before

    return Case(run, (r(h, w), r(h, w), torch.rand(h, w) / 4))
