"""Writes a recipe as a program for FSDP2, tensor parallelism and checkpointing, without shardwright."""

from __future__ import annotations

import math
import textwrap
from typing import Mapping

from .recipe import Blocks, Option, Recipe, Style

_WIDTH = 110


def program_of(recipe: Recipe) -> str:
    """The text of a module with `make_mesh()` and `parallelize(model, mesh)`."""
    parts = [_head(recipe), _imports(recipe), _styles(recipe), _dims(recipe), _mesh(recipe), _parallelize(recipe)]
    return "\n".join(part for part in parts if part)


def _head(recipe: Recipe) -> str:
    mesh = "x".join(str(axis.size) for axis in recipe.axes)
    names = ", ".join(axis.name for axis in recipe.axes)
    devices = math.prod(axis.size for axis in recipe.axes)
    context = "    with loss_parallel():\n        loss = model(**batch).loss\n        loss.backward()" \
        if recipe.loss_parallel else "    loss = model(**batch).loss\n    loss.backward()"
    parts = "the same batch for all ranks" if recipe.replicas == 1 else \
        f"a part of the batch, one of {recipe.replicas}; ranks along \"tensor\" read the same one" \
        if recipe.tensor_axis else f"a part of the batch, one of {recipe.replicas}"
    lines = [f'"""{recipe.model} on {devices} devices, as a mesh {mesh} ({names}). Planned by shardwright.', "",
             f"    torchrun --nproc-per-node {min(devices, 8)} train.py", "",
             "    mesh = make_mesh()", "    model = parallelize(model, mesh)", context, "",
             f"`batch` is {parts}."]
    lines += [line for note in recipe.notes for line in ("", *_wrapped(note))]
    return "\n".join([*lines, '"""', ""])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH - 10)


def _imports(recipe: Recipe) -> str:
    lines = []
    if any(each.checkpointed for each in recipe.blocks):
        lines.append("from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper")
    lines.append("from torch.distributed.device_mesh import init_device_mesh")
    if recipe.data_axes:
        lines.append("from torch.distributed.fsdp import fully_shard")
    if recipe.styles or recipe.shard_dims:
        words = _words(recipe)
        names = [name for name, used in (("Replicate", "R" in words), ("Shard", any(word != "R" for word in words)))
                 if used]
        if names:
            lines.append(f"from torch.distributed.tensor import {', '.join(names)}")
    if recipe.styles:
        kinds = sorted({style.kind for style in recipe.styles.values()}) + ["parallelize_module"]
        if recipe.loss_parallel:
            kinds.append("loss_parallel")
        lines += _import_of("torch.distributed.tensor.parallel", sorted(kinds, key=str.lower))
    return "\n".join([*lines, ""])


def _import_of(module: str, names: list[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _words(recipe: Recipe) -> set[str]:
    found = {"S0"} if recipe.shard_dims else set()
    for style in recipe.styles.values():
        for option in style.options.values():
            if isinstance(option, str):
                found.add(option)
            elif isinstance(option, Mapping):
                found.update(option.values())
            elif isinstance(option, tuple):
                found.update(word for word in option if word is not None)
    return found


def _layout(word: str | None) -> str:
    return "None" if word is None else "Replicate()" if word == "R" else f"Shard({word[1:]})"


def _option(option: Option) -> str:
    if isinstance(option, (bool, int)):
        return repr(option)
    if isinstance(option, str):
        return _layout(option)
    if isinstance(option, Mapping):
        return "{" + ", ".join(f'"{name}": {_layout(word)}' for name, word in option.items()) + "}"
    words = ", ".join(_layout(word) for word in option)
    return f"({words},)" if len(option) == 1 else f"({words})"


def _dims(recipe: Recipe) -> str:
    """Where fully_shard cuts parameters whose dimension 0 is too short."""
    if not recipe.shard_dims:
        return ""
    return "\n".join(["", "SHARD_DIMS = {", *(f'    "{name}": {dim},' for name, dim in recipe.shard_dims.items()),
                      "}", ""])


def _styles(recipe: Recipe) -> str:
    if not recipe.styles:
        return ""
    lines = ["", "TENSOR_PARALLEL = {"]
    for pattern, style in recipe.styles.items():
        lines += _style(pattern, style)
    return "\n".join([*lines, "}", ""])


def _style(pattern: str, style: Style) -> list[str]:
    options = [f"{name}={_option(option)}" for name, option in style.options.items()]
    line = f'    "{pattern}": {style.kind}({", ".join(options)}),'
    if len(line) <= _WIDTH:
        return [line]
    return [f'    "{pattern}": {style.kind}(', *(f"        {option}," for option in options), "    ),"]


def _mesh(recipe: Recipe) -> str:
    sizes = tuple(axis.size for axis in recipe.axes)
    names = tuple(axis.name for axis in recipe.axes)
    return f"""
def make_mesh(device_type="cuda"):
    return init_device_mesh(device_type, {sizes}, mesh_dim_names={_quoted(names)})
"""


def _quoted(names: tuple[str, ...]) -> str:
    inside = ", ".join(f'"{name}"' for name in names)
    return f"({inside},)" if len(names) == 1 else f"({inside})"


def _parallelize(recipe: Recipe) -> str:
    lines = ["", "def parallelize(model, mesh):",
             '    """Shards the model in place. Call it before the optimizer is made."""']
    tensor, data = recipe.tensor_axis, recipe.data_axes
    if recipe.styles and tensor is not None:
        lines.append(f'    parallelize_module(model, mesh["{tensor.name}"], TENSOR_PARALLEL)')
        lines += [f"    {_path('model', name)} = {_path('model', other)}  # tied" for name, other in recipe.tied.items()]
    if data:
        options = f"mesh={_data_mesh(recipe)}"
        if recipe.shard_dims:
            lines += ["    dims = {model.get_parameter(name): Shard(dim) for name, dim in SHARD_DIMS.items()}",
                      f"    options = dict({options}, shard_placement_fn=dims.get)"]
            options = "**options"
        elif options != "mesh=mesh":
            lines.append(f"    data = {_data_mesh(recipe)}")
            options = "mesh=data"
    for each in recipe.blocks:
        lines += _block_lines(each, options if data else "")
    if data:
        lines.append(f"    fully_shard(model, {options})")
    return "\n".join([*lines, "    return model", ""])


def _data_mesh(recipe: Recipe) -> str:
    names = tuple(axis.name for axis in recipe.data_axes)
    if len(names) == len(recipe.axes):
        return "mesh"
    return "mesh[" + ", ".join(f'"{name}"' for name in names) + "]"


def _block_lines(blocks: Blocks, options: str) -> list[str]:
    """The loops over the modules of a list. `options` are those of fully_shard, empty without it."""
    if not options and not blocks.checkpointed:
        return []
    variable = _path("model", blocks.path)
    lines = []
    if 0 < blocks.checkpointed < blocks.count:
        lines += [f"    for index in range({blocks.checkpointed}):",
                  f"        {variable}[index] = checkpoint_wrapper({variable}[index])"]
    elif blocks.checkpointed:
        lines += [f"    for index, block in enumerate({variable}):",
                  f"        {variable}[index] = checkpoint_wrapper(block)"]
    if options:
        lines += [f"    for block in {variable}:",
                  f"        fully_shard(block, {options}, reshard_after_forward={blocks.reshard})"]
    return lines


def _path(root: str, path: str) -> str:
    """As an expression: numbers are indices."""
    text = root
    for part in path.split(".") if path else ():
        text += f"[{part}]" if part.isdecimal() else f".{part}"
    return text
