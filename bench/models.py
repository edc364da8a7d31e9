"""The models of corpus/models at the sizes that they are measured at: the same definitions, wider and on larger inputs."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parent.parent / "corpus" / "models"))

import zoo  # noqa: E402

MODELS = {}  # name -> function without arguments that gives a zoo.Case


def model(make):
    MODELS[make.__name__] = make
    return make


def words(vocabulary, *shape):
    return torch.randint(vocabulary, shape)


# --- vision -----------------------------------------------------------------------------------------------------------


@model
def resnet50():
    from torchvision.models import resnet50

    return zoo.Case(resnet50(weights=None), torch.randn(1, 3, 224, 224))


@model
def mobilenet_v3():
    from torchvision.models import mobilenet_v3_small

    return zoo.Case(mobilenet_v3_small(weights=None), torch.randn(1, 3, 224, 224))


@model
def vit():
    from torchvision.models import VisionTransformer

    return zoo.Case(VisionTransformer(image_size=224, patch_size=16, num_layers=4, num_heads=6, hidden_dim=384, mlp_dim=1536),
                    torch.randn(1, 3, 224, 224))


@model
def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return zoo.Case(ConvNeXt([CNBlockConfig(64, 128, 2), CNBlockConfig(128, 256, 2), CNBlockConfig(256, None, 2)]),
                    torch.randn(1, 3, 224, 224))


@model
def autoencoder():
    return zoo.Case(zoo.build("autoencoder").module, torch.rand(16, 1, 128, 128))


@model
def unet_step():
    return zoo.Case(zoo.UNet(), torch.randn(2, 3, 128, 128), torch.tensor([17, 400]))


@model
def diffusion_attention():
    return zoo.Case(zoo.DiffusionAttention(256, 128, 8), torch.randn(1, 256, 32, 32), torch.randn(1, 77, 128))


# --- language ---------------------------------------------------------------------------------------------------------


@model
def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                        intermediate_size=1024, max_position_embeddings=128)
    mask = torch.ones(2, 128, dtype=torch.int64)
    mask[1, 90:] = 0
    return zoo.Case(zoo.Outputs(BertModel(config), "last_hidden_state", "pooler_output"),
                    input_ids=words(1000, 2, 128), attention_mask=mask)


@model
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=1000, n_positions=128, n_embd=256, n_layer=12, n_head=8)
    return zoo.Case(zoo.Outputs(GPT2LMHeadModel(config), "logits"), input_ids=words(1000, 1, 128), use_cache=False)


@model
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=688, num_hidden_layers=4,
                         num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256)
    return zoo.Case(zoo.Outputs(LlamaForCausalLM(config), "logits"), input_ids=words(1000, 1, 128), use_cache=False)


@model
def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=1000, d_model=256, d_kv=32, d_ff=1024, num_layers=2, num_heads=8)
    return zoo.Case(zoo.Outputs(T5ForConditionalGeneration(config), "logits"), input_ids=words(1000, 1, 96),
                    decoder_input_ids=words(1000, 1, 48), use_cache=False)


@model
def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=256, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=1024,
                           num_mel_bins=80, max_source_positions=300)
    return zoo.Case(zoo.Outputs(WhisperEncoder(config), "last_hidden_state"), input_features=torch.randn(1, 80, 600))


@model
def mixture_of_experts():
    return zoo.Case(zoo.Experts(128, 8), torch.randn(512, 128))


# --- recurrent, recommending, graphs, physics -------------------------------------------------------------------------


@model
def lstm_tagger():
    return zoo.Case(zoo.Tagger(), words(50, 16, 64))


@model
def gru_scan():
    return zoo.Case(zoo.ScanCell(64), torch.zeros(16, 64), torch.randn(32, 16, 64))


@model
def dlrm():
    sizes = (10000, 5000, 1000)
    return zoo.Case(zoo.Dlrm(sizes, 32), torch.randn(512, 6), torch.stack([words(n, 512) for n in sizes], 1))


@model
def embedding_bag():
    return zoo.build("embedding_bag")


@model
def gcn():
    return zoo.Case(zoo.Gcn(), torch.randn(4000, 8), words(4000, 2, 40000))


@model
def equation_of_state():
    grid = lambda low, high: low + (high - low) * torch.rand(26, 100, 100, dtype=torch.float64)
    return zoo.Case(zoo.EquationOfState(), grid(0, 40), grid(-2, 30), grid(0, 1000))


@model
def newton():
    return zoo.Case(zoo.Newton(), torch.rand(100_000, dtype=torch.float64) + 0.5)


# --- training, precision, dynamic sizes -------------------------------------------------------------------------------


@model
def mlp_dropout_train():
    net = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(1024), nn.Linear(1024, 64))
    return zoo.Case(zoo.Loss(net), torch.randn(128, 256), words(64, 128), train=True)


@model
def batch_norm_train():
    case = zoo.build("batch_norm_train")
    return zoo.Case(case.module, torch.randn(256, 3, 10, 10), words(4, 256), train=True)


@model
def mixed_precision_train():
    return zoo.Case(zoo.Mixed(), torch.randn(4096, 16), train=True)


@model
def transformer_dynamic():
    """One artefact for every batch and length."""
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, norm_first=True)
    return zoo.Case(layer, torch.randn(4, 96, 256), dynamic={"src": {0: range(2, 65), 1: range(2, 513)}})
