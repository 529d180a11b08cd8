"""choose_groups: the sharding groups of DMPCollection, chosen with the plan of one group."""

import math
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
import torch.distributed
from torchrec.distributed.planner import EmbeddingShardingPlanner as Peer
from torchrec.distributed.planner import Topology
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.proposers import GreedyProposer
from torchrec.distributed.planner.types import CustomTopologyData, PlannerError
from torchrec_cases import GIB, Case, Model, bag_module, bags, sharders
from test_torchrec_plans import described
from test_torchrec_training import STEPS, unsharded

import shardwright
from shardwright.torchrec import EmbeddingShardingPlanner, choose_groups
from shardwright.torchrec.groups import group_topology

WORK = 4_000_000
MACHINE = {"world_size": 16, "local_world_size": 4}


def model(count=6, seed=50):
    return Model(ebc=bag_module(bags(count, seed, 2_000_000)))


def choose(case=None, planner=None, **asked):
    case = case or Case(model(), MACHINE)
    planner = planner or case.planner(EmbeddingShardingPlanner, work_limit=WORK, threads=1)
    return choose_groups(planner, case.module, case.sharders, **{"sync_interval": 50, **asked})


class Choice(unittest.TestCase):
    def test_the_best_of_all_layouts_is_chosen_with_a_bound_over_all(self):
        choice = choose()
        self.assertEqual([own.sharding_group_size for own in choice.layouts], [1, 2, 4, 8, 16])
        best = min(choice.layouts, key=lambda own: own.rating)
        self.assertEqual(best.sharding_group_size, choice.sharding_group_size)
        self.assertEqual(best.rating, choice.rating)
        self.assertLess(choice.rating, choice.layouts[-1].rating)
        self.assertLessEqual(choice.lower_bound, min(own.lower_bound for own in choice.layouts))
        self.assertTrue(0 <= choice.gap < 0.05, choice.gap)
        self.assertIn("chosen", str(choice))
        checked = shardwright.verify(choice.problem, choice.answer)
        self.assertTrue(checked, checked.violations)

    def test_a_choice_can_be_sent_to_other_processes(self):
        choice = choose(group_sizes=[8])
        again = pickle.loads(pickle.dumps(choice))
        self.assertEqual(described(again.plan), described(choice.plan))
        self.assertEqual(again.dmp_arguments, choice.dmp_arguments)

    def test_one_group_of_all_ranks_is_the_plan_without_groups(self):
        case = Case(model(), MACHINE)
        planner = case.planner(EmbeddingShardingPlanner, work_limit=WORK, threads=1)
        plan = planner.plan(case.module, case.sharders)
        choice = choose(case, group_sizes=[16])
        self.assertEqual(choice.rating, planner.result.rating)
        self.assertEqual(described(choice.plan), described(plan))
        self.assertEqual(choice.dmp_arguments, {
            "world_size": 16, "sharding_group_size": 16, "node_group_size": 4,
            "use_inter_host_allreduce": False})

    def test_costs_are_torchrecs_for_one_group_and_averaging(self):
        for asked in ({"group_sizes": [4]}, {"group_sizes": [8], "use_inter_host_allreduce": True},
                      {"group_sizes": [8], "pod_sizes": [2]}):
            with self.subTest(asked):
                seen = []
                case = Case(model(), MACHINE,
                            options={"callbacks": [lambda plan: seen.append(plan) or plan]})
                choice = choose(case, sync_interval=3, **asked)
                enumerator = EmbeddingEnumerator(choice.topology, case.batch_size)
                theirs = {(option.name, option.sharding_type, option.compute_kernel): option
                          for option in enumerator.enumerate(case.module, case.sharders)}
                by_rank = [0.0] * choice.sharding_group_size
                for own in seen[0]:
                    peer = theirs[own.name, own.sharding_type, own.compute_kernel]
                    for ours, shard in zip(own.shards, peer.shards, strict=True):
                        self.assertEqual((ours.size, ours.offset), (shard.size, shard.offset))
                        self.assertEqual(ours.storage.hbm, shard.storage.hbm)
                        self.assertEqual(ours.perf.fwd_comms, shard.perf.fwd_comms)
                        self.assertEqual(ours.perf.fwd_compute, shard.perf.fwd_compute)
                        averaging = ours.perf.bwd_comms - shard.perf.bwd_comms
                        if own.sharding_type != "data_parallel":
                            self.assertGreater(averaging, 0)
                        by_rank[ours.rank] += ours.perf.total
                self.assertAlmostEqual(max(by_rank), choice.rating, places=12)

    def test_rarer_averaging_is_never_dearer(self):
        ratings = [choose(sync_interval=steps).rating for steps in (1, 10, 1000)]
        self.assertEqual(ratings, sorted(ratings, reverse=True))
        self.assertGreater(ratings[0], ratings[-1])

    def test_pods_and_caches_are_chosen_with_the_groups(self):
        choice = choose(pod_sizes=[1, 2, 4], group_sizes=[8, 16])
        self.assertEqual({(own.sharding_group_size, own.pod_size) for own in choice.layouts},
                         {(size, pod) for size in (8, 16) for pod in (1, 2, 4)})
        self.assertLessEqual(choice.rating, choose(group_sizes=[8, 16]).rating * 1.001)

    def test_callbacks_and_statistics_see_one_group(self):
        logged = []

        class Stats:
            def log(self, **what):
                logged.append(what)

        case = Case(model(), MACHINE)
        planner = case.planner(EmbeddingShardingPlanner, work_limit=WORK, threads=1)
        planner._stats = [Stats()]
        choice = choose(case, planner, group_sizes=[4])
        self.assertEqual(logged[0]["topology"].world_size, 4)
        self.assertIs(logged[0]["sharding_plan"], choice.plan)
        self.assertEqual(planner._topology.world_size, 16)

    def test_rank_0_tells_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group(
                "gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
            try:
                world = torch.distributed.GroupMember.WORLD
                told = choose(pg=world, group_sizes=[4, 16])
                with self.assertRaisesRegex(ValueError, "groups of 3 ranks"):
                    choose(pg=world, group_sizes=[3])
            finally:
                torch.distributed.destroy_process_group()
        self.assertEqual(described(told.plan), described(choose(group_sizes=[4, 16]).plan))


class Topologies(unittest.TestCase):
    def test_the_topology_of_a_group_has_its_ranks_on_a_host_and_in_a_pod(self):
        machine = Topology(world_size=32, local_world_size=8, compute_device="cuda", hbm_cap=GIB,
                           inter_host_bw=7.0)
        # Size, pod, consecutive: ranks per host, pod size of the topology, ranks per pod.
        for size, pod, consecutive, wanted in (
                (32, 1, False, (8, None, 8)), (16, 1, False, (4, None, 4)),
                (4, 1, False, (1, None, 1)), (2, 1, False, (1, None, 1)),
                (4, 1, True, (4, None, 4)), (16, 1, True, (8, None, 8)),
                (16, 2, False, (4, 2, 8)), (2, 4, False, (1, 2, 2)), (16, 2, True, (8, 2, 16))):
            with self.subTest(size=size, pod=pod, consecutive=consecutive):
                group = group_topology(machine, size, pod, consecutive)
                self.assertEqual((group.local_world_size, group._pod_size, group.intra_group_size),
                                 wanted)
                self.assertEqual(group.world_size, size)
                self.assertEqual((group.devices[0].storage.hbm, group.inter_host_bw), (GIB, 7.0))


class Refusals(unittest.TestCase):
    def refuses(self, kind, text, case=None, planner=None, **asked):
        with self.assertRaisesRegex(kind, text):
            choose(case, planner, **asked)

    def test_what_cannot_be_searched_is_named(self):
        case = Case(model(), MACHINE)
        self.refuses(TypeError, "EmbeddingShardingPlanner", case, case.planner(Peer))
        self.refuses(ValueError, "mode 'compat'", case,
                     case.planner(EmbeddingShardingPlanner, mode="compat"))

        class Mine(GreedyProposer):
            pass

        self.refuses(ValueError, "the proposer Mine", Case(model(), MACHINE,
                                                           proposers=lambda: [Mine()]))

        class Enumerator(EmbeddingEnumerator):
            pass

        planner = case.planner(EmbeddingShardingPlanner)
        planner._enumerator = Enumerator(planner._topology, 512)
        self.refuses(ValueError, "the enumerator Enumerator", case, planner)
        self.refuses(ValueError, "without tables", Case(torch.nn.Linear(2, 2), MACHINE))

    def test_layouts_that_the_machine_cannot_have_are_named(self):
        self.refuses(ValueError, "groups of 3 ranks do not divide", group_sizes=[3])
        self.refuses(ValueError, "pods of 3 hosts", pod_sizes=[3])
        self.refuses(ValueError, "at least 1 training step", sync_interval=0)
        self.refuses(ValueError, "cuda and mtia only",
                     Case(model(), {**MACHINE, "compute_device": "cpu"}))
        by_rank = CustomTopologyData({"hbm_cap": [(8 + i) * GIB for i in range(16)]}, 16)
        self.refuses(ValueError, "one size of groups",
                     Case(model(), {**MACHINE, "custom_topology_data": by_rank}))

    def test_where_nothing_fits_the_error_is_torchrecs(self):
        self.refuses(PlannerError, "", Case(model(), {**MACHINE, "hbm_cap": 1000, "ddr_cap": 0}))

    def test_a_size_without_a_plan_says_why(self):
        # Half of the machine's memory is too little for all tables.
        tables = bags(6, 50, 2_000_000)
        size = sum(4 * own.num_embeddings * own.embedding_dim for own in tables)
        case = Case(Model(ebc=bag_module(tables)),
                    {**MACHINE, "hbm_cap": math.ceil(size / 8), "ddr_cap": 0})
        choice = choose(case)
        self.assertGreater(choice.sharding_group_size, 4)
        failed = [own for own in choice.layouts if own.rating is None]
        self.assertTrue(failed)
        self.assertTrue(all(own.failure for own in failed))


class Training(unittest.TestCase):
    def test_dmp_collection_trains_as_the_unsharded_model_does(self):
        """Averaged at every step, groups with plain gradient descent make the steps of one model."""
        wanted = unsharded(4)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-O", Path(__file__).with_name("groups_training.py"), folder],
                capture_output=True, text=True, check=False, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr[-4000:])
            found = [torch.load(f"{folder}/{rank}.pt") for rank in range(4)]
        for number, case in enumerate(found[0]):
            self.assertLess(case["size"], 4)
            for rank in range(4):
                self.assertEqual(found[rank][number]["types"], case["types"])
                for step in range(STEPS):
                    with self.subTest(case=number, rank=rank, step=step):
                        torch.testing.assert_close(found[rank][number]["outputs"][step],
                                                   wanted[step][rank], rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
