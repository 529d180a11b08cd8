"""DistributedModelParallel trains with plans of both modes; its outputs are those of the unsharded model."""

import gc
import logging
import tempfile
import unittest
import warnings

warnings.simplefilter("ignore")

import torch
import torch.distributed
import torch.multiprocessing
from torch.distributed._shard.sharded_tensor import ShardedTensor
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner import ParameterConstraints, Topology
from torchrec.distributed.types import ShardingEnv
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from shardwright.torchrec import EmbeddingShardingPlanner

BATCH, RATE, STEPS = 8, 0.5, 2
ROWS = (1000, 400, 64, 3000)
# One table for each way to be cut.
CONSTRAINTS = {f"t{i}": ParameterConstraints(sharding_types=[kind]) for i, kind in enumerate(
    ("data_parallel", "column_wise", "table_wise", "column_wise"))}
CONSTRAINTS["t1"].min_partition = 16
CONSTRAINTS["t3"].min_partition = 8
CASES = (("compat", CONSTRAINTS), ("best", CONSTRAINTS), ("compat", None), ("best", None))


def tables():
    """Equal weights in every process."""
    torch.manual_seed(1)
    return EmbeddingBagCollection(device=torch.device("cpu"), tables=[
        EmbeddingBagConfig(name=f"t{i}", num_embeddings=rows, embedding_dim=32,
                           feature_names=[f"f{i}"]) for i, rows in enumerate(ROWS)])


def batch(step, rank):
    chance = torch.Generator().manual_seed(100 * step + rank)
    lengths = torch.randint(0, 4, (len(ROWS) * BATCH,), generator=chance, dtype=torch.int32)
    per_table = lengths.view(len(ROWS), BATCH).sum(1)
    values = torch.cat([torch.randint(0, rows, (int(count),), generator=chance)
                        for rows, count in zip(ROWS, per_table)])
    return KeyedJaggedTensor(keys=[f"f{i}" for i in range(len(ROWS))], values=values,
                             lengths=lengths)


def copy_weights(model, weights):
    """Sharding makes new parameters; this gives them the values of the unsharded module."""
    for name, own in model.state_dict().items():
        whole = weights[name.split("embedding_bags.")[-1]]
        if not isinstance(own, ShardedTensor):
            own.copy_(whole)
            continue
        for shard in own.local_shards():
            (row, column), (rows, columns) = (shard.metadata.shard_offsets,
                                              shard.metadata.shard_sizes)
            shard.tensor.copy_(whole[row:row + rows, column:column + columns])


def output_of(module, inputs):
    """By feature: sharding orders the features of an output anew."""
    pooled = module(inputs)
    return torch.cat([pooled[f"f{i}"] for i in range(len(ROWS))], dim=1)


def loss_of(output):
    return (output * torch.linspace(0.5, 2, output.shape[1])).sum() / BATCH


def unsharded(world_size):
    """The outputs by step and rank of a model that sees all ranks' batches."""
    module = tables()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    found = []
    for step in range(STEPS):
        outputs = [output_of(module, batch(step, rank)) for rank in range(world_size)]
        found.append([output.detach().clone() for output in outputs])
        optimizer.zero_grad()
        (sum(map(loss_of, outputs)) / world_size).backward()
        optimizer.step()
    return found


def train(rank, world_size, folder):
    """One process. Writes outputs and sharding types of every case."""
    logging.disable(logging.ERROR)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=world_size)
    torch.save([train_case(rank, *case) for case in CASES], f"{folder}/{rank}.pt")
    leave_group()


def leave_group():
    """Ends the process group and its threads.

    The threads of Gloo end with the last reference to the group, and abort a process that ends
    before them. Models of TorchRec refer to it in cycles.
    """
    gc.collect()
    torch.distributed.destroy_process_group()


def sgd_sharder():
    return EmbeddingBagCollectionSharder(fused_params={
        "optimizer": EmbOptimType.EXACT_SGD, "learning_rate": RATE})


def train_case(rank, mode, constraints):
    group = torch.distributed.GroupMember.WORLD
    sharder = sgd_sharder()
    module = torch.nn.Sequential(tables())
    planner = EmbeddingShardingPlanner(
        topology=Topology(world_size=group.size(), compute_device="cpu"), batch_size=BATCH,
        constraints=constraints, stats=[], debug=False, mode=mode, work_limit=1_000_000,
        threads=1)
    return train_plan(rank, module, sharder, planner.collective_plan(module, [sharder], group))


def train_plan(rank, module, sharder, plan):
    """The outputs of every step, and the sharding type of every table."""
    group = torch.distributed.GroupMember.WORLD
    model = DistributedModelParallel(
        module=module, env=ShardingEnv.from_process_group(group), device=torch.device("cpu"),
        plan=plan, sharders=[sharder], init_data_parallel=True)
    with torch.no_grad():
        copy_weights(model, tables().embedding_bags.state_dict())
    types = {name: own.sharding_type for name, own in plan.plan["0"].items()}
    # Replicated tables have no fused optimizer.
    replicas = [own for name, own in model.named_parameters()
                if types[name.split(".")[-2]] == "data_parallel"]
    optimizer = torch.optim.SGD(replicas, lr=RATE) if replicas else None
    outputs = []
    for step in range(STEPS):
        output = output_of(model, batch(step, rank))
        outputs.append(output.detach().clone())
        if optimizer:
            optimizer.zero_grad()
        loss_of(output).backward()
        if optimizer:
            optimizer.step()
    return {"outputs": outputs, "types": types}


class Training(unittest.TestCase):
    def test_two_and_four_processes(self):
        for world_size in (2, 4):
            wanted = unsharded(world_size)
            self.assertFalse(torch.equal(wanted[0][0], wanted[1][0]))
            with tempfile.TemporaryDirectory() as folder:
                torch.multiprocessing.spawn(train, (world_size, folder), nprocs=world_size)
                found = [torch.load(f"{folder}/{rank}.pt") for rank in range(world_size)]
            for number, (mode, constraints) in enumerate(CASES):
                with self.subTest(f"{world_size} processes, case {number}, {mode}"):
                    for rank in range(world_size):
                        for step in range(STEPS):
                            torch.testing.assert_close(found[rank][number]["outputs"][step],
                                                       wanted[step][rank], rtol=1e-4, atol=1e-5)
                    for name, own in (constraints or {}).items():
                        self.assertEqual(found[0][number]["types"][name], own.sharding_types[0])


if __name__ == "__main__":
    unittest.main()
