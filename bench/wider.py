"""Workloads beside the tracked ones: what programs do between their products, a row for each habit, at sizes that nothing
was tuned for. `lenz bench --peers --module bench/wider.py`."""

import math

import torch
import torch.nn.functional as F

import wider_functions  # noqa: F401 - its rows are made when it is read
import wider_losses  # noqa: F401 - so are these
import wider_training  # noqa: F401 - so are these
from workloads import Case, halves, row

F16 = torch.float16


def masked(*shape, share=0.5):
    return torch.rand(*shape) < share


# --- reductions -------------------------------------------------------------------------------------------------------


@row(own=True)
def argmax_rows_f32(rows=2048, columns=1000):
    return Case(lambda x: x.argmax(-1), (torch.randn(rows, columns),))


@row(own=True)
def max_with_places_columns_f32(rows=1500, columns=700):
    return Case(lambda x: x.max(0), (torch.randn(rows, columns),))


@row(own=True)
def standard_deviation_rows_f32(rows=1023, columns=2047):
    return Case(lambda x: x.std(-1), (torch.randn(rows, columns),))


@row(own=True)
def variance_and_mean_columns_f32(rows=4096, columns=257):
    return Case(lambda x: torch.var_mean(x, 0), (torch.randn(rows, columns),))


@row(own=True)
def logsumexp_rows_f32(rows=3000, columns=333):
    return Case(lambda x: torch.logsumexp(x, -1), (torch.randn(rows, columns),))


@row(own=True)
def norm_of_middle_f32(outer=64, middle=199, inner=100):
    return Case(lambda x: torch.linalg.vector_norm(x, dim=1), (torch.randn(outer, middle, inner),))


@row(own=True)
def unit_rows_f32(rows=20000, columns=48):
    return Case(lambda x: F.normalize(x, dim=-1), (torch.randn(rows, columns),))


@row(own=True)
def sum_of_two_outer_dims_f32(a=37, b=64, c=41, d=33):
    return Case(lambda x: x.sum((0, 2)), (torch.randn(a, b, c, d),))


@row(own=True)
def sum_tall_f32(rows=1_000_000, columns=3):
    return Case(lambda x: x.sum(0), (torch.randn(rows, columns),))


@row(own=True)
def sum_short_rows_f32(rows=300_000, columns=5):
    return Case(lambda x: x.sum(-1), (torch.randn(rows, columns),))


@row(own=True)
def sum_wide_bf16(rows=7, columns=500_000):
    return Case(lambda x: x.float().sum(-1), halves(torch.randn(rows, columns)))


@row(own=True)
def largest_and_smallest_f32(n=3_000_001):
    return Case(lambda x: (x.amin(), x.amax()), (torch.randn(n),))


@row(own=True)
def any_and_count_bool(rows=3000, columns=777):
    return Case(lambda m: (m.any(-1), m.sum(-1), m.all(0)), (masked(rows, columns, share=0.01),))


@row(own=True)
def masked_mean_f32(batch=32, length=127, width=384):
    def program(x, mask):
        m = mask.unsqueeze(-1).to(x.dtype)
        return (x * m).sum(1) / m.sum(1).clamp_min(1.0)

    return Case(program, (torch.randn(batch, length, width), masked(batch, length)))


# --- scans and orders -------------------------------------------------------------------------------------------------


@row(own=True)
def cumsum_rows_f32(rows=1000, columns=2000):
    return Case(lambda x: x.cumsum(-1), (torch.randn(rows, columns),))


@row(own=True)
def cumsum_columns_f32(rows=700, columns=1500):
    return Case(lambda x: x.cumsum(0), (torch.randn(rows, columns),))


@row(own=True)
def cumprod_rows_f64(rows=500, columns=999):
    return Case(lambda x: x.cumprod(-1), (0.5 + torch.rand(rows, columns, dtype=torch.float64),))


@row(own=True)
def running_places_i64(rows=256, columns=4001):
    return Case(lambda m: m.to(torch.int64).cumsum(-1) - 1, (masked(rows, columns),))


@row(own=True)
def top_probabilities_f32(rows=64, columns=5000, k=10):
    def program(x):
        values, places = torch.topk(torch.softmax(x, -1), k)
        return values / values.sum(-1, keepdim=True), places

    return Case(program, (torch.randn(rows, columns),))


@row(own=True)
def sort_and_weigh_f32(rows=200, columns=1500):
    def program(x):
        values, order = x.sort(-1, descending=True)
        return values * 0.5 + 1.0, order

    return Case(program, (torch.randn(rows, columns),))


# --- norms and softmax ------------------------------------------------------------------------------------------------


