"""Arguments of a model of `transformers` by the names in its signature; the sizes stand in its configuration."""

import inspect

TOKENS = 512  # as many words
BATCH, LENGTH, PADDED = 2, 13, 3
FIRST_WORD = 10  # before are those that mean something
MEL = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "n_mels", "feature_size", "input_feat_size", "num_mels",
       "input_dim", "mel_bins", "input_feature_size", "feature_dim")
FRAMES, SAMPLES = 100, 4000
GIVEN_IF_ASKED = ("hidden_states latents query_embeds inputs_embeds inputs encoder_hidden_states pixel_attention_mask "
                  "past_values_padding freq noise_embeds context_hidden_states action_embeds pixel_position_ids").split()


def number(configs, names, otherwise):
    """The first configuration's attribute of one of these names that is a number."""
    for config in configs:
        for name in names:
            try:
                value = getattr(config, name, None)
            except Exception:  # noqa: BLE001, what a layer's own is has no one value
                continue
            value = value[0] if isinstance(value, (list, tuple)) and value else value
            if type(value) is int and value > 0:
                return value
    return otherwise


def parts(config, *kinds):
    """The configurations within it that serve one of these senses, then itself."""
    found = []
    for kind in kinds:
        for name, value in vars(config).items():
            if kind in name and hasattr(value, "to_dict"):
                found += [*parts(value, *kinds)]
    return [*found, config]


def boxes(torch, length):
    corners = torch.randint(0, 500, (BATCH, length, 2))
    return torch.cat([corners, corners + torch.randint(1, 400, corners.shape)], -1)


