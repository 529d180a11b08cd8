"""The drop-in planner as a user meets it: arguments, errors, cases left to TorchRec's planner, adapters."""

import copy
import gc
import inspect
import re
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import torch
import torch.distributed
from torchrec.distributed.planner import EmbeddingShardingPlanner as Peer
from torchrec.distributed.planner import ParameterConstraints, Topology
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.partitioners import GreedyPerfPartitioner
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.proposers import (EmbeddingOffloadScaleupProposer,
                                                    GreedyProposer, GridSearchProposer,
                                                    UniformProposer)
from torchrec.distributed.planner.types import PlanLoader, PlannerError, PlannerErrorType
from torchrec.distributed.planner.shard_estimators import (EmbeddingOffloadStats,
                                                           EmbeddingPerfEstimator,
                                                           EmbeddingStorageEstimator)
from torchrec.distributed.types import CacheParams, ShardingPlan
from torchrec_cases import GIB, Case, Model, bag_module, bags, cases, sharders
from test_torchrec_plans import WORK, described

from shardwright import Cancel, InvalidInputError
from shardwright.torchrec import (EmbeddingShardingPlanner, ShardwrightPartitioner,
                                  ShardwrightProposer, enumerate_candidates, enumeration)
from shardwright.torchrec.proposals import ProposedPlan

EIGHT = {"world_size": 8, "local_world_size": 4}


def model(count=6, seed=40):
    return Model(ebc=bag_module(bags(count, seed)))