@row(own=True)
def group_norm_silu_f32(batch=4, channels=96, size=50, groups=32):
    def program(x, scale, shift):
        return F.silu(F.group_norm(x, groups, scale, shift))

    return Case(program, (torch.randn(batch, channels, size, size), torch.randn(channels), torch.randn(channels)))


@row(own=True)
def instance_norm_f32(batch=4, channels=48, size=63):
    def program(x, scale, shift):
        return F.leaky_relu(F.instance_norm(x, weight=scale, bias=shift), 0.2)

    return Case(program, (torch.randn(batch, channels, size, size), torch.randn(channels), torch.randn(channels)))


def rms(x, scale):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * scale


@row(own=True)
def rms_norm_f32(rows=2000, columns=1000):
    return Case(rms, (torch.randn(rows, columns), torch.randn(columns)))


@row(own=True)
def rms_norm_odd_f32(rows=3001, columns=257):
    return Case(rms, (torch.randn(rows, columns), torch.randn(columns)))


@row(own=True)
def rms_norm_wide_bf16(rows=500, columns=4095):
    def program(x, scale):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * scale

    return Case(program, halves(torch.randn(rows, columns), torch.randn(columns)))


@row(own=True)
def layer_norm_16_f32(rows=50_000, columns=16):
    return Case(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
                (torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)))


@row(own=True)
def layer_norm_48_bf16(rows=20_000, columns=48):
    return Case(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
                halves(torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)))


@row(own=True)
def layer_norm_channels_first_f32(batch=2, channels=96, size=56):
    def program(x, scale, shift):
        return F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), scale, shift).permute(0, 3, 1, 2)

    return Case(program, (torch.randn(batch, channels, size, size), torch.randn(channels), torch.randn(channels)))


@row(own=True)
def softmax_middle_f32(outer=30, middle=77, inner=500):
    return Case(lambda x: torch.softmax(x, 1), (torch.randn(outer, middle, inner),))


@row(own=True)
def softmax_first_f32(rows=500, columns=1001):
    return Case(lambda x: torch.softmax(x, 0), (torch.randn(rows, columns),))


@row(own=True)
def softmax_short_rows_f32(rows=100_000, columns=10):
    return Case(lambda x: torch.softmax(x, -1), (torch.randn(rows, columns),))


@row(own=True)
def causal_softmax_f16(heads=8, length=383):
    def program(x):
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        return torch.softmax(x.float().masked_fill(mask, -math.inf), -1).to(x.dtype)

    return Case(program, (torch.randn(heads, length, length).to(F16),))


# --- losses -----------------------------------------------------------------------------------------------------------


@row(own=True)
def nll_with_ignored_f32(rows=2000, classes=1000):
    def program(x, labels):
        return F.nll_loss(F.log_softmax(x, -1), labels, ignore_index=-100)

    labels = torch.randint(classes, (rows,)).masked_fill(masked(rows, share=0.2), -100)
    return Case(program, (torch.randn(rows, classes), labels))


@row(own=True)
def smoothed_cross_entropy_f32(rows=1000, classes=512):
    return Case(lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
                (torch.randn(rows, classes), torch.randint(classes, (rows,))))


@row(own=True)
def bce_with_logits_f32(n=1_000_003):
    return Case(F.binary_cross_entropy_with_logits, (torch.randn(n), torch.rand(n)))


@row(own=True)
def kl_of_logits_f32(rows=1500, classes=700):
    def program(x, y):
        return F.kl_div(F.log_softmax(x, -1), F.log_softmax(y, -1), reduction="batchmean", log_target=True)

    return Case(program, (torch.randn(rows, classes), torch.randn(rows, classes)))


@row(own=True)
def huber_f32(n=777_777):
    return Case(lambda x, y: F.huber_loss(x, y, delta=0.7), (torch.randn(n), torch.randn(n)))


@row(own=True)
def cosine_similarity_f32(rows=3000, columns=300):
    return Case(lambda x, y: F.cosine_similarity(x, y, dim=-1), (torch.randn(rows, columns), torch.randn(rows, columns)))


# --- rows that are looked up, and sums by place ------------------------------------------------------------------------


@row(own=True)
def embedding_bag_f32(bags=1000, per_bag=20, words=20_000, width=64):
    return Case(lambda i, table: F.embedding_bag(i, table, mode="mean"),
                (torch.randint(words, (bags, per_bag)), torch.randn(words, width)))


@row(own=True)
def gather_last_f32(rows=4000, columns=500, picked=100):
    return Case(lambda x, i: x.gather(-1, i) * 2.0, (torch.randn(rows, columns), torch.randint(columns, (rows, picked))))