def layouts(torch, config, kind):
    """What may be meant by a name, most common first: the library has no one order of dims."""
    vision, audio = parts(config, "vision", "image", "backbone"), parts(config, "audio", "speech", "encoder")
    image = number(vision, ("image_size",), 64)
    channels, frames = number(vision, ("num_channels", "in_channels", "in_chans"), 3), number(vision, ("num_frames", "frames_per_clip"), 4)
    mel = number(audio, MEL, 16)
    long = 2 * number(audio, ("max_source_positions",), FRAMES // 2)
    samples = SAMPLES
    if kind == "image":
        return [torch.randn(BATCH, channels, image, image), torch.randn(BATCH, frames, channels, image, image)]
    if kind == "video":
        return [torch.randn(BATCH, frames, channels, image, image)]
    if kind == "features":
        longest = number(audio, ("max_length",), FRAMES)
        return [torch.randn(BATCH, mel, long), torch.randn(BATCH, FRAMES, mel), torch.randn(BATCH, longest, mel), torch.randn(BATCH, 1, longest, mel)]
    longest = number([config], ("max_length",), FRAMES)
    return [torch.randn(BATCH, samples), torch.randn(BATCH, 1, samples), torch.randn(BATCH, longest, mel), torch.randn(BATCH, LENGTH, number([config], ("hidden_size",), 64))]


def series(torch, config):
    """Of models of time series."""
    context = number([config], ("context_length", "prediction_length"), 24)
    lags = getattr(config, "lags_sequence", None)
    length = context + max(lags) if lags else context
    channels = number([config], ("num_input_channels",), 0) or (number([config], ("input_size",), 1) if lags else 0)
    wide = (channels,) if channels and not (lags and channels == 1) else ()
    times, ahead = getattr(config, "num_time_features", 0) or 0, number([config], ("prediction_length",), 8)
    return {
        "past_values": torch.randn(BATCH, length, *wide),
        "past_observed_mask": torch.ones(BATCH, length, *wide),
        "past_time_features": torch.randn(BATCH, length, times),
        "future_values": torch.randn(BATCH, ahead, *wide),
        "future_time_features": torch.randn(BATCH, ahead, times),
        "past_values_padding": torch.zeros(BATCH, length, dtype=torch.long),
        "freq": torch.zeros(BATCH, 1, dtype=torch.long),
    }


def decisions(torch, config):
    """Of models of states and actions."""
    return {
        "states": torch.randn(BATCH, LENGTH, number([config], ("state_dim",), 17)),
        "actions": torch.randn(BATCH, LENGTH, number([config], ("act_dim",), 4)),
        "rewards": torch.randn(BATCH, LENGTH, 1),
        "returns_to_go": torch.randn(BATCH, LENGTH, 1),
        "timesteps": torch.arange(LENGTH).repeat(BATCH, 1),
    }


def all_of(torch, config, names):
    """A value for every name that is known here: several for those that are meant in several ways."""
    words = number(parts(config, "text"), ("vocab_size",), TOKENS)
    tokens = torch.randint(min(FIRST_WORD, words // 2), min(words, TOKENS - 12), (BATCH, LENGTH))
    tokens[-1, -PADDED:] = 0
    width = number(parts(config, "text"), ("hidden_size", "d_model", "dim"), 64)
    image = layouts(torch, config, "image")
    features = layouts(torch, config, "features")
    mask = (tokens != 0).long()
    patch = number(parts(config, "vision"), ("patch_size",), 16)
    per_patch = 3 * patch * patch * number(parts(config, "vision"), ("temporal_patch_size",), 1)
    heads = getattr(config, "state_dim", None) is not None and "states" in names
    return {
        "input_ids": [tokens],
        "attention_mask": [mask] if "input_ids" in names or heads else [],
        "decoder_input_ids": [tokens[:, : LENGTH // 2].clone()],
        "token_type_ids": [(torch.arange(LENGTH) > LENGTH // 2).long().repeat(BATCH, 1) * (number([config], ("type_vocab_size",), 1) > 1)],
        "bbox": [boxes(torch, LENGTH)],
        "pixel_values": image,
        "prompt_pixel_values": image,
        "prompt_masks": image,
        "pixel_values_videos": layouts(torch, config, "video"),
        "input_features": features,
        "input_features_mask": [torch.ones(BATCH, f.shape[-1 if i == 0 else -2], dtype=torch.long) for i, f in enumerate(features)],
        "audio_mel": features[1:],
        "audio_mel_mask": [torch.zeros(BATCH, FRAMES, dtype=torch.bool)],
        "input_values": layouts(torch, config, "samples"),
        "decoder_input_values": [torch.randn(BATCH, LENGTH // 2, width)],
        "qformer_input_ids": [tokens],
        "qformer_attention_mask": [mask],
        "query_embeds": [torch.randn(BATCH, 8, width)],
        "inputs_embeds": [torch.randn(BATCH, LENGTH, width)],
        "inputs": [torch.randn(BATCH, LENGTH, number([config], ("d_model",), 64))],
        "latents": [torch.randn(BATCH, width, LENGTH), torch.randn(BATCH, LENGTH, width)],
        "hidden_states": [torch.randn(16, per_patch)],
        "grid_thw": [torch.tensor([[1, 4, 4]])],
        "use_cache": [False],
        "return_dict": [False],
        **{name: [value] for name, value in {**series(torch, config), **decisions(torch, config)}.items()},
    }


def with_images(torch, model, given):
    """The words, and one more for each feature that the model makes of its image."""
    mark = number([model.config], ("image_token_id", "image_token_index"), None)
    if mark is None or "input_ids" not in given or "pixel_values" not in given or not hasattr(model, "get_image_features"):
        return given
    with torch.no_grad():
        made = model.get_image_features(pixel_values=given["pixel_values"])
    made = getattr(made, "pooler_output", made)
    made = torch.cat([m.flatten(0, -2) for m in made]) if isinstance(made, (list, tuple)) else made.flatten(0, -2)
    marks = torch.full((BATCH, len(made) // BATCH), mark)
    ids = torch.cat([given["input_ids"][:, :1], marks, given["input_ids"][:, 1:]], 1)
    return {**given, "input_ids": ids, **({"attention_mask": (ids != 0).long()} if "attention_mask" in given else {})}


def arguments_of(torch, model):
    """Sets of keyword arguments that the model may take, the fullest first."""
    signature = inspect.signature(model.forward).parameters
    asked = {name for name, p in signature.items() if p.default is p.empty}
    values = all_of(torch, model.config, signature)
    meant = {n: v for n, v in values.items() if n in signature and v and (n in asked or n not in GIVEN_IF_ASKED)}
    for turn in range(max(map(len, meant.values()), default=1)):
        given = {name: some[min(turn, len(some) - 1)] for name, some in meant.items()}
        try:
            yield with_images(torch, model, given)
        except Exception:  # noqa: BLE001, whatever the library raises
            pass
        yield given
        for less in (("token_type_ids",), ("pixel_values", "pixel_values_videos", "input_features", "input_values", "input_features_mask")):
            left = {name: value for name, value in given.items() if name not in less or name in asked}
            if len(left) < len(given) and any(torch.is_tensor(v) for v in left.values()):
                yield left
