"""Small real models, by name: each is a function that gives a module and its arguments.

Definitions are torchvision's and transformers' where these have one, else of torch.nn. Nothing is downloaded: weights are
drawn from a fixed seed."""

import math

import torch
import torch.nn.functional as F
from torch import nn

MODELS = {}  # name -> function without arguments


class Case:
    """A module in the mode it is exported in; arguments; what lenz.export takes besides."""

    def __init__(self, module, *args, train=False, dynamic=None, **kwargs):
        self.module = module.train(train)
        if not train:
            module.requires_grad_(False)
        self.args, self.kwargs, self.dynamic = args, kwargs, dynamic

    def run(self):
        """Flat results of an eager run with these arguments."""
        return torch.utils._pytree.tree_leaves(self.module(*self.args, **self.kwargs))


def model(make):
    MODELS[make.__name__] = make
    return make


def build(name):
    """The same model and arguments each time."""
    torch.manual_seed(0)
    return MODELS[name]()


# --- vision -----------------------------------------------------------------------------------------------------------


@model
def resnet50():
    """Its 50 layers, with bottlenecks an eighth as wide."""
    from torchvision.models.resnet import Bottleneck, ResNet

    return Case(ResNet(Bottleneck, [3, 4, 6, 3], num_classes=10, width_per_group=8), torch.randn(1, 3, 32, 32))


@model
def mobilenet_v3():
    from torchvision.models import mobilenet_v3_small

    return Case(mobilenet_v3_small(weights=None, width_mult=0.25, num_classes=10), torch.randn(2, 3, 32, 32))


@model
def vit():
    from torchvision.models import VisionTransformer

    vit = VisionTransformer(image_size=32, patch_size=8, num_layers=3, num_heads=2, hidden_dim=32, mlp_dim=64,
                            num_classes=10)
    torch.nn.init.normal_(vit.heads.head.weight, std=0.1)  # zeros otherwise, behind which nothing shows
    return Case(vit, torch.randn(2, 3, 32, 32))


@model
def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return Case(ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)],
                         num_classes=10), torch.randn(2, 3, 32, 32))


@model
def autoencoder():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ReLU(), nn.ConvTranspose2d(8, 1, 2, stride=2), nn.Sigmoid())
    return Case(net, torch.rand(2, 1, 16, 16))


