"""Torch's planners of redistributions and ours, asked one by one."""

import time
from dataclasses import dataclass

from torch.distributed.tensor import _redistribute

import shardwright.torch
from dtensor.costs import cost_of


def greedy(source, target):
    return _redistribute.get_redistribute_planner(
        source.mesh, source.tensor_meta).generate_greedy_transform_infos(source, target)


def graph(source, target):
    return _redistribute.get_redistribute_planner(
        source.mesh, source.tensor_meta).generate_graph_based_transform_infos(
            source, target, source.shape)


@dataclass(frozen=True)
class Asked:
    """One question. Costs are those of torch's own model, in microseconds."""

    torchs_s: float
    ours_s: float
    drop_in_s: float
    torchs_cost: float
    our_cost: float
    drop_in_cost: float

    @property
    def is_dearer(self):
        return self.torchs_cost > self.our_cost * (1 + 1e-9)

    def is_cheaper_than(self, cost):
        return self.torchs_cost < cost * (1 - 1e-9)


def timed(function, *arguments):
    begin = time.process_time()  # other load does not count
    answer = function(*arguments)
    return answer, time.process_time() - begin


def ask(pair, mesh, torchs):
    """Asks `torchs`, plan_redistribution, and the drop-in, which itself asks torch's planner."""
    source, target = pair.specs(mesh)
    infos, torchs_s = timed(torchs, source, target)
    words = pair.source.words(pair.reduce_op), pair.target.words(pair.reduce_op)
    # A CPU is a host of one device in torch's model.
    ours, ours_s = timed(lambda: shardwright.torch.plan_redistribution(
        pair.mesh, pair.shape, 4, *words, devices_per_host=1))
    with shardwright.torch.redistribution():
        kept, drop_in_s = timed(_redistribute._gen_transform_infos, *pair.specs(mesh))
    return Asked(torchs_s, ours_s, drop_in_s, cost_of(source, infos), ours.cost_us,
                 cost_of(source, kept))
