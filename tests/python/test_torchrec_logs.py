"""What `audit` reads from the logs of the installed TorchRec is what its planner's objects have."""

import math
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "torchrec_release"))

import torch
from problems import random_problem
from recorder import planner_of
from recorder.model import Model
from recorder.sharders import sharders
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import Topology
from torchrec.distributed.planner.shard_estimators import get_num_poolings
from torchrec.distributed.planner.stats import EmbeddingStats
from torchrec.distributed.planner.types import Perf, Storage
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

import shardwright
from shardwright.torchrec import EmbeddingShardingPlanner as ShardwrightPlanner

COUNT = 300
GIB = 2**30
PREFIXES = ("", "INFO:torchrec:", "[2026-01-02 03:04:05,678][rank{0}]: ", "I0102 03:04:05.678 12 stats.py:344] ")
WORK = 100_000


def planned(problem):
    """A planner that has a plan and printed it, and the lines; None if there is no plan."""
    stats = EmbeddingStats()
    try:
        planner = planner_of(problem)
        planner._stats, planner._debug = [stats], True
        planner.plan(Model(problem), sharders(problem))
    except Exception:  # TorchRec refuses some problems, and fails in others
        return None
    return (planner, stats._stats_table) if planner._best_plan else None


def as_logged(lines, seed):
    """The lines as a logger may write them: with a prefix or without the frame, between other lines."""
    chance = random.Random(seed)
    prefix = chance.choice(PREFIXES)
    if not prefix and chance.random() < 0.5:
        lines = [line.strip("#") for line in lines]
    lines = [prefix.format(chance.randrange(8)) + line for line in lines]
    return "\n".join(["a line before", *lines, "a line behind"]) + "\n"


class Logs(unittest.TestCase):
    def same(self, ours, theirs, digits, what):
        """What is printed with so many decimals."""
        self.assertLessEqual(abs(ours - theirs), 0.5001 * 10**-digits + 1e-12 * abs(theirs), what)

    def same_time(self, ours, theirs, what):
        self.same(ours["total"], theirs.total, 3, what)
        for ours_part, part in zip(ours["parts"], (theirs.fwd_compute, theirs.fwd_comms, theirs.bwd_compute,
                                                   theirs.bwd_comms, theirs.prefetch_compute), strict=True):
            if part >= 1:
                self.same(ours_part, part, 0, what)
            else:
                self.assertAlmostEqual(ours_part, float(f"{part:.1g}"), msg=what)

    def same_table(self, ours, option, planner):
        what = option.fqn
        perf, storage = Perf(0, 0, 0, 0), Storage(0, 0)
        for shard in option.shards:
            perf, storage = perf + shard.perf, storage + shard.storage
        self.assertEqual(f"{ours['module']}.{ours['table']}", what)
        self.assertEqual(ours["sharding_type"], option.sharding_type, what)
        self.assertEqual(ours["compute_kernel"], option.compute_kernel, what)
        self.same_time(ours["perf"], perf, what)
        for tier in ("hbm", "ddr", "ssd"):
            self.same(ours[tier], getattr(storage, tier) / GIB, 3, what)
        limits = planner._constraints
        poolings = get_num_poolings(limits, option)
        self.same(ours["pooling_factor"], sum(option.input_lengths), 3, what)
        self.same(ours["num_poolings"], sum(poolings), 3, what)
        self.same(ours["num_indices"], sum(map(math.prod, zip(option.input_lengths, poolings))), 3, what)
        self.assertEqual(ours["pooled"], option.is_pooled, what)
        self.assertEqual(ours["weighted"], bool(option.is_weighted), what)
        self.assertEqual(ours["num_features"], len(option.input_lengths), what)
        self.assertEqual([ours["rows"], ours["columns"]], list(option.tensor.shape), what)
        if option.sharding_type in ("column_wise", "table_column_wise", "grid_shard"):
            self.assertEqual(ours["shard_columns"], option.shards[0].size[1], what)
        self.assertEqual(ours["ranks"], sorted(shard.rank for shard in option.shards), what)
        given = limits and limits.get(option.name)
        self.assertEqual(ours["batch_sizes"], list(given and given.batch_sizes or []), what)
        if option.compute_kernel != "fused_uvm_caching":
            self.assertIsNone(ours["load_factor"], what)
        elif option.cache_load_factor is not None:
            self.assertEqual(ours["load_factor"], option.cache_load_factor, what)

    def same_ranks(self, answer, planner):
        world = planner._topology.world_size
        perf, hbm = [Perf(0, 0, 0, 0) for _ in range(world)], [0] * world
        for option in planner._best_plan:
            for shard in option.shards:
                perf[shard.rank] += shard.perf
                hbm[shard.rank] += shard.storage.hbm
        run = answer.as_run
        self.assertEqual(len(answer.data["ranks"]), world)
        self.assertEqual(run["num_tables"], len(planner._best_plan))
        for rank in range(world):
            what = f"rank {rank}"
            self.same_time(answer.data["ranks"][rank]["perf"], perf[rank], what)
            self.assertLessEqual(abs(run["perf_by_rank"][rank] - perf[rank].total), run["precision"], what)
            tables = len(planner._best_plan)
            off = abs(run["hbm_by_rank"][rank] - run["dense_hbm"] - run["input_hbm"] - hbm[rank])
            self.assertLessEqual(off, 0.0006 * GIB * tables + 1, what)
        self.assertEqual(run["differences"], [])
        self.assertLessEqual(abs(run["rating"] - max(one.total for one in perf)), run["precision"])

    def test_random_logs(self):
        read = 0
        kinds = set()
        seed = 0
        while read < COUNT:
            problem = random_problem(seed)
            seed += 1
            made = planned(problem)
            if made is None:
                continue
            planner, lines = made
            with self.subTest(problem["name"]):
                answer = shardwright.audit(as_logged(lines, seed), work_limit=WORK, threads=1)
                for ours, option in zip(answer.data["tables"], planner._best_plan, strict=True):
                    self.same_table(ours, option, planner)
                    kinds.add((option.sharding_type, option.compute_kernel))
                self.same_ranks(answer, planner)
            read += 1
        self.assertEqual({kind for kind, _ in kinds}, set(shardwright.SHARDING_TYPES))
        self.assertLess(5, len({kernel for _, kernel in kinds}))

    def test_the_plan_of_a_planner_is_judged_without_a_log(self):
        tables = [EmbeddingBagConfig(name=f"t{i}", embedding_dim=64, num_embeddings=10_000 * (i + 1),
                                     feature_names=[f"f{i}"]) for i in range(12)]
        planner = ShardwrightPlanner(topology=Topology(4, "cuda", local_world_size=2), mode="compat", threads=1)
        with self.assertRaisesRegex(ValueError, "call plan"):
            planner.audit()
        planner.plan(EmbeddingBagCollection(tables=tables, device=torch.device("meta")),
                     [EmbeddingBagCollectionSharder()])
        answer = planner.audit(work_limit=10 * WORK, threads=1)
        self.assertEqual(answer.as_run["num_tables"], 12)
        self.assertLessEqual(abs(answer.as_run["rating"] - planner.result.rating), answer.as_run["precision"])
        self.assertLessEqual(answer.same_options["rating"], answer.as_run["rating"] + answer.as_run["precision"])
        self.assertEqual(answer.inferred["ranks_per_host"]["value"], 2)


if __name__ == "__main__":
    unittest.main()