def time_embedding(t, width):
    angles = t[:, None].float() * torch.exp(torch.arange(width // 2) * (-math.log(10000.0) / (width // 2)))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, temb):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(4, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.time = nn.Linear(temb, cout)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.conv2(F.silu(self.norm2(h))) + self.skip(x)


class UNet(nn.Module):
    """One step of denoising: the noise in an image at a time."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.enter = nn.Conv2d(3, 8, 3, padding=1)
        self.down1, self.down2 = ResBlock(8, 8, 32), ResBlock(8, 16, 32)
        self.middle = ResBlock(16, 16, 32)
        self.up2, self.up1 = ResBlock(32, 8, 32), ResBlock(16, 8, 32)
        self.leave = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x, t):
        t = self.time(time_embedding(t, 16))
        a = self.down1(self.enter(x), t)
        b = self.down2(F.avg_pool2d(a, 2), t)
        m = self.middle(F.max_pool2d(b, 2), t)
        m = F.interpolate(m, scale_factor=2.0, mode="nearest")
        m = self.up2(torch.cat([m, b], dim=1), t)
        m = F.interpolate(m, size=a.shape[-2:], mode="bilinear", align_corners=False)
        return x - 0.1 * self.leave(self.up1(torch.cat([m, a], dim=1), t))


@model
def unet_step():
    return Case(UNet(), torch.randn(1, 3, 16, 16), torch.tensor([17]))


class DiffusionAttention(nn.Module):
    """Self-attention over pixels, then attention to a text, then a gated feed-forward layer."""

    def __init__(self, channels=32, text=24, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, channels)
        self.norms = nn.ModuleList([nn.LayerNorm(channels) for _ in range(3)])
        self.qkv = nn.Linear(channels, 3 * channels, bias=False)
        self.q, self.kv = nn.Linear(channels, channels, bias=False), nn.Linear(text, 2 * channels, bias=False)
        self.out1, self.out2 = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.gate, self.down = nn.Linear(channels, 8 * channels), nn.Linear(4 * channels, channels)

    def attend(self, q, k, v):
        split = lambda x: x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return F.scaled_dot_product_attention(split(q), split(k), split(v)).transpose(1, 2).flatten(2)

    def forward(self, image, text):
        x = self.norm(image).flatten(2).transpose(1, 2)
        x = x + self.out1(self.attend(*self.qkv(self.norms[0](x)).chunk(3, dim=-1)))
        x = x + self.out2(self.attend(self.q(self.norms[1](x)), *self.kv(text).chunk(2, dim=-1)))
        h, g = self.gate(self.norms[2](x)).chunk(2, dim=-1)
        x = x + self.down(h * F.gelu(g))
        return image + x.transpose(1, 2).reshape(image.shape)


@model
def diffusion_attention():
    return Case(DiffusionAttention(), torch.randn(1, 32, 8, 8), torch.randn(1, 7, 24))


# --- language ---------------------------------------------------------------------------------------------------------


class Outputs(nn.Module):
    """Of a transformers model the tensors that `keep` picks, as a tuple: caches and None left out."""

    def __init__(self, inner, *keep):
        super().__init__()
        self.inner, self.keep = inner, keep

    def forward(self, **inputs):
        out = self.inner(**inputs, return_dict=True)
        return tuple(getattr(out, k) for k in self.keep)


@model
def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                        max_position_embeddings=32)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 9:] = 0
    return Case(Outputs(BertModel(config), "last_hidden_state", "pooler_output"),
                input_ids=torch.randint(100, (2, 12)), attention_mask=mask)


@model
def gpt2():
    """Its 12 layers, at a small width."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=12, n_head=4)
    return Case(Outputs(GPT2LMHeadModel(config), "logits"), input_ids=torch.randint(100, (1, 16)), use_cache=False)


@model
def llama():
    """Rotary positions, grouped queries, RMS norms, gated SiLU."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=64)
    return Case(Outputs(LlamaForCausalLM(config), "logits"), input_ids=torch.randint(100, (1, 16)), use_cache=False)


@model
def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                      relative_attention_num_buckets=8)
    return Case(Outputs(T5ForConditionalGeneration(config), "logits"), input_ids=torch.randint(100, (1, 10)),
                decoder_input_ids=torch.randint(100, (1, 6)), use_cache=False)


@model
def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64, num_mel_bins=16,
                           max_source_positions=20)
    return Case(Outputs(WhisperEncoder(config), "last_hidden_state"), input_features=torch.randn(1, 16, 40))


class Experts(nn.Module):
    """A mixture of experts: each token goes to its two best, which see only their tokens (sizes that the run decides)."""

    def __init__(self, width=16, experts=4):
        super().__init__()
        self.route = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
                                     for _ in range(experts))

    def forward(self, x):
        weights, chosen = self.route(x).softmax(-1).topk(2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, place = torch.where(chosen == i)
            out = out.index_add(0, token, expert(x[token]) * weights[token, place, None])
        return out


@model
def mixture_of_experts():
    return Case(Experts(), torch.randn(12, 16))


# --- recurrent, recommending, graphs, physics -------------------------------------------------------------------------


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 5)

    def forward(self, words):
        hidden, _ = self.lstm(self.embed(words))
        return self.head(hidden).log_softmax(-1)


@model
def lstm_tagger():
    return Case(Tagger(), torch.randint(50, (2, 6)))


class Reader(nn.Module):
    """A recurrent cell, step by step; what it says at the end looks back at every step. Large batches have their own."""

    def __init__(self):
        super().__init__()
        self.read, self.keep = nn.Linear(6, 8), nn.Linear(8, 8)
        self.short, self.long = nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x):
        h, states = torch.zeros(x.shape[0], 8), []
        for step in x.unbind(1):
            h = torch.tanh(self.read(step) + self.keep(h))
            states.append(h)
        states = torch.stack(states, 1)
        last = states[:, -1]
        weights = torch.bmm(states, last[:, :, None]).softmax(1)
        found = torch.tanh((weights * states).sum(1) + last)
        said = torch.cond(torch.tensor(x.numel() > 100), lambda a, b: self.long(a), lambda a, b: self.short(b),
                          (F.normalize(found, dim=-1), F.normalize(found, dim=-1)))
        return said, x.numel()


@model
def recurrent_reader():
    return Case(Reader(), torch.randn(3, 4, 6), dynamic=({0: range(2, 9)},))


class ScanCell(nn.Module):
    """A gated recurrence written as torch's scan."""

    def __init__(self, width=8):
        super().__init__()
        self.gates, self.update = nn.Linear(2 * width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, h, xs):
        from torch._higher_order_ops.scan import scan

        def cell(h, x):
            z, r = self.gates(torch.cat([h, x], -1)).sigmoid().chunk(2, -1)
            n = self.update(torch.cat([r * h, x], -1)).tanh()
            new = (1 - z) * n + z * h
            return new, new.clone()

        return scan(cell, h, xs)


@model
def gru_scan():
    return Case(ScanCell(), torch.zeros(3, 8), torch.randn(5, 3, 8))


class Dlrm(nn.Module):
    """Dense features and embedded categories, their pairwise products, a click probability."""

    def __init__(self, tables=(40, 30, 20), width=8):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(n, width) for n in tables)
        pairs = (len(tables) + 1) * len(tables) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 16), nn.ReLU(), nn.Linear(16, 1))
        self.register_buffer("pairs", torch.tril_indices(len(tables) + 1, len(tables) + 1, offset=-1), persistent=False)

    def forward(self, dense, categories):
        x = self.bottom(dense)
        rows = torch.stack([x] + [table(categories[:, i]) for i, table in enumerate(self.tables)], dim=1)
        products = torch.bmm(rows, rows.mT)[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, products], dim=1)).sigmoid().squeeze(1)


