"""Programs about pairs of rows, about numbers that are made of all elements, and what stands beside them in training and
search. `lenz bench --peers --module bench/wider_pairs.py`."""

import torch
import torch.nn.functional as F

from workloads import Case, row


def r(*shape):
    return torch.randn(*shape)


@row(own=True)
def nearest_neighbours_f32(n=301, m=997, d=96, k=5):
    def run(queries, points):
        near = torch.topk(torch.cdist(queries, points), k, largest=False)
        return near.values, near.indices

    return Case(run, (r(n, d), r(m, d)))


@row(own=True)
def chamfer_f32(b=3, n=500, m=431):
    def run(x, y):
        apart = torch.cdist(x, y)
        return apart.amin(2).mean() + apart.amin(1).mean()

    return Case(run, (r(b, n, 3), r(b, m, 3)))


@row(own=True)
def k_means_step_f32(n=2003, k=37, d=61):
    def run(x, centres):
        near = torch.cdist(x, centres).argmin(1)
        sums = torch.zeros_like(centres).index_add(0, near, x)
        counts = torch.zeros(k).index_add(0, near, torch.ones(n))
        return sums / counts.clamp_min(1)[:, None], near

    return Case(run, (r(n, d), r(k, d)))


@row(own=True)
def laplace_kernel_f32(n=257, m=263, d=130):
    def run(x, y, w):
        return torch.exp(-0.1 * (x[:, None] - y[None]).abs().sum(-1)) * w

    return Case(run, (r(n, d), r(m, d), r(m)))


@row(own=True)
def contrastive_bf16(n=193, d=200):
    def run(a, b):
        a, b = F.normalize(a.float(), dim=-1), F.normalize(b.float(), dim=-1)
        scores = (a[:, None] * b[None]).sum(-1) / 0.07
        at = torch.arange(n)
        return (F.cross_entropy(scores, at) + F.cross_entropy(scores.T, at)) / 2

    return Case(run, (r(n, d).bfloat16(), r(n, d).bfloat16()))


@row(own=True)
def tropical_product_f32(n=130, m=150, k=170):
    def run(a, b):
        return (a[:, None] + b.T[None]).amax(-1)

    return Case(run, (r(n, k), r(k, m)))


@row(own=True)
def hamming_i32(n=203, m=301, d=64):
    def run(a, b):
        return (a[:, None] != b[None]).sum(-1)

    return Case(run, (torch.randint(0, 4, (n, d), dtype=torch.int32), torch.randint(0, 4, (m, d), dtype=torch.int32)))


@row(own=True)
def mean_squares_f32(n=30_011):
    return Case(lambda a, b: ((a - b) ** 2).mean(), (r(n), r(n)))


@row(own=True)
def huber_and_norms_f32(n=41, m=777):
    def run(a, b):
        return F.huber_loss(a, b), a.norm(), (a - b).abs().amax(), a.std(), torch.dot(a.flatten(), b.flatten())

    return Case(run, (r(n, m), r(n, m)))


@row(own=True)
def clipped_gradients_f32(count=24, n=1000):
    def run(grads):
        total = torch.stack([g.pow(2).sum() for g in grads]).sum().sqrt()
        scale = (1.0 / (total + 1e-6)).clamp(max=1.0)
        return [g * scale for g in grads], total

    return Case(run, ([r(n + 7 * i) for i in range(count)],))


@row(own=True)
def explained_variance_f32(n=20_021):
    def run(y, p):
        residual = y - p
        return 1 - residual.var() / y.var(), (residual.abs() / y.abs().clamp_min(1e-3)).mean()

    return Case(run, (r(n), r(n)))


@row(own=True)
def softmax_of_all_f32(n=157, m=163):
    def run(x, t):
        p = torch.softmax((x / t).flatten(), 0)
        return p.view_as(x), -(p * torch.log(p + 1e-9)).sum()

    return Case(run, (r(n, m), torch.tensor(0.7)))


@row(own=True)
def calibration_f32(n=4093, c=10, bins=15):
    def run(logits, labels):
        confidence, guess = torch.softmax(logits, -1).max(-1)
        right = (guess == labels).float()
        at = (confidence * bins).long().clamp_max(bins - 1)
        zeros = torch.zeros(bins)
        counts = zeros.index_add(0, at, torch.ones(n))
        gap = (zeros.index_add(0, at, confidence) - zeros.index_add(0, at, right)).abs()
        return (gap / counts.clamp_min(1) * counts / n).sum()

    return Case(run, (r(n, c), torch.randint(0, c, (n,))))


@row(own=True)
def pairwise_ranking_train_f32(n=211):
    def run(scores, relevance):
        apart = scores[:, None] - scores[None]
        better = (relevance[:, None] > relevance[None]).float()
        return (F.softplus(-apart) * better).sum() / better.sum().clamp_min(1)

    return Case(run, (r(n), torch.randint(0, 5, (n,))), train=True)


@row(own=True)
def triplets_train_f32(n=97, d=123):
    def run(a, p, q):
        return F.relu((a - p).pow(2).sum(-1) - (a - q).pow(2).sum(-1) + 0.3)

    return Case(run, (r(n, d), r(n, d), r(n, d)), train=True)


@row(own=True)
def distances_train_f32(n=90, m=110, d=70):
    def run(x, y):
        return torch.exp(-(x[:, None] - y[None]).pow(2).sum(-1) / 50)

    return Case(run, (r(n, d), r(m, d)), train=True)
