"""Trains with DMPCollection in four processes, with groups that `choose_groups` chose.

    python -O groups_training.py FOLDER

DMPCollection asserts that the device is no CPU, and -O removes the assertion. It also numbers the
devices, which a CPU has not. Every process writes its outputs to a file in FOLDER.
"""

import logging
import os
import sys
import warnings
from unittest import mock

warnings.simplefilter("ignore")

import torch
import torch.distributed
import torch.multiprocessing
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from test_torchrec_training import BATCH, RATE, STEPS, batch, leave_group, loss_of, output_of, tables
from torch.distributed.remote_device import _remote_device
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DMPCollection
from torchrec.distributed.planner import ParameterConstraints, Topology

from shardwright.torchrec import EmbeddingShardingPlanner, choose_groups

WORLD_SIZE = 4


def constraints(*kinds):
    return {f"t{i}": ParameterConstraints(sharding_types=list(own), compute_kernels=["fused"],
                                          min_partition=8) for i, own in enumerate(kinds)}


ANY = [("table_wise", "column_wise", "row_wise")] * 4
# Constraints, and what of the layout is given. Only one case is table_row_wise, because TorchRec makes
# the groups of hosts once per process.
CASES = (
    (constraints(*ANY), {"group_sizes": [1, 2]}),
    (constraints(["table_wise"], ["column_wise"], ["row_wise"], ["column_wise"]),
     {"group_sizes": [2]}),
    (constraints(["table_wise"], ["column_wise"], ["row_wise"], ["table_row_wise"]),
     {"group_sizes": [2], "use_inter_host_allreduce": True}))


def train(rank, folder):
    """One process."""
    logging.disable(logging.ERROR)
    os.environ["LOCAL_WORLD_SIZE"] = "2"
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=WORLD_SIZE)
    torch.save([train_case(rank, *case) for case in CASES], f"{folder}/{rank}.pt")
    leave_group()


def train_case(rank, constraints, asked):
    group = torch.distributed.GroupMember.WORLD
    sharder = EmbeddingBagCollectionSharder(fused_params={
        "optimizer": EmbOptimType.EXACT_SGD, "learning_rate": RATE})
    module = torch.nn.Sequential(tables())
    planner = EmbeddingShardingPlanner(
        topology=Topology(world_size=WORLD_SIZE, local_world_size=2, compute_device="cuda"),
        batch_size=BATCH, constraints=constraints, stats=[], debug=False, work_limit=1_000_000,
        threads=1)
    choice = choose_groups(planner, module, [sharder], group, **asked)
    types = {name: own.sharding_type for name, own in choice.plan.plan["0"].items()}
    with mock.patch("torchrec.distributed.model_parallel._remote_device", unnumbered):
        model = DMPCollection(module=module, device=torch.device("cpu"), plan=choice.plan,
                              global_pg=group, sharders=[sharder], **choice.dmp_arguments)
    model.set_all_reduce_hook(average)  # gloo has no average
    with torch.no_grad():
        copy_weights(model.state_dict(), tables().embedding_bags.state_dict())
    outputs = []
    for step in range(STEPS):
        output = output_of(model, batch(step, rank))
        outputs.append(output.detach().clone())
        loss_of(output).backward()
        model.sync()
    return {"outputs": outputs, "types": types, "size": choice.sharding_group_size}


def copy_weights(sharded, weights):
    """Gives the shards of this process the values of the unsharded module."""
    for name, own in sharded.items():
        whole = weights[name.split("embedding_bags.")[-1]]
        shards = own.to_local()
        for shard, (row, column) in zip(shards.local_shards(), shards.local_offsets()):
            rows, columns = shard.shape
            shard.copy_(whole[row:row + rows, column:column + columns])


def unnumbered(place):
    return _remote_device(place.rpartition(":")[0])  # "rank:1/cpu:1"


def average(group, tensors):
    for tensor in tensors:
        torch.distributed.all_reduce(tensor, group=group)
        tensor /= group.size()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1],), nprocs=WORLD_SIZE)
