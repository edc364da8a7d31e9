"""Small models of the architectures of `transformers`: two layers, narrow, with drawn weights and arguments."""

import contextlib
import inspect

WIDTHS = {
    64: ("hidden_size d_model n_embd dim embedding_size embed_dim image_size"),
    128: ("intermediate_size encoder_ffn_dim decoder_ffn_dim d_ff ffn_dim hidden_dim"),
    32: ("moe_intermediate_size q_lora_rank kv_lora_rank projection_dim"),
    16: ("head_dim qk_rope_head_dim qk_nope_head_dim v_head_dim linear_key_head_dim linear_value_head_dim num_mel_bins mamba_d_head"),
    8: ("rotary_dim mamba_n_heads"),
    4: ("num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads linear_num_value_heads"),
    256: ("max_position_embeddings n_positions"),
    2: ("num_key_value_heads linear_num_key_heads"),
}
# Where that does not fit together: as wide as the architecture's own, but as shallow.
DEPTHS = {
    2: ("num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_experts_per_tok eos_token_id"),
    4: ("num_experts num_local_experts n_routed_experts"),
    512: ("vocab_size"),
    1: ("bos_token_id"),
    0: ("pad_token_id"),
}
MOST_PARAMETERS = 120_000_000
BATCH, LENGTH, PADDED = 2, 13, 3


def shrunk(config, base, tables):
    """The configuration, and those within it, with the sizes of the tables."""
    for table in tables:
        for size, names in table.items():
            for name in names.split():
                if type(getattr(config, name, None)) is int:
                    setattr(config, name, size)
    kinds = getattr(config, "layer_types", None)
    if kinds:
        with contextlib.suppress(AttributeError):  # some compute it
            config.layer_types = [kinds[0], kinds[-1]]
    for name in list(vars(config)):
        inner = getattr(config, name)
        if isinstance(inner, base):
            shrunk(inner, base, tables)
    return config


def arguments(torch, config, forward):
    names = inspect.signature(forward).parameters
    tokens = torch.randint(3, 500, (BATCH, LENGTH))
    tokens[-1, -PADDED:] = 0
    vision = getattr(config, "vision_config", config)
    image = getattr(vision, "image_size", 64)
    image = image[0] if isinstance(image, (list, tuple)) else image
    made = {
        "input_ids": tokens,
        "attention_mask": (tokens != 0).long() if "input_ids" in names else None,
        "decoder_input_ids": tokens[:, : LENGTH // 2].clone(),
        "pixel_values": torch.randn(BATCH, 3, image, image) if "input_ids" not in names or vision is not config else None,
        "input_features": torch.randn(BATCH, getattr(config, "num_mel_bins", 16), 100),
        "input_values": torch.randn(BATCH, 4000),
        "use_cache": False,
        "return_dict": False,
    }
    return {name: value for name, value in made.items() if name in names and value is not None}


def model_of(torch, transformers, name):
    """(model, keyword arguments). Raises what the library does where neither size of it can be made and run."""
    config_of, base = transformers.models.auto.configuration_auto.CONFIG_MAPPING[name], transformers.PretrainedConfig
    raised = None
    for tables in ((WIDTHS, DEPTHS), (DEPTHS,)):
        for attention in ("sdpa", "eager"):
            try:
                config = shrunk(config_of(), base, tables)
                config._attn_implementation = attention
                config._experts_implementation = "batched_mm"  # the others are ops of the library's own
                with torch.device("meta"):
                    weight = sum(p.numel() for p in transformers.AutoModel.from_config(config).parameters())
                if weight > MOST_PARAMETERS:
                    raise ValueError(f"{weight} parameters")
                model = transformers.AutoModel.from_config(config).eval()
                given = arguments(torch, model.config, model.forward)
                with torch.no_grad():
                    model(**given)
                return model, given
            except Exception as error:  # noqa: BLE001, whatever the library raises
                raised = error
    raise raised


def names(transformers):
    return sorted(transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES)