class DropIn(unittest.TestCase):
    def test_it_is_torchrecs_planner_with_its_arguments_in_its_order(self):
        self.assertTrue(issubclass(EmbeddingShardingPlanner, Peer))
        theirs = list(inspect.signature(Peer.__init__).parameters)
        ours = inspect.signature(EmbeddingShardingPlanner.__init__).parameters
        self.assertEqual(list(ours)[:len(theirs)], theirs)
        self.assertTrue(all(ours[name].kind is inspect.Parameter.KEYWORD_ONLY
                            for name in list(ours)[len(theirs):]))

    def test_the_readme_plans_a_module_in_under_ten_lines(self):
        text = Path("README.md").read_text(encoding="utf-8")
        snippet = re.search(r"```python\n(.*?shardwright\.torchrec.*?)```", text, re.S).group(1)
        lines = [line for line in snippet.splitlines() if line.strip()]
        self.assertLess(len(lines), 10)
        names = {}
        exec(snippet, names)  # noqa: S102 - the text is this repository's
        self.assertIsInstance(names["plan"], ShardingPlan)
        self.assertIn("ads", names["plan"].plan[""])

    def test_collective_plan_broadcasts_the_same_plan(self):
        case = Case(model(), EIGHT)
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group(
                "gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
            try:
                planner = case.planner(EmbeddingShardingPlanner, mode="compat")
                plan = planner.collective_plan(case.module, case.sharders)
            finally:
                torch.distributed.destroy_process_group()
        self.assertEqual(described(plan), described(case.plan()[1]))

    def test_callbacks_stats_and_the_rest_of_the_planner_see_the_plan(self):
        seen, logged = [], []

        class Stats:
            def log(self, **what):
                logged.append(what)

        case = Case(model(), EIGHT, options={"callbacks": [lambda plan: seen.append(plan) or plan]})
        planner = case.planner(EmbeddingShardingPlanner, mode="compat")
        planner._stats = [Stats()]
        plan = planner.plan(case.module, case.sharders)
        peer = case.planner()
        peer._stats = [Stats()]
        peer.plan(case.module, case.sharders)
        self.assertEqual(planner.get_selected_options(), seen[0])
        ours, theirs = logged
        self.assertEqual(set(ours), set(theirs))
        self.assertEqual(described(ours["sharding_plan"]), described(theirs["sharding_plan"]))
        for key in ("num_proposals", "num_plans", "batch_size", "constraints", "debug"):
            self.assertEqual(ours[key], theirs[key])
        self.assertEqual(described(plan), described(ours["sharding_plan"]))
        self.assertEqual(len(planner.get_search_space()), len(peer.get_search_space()))
        self.assertEqual(planner.hash_planner_context_inputs_str(),
                         peer.hash_planner_context_inputs_str())

    def test_the_default_report_is_written(self):
        planner = EmbeddingShardingPlanner(
            topology=Topology(world_size=2, compute_device="cuda"), work_limit=WORK)
        plan = planner.plan(model(3), sharders())
        self.assertEqual(len(plan.plan["ebc"]), 3)

    def test_a_module_without_tables_has_an_empty_plan(self):
        planner = Case(model(), EIGHT).planner(EmbeddingShardingPlanner)
        self.assertEqual(planner.plan(torch.nn.Linear(2, 2), sharders()).plan, {})

    def test_where_nothing_fits_the_error_is_torchrecs(self):
        for hbm, kind in ((1000, PlannerErrorType.INSUFFICIENT_STORAGE),
                          (300_000_000, PlannerErrorType.STRICT_CONSTRAINTS)):
            case = Case(Model(ebc=bag_module(bags(3, 41, prefix="t", dims=(128,)))),
                        {**EIGHT, "hbm_cap": hbm, "ddr_cap": 0}, constraints={
                            f"t{i}": ParameterConstraints(sharding_types=["table_wise"])
                            for i in range(3)})
            with self.assertRaises(PlannerError) as theirs:
                case.plan()
            for mode in ("compat", "best"):
                with self.assertRaises(PlannerError) as ours:
                    case.plan(EmbeddingShardingPlanner, mode=mode)
                if hbm == 1000:
                    self.assertEqual(ours.exception.error_type, kind)
                self.assertEqual(ours.exception.error_type, theirs.exception.error_type)
                self.assertRegex(str(ours.exception), "t[0-2]|bytes")

    def test_wrong_arguments_are_named(self):
        with self.assertRaisesRegex(ValueError, "mode"):
            EmbeddingShardingPlanner(topology=Topology(2, "cuda"), mode="fast")
        planner = EmbeddingShardingPlanner(topology=Topology(2, "cuda"), stats=[], threads=-1)
        with self.assertRaisesRegex(ValueError, "threads"):
            planner.plan(model(2), sharders())
        planner = Case(model(), EIGHT).planner(EmbeddingShardingPlanner)
        for wrong in (None, 3, "ebc", {}):
            with self.assertRaisesRegex(TypeError, type(wrong).__name__):
                planner.plan(wrong, sharders())
            with self.assertRaisesRegex(TypeError, "sharders"):
                planner.plan(model(2), wrong)
        with self.assertRaisesRegex(TypeError, "sharders"):
            planner.plan(model(2), [None])
        for wrong in (3, "cuda", {}):
            with self.assertRaisesRegex(TypeError, "topology"):
                EmbeddingShardingPlanner(topology=wrong)
        with self.assertRaisesRegex(TypeError, "constraints"):
            EmbeddingShardingPlanner(topology=Topology(2, "cuda"), constraints=[1])
        for wrong in (None, 3, [None], "options"):
            with self.assertRaisesRegex(TypeError, "ShardingOptions"):
                ShardwrightProposer().load(wrong)
            with self.assertRaisesRegex(TypeError, "ShardingOptions"):
                ShardwrightPartitioner().partition(wrong, Topology(2, "cuda"))
            with self.assertRaisesRegex(TypeError, "enumerator"):
                enumerate_candidates(wrong, model(2), sharders())
        with self.assertRaisesRegex(TypeError, "storage_constraint"):
            ShardwrightPartitioner().partition([], None)
        cancel = Cancel()
        cancel.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            Case(model(), EIGHT).plan(EmbeddingShardingPlanner, cancel=cancel)

    def test_eight_threads_plan_at_once(self):
        case = Case(model(), EIGHT)
        _, alone = case.plan(EmbeddingShardingPlanner, mode="compat")
        plans = [None] * 8

        def work(i):
            plans[i] = case.plan(EmbeddingShardingPlanner, mode="compat")[1]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for plan in plans:
            self.assertEqual(described(plan), described(alone))


    def test_hundreds_of_plans_leave_nothing_behind(self):
        case = Case(model(3), {"world_size": 2})

        def some(count):
            for _ in range(count):
                case.plan(EmbeddingShardingPlanner, mode="compat")
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096

        before = some(50)
        # A lost search space and problem are about 30 KiB: 9 MB.
        self.assertLess(some(300) - before, 3 << 20)


class Delegated(unittest.TestCase):
    """What the library cannot know gets TorchRec's own plan, exactly."""

    def same_plan_by_torchrec(self, case, **options):
        planner, ours = case.plan(EmbeddingShardingPlanner, **options)
        self.assertEqual(planner.searched_by, "torchrec")
        self.assertIsNone(planner.result)
        self.assertEqual(described(ours), described(case.plan()[1]))

    def test_partitioners_and_models_of_the_user(self):
        class MyPartitioner(GreedyPerfPartitioner):
            pass

        class MyModel(NoopPerfModel):
            pass

        for change in ({"partitioner": MyPartitioner}, {"performance_model": MyModel}):
            self.same_plan_by_torchrec(Case(model(), EIGHT, **change))

    def test_proposers_of_the_user_in_compat_mode(self):
        class MyProposer(UniformProposer):
            pass

        self.same_plan_by_torchrec(Case(model(), EIGHT, proposers=lambda: [MyProposer()]),
                                   mode="compat")

    def test_less_than_half_of_a_host(self):
        case = Case(model(), {"world_size": 3, "local_world_size": 8},
                    constraints={f"t{i}": ParameterConstraints(
                        sharding_types=["table_wise", "row_wise", "column_wise"])
                        for i in range(6)})
        for mode in ("compat", "best"):
            self.same_plan_by_torchrec(case, mode=mode)

    def test_caches_to_scale_at_costs_of_the_user(self):
        class Own(EmbeddingPerfEstimator):
            pass

        case = scaled_caches()
        case.estimators = lambda topology, constraints: [
            Own(topology, constraints), EmbeddingStorageEstimator(topology, constraints)]
        self.same_plan_by_torchrec(case, mode="compat")


class OwnParts(unittest.TestCase):
    """What is not TorchRec's own is enumerated by TorchRec and searched here."""

    def searched_here(self, case):
        planner, ours = case.plan(EmbeddingShardingPlanner, mode="compat")
        self.assertEqual(planner.searched_by, "shardwright")
        peer, theirs = case.plan()
        self.assertEqual(described(ours), described(theirs))
        best, _ = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        self.assertEqual(best.searched_by, "shardwright")
        self.assertLessEqual(best._perf_model.rate(best._best_plan),
                             peer._perf_model.rate(peer._best_plan))
        return best

    def test_estimators_and_enumerators(self):
        class Dearer(EmbeddingPerfEstimator):
            def estimate(self, sharding_options, sharder_data_map):
                super().estimate(sharding_options, sharder_data_map)
                for option in sharding_options:
                    for shard in option.shards:
                        shard.perf.fwd_compute *= 2

        class Fewer(EmbeddingEnumerator):
            def enumerate(self, module, sharders):
                return [option for option in super().enumerate(module, sharders)
                        if option.sharding_type != "row_wise"]

        self.searched_here(Case(model(), EIGHT, estimators=lambda topology, constraints: [
            Dearer(topology, constraints), EmbeddingStorageEstimator(topology, constraints)]))

        case = Case(model(), EIGHT)
        make = case.planner

        def planner(*arguments, **options):
            made = make(*arguments, **options)
            made._enumerator = Fewer(made._topology, case.batch_size)
            return made

        case.planner = planner
        best = self.searched_here(case)
        self.assertNotIn("row_wise", {option.sharding_type for option in best._best_plan})

    def test_proposers_compete_with_the_search(self):
        class Mine(GreedyProposer):
            def propose(self):
                proposal = super().propose()
                asked.append(proposal is not None)
                return proposal

        for others in ([], [UniformProposer()]):
            asked = []
            case = Case(model(), EIGHT,
                        proposers=lambda: [Mine(threshold=15), *others])  # noqa: B023
            planner, plan = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
            self.assertIn(True, asked)
            self.assertIn(planner.searched_by, ("shardwright", "proposers"))
            self.assertEqual(set(plan.plan["ebc"]), {f"t{i}" for i in range(6)})
            peer, _ = case.plan()
            self.assertLessEqual(planner._perf_model.rate(planner._best_plan),
                                 peer._perf_model.rate(peer._best_plan))
            self.assertGreater(planner._num_proposals, planner.result.num_proposals)

    def test_a_proposer_that_finds_a_better_plan_wins(self):
        class Cheaper(UniformProposer):
            """Proposes one plan, at half of its costs."""

            def propose(self):
                proposal = copy.deepcopy(super().propose())
                for option in proposal or []:
                    for shard in option.shards:
                        shard.perf.fwd_compute /= 100
                        shard.perf.bwd_compute /= 100
                return proposal

        case = Case(model(), EIGHT, proposers=lambda: [GreedyProposer(), Cheaper()])
        planner, _ = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        self.assertEqual(planner.searched_by, "proposers")
        self.assertLess(planner._perf_model.rate(planner._best_plan), planner.result.rating)

    def test_no_proposal_begins_after_the_time_limit(self):
        case = Case(model(), EIGHT)
        planner = case.planner()
        options = planner._enumerator.enumerate(case.module, case.sharders)
        for end, some in ((0.0, False), (None, True)):
            found = ProposedPlan(planner._partitioner, planner._perf_model, planner._topology, end)
            found.run([GreedyProposer(threshold=3)], options, planner._enumerator)
            self.assertEqual(found.num_proposals > 0, some)

    def test_options_keep_what_the_enumerator_wrote_on_them(self):
        class Marked(EmbeddingEnumerator):
            def enumerate(self, module, sharders):
                options = super().enumerate(module, sharders)
                for option in options:
                    option.note = option.sharding_type
                return options

        case = Case(model(), EIGHT)
        planner = case.planner(EmbeddingShardingPlanner, mode="compat")
        planner._enumerator = Marked(planner._topology, case.batch_size)
        planner.plan(case.module, case.sharders)
        for option in planner._best_plan:
            self.assertEqual(option.note, option.sharding_type)
        # A plan does not write ranks on the options of the search space.
        self.assertIsNone(planner.get_search_space()[0].shards[0].rank)

    def test_another_release(self):
        with mock.patch.object(enumeration.torchrec, "__version__", "9.9"):
            self.searched_here(Case(model(), EIGHT))


def scaled_caches():
    constraints = {f"t{i}": ParameterConstraints(
        compute_kernels=["fused_uvm_caching"], cache_params=CacheParams(
            load_factor=0.1, stats=EmbeddingOffloadStats(
                cacheability=0.4, expected_lookups=1000,
                mrc_hist_counts=torch.tensor([3, 2, 1]), height=10))) for i in range(6)}
    return Case(model(), EIGHT, constraints=constraints,
                proposers=lambda: [EmbeddingOffloadScaleupProposer(), GreedyProposer()])


class Loader(PlanLoader):
    """Stores the plan of a planner."""

    def __init__(self, planner):
        self.hash = planner.hash_planner_context_inputs_str()
        self.options = {option.storage_hash(): option for option in planner._best_plan}

    def load(self):
        return self.options

    def plan_context_hash(self):
        return self.hash

    def get_plan_id(self):
        return "stored"


class PlanLoaders(unittest.TestCase):
    def stored(self, case):
        planner, plan = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        return Loader(planner), plan

    def test_a_stored_plan_is_used_and_nothing_searched(self):
        case = Case(model(), EIGHT)
        loader, stored = self.stored(case)
        for kind, options in ((Peer, {}), (EmbeddingShardingPlanner, {"mode": "compat"}),
                              (EmbeddingShardingPlanner, {"mode": "best"})):
            planner, plan = case.plan(kind, plan_loader=loader, **options)
            self.assertEqual(described(plan), described(stored))
        self.assertEqual(planner.searched_by, "loader")
        self.assertIsNone(planner.result)

    def test_a_plan_for_something_else_is_torchrecs_error(self):
        loader, _ = self.stored(Case(model(), EIGHT))
        for other in (Case(model(5), EIGHT), Case(model(), {"world_size": 4})):
            with self.assertRaises(PlannerError) as theirs:
                other.plan(plan_loader=loader)
            with self.assertRaises(PlannerError) as ours:
                other.plan(EmbeddingShardingPlanner, plan_loader=loader)
            self.assertEqual(ours.exception.error_type, theirs.exception.error_type)

    def test_without_a_stored_plan_one_is_made(self):
        case = Case(model(), EIGHT)
        loader, _ = self.stored(case)
        loader.options = None
        planner, plan = case.plan(EmbeddingShardingPlanner, mode="compat", plan_loader=loader)
        self.assertEqual(planner.searched_by, "shardwright")
        self.assertEqual(described(plan), described(case.plan()[1]))


class Machines(unittest.TestCase):
    """Caches that grow, SSD, pods and hosts that leave ranks over are planned here in both modes."""

    def as_torchrec_and_better(self, case):
        peer, theirs = case.plan()
        planner, ours = case.plan(EmbeddingShardingPlanner, mode="compat")
        self.assertEqual(planner.searched_by, "shardwright")
        self.assertEqual(described(ours), described(theirs))
        rating = peer._perf_model.rate(peer._best_plan)
        self.assertEqual(planner.result.rating, rating)
        best, plan = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        self.assertEqual(best.searched_by, "shardwright")
        self.assertLessEqual(best.result.rating, rating)
        self.assertLessEqual(best.result.lower_bound, best.result.rating)
        self.assertEqual(set(plan.plan["ebc"]), {f"t{i}" for i in range(6)})
        # The release's estimators agree with the costs of the options that were chosen.
        chosen = best._best_plan
        before = [[(s.storage, s.perf) for s in option.shards] for option in chosen]
        best._enumerator.populate_estimates(chosen)
        self.assertEqual(before, [[(s.storage, s.perf) for s in o.shards] for o in chosen])
        return best, plan

    def test_caches_are_scaled(self):
        _, plan = self.as_torchrec_and_better(scaled_caches())
        sharded = plan.plan["ebc"]
        for table in sharded.values():
            if table.compute_kernel == "fused":
                self.assertIsNone(table.cache_params.load_factor)
        self.assertTrue(any(t.cache_params.load_factor != 0.1 for t in sharded.values()))

    def on_ssd(self, **constraint):
        constraints = {f"t{i}": ParameterConstraints(compute_kernels=["key_value"], **constraint)
                       for i in range(6)}
        return Case(model(), {**EIGHT, "ssd_cap": 4000 * GIB}, constraints=constraints)

    def test_whole_tables_and_rows_on_ssd(self):
        best, _ = self.as_torchrec_and_better(
            self.on_ssd(sharding_types=["table_wise", "row_wise"]))
        for option in best._best_plan:
            self.assertTrue(all(shard.storage.ssd > 0 for shard in option.shards))

    def test_columns_on_ssd_lie_on_distinct_ranks_in_compat_mode(self):
        self.as_torchrec_and_better(self.on_ssd())

    def test_pods_join_nodes_to_one_host(self):
        self.as_torchrec_and_better(
            Case(model(), {"world_size": 8, "local_world_size": 2, "pod_size": 2}))

    def test_ranks_that_do_not_fill_a_host_hold_no_host_wise_tables(self):
        types = ["table_row_wise", "table_column_wise", "table_wise"]
        some = {f"t{i}": ParameterConstraints(sharding_types=types[i % 2:2]) for i in range(3)}
        for machine in ({"world_size": 12, "local_world_size": 8},
                        {"world_size": 14, "local_world_size": 4},
                        {"world_size": 10, "local_world_size": 2, "pod_size": 2}):
            hosted = machine["world_size"] - machine["world_size"] % (
                machine["local_world_size"] * machine.get("pod_size", 1))
            with self.subTest(machine):
                best, _ = self.as_torchrec_and_better(Case(model(), machine, constraints=some))
                for option in best._best_plan:
                    if option.sharding_type in types[:2]:
                        self.assertLess(max(shard.rank for shard in option.shards), hosted)

    def test_a_part_of_a_host_is_planned_without_host_wise_tables(self):
        best, plan = self.as_torchrec_and_better(
            Case(model(), {"world_size": 4, "local_world_size": 8}))
        self.assertFalse({"table_row_wise", "table_column_wise", "grid_shard"}
                         & {own.sharding_type for own in plan.plan["ebc"].values()})


class Differences(unittest.TestCase):
    """Cases where this release's rules differ from those of commit a48cef79: the release's costs are used."""

    def test_features_rarer_than_one_per_sample_have_smaller_outputs(self):
        constraints = {f"t{i}": ParameterConstraints(pooling_factors=[0.25]) for i in range(6)}
        case = Case(model(), EIGHT, constraints=constraints)
        planner, _ = case.plan(EmbeddingShardingPlanner, mode="compat")
        full, _ = Case(model(), EIGHT).plan(EmbeddingShardingPlanner, mode="compat")
        self.assertLess(planner.result.rating, full.result.rating)
        self.assertEqual(planner.result.rating, case.plan()[0]._perf_model.rate(planner._best_plan))

    def test_input_distribution_is_estimated_and_not_rated(self):
        planner, _ = Case(model(), EIGHT).plan(EmbeddingShardingPlanner, mode="compat")
        shards = [shard for option in planner._best_plan for shard in option.shards]
        self.assertTrue(any(shard.perf.input_dist_comms > 0 for shard in shards))
        by_rank = [0.0] * 8
        for shard in shards:
            by_rank[shard.rank] += shard.perf.total
        self.assertEqual(max(by_rank), planner.result.rating)

    def test_constrained_types_keep_the_sharders_order_whatever_the_hash_seed(self):
        types = ["row_wise", "table_wise", "column_wise"]
        case = Case(model(), EIGHT, constraints={"t0": ParameterConstraints(sharding_types=types)})
        planner = case.planner()
        found = [option.sharding_type for option in
                 planner._enumerator.enumerate(case.module, case.sharders) if option.name == "t0"]
        allowed = case.sharders[0].sharding_types("cuda")
        self.assertEqual(list(dict.fromkeys(found)), [t for t in allowed if t in types])

    def test_a_planner_used_again_starts_anew(self):
        # TorchRec's proposers keep counters from plan to plan.
        case = cases()["dynamic_programming"]
        planner = case.planner(EmbeddingShardingPlanner, mode="compat")
        first = planner.plan(case.module, case.sharders)
        again = planner.plan(case.module, case.sharders)
        self.assertEqual(described(first), described(again))


class Adapters(unittest.TestCase):
    def rating(self, planner):
        return planner._perf_model.rate(planner._best_plan)

    def test_the_partitioner_places_as_the_greedy_one(self):
        for name in ("bags", "constraints", "tight", "equal_tables"):
            case = cases()[name]
            case.proposers = lambda: [GreedyProposer(threshold=15), UniformProposer()]
            peer, theirs = case.plan()
            case.partitioner = ShardwrightPartitioner
            planner, ours = case.plan()
            self.assertEqual(described(ours), described(theirs))
            self.assertEqual(self.rating(planner), self.rating(peer))

    def test_the_proposer_beside_torchrecs_never_makes_a_plan_worse(self):
        case = cases()["bags"]
        case.proposers = lambda: [GreedyProposer(threshold=15)]
        peer, _ = case.plan()
        case.proposers = lambda: [ShardwrightProposer(work_limit=WORK),
                                  GreedyProposer(threshold=15)]
        planner, _ = case.plan()
        self.assertLessEqual(self.rating(planner), self.rating(peer))

    def test_proposer_and_partitioner_together_reach_the_planner(self):
        case = cases()["tight"]
        best, _ = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        case.proposers = lambda: [ShardwrightProposer(work_limit=WORK)]
        case.partitioner = lambda: ShardwrightPartitioner(mode="best", work_limit=WORK)
        planner, _ = case.plan()
        self.assertLessEqual(self.rating(planner), best.result.rating * 1.001)

    def test_what_does_not_fit_is_torchrecs_error(self):
        case = Case(model(), {**EIGHT, "hbm_cap": 10_000, "ddr_cap": 10_000},
                    proposers=lambda: [GridSearchProposer(), GreedyProposer()])
        case.partitioner = ShardwrightPartitioner
        with self.assertRaises(PlannerError):
            case.plan()
        self.assertEqual(ShardwrightPartitioner().partition([], Topology(2, "cuda")), [])
        with self.assertRaisesRegex(ValueError, "sort_by"):
            ShardwrightPartitioner(sort_by="name")
        self.assertTrue(issubclass(InvalidInputError, ValueError))


if __name__ == "__main__":
    unittest.main()
