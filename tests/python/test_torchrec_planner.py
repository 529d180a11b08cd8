"""The drop-in planner as a user meets it: arguments, errors, and where its costs differ."""

import copy
import gc
import inspect
import json
import pickle
import re
import tempfile
import threading
import unittest
from pathlib import Path

import torch
import torch.distributed
from torchrec.distributed.planner import EmbeddingShardingPlanner as Peer
from torchrec.distributed.planner import ParameterConstraints, Topology
from torchrec.distributed.planner.proposers import GreedyProposer
from torchrec.distributed.planner.types import (Partitioner, PlannerError, PlannerErrorType,
                                                Proposer)
from torchrec.distributed.types import ShardingPlan
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.schema.utils import is_signature_compatible
from torchrec_cases import EIGHT, Case, Model, bag_model, bag_module, bags, cases, sharders
from test_torchrec_plans import WORK, described

from shardwright import Cancel
from shardwright.torchrec import (EmbeddingShardingPlanner, ShardwrightPartitioner,
                                  ShardwrightProposer, enumerate_candidates)
from shardwright.torchrec.enumeration import OptionsOnDemand


class DropIn(unittest.TestCase):
    def test_it_is_torchrecs_planner_with_its_arguments_in_its_order(self):
        self.assertTrue(issubclass(EmbeddingShardingPlanner, Peer))
        theirs = list(inspect.signature(Peer.__init__).parameters)
        ours = inspect.signature(EmbeddingShardingPlanner.__init__).parameters
        self.assertEqual(list(ours)[:len(theirs)], theirs)
        self.assertTrue(all(ours[name].kind is inspect.Parameter.KEYWORD_ONLY
                            for name in list(ours)[len(theirs):]))

    def test_signatures_pass_torchrecs_own_schema_check(self):
        checked = 0
        for own, peer in ((EmbeddingShardingPlanner, Peer), (ShardwrightProposer, Proposer),
                          (ShardwrightPartitioner, Partitioner)):
            for name in sorted(set(vars(own)) & set(dir(peer))):
                if not inspect.isfunction(vars(own)[name]) or (
                        name == "__init__" and own is not EmbeddingShardingPlanner):
                    continue
                ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (own, peer))
                self.assertTrue(is_signature_compatible(theirs, ours),
                                f"{own.__name__}.{name}: {ours}, {theirs}")
                checked += 1
        self.assertGreaterEqual(checked, 8)

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
        case = Case(bag_model(), EIGHT)
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

        case = Case(bag_model(), EIGHT,
                    options={"callbacks": [lambda plan: seen.append(plan) or plan]})
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
        self.assertEqual(planner.hash_planner_context_inputs_str(),
                         peer.hash_planner_context_inputs_str())

    def test_the_enumerator_has_the_options_of_the_last_plan(self):
        case = Case(bag_model(), EIGHT)
        _, peer = case.plan()
        for mode in ("compat", "best"):
            planner = case.planner(EmbeddingShardingPlanner, mode=mode, work_limit=WORK)
            planner.plan(case.module, case.sharders)
            theirs = case.planner()._enumerator.enumerate(case.module, case.sharders)
            stored = planner._enumerator.last_stored_search_space
            self.assertIsInstance(stored, list)
            for ours in (stored, planner._enumerator.enumerate(case.module, case.sharders),
                         planner.get_search_space()):
                self.assertEqual([option.storage_hash() for option in ours],
                                 [option.storage_hash() for option in theirs])
                self.assertEqual([option.shards for option in ours], [option.shards for option in theirs])

    def test_a_list_on_demand_is_a_list(self):
        made = []

        def make():
            made.append(1)
            return [3, 1, 2]

        def use(action):
            return action(OptionsOnDemand(make))

        lazy = OptionsOnDemand(make)
        self.assertEqual(made, [])
        self.assertEqual((list(lazy), lazy[1], len(lazy)), ([3, 1, 2], 1, 3))
        self.assertEqual(made, [1])
        for action in (list, tuple, sorted, len, bool, repr, json.dumps, copy.copy, copy.deepcopy,
                       lambda own: pickle.loads(pickle.dumps(own)),
                       lambda own: own + [4], lambda own: [4] + own, lambda own: own == [3, 1, 2],
                       lambda own: [3, 1, 2] == own, lambda own: 2 in own, lambda own: own[::-1],
                       lambda own: [*own, *reversed(own)], lambda own: own.pop(), lambda own: own.index(2),
                       lambda own: [0].__iadd__(own)):
            self.assertEqual(use(action), action([3, 1, 2]))

    def test_virtual_tables_beyond_any_memory_are_planned(self):
        rows = 1_125_899_902_955_520
        virtual = [EmbeddingBagConfig(name=f"v{i}", num_embeddings=rows, embedding_dim=64,
                                      feature_names=[f"v{i}"], use_virtual_table=True,
                                      total_num_buckets=3_991_680) for i in range(2)]
        module = Model(ebc=bag_module(virtual + bags(2)))
        constraints = {table.name: ParameterConstraints(
            sharding_types=["row_wise"], compute_kernels=["dram_virtual_table"]) for table in virtual}
        case = Case(module, {"world_size": 2, "local_world_size": 2}, constraints=constraints)
        _, theirs = case.plan()
        for mode in ("compat", "best"):
            planner, ours = case.plan(EmbeddingShardingPlanner, mode=mode, work_limit=WORK)
            self.assertEqual(planner.searched_by, "shardwright")
            self.assertEqual(described(ours).keys(), described(theirs).keys())
            self.assertEqual(ours.plan["ebc"]["v0"].sharding_spec.shards[1].shard_sizes,
                             [rows // 2, 64])
            if mode == "compat":
                self.assertEqual(described(ours), described(theirs))

    def test_the_default_report_is_written(self):
        planner = EmbeddingShardingPlanner(
            topology=Topology(world_size=2, compute_device="cuda"), work_limit=WORK)
        plan = planner.plan(bag_model(3), sharders())
        self.assertEqual(len(plan.plan["ebc"]), 3)

    def test_a_module_without_tables_has_an_empty_plan(self):
        planner = Case(bag_model(), EIGHT).planner(EmbeddingShardingPlanner)
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
            planner.plan(bag_model(2), sharders())
        planner = Case(bag_model(), EIGHT).planner(EmbeddingShardingPlanner)
        for wrong in (None, 3, "ebc", {}):
            with self.assertRaisesRegex(TypeError, type(wrong).__name__):
                planner.plan(wrong, sharders())
            with self.assertRaisesRegex(TypeError, "sharders"):
                planner.plan(bag_model(2), wrong)
        with self.assertRaisesRegex(TypeError, "sharders"):
            planner.plan(bag_model(2), [None])
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
                enumerate_candidates(wrong, bag_model(2), sharders())
        with self.assertRaisesRegex(TypeError, "storage_constraint"):
            ShardwrightPartitioner().partition([], None)
        cancel = Cancel()
        cancel.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            Case(bag_model(), EIGHT).plan(EmbeddingShardingPlanner, cancel=cancel)

    def test_eight_threads_plan_at_once(self):
        case = Case(bag_model(), EIGHT)
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
        case = Case(bag_model(3), {"world_size": 2})

        def some(count):
            for _ in range(count):
                case.plan(EmbeddingShardingPlanner, mode="compat")
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096

        before = some(50)
        # A lost search space and problem are about 30 KiB: 9 MB.
        self.assertLess(some(300) - before, 3 << 20)


class Collections(unittest.TestCase):
    """Python's garbage collection while plans are made."""

    def setUp(self):
        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        self.assertTrue(gc.isenabled())
        self.addCleanup(gc.enable)

    def collected(self, work):
        """How many collections run by themselves, though nearly every object is one too many: hundreds in a plan, and
        a few before and after."""
        events = []
        gc.callbacks.append(lambda phase, info: events.append(phase))
        gc.set_threshold(1)
        try:
            work()
            return events.count("start")
        finally:
            gc.set_threshold(0)
            del gc.callbacks[-1]

    def test_a_plan_waits_for_no_collection(self):
        case = Case(bag_model(), EIGHT)
        planner = case.planner(EmbeddingShardingPlanner, mode="compat")
        self.assertLess(self.collected(lambda: planner.plan(case.module, case.sharders)), 50)
        self.assertTrue(gc.isenabled())

    def test_what_was_set_is_restored(self):
        case = Case(bag_model(), EIGHT)
        seen = []

        def callback(options):
            seen.append(gc.isenabled())
            Case(bag_model(2), EIGHT).plan(EmbeddingShardingPlanner, mode="compat")
            seen.append(gc.isenabled())
            if len(seen) > 2:
                raise KeyError("in the middle")
            return options

        planner = case.planner(EmbeddingShardingPlanner, mode="compat", callbacks=[callback])
        planner.plan(case.module, case.sharders)
        self.assertTrue(gc.isenabled())
        with self.assertRaises(KeyError):
            planner.plan(case.module, case.sharders)
        self.assertTrue(gc.isenabled())
        gc.disable()
        case.plan(EmbeddingShardingPlanner, mode="compat")
        self.assertFalse(gc.isenabled())
        self.assertEqual(seen, [False] * 4)

    def test_searches_of_best_mode_and_proposers_of_the_user_may_collect(self):
        seen = []

        class Watching(GreedyProposer):
            def propose(self):
                seen.append(gc.isenabled())
                return super().propose()

        case = Case(bag_model(), EIGHT, proposers=lambda: [Watching()])
        case.plan(EmbeddingShardingPlanner, work_limit=WORK, progress=lambda _: seen.append(gc.isenabled()))
        self.assertGreater(len(seen), 1)
        self.assertTrue(all(seen))

    def test_threads_restore_it_together(self):
        def work():
            for _ in range(10):
                Case(bag_model(), EIGHT).plan(EmbeddingShardingPlanner, mode="compat")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(gc.isenabled())


class Differences(unittest.TestCase):
    """Cases where this release's rules differ from those of commit a48cef79: the release's costs are used."""

    def test_features_rarer_than_one_per_sample_have_smaller_outputs(self):
        constraints = {f"t{i}": ParameterConstraints(pooling_factors=[0.25]) for i in range(6)}
        case = Case(bag_model(), EIGHT, constraints=constraints)
        planner, _ = case.plan(EmbeddingShardingPlanner, mode="compat")
        full, _ = Case(bag_model(), EIGHT).plan(EmbeddingShardingPlanner, mode="compat")
        self.assertLess(planner.result.rating, full.result.rating)
        self.assertEqual(planner.result.rating, case.plan()[0]._perf_model.rate(planner._best_plan))

    def test_input_distribution_is_estimated_and_not_rated(self):
        planner, _ = Case(bag_model(), EIGHT).plan(EmbeddingShardingPlanner, mode="compat")
        shards = [shard for option in planner._best_plan for shard in option.shards]
        self.assertTrue(any(shard.perf.input_dist_comms > 0 for shard in shards))
        by_rank = [0.0] * 8
        for shard in shards:
            by_rank[shard.rank] += shard.perf.total
        self.assertEqual(max(by_rank), planner.result.rating)

    def test_constrained_types_keep_the_sharders_order_whatever_the_hash_seed(self):
        types = ["row_wise", "table_wise", "column_wise"]
        case = Case(bag_model(), EIGHT,
                    constraints={"t0": ParameterConstraints(sharding_types=types)})
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


if __name__ == "__main__":
    unittest.main()