@row(own=True)
def index_add_f32(rows=30_000, width=64, places=3000):
    return Case(lambda x, i: torch.zeros(places, width).index_add(0, i, x),
                (torch.randn(rows, width), torch.randint(places, (rows,))))


@row(own=True)
def scatter_add_f32(n=200_000, places=5000):
    return Case(lambda x, i: torch.zeros(places).scatter_add(0, i, x), (torch.randn(n), torch.randint(places, (n,))))


@row(own=True)
def one_hot_i64(rows=5000, classes=100):
    return Case(lambda i: F.one_hot(i, classes).float(), (torch.randint(classes, (rows,)),))


# --- pointwise --------------------------------------------------------------------------------------------------------


@row(own=True)
def rotary_f32(batch=2, heads=12, length=500, width=64):
    def program(x, cos, sin):
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * cos + turned * sin

    return Case(program, (torch.randn(batch, heads, length, width), torch.randn(length, width), torch.randn(length, width)))


@row(own=True)
def rotary_pairs_bf16(batch=2, length=300, heads=16, width=96):
    def program(x, cos, sin):
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    angle = torch.randn(length, 1, width // 2)
    return Case(program, halves(torch.randn(batch, length, heads, width), angle.cos(), angle.sin()))


@row(own=True)
def swiglu_bf16(rows=700, width=2816):
    def program(x):
        gate, up = x.chunk(2, -1)
        return F.silu(gate) * up

    return Case(program, halves(torch.randn(rows, 2 * width)))


@row(own=True)
def geglu_f32(rows=900, width=1365):
    def program(x):
        a, gate = x.chunk(2, -1)
        return a * F.gelu(gate)

    return Case(program, (torch.randn(rows, 2 * width),))


@row(own=True)
def gelu_tanh_f16(n=1_500_000):
    return Case(lambda x: F.gelu(x, approximate="tanh"), (torch.randn(n).to(F16),))


@row(own=True)
def mish_hardswish_f32(n=1_000_000):
    return Case(lambda x: F.mish(x) + F.hardswish(x), (torch.randn(n),))


@row(own=True)
def where_chain_f32(n=2_000_000):
    def program(x, y):
        a = torch.where(x > 0, x.sqrt(), -x)
        b = torch.where((y > 1) & (a < 2), a * y, a + y)
        return torch.where(b.isnan(), 0.0, b.clamp(-3, 3))

    return Case(program, (torch.randn(n), torch.randn(n)))


@row(own=True)
def power_and_log_f64(n=300_000):
    return Case(lambda x: (x.pow(1.7) + 1).log() * x.sin(), (torch.rand(n, dtype=torch.float64) + 0.1,))


@row(own=True)
def complex_product_c64(n=700_000):
    return Case(lambda x, y: x * y.conj() + 1.0, tuple(torch.randn(n, dtype=torch.complex64) for _ in range(2)))


@row(own=True)
def bits_i32(n=2_000_000):
    return Case(lambda x, y: ((x ^ y) << 3 | (y >> 2)) & 0xFFFF, tuple(torch.randint(1 << 20, (n,), dtype=torch.int32) for _ in range(2)))


@row(own=True)
def distances_f32(points=900, others=700, width=3):
    return Case(lambda x, y: (x[:, None] - y[None]).pow(2).sum(-1).sqrt(), (torch.randn(points, width), torch.randn(others, width)))


@row(own=True)
def outer_sum_f32(rows=1500, columns=1300):
    return Case(lambda x, y: torch.tanh(x[:, None] + y[None]), (torch.randn(rows), torch.randn(columns)))


# --- bytes ------------------------------------------------------------------------------------------------------------


@row(own=True)
def quantise_rows_i8(rows=1000, columns=1536):
    def program(x):
        scale = x.abs().amax(-1, keepdim=True) / 127.0
        return (x / scale).round().clamp(-128, 127).to(torch.int8), scale

    return Case(program, (torch.randn(rows, columns),))


@row(own=True)
def dequantise_u8(rows=1000, columns=2000):
    def program(x, scale, zero):
        return (x.float() - zero) * scale

    return Case(program, (torch.randint(256, (rows, columns), dtype=torch.uint8), torch.rand(rows, 1), 100 * torch.rand(rows, 1)))


@row(own=True)
def image_to_floats_u8(batch=4, height=240, width=320):
    def program(x, mean, deviation):
        return ((x.permute(0, 3, 1, 2).float() / 255) - mean[:, None, None]) / deviation[:, None, None]

    return Case(program, (torch.randint(256, (batch, height, width, 3), dtype=torch.uint8), torch.rand(3), torch.rand(3) + 0.5))


# --- movement ---------------------------------------------------------------------------------------------------------


@row(own=True)
def to_channels_last_f32(batch=8, channels=64, size=57):
    return Case(lambda x: x.permute(0, 2, 3, 1).contiguous(), (torch.randn(batch, channels, size, size),))


@row(own=True)
def to_channels_first_bf16(batch=8, channels=61, size=56):
    return Case(lambda x: x.permute(0, 3, 1, 2).contiguous(), halves(torch.randn(batch, size, size, channels)))


@row(own=True)
def split_heads_f32(batch=4, length=300, heads=12, width=64):
    def program(x):
        return [t.contiguous() for t in x.view(batch, length, 3, heads, width).permute(2, 0, 3, 1, 4)]

    return Case(program, (torch.randn(batch, length, 3 * heads * width),))


@row(own=True)
def merge_heads_bf16(batch=4, heads=12, length=300, width=64):
    return Case(lambda x: x.transpose(1, 2).reshape(batch, length, heads * width) + 1.0, halves(torch.randn(batch, heads, length, width)))


@row(own=True)
def pixel_shuffle_f32(batch=2, channels=64, size=60):
    return Case(lambda x: F.pixel_shuffle(x, 2), (torch.randn(batch, channels, size, size),))


@row(own=True)
def windows_f32(batch=2, size=56, channels=96, window=7):
    def program(x):
        n = size // window
        return torch.roll(x, (-3, -3), (1, 2)).view(batch, n, window, n, window, channels).permute(0, 1, 3, 2, 4, 5).reshape(
            -1, window * window, channels)

    return Case(program, (torch.randn(batch, size, size, channels),))


@row(own=True)
def concatenate_f32(rows=1000, a=100, b=333, c=512):
    return Case(lambda x, y, z: torch.cat((x, y.relu(), z), -1), (torch.randn(rows, a), torch.randn(rows, b), torch.randn(rows, c)))


@row(own=True)
def pad_and_flip_f32(batch=4, channels=32, size=63):
    return Case(lambda x: F.pad(x, (2, 3, 1, 1)).flip(-1), (torch.randn(batch, channels, size, size),))


@row(own=True)
def pad_by_reflection_f32(batch=4, channels=32, size=63):
    return Case(lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), (torch.randn(batch, channels, size, size),))


