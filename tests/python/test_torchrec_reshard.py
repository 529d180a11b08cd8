"""TorchRec's reshard takes the deltas of replan(reshardable=True); weights, optimizer state and outputs stay."""

import logging
import os
import tempfile
import unittest
import warnings
from unittest import mock

warnings.simplefilter("ignore")

import torch
import torch.distributed
import torch.multiprocessing
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from torch.distributed._shard.sharded_tensor import ShardedTensor
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.planner import ParameterConstraints, Topology
from torchrec.distributed.types import ShardingEnv

import test_torchrec_training as training
from shardwright.torchrec import EmbeddingShardingPlanner


def limits(world_size, types):
    return {f"t{i}": ParameterConstraints(sharding_types=[kind], min_partition=32 // world_size,
                                          compute_kernels=["dense" if kind == "data_parallel" else "fused"])
            for i, kind in enumerate(types)}


# Models by the ways in which their four tables are cut, and the optimizer.
MODELS = ((("table_wise", "table_wise", "table_wise", "table_wise"), EmbOptimType.EXACT_ROWWISE_ADAGRAD),
          (("column_wise", "table_wise", "column_wise", "table_wise"), EmbOptimType.EXACT_SGD),
          (("table_wise", "column_wise", "table_wise", "column_wise"), EmbOptimType.EXACT_ADAGRAD))


class Model(torch.nn.Module):
    """With a dense parameter: reshard expects DistributedDataParallel around the model."""

    def __init__(self):
        super().__init__()
        self.tables = training.tables()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, inputs):
        pooled = self.tables(inputs)
        return {key: pooled[key] * self.scale for key in pooled.keys()}


def planner_for(world_size, constraints, device="cpu"):
    return EmbeddingShardingPlanner(
        topology=Topology(world_size=world_size, compute_device=device), batch_size=training.BATCH,
        constraints=constraints, stats=[], debug=False, work_limit=1_000_000, threads=1)


def crowded(planner, module, sharder):
    """A plan that leaves much to gain: what may move is on the first ranks."""
    plan = planner.plan(module, [sharder])
    for parameter in plan.plan["tables"].values():
        if parameter.sharding_type in ("table_wise", "column_wise"):
            parameter.ranks = list(range(len(parameter.ranks)))
            for rank, shard in zip(parameter.ranks, parameter.sharding_spec.shards):
                shard.placement = torch.distributed._remote_device(f"rank:{rank}/cpu")
    return plan


def parts_of(tensor):
    """What this rank holds of a tensor: size of the whole, then offsets and values of its parts."""
    if not isinstance(tensor, ShardedTensor):
        return list(tensor.shape), [([0] * tensor.dim(), tensor.clone())]
    return list(tensor.size()), [(list(shard.metadata.shard_offsets), shard.tensor.clone())
                                 for shard in tensor.local_shards()]


def state_of(model):
    found = {name: parts_of(tensor) for name, tensor in model.state_dict().items()}
    for name, state in model.fused_optimizer.state_dict()["state"].items():
        found.update({f"{name} {key}": parts_of(tensor) for key, tensor in state.items()
                      if isinstance(tensor, (torch.Tensor, ShardedTensor))})
    return found


def whole(states):
    """The tensors that the ranks hold together, by name."""
    tensors = {}
    for state in states:
        for name, (size, parts) in state.items():
            tensor = tensors.setdefault(name, torch.full(size, float("nan")))
            for offsets, part in parts:
                tensor[tuple(slice(at, at + length) for at, length in zip(offsets, part.shape))] = part
    return tensors


def reshard(rank, types, optimizer):
    """Returns what moved, and weights, optimizer state and outputs before and after."""
    group = torch.distributed.GroupMember.WORLD
    sharder = EmbeddingBagCollectionSharder(fused_params={"optimizer": optimizer, "learning_rate": training.RATE})
    module = Model()
    planner = planner_for(group.size(), limits(group.size(), types))
    old = crowded(planner, module, sharder)
    replanned = planner.replan(module, [sharder], old, reshardable=True)
    model = DistributedModelParallel(module=module, env=ShardingEnv.from_process_group(group), sharders=[sharder],
                                     device=torch.device("cpu"), plan=old, init_data_parallel=True)
    with torch.no_grad():
        training.copy_weights(model.module.tables, training.tables().embedding_bags.state_dict())
    training.loss_of(training.output_of(model, training.batch(0, rank))).backward()
    with torch.no_grad():
        before, output = state_of(model), training.output_of(model, training.batch(1, rank)).clone()
        replanned.apply(model)
        after, again = state_of(model), training.output_of(model, training.batch(1, rank)).clone()
    return {"moved": sorted(name for _, delta in replanned.deltas.values() for name in delta),
            "before": replanned.migration["rating_before"], "rating": replanned.result.rating,
            "outputs": torch.equal(output, again), "state": before, "new_state": after}


def work(rank, world_size, folder):
    logging.disable(logging.ERROR)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=world_size)
    torch.save([reshard(rank, *model) for model in MODELS], f"{folder}/{rank}.pt")
    training.leave_group()


class Reshard(unittest.TestCase):
    def check(self, world_size):
        with tempfile.TemporaryDirectory() as folder:
            # TorchRec makes the tags of messages with hash(), which must agree in all processes.
            with mock.patch.dict(os.environ, PYTHONHASHSEED="0"):
                torch.multiprocessing.spawn(work, (world_size, folder), nprocs=world_size)
            ranks = [torch.load(f"{folder}/{rank}.pt") for rank in range(world_size)]
        for model in range(len(MODELS)):
            with self.subTest(world_size=world_size, model=model):
                found = [rank[model] for rank in ranks]
                before, after = (whole([rank[key] for rank in found]) for key in ("state", "new_state"))
                self.assertTrue(found[0]["moved"])
                self.assertLess(found[0]["rating"], found[0]["before"])
                self.assertTrue(all(rank["outputs"] for rank in found))
                self.assertEqual(sorted(before), sorted(after))
                for name, tensor in before.items():
                    self.assertTrue(torch.equal(tensor, after[name]), name)

    def test_two_processes(self):
        self.check(2)

    def test_four_processes(self):
        self.check(4)

    def test_only_what_reshard_can_change(self):
        """From random plans, whatever the constraints of the tables allow."""
        for seed in range(20):
            chance = torch.Generator().manual_seed(seed)
            kinds = ("table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise", "data_parallel")
            drawn = [kinds[int(torch.randint(len(kinds), (1,), generator=chance))] for _ in range(4)]
            constraints = limits(4, drawn)
            sharder = training.sgd_sharder()
            module = Model()
            planner = planner_for(4, constraints, "cuda")
            old = crowded(planner, module, sharder) if seed % 2 else planner.plan(module, [sharder])
            free = planner_for(4, None, "cuda").replan(module, [sharder], old, reshardable=True)
            for name, new in free.plan.plan["tables"].items():
                with self.subTest(seed=seed, table=name):
                    held = old.plan["tables"][name]
                    self.assertEqual(new.sharding_type, held.sharding_type)
                    self.assertEqual(new.compute_kernel, held.compute_kernel)
                    if new.sharding_type in ("table_wise", "column_wise") and "data_parallel" not in drawn:
                        self.assertEqual(len(set(new.ranks)), len(new.ranks))
                    else:
                        self.assertEqual(new.ranks, held.ranks)


if __name__ == "__main__":
    unittest.main()
