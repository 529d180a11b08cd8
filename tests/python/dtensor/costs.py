"""Torch's cost model."""

from torch.distributed.tensor import _redistribute
from torch.distributed.tensor._collective_utils import one_step_redistribute_cost
from torch.distributed.tensor._dtensor_spec import DTensorSpec


def cost_of(source, infos):
    """What torch's cost model takes each step of a plan to cost."""
    placements, order = list(source.placements), {e.tensor_dim: list(e.mesh_dims)
                                                  for e in source.shard_order}
    total = 0
    for info in infos:
        states = []
        for step in (False, True):
            if step:
                _redistribute._update_shard_order_and_placements(info, placements, order)
            states.append(DTensorSpec(
                source.mesh, tuple(placements), source.tensor_meta,
                shard_order=_redistribute.DTensorRedistributePlanner._dict_to_ShardOrder(order)))
        total += one_step_redistribute_cost(*states)
    return total