@row(own=True)
def triangle_f32(n=1500):
    return Case(lambda x: x.tril() + x.triu(1).t(), (torch.randn(n, n),))


# --- images -----------------------------------------------------------------------------------------------------------


@row(own=True)
def max_pool_f32(batch=4, channels=64, size=56):
    return Case(lambda x: F.max_pool2d(x, 3, 2, 1), (torch.randn(batch, channels, size, size),))


@row(own=True)
def average_pool_f32(batch=4, channels=64, size=57):
    return Case(lambda x: F.avg_pool2d(x, 2), (torch.randn(batch, channels, size, size),))


@row(own=True)
def global_average_pool_f32(batch=16, channels=512, size=7):
    return Case(lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), (torch.randn(batch, channels, size, size),))


@row(own=True)
def upsample_nearest_add_f32(batch=2, channels=64, size=40):
    return Case(lambda x, y: F.interpolate(x, scale_factor=2.0) + y, (torch.randn(batch, channels, size, size),
                                                                   torch.randn(batch, channels, 2 * size, 2 * size)))


@row(own=True)
def upsample_bilinear_f32(batch=2, channels=32, size=50):
    return Case(lambda x: F.interpolate(x, size=(2 * size, 2 * size), mode="bilinear", align_corners=False),
                (torch.randn(batch, channels, size, size),))


@row(own=False)
def conv3d_epilogue_f32(batch=1, channels=16, size=24):
    def program(x, kernel, scale):
        return F.silu(F.conv3d(x, kernel, padding=1) * scale[:, None, None, None]) + x

    return Case(program, (torch.randn(batch, channels, size, size, size), torch.randn(channels, channels, 3, 3, 3) / 20, torch.randn(channels)))


# --- small calls ------------------------------------------------------------------------------------------------------


@row(own=True)
def small_chain_f32(n=10):
    return Case(lambda x, y: torch.sigmoid(x * y + 1.0) - y, (torch.randn(n), torch.randn(n)))


@row(own=True)
def small_softmax_f32(rows=8, columns=64):
    return Case(lambda x: torch.softmax(x, -1), (torch.randn(rows, columns),))


@row(own=True)
def small_layer_norm_f32(rows=16, columns=128):
    return Case(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)))


@row(own=True)
def lstm_cell_gates_f32(batch=64, width=200):
    def program(gates, cell):
        i, f, g, o = gates.chunk(4, -1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell

    return Case(program, (torch.randn(batch, 4 * width), torch.randn(batch, width)))
