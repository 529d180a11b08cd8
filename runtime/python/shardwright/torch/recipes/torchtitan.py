"""Writes a recipe as sections of a torchtitan configuration."""

from __future__ import annotations

from .recipe import Recipe


def sections_of(recipe: Recipe) -> str:
    """The sections [parallelism] and [activation_checkpoint]. Torchtitan has one style of tensor
    parallelism for each of its models, so the recipe's own styles are not part of them.
    """
    sizes = {axis.role: axis.size for axis in recipe.axes}
    reshard = any(each.reshard for each in recipe.blocks)
    lines = ["[parallelism]",
             f"data_parallel_replicate_degree = {sizes.get('replicate', 1)}",
             f"data_parallel_shard_degree = {sizes.get('shard', 1)}",
             f'fsdp_reshard_after_forward = "{"always" if reshard else "never"}"',
             f"tensor_parallel_degree = {sizes.get('tensor', 1)}",
             f"disable_loss_parallel = {str(not recipe.loss_parallel).lower()}",
             "", "[activation_checkpoint]"]
    checkpointed = sum(each.checkpointed for each in recipe.blocks)
    count = sum(each.count for each in recipe.blocks)
    if 0 < checkpointed < count:
        lines.append(f"# {checkpointed} of {count} blocks would be enough; torchtitan's modes have every n-th "
                     "operator, or all blocks.")
    lines.append(f'mode = "{"full" if checkpointed else "none"}"')
    return "\n".join([*lines, ""])
