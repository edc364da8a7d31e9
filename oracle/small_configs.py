"""Small models of the architectures of `transformers`: few layers, narrow, with drawn weights and arguments.

The sizes of an architecture hang on each other in ways of its own. So there are several ways to shrink it, by the names
of attributes alone; that which leaves the fewest parameters and still runs is taken.
"""

import contextlib
import itertools
import re

from small_arguments import TOKENS, arguments_of

# The same sizes everywhere: parts of a model that hand each other tensors fit.
WIDTHS = {
    32: ("hidden_size d_model n_embd dim embedding_size embed_dim"),
    64: ("intermediate_size encoder_ffn_dim decoder_ffn_dim d_ff ffn_dim hidden_dim"),
    16: ("moe_intermediate_size q_lora_rank kv_lora_rank projection_dim num_mel_bins mamba_d_head attention_hidden_size"),
    8: ("head_dim qk_rope_head_dim qk_nope_head_dim v_head_dim linear_key_head_dim linear_value_head_dim"),
    4: ("num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads linear_num_value_heads "
        "rotary_dim mamba_n_heads"),
    256: ("max_position_embeddings n_positions"),
    2: ("num_key_value_heads linear_num_key_heads"),
}
# As shallow as that, whatever the widths are.
DEPTHS = {
    2: ("num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_encoder_layers num_decoder_layers "
        "depth num_experts_per_tok eos_token_id moe_topk moe_k top_k_experts num_blocks num_hidden_groups decoder_num_hidden_layers "
        "vision_feature_layer_count decoder_num_layers mask_decoder_num_layers memory_attention_num_layers resampler_depth n_block"),
    4: ("num_experts num_local_experts n_routed_experts moe_num_experts image_token_id image_token_index"),
    5: ("video_token_id video_token_index"),
    6: ("audio_token_id audio_token_index"),
    8: ("chunk_size mamba_chunk_size"),
    10: ("num_queries num_query_tokens"),
    50: ("max_source_positions"),
    TOKENS: ("vocab_size text_vocab_size"),
    1: ("bos_token_id"),
    0: ("pad_token_id"),
}
ASKED = {"prediction_length": 8, "context_length": 16}  # of which an architecture has none of its own
MAIN = ("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "embed_dims", "hidden_sizes", "embedding_size")
WIDE = re.compile(r"^(d_\w+|n_embd|dim|dims|channels|width|d_ff|\w*(_size|_sizes|_dim|_dims|_channels|_width|_features|_rank|_filters|_ratio_dim))$")
NO_WIDTH = re.compile(r"(vocab|patch|image|kernel|window|chunk|block|tubelet|merge|batch|grid|group|pool|context|crop|stride|sample|"
                      r"codebook|conv_dim_kernel|max_|cache|num_channels|in_channels$|frame|shape|head_size_|d_conv|d_state|tile|"
                      r"state_size|act_dim|state_dim|stem_size|memory_size|queue|hop|fft|unit|feature_size|input_size|mel)")
HEADS = re.compile(r"^(\w*num_\w*heads|n_heads?|num_heads|\w*attention_heads)$")
HEAD_SIZE = re.compile(r"head_(dim|size)s?$|^d_kv$|_head_dim$")
STATE_HEADS = (("expand", "num_heads", "head_dim"), ("mamba_expand", "mamba_n_heads", "mamba_d_head"))  # a * hidden_size = b * c
STAGES = ("depths", "block_sizes", "num_blocks", "layers", "encoder_depths", "stage_depths", "block_depths", "depth")
SMALL_IMAGE, MOST_PARAMETERS = 64, 120_000_000
STAGE_DEPTH = 2


def tree(config, base):
    """The configuration, and those within it."""
    yield config
    for value in list(vars(config).values()):
        for inner in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(inner, base):
                yield from tree(inner, base)


def attribute(config, name):
    try:
        return getattr(config, name, None)
    except Exception:  # noqa: BLE001, what a layer's own is has no one value
        return None


def put(config, name, value):
    with contextlib.suppress(Exception):  # some are computed
        setattr(config, name, value)


def by_table(config, table):
    for size, names in table.items():
        for name in names.split():
            if type(attribute(config, name)) is int:
                put(config, name, size)


def names_of(config):
    return [name for name in vars(config) if not name.startswith("_")]


def shallower(config):
    """Of layers that the configuration lists one of each kind, at least two; of stages a few blocks each."""
    depth_name = next((n for n in ("num_hidden_layers", "n_layer", "num_layers", "depth") if type(attribute(config, n)) is int), None)
    depth = attribute(config, depth_name) if depth_name else None
    lists = {n: v for n in names_of(config) if isinstance(v := attribute(config, n), (list, tuple)) and len(v) == depth and depth > 4}
    stages = next((len(v) for n in STAGES if isinstance(v := attribute(config, n), (list, tuple))), None)
    by_table(config, DEPTHS)
    for name, size in ASKED.items():
        if hasattr(config, name) and attribute(config, name) is None:
            put(config, name, size)
    if depth is not None and depth == stages:
        put(config, depth_name, depth)
    elif lists:
        chosen, seen = [], set()
        for layer in range(depth):
            kind = repr([v[layer] for v in lists.values()])
            if kind not in seen and len(chosen) < 4 and not all(type(v[layer]) is int and v[layer] == layer for v in lists.values()):
                chosen, seen = [*chosen, layer], {*seen, kind}
        chosen = chosen if len(chosen) > 1 else [0, depth - 1]
        for name, value in lists.items():
            put(config, name, type(value)(value[layer] for layer in chosen))
        put(config, depth_name, len(chosen))
    for name in names_of(config):
        value = attribute(config, name)
        if isinstance(value, (list, tuple)) and value and all(type(v) is int for v in value):
            if name in STAGES:
                put(config, name, type(value)(min(v, STAGE_DEPTH) for v in value))
            elif name.endswith(("_indexes", "layers_pattern")) and depth:
                put(config, name, type(value)(sorted({min(v, attribute(config, depth_name) - 1) for v in value})))


def as_they_are(configs):
    pass


def same_widths(configs):
    for config in configs:
        by_table(config, WIDTHS)
        for wider, heads, head in STATE_HEADS:
            sizes = [attribute(config, n) for n in (wider, "hidden_size", heads, head)]
            if all(type(s) is int for s in sizes):
                put(config, heads, sizes[0] * sizes[1] // sizes[3])


def divided(value, by):
    if isinstance(value, (list, tuple)):
        return type(value)(divided(v, by) for v in value)
    return value // by if type(value) is int and value % by == 0 and value // by > 1 else value


def narrower(configs, least=24):
    """All widths divided by one number; there are as many heads, narrower ones."""
    main = [m for c in configs for n in MAIN if (v := attribute(c, n)) for m in (v if isinstance(v, (list, tuple)) else [v])
            if type(m) is int and m > 0]
    heads = [v for c in configs for n in names_of(c) if HEAD_SIZE.search(n) and type(v := attribute(c, n)) is int and v > 0]
    by = next((f for f in (128, 64, 32, 16, 8, 4, 2) if min(main, default=0) >= f * least and min(heads, default=f * 2) >= f * 2), 1)
    for config in configs:
        for name in names_of(config):
            if WIDE.match(name) and not NO_WIDTH.search(name):
                put(config, name, divided(attribute(config, name), by))


def less_narrow(configs):
    narrower(configs, least=48)


def fewer_heads(configs):
    """All widths but that of a head divided by one number, and as many fewer heads."""
    heads = [v for c in configs for n in names_of(c) if HEADS.match(n) and type(v := attribute(c, n)) is int and v > 0]
    by = next((f for f in (32, 16, 8, 4, 2) if heads and all(h % f == 0 or h < f for h in heads) and max(heads) >= f), 1)
    for config in configs:
        for name in names_of(config):
            value = attribute(config, name)
            if HEADS.match(name) and type(value) is int:
                put(config, name, max(1, value // by))
            elif WIDE.match(name) and not NO_WIDTH.search(name) and not HEAD_SIZE.search(name):
                put(config, name, divided(value, by))


WAYS = (same_widths, narrower, less_narrow, fewer_heads, as_they_are)


def with_small_images(configs):
    for config in configs:
        size, patch = attribute(config, "image_size"), attribute(config, "patch_size")
        small = 4 * patch if type(patch) is int and patch >= 14 else SMALL_IMAGE
        if type(size) is int and size > small:
            put(config, "image_size", small)
        elif isinstance(size, (list, tuple)) and all(type(s) is int and s > small for s in size):
            put(config, "image_size", type(size)(small for _ in size))


def shrunk(config, base, way, small_images=True):
    configs = list(tree(config, base))
    for inner in configs:
        shallower(inner)
        inner._experts_implementation = "batched_mm"  # the others are ops of the library's own
    way(configs)
    if small_images:
        with_small_images(configs)
    return config


def model_of(torch, transformers, name):
    """(model, keyword arguments). Raises what the library does where no size of it can be made and run."""
    config_of, base = transformers.models.auto.configuration_auto.CONFIG_MAPPING[name], transformers.PretrainedConfig
    sized, raised = [], []

    def built(way, attention, small_images=True):
        config = shrunk(config_of(), base, way, small_images)
        config._attn_implementation = attention
        return transformers.AutoModel.from_config(config)

    for number, way in enumerate(WAYS):
        for attention in ("sdpa", "eager"):
            try:
                with torch.device("meta"):
                    weight = sum(p.numel() for p in built(way, attention).parameters())
                if weight > MOST_PARAMETERS:
                    raise ValueError(f"{weight} parameters")
                sized.append((weight, number, way, attention))
                break
            except Exception as error:  # noqa: BLE001, whatever the library raises
                raised.append((way.__name__, error))
    for (_, _, way, attention), small_images in itertools.product(sorted(sized, key=lambda s: s[:2]), (True, False)):
        try:
            model = built(way, attention, small_images).eval()
        except Exception as error:  # noqa: BLE001
            raised.append((way.__name__, error))
            continue
        for given in arguments_of(torch, model):
            try:
                with torch.no_grad():
                    model(**given)
                return model, given
            except Exception as error:  # noqa: BLE001
                raised.append((way.__name__, error))
    for way, error in raised[:-1]:
        raised[-1][1].add_note(f"{way}: {type(error).__name__} {str(error)[:200]}")
    raise raised[-1][1]


def names(transformers):
    return sorted(transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES)
