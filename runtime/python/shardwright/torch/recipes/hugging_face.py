"""Models of the transformers package, from a configuration alone, on no device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from ... import errors


def model_of(path: str, batch: int, sequence: int, dtype: torch.dtype | None = None
             ) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """The model of a config.json and inputs by name for a step of training, all on meta.

    The class is the first of the configuration's `architectures` that transformers has, otherwise that
    of causal language models. Weights have the configuration's type, otherwise bfloat16. Raises
    InvalidInputError.
    """
    try:
        import transformers
    except ImportError as error:
        raise errors.InvalidInputError("needs the package transformers", "--model") from error
    config = config_of(path)
    with torch.device("meta"):
        model = _made(transformers, config)
    named = getattr(config, "dtype", None)
    if isinstance(named, str):
        named = getattr(torch, named)
    model = model.to(dtype or named or torch.bfloat16).train()
    return model, inputs_of(model, batch, sequence)


def config_of(path: str) -> Any:
    import transformers
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        config = transformers.AutoConfig.for_model(**read)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise errors.InvalidInputError(str(error), str(file)) from error
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return config


def _made(transformers: Any, config: Any) -> torch.nn.Module:
    for name in getattr(config, "architectures", None) or ():
        if hasattr(transformers, name):
            return getattr(transformers, name)(config)
    try:
        return transformers.AutoModelForCausalLM.from_config(config)
    except ValueError as error:
        raise errors.InvalidInputError(f"has no `architectures` that transformers knows: {error}", "--model") from error


def inputs_of(model: Any, batch: int, sequence: int) -> dict[str, torch.Tensor]:
    """What a step of training takes: inputs and labels."""
    config, main = model.config, model.main_input_name
    with torch.device("meta"):
        ids = torch.zeros(batch, sequence, dtype=torch.int64)
        if main == "input_ids":
            is_classifier = "Classification" in type(model).__name__ and "Token" not in type(model).__name__
            return {"input_ids": ids, "labels": ids[:, 0] if is_classifier else ids}
        if main == "pixel_values":
            size = config.image_size
            height, width = (size, size) if isinstance(size, int) else size
            pixels = torch.zeros(batch, config.num_channels, height, width, dtype=model.dtype)
            return {"pixel_values": pixels, "labels": torch.zeros(batch, dtype=torch.int64)}
    raise errors.InvalidInputError(f"takes {main}, which cannot be made from a batch and a sequence: give "
                                   "MODULE:FUNCTION", "--model")
