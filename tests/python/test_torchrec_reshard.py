"""TorchRec's reshard takes the deltas of replan(reshardable=True); weights, optimizer state and outputs stay."""

import gc
import logging
import tempfile
import unittest
import warnings

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


def limits(*types):
    return {f"t{i}": ParameterConstraints(sharding_types=[kind], compute_kernels=["fused"], min_partition=8)
            for i, kind in enumerate(types)}


# Models by the ways in which their four tables are cut, and the optimizer.
MODELS = ((limits("table_wise", "table_wise", "table_wise", "table_wise"), EmbOptimType.EXACT_ROWWISE_ADAGRAD),
          (limits("column_wise", "table_wise", "column_wise", "table_wise"), EmbOptimType.EXACT_SGD),
          (limits("table_wise", "row_wise", "table_wise", "column_wise"), EmbOptimType.ADAM))


def planner_for(world_size, constraints):
    return EmbeddingShardingPlanner(
        topology=Topology(world_size=world_size, compute_device="cpu"), batch_size=training.BATCH,
        constraints=constraints, stats=[], debug=False, work_limit=1_000_000, threads=1)


def crowded(planner, module, sharder):
    """A plan that leaves much to gain: what may move is on the first ranks."""
    plan = planner.plan(module, [sharder])
    for parameter in plan.plan["0"].values():
        if parameter.sharding_type in ("table_wise", "column_wise"):
            parameter.ranks = list(range(len(parameter.ranks)))
            for rank, shard in zip(parameter.ranks, parameter.sharding_spec.shards):
                shard.placement = torch.distributed._remote_device(f"rank:{rank}/cpu")
    return plan


def whole(tensor):
    """The tensor on rank 0, on other ranks empty."""
    if not isinstance(tensor, ShardedTensor):
        return tensor.clone()
    out = torch.zeros(tensor.size()) if torch.distributed.get_rank() == 0 else None
    tensor.gather(0, out)
    return torch.zeros(0) if out is None else out


def state_of(model):
    weights = {name: whole(tensor) for name, tensor in sorted(model.state_dict().items())}
    for name, state in sorted(model.fused_optimizer.state_dict()["state"].items()):
        for key, tensor in sorted(state.items()):
            if isinstance(tensor, (torch.Tensor, ShardedTensor)):
                weights[f"{name} {key}"] = whole(tensor)
    return weights


def reshard(rank, constraints, optimizer):
    """Returns what moved, and whether weights, optimizer state and outputs are equal."""
    group = torch.distributed.GroupMember.WORLD
    sharder = EmbeddingBagCollectionSharder(fused_params={"optimizer": optimizer, "learning_rate": training.RATE})
    module = torch.nn.Sequential(training.tables())
    planner = planner_for(group.size(), constraints)
    old = crowded(planner, module, sharder)
    replanned = planner.replan(module, [sharder], old, reshardable=True)
    model = DistributedModelParallel(module=module, env=ShardingEnv.from_process_group(group), sharders=[sharder],
                                     device=torch.device("cpu"), plan=old, init_data_parallel=True)
    with torch.no_grad():
        training.copy_weights(model, training.tables().embedding_bags.state_dict())
    training.loss_of(training.output_of(model, training.batch(0, rank))).backward()
    with torch.no_grad():
        before, output = state_of(model), training.output_of(model, training.batch(1, rank)).clone()
        for path in replanned.deltas:
            model.reshard(replanned.deltas, path)
        after, again = state_of(model), training.output_of(model, training.batch(1, rank)).clone()
    return {"moved": sorted(name for _, delta in replanned.deltas.values() for name in delta),
            "before": replanned.result.data["migration"]["rating_before"], "rating": replanned.result.rating,
            "names": sorted(before) == sorted(after), "outputs": torch.equal(output, again),
            "differ": [name for name in before if name in after and not torch.equal(before[name], after[name])]}


def work(rank, world_size, folder):
    logging.disable(logging.ERROR)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=world_size)
    torch.save([reshard(rank, *model) for model in MODELS], f"{folder}/{rank}.pt")
    training.leave_group()


class Reshard(unittest.TestCase):
    def check(self, world_size):
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(work, (world_size, folder), nprocs=world_size)
            ranks = [torch.load(f"{folder}/{rank}.pt") for rank in range(world_size)]
        for model in range(len(MODELS)):
            for rank in range(world_size):
                with self.subTest(world_size=world_size, model=model, rank=rank):
                    found = ranks[rank][model]
                    self.assertTrue(found["moved"])
                    self.assertLess(found["rating"], found["before"])
                    self.assertTrue(found["names"])
                    self.assertTrue(found["outputs"])
                    self.assertEqual(found["differ"], [])

    def test_two_processes(self):
        self.check(2)

    def test_four_processes(self):
        self.check(4)

    def test_only_what_reshard_can_change(self):
        """From random plans, whatever the constraints of the tables allow."""
        for seed in range(20):
            chance = torch.Generator().manual_seed(seed)
            kinds = ("table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise")
            drawn = [kinds[int(torch.randint(len(kinds), (1,), generator=chance))] for _ in range(4)]
            constraints = limits(*drawn)
            sharder = training.sgd_sharder()
            module = torch.nn.Sequential(training.tables())
            planner = planner_for(4, constraints)
            old = crowded(planner, module, sharder) if seed % 2 else planner.plan(module, [sharder])
            free = planner_for(4, None).replan(module, [sharder], old, reshardable=True)
            for name, new in free.plan.plan["0"].items():
                with self.subTest(seed=seed, table=name):
                    held = old.plan["0"][name]
                    self.assertEqual(new.sharding_type, held.sharding_type)
                    self.assertEqual(new.compute_kernel, held.compute_kernel)
                    if new.sharding_type in ("table_wise", "column_wise"):
                        self.assertEqual(len(set(new.ranks)), len(new.ranks))
                    else:
                        self.assertEqual(new.ranks, held.ranks)


if __name__ == "__main__":
    unittest.main()