@model
def dlrm():
    return Case(Dlrm(), torch.randn(4, 6), torch.randint(20, (4, 3)))


class BagRecommender(nn.Module):
    """What a user clicked on, as a bag of items, against candidates."""

    def __init__(self):
        super().__init__()
        self.history = nn.EmbeddingBag(50, 8, mode="mean")
        self.items = nn.Embedding(50, 8)
        self.bias = nn.Embedding(50, 1)

    def forward(self, clicked, candidates):
        user = self.history(clicked)
        return (self.items(candidates) @ user.unsqueeze(-1)).squeeze(-1) + self.bias(candidates).squeeze(-1)


@model
def embedding_bag():
    return Case(BagRecommender(), torch.randint(50, (3, 4)), torch.randint(50, (3, 5)))


class Gcn(nn.Module):
    """Two graph convolutions over a list of edges, normalised by degree."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16, bias=False), nn.Linear(16, 4)

    def convolve(self, x, edges, scale):
        source, target = edges
        return torch.zeros_like(x).index_add_(0, target, x[source] * scale[source, None]) * scale[:, None]

    def forward(self, x, edges):
        degree = torch.zeros(x.shape[0]).scatter_add_(0, edges[1], torch.ones(edges.shape[1]))
        scale = degree.clamp(min=1).rsqrt()
        x = F.relu(self.convolve(self.one(x), edges, scale))
        return self.convolve(self.two(x), edges, scale).log_softmax(-1)


@model
def gcn():
    return Case(Gcn(), torch.randn(10, 8), torch.randint(10, (2, 24)))


class Gat(nn.Module):
    """Graph attention among all nodes, unless told who is whose neighbour."""

    def __init__(self):
        super().__init__()
        self.project, self.give, self.take = nn.Linear(8, 12, bias=False), nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x, neighbours=None):
        h = self.project(x)
        nodes = h.shape[0]
        if neighbours is None:
            neighbours = torch.ones(nodes, nodes)
        scores = self.give(h).expand(nodes, nodes) + self.take(h).T.expand(nodes, nodes)
        return (F.leaky_relu(scores, 0.2) + (1.0 - neighbours) * -1e9).softmax(-1) @ h


@model
def gat():
    return Case(Gat(), torch.randn(10, 8))


class EquationOfState(nn.Module):
    """Density of sea water from salinity, temperature and pressure: the UNESCO polynomials, elementwise in float64."""

    RHO = (999.842594, 6.793952e-2, -9.09529e-3, 1.001685e-4, -1.120083e-6, 6.536332e-9)
    A = (8.24493e-1, -4.0899e-3, 7.6438e-5, -8.2467e-7, 5.3875e-9)
    B = (-5.72466e-3, 1.0227e-4, -1.6546e-6)
    KW = (19652.21, 148.4206, -2.327105, 1.360477e-2, -5.155288e-5)
    KA = (54.6746, -0.603459, 1.09987e-2, -6.1670e-5)
    KB = (7.944e-2, 1.6483e-2, -5.3009e-4)
    K1 = (3.239908, 1.43713e-3, 1.16092e-4, -5.77905e-7)
    K1A = (2.2838e-3, -1.0981e-5, -1.6078e-6)
    K2 = (8.50935e-5, -6.12293e-6, 5.2787e-8)
    K2A = (-9.9348e-7, 2.0816e-8, 9.1697e-10)

    @staticmethod
    def poly(coefficients, t):
        out = torch.full_like(t, coefficients[-1])
        for c in reversed(coefficients[:-1]):
            out = out * t + c
        return out

    def forward(self, s, t, p):
        root = s * s.sqrt()
        rho = self.poly(self.RHO, t) + self.poly(self.A, t) * s + self.poly(self.B, t) * root + 4.8314e-4 * s**2
        k = self.poly(self.KW, t) + self.poly(self.KA, t) * s + self.poly(self.KB, t) * root
        a = self.poly(self.K1, t) + self.poly(self.K1A, t) * s + 1.91075e-4 * root
        b = self.poly(self.K2, t) + self.poly(self.K2A, t) * s
        return rho / (1 - p / (k + p * (a + p * b)))


@model
def equation_of_state():
    grid = lambda low, high: low + (high - low) * torch.rand(4, 6, 8, dtype=torch.float64)
    return Case(EquationOfState(), grid(0, 40), grid(-2, 30), grid(0, 1000))


class Newton(nn.Module):
    """A cube root, by Newton's method until it stands still; the sign by a branch."""

    def forward(self, x):
        from torch._higher_order_ops import while_loop

        a = x.abs()
        _, _, root = while_loop(
            lambda i, change, y: (i < 50) & (change > 1e-6),
            lambda i, change, y: (i + 1, ((a / (y * y) - y) / 3).abs().amax(), y + (a / (y * y) - y) / 3),
            (torch.tensor(0), torch.tensor(1.0, dtype=torch.float64), torch.ones_like(a)))
        return torch.cond((x < 0).all(), lambda r: -r, lambda r: r.clone(), (root,))


@model
def newton():
    return Case(Newton(), torch.rand(6, dtype=torch.float64) + 0.5)


# --- training, precision, dynamic sizes -------------------------------------------------------------------------------


class Loss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, labels):
        return F.cross_entropy(self.net(x), labels, label_smoothing=0.1)


@model
def mlp_dropout_train():
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(32), nn.Linear(32, 4))
    return Case(Loss(net), torch.randn(8, 16), torch.randint(4, (8,)), train=True)


@model
def batch_norm_train():
    """Its running statistics are written to."""
    net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                        nn.Conv2d(8, 8, 3, stride=2), nn.BatchNorm2d(8, momentum=0.3), nn.LeakyReLU(0.1), nn.Flatten(),
                        nn.Linear(8 * 9, 4))
    return Case(Loss(net), torch.randn(4, 3, 10, 10), torch.randint(4, (4,)), train=True)


class Mixed(nn.Module):
    """Layers under autocast, with a part of them kept in float32, and an average that no gradient sees."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(16, 32), nn.Linear(32, 16)
        self.register_buffer("average", torch.zeros(16))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = F.gelu(self.one(x))
            y = self.two(h)
            with torch.autocast("cpu", enabled=False):
                y = F.softmax(y.float(), -1)
        with torch.no_grad():
            self.average.mul_(0.9).add_(y.mean(0), alpha=0.1)
        return y


@model
def mixed_precision_train():
    return Case(Mixed(), torch.randn(6, 16), train=True)


@model
def transformer_dynamic():
    """Batch and length are symbols."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
    return Case(layer, torch.randn(3, 7, 16), dynamic={"src": {0: range(2, 65), 1: range(2, 513)}})
