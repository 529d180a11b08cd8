"""Parts of the user and of TorchRec: what TorchRec's planner keeps, what is searched here, adapters."""

import copy
import unittest
from unittest import mock

from torchrec.distributed.planner import EmbeddingShardingPlanner as Peer
from torchrec.distributed.planner import ParameterConstraints, Topology
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.partitioners import GreedyPerfPartitioner
from torchrec.distributed.planner.perf_models import NoopPerfModel
from torchrec.distributed.planner.proposers import (GreedyProposer, GridSearchProposer,
                                                    UniformProposer)
from torchrec.distributed.planner.types import PlanLoader, PlannerError
from torchrec.distributed.planner.shard_estimators import (EmbeddingPerfEstimator,
                                                           EmbeddingStorageEstimator)
from torchrec_cases import EIGHT, Case, bag_model, bags, cases, scaled_caches, sharders
from test_torchrec_plans import WORK, described

from shardwright import InvalidInputError
from shardwright.torchrec import (EmbeddingShardingPlanner, ShardwrightPartitioner,
                                  ShardwrightProposer, enumeration)
from shardwright.torchrec.planner import ProposedPlan


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
            self.same_plan_by_torchrec(Case(bag_model(), EIGHT, **change))

    def test_proposers_of_the_user_in_compat_mode(self):
        class MyProposer(UniformProposer):
            pass

        self.same_plan_by_torchrec(Case(bag_model(), EIGHT, proposers=lambda: [MyProposer()]),
                                   mode="compat")

    def test_less_than_half_of_a_host(self):
        case = Case(bag_model(), {"world_size": 3, "local_world_size": 8},
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

        self.searched_here(Case(bag_model(), EIGHT, estimators=lambda topology, constraints: [
            Dearer(topology, constraints), EmbeddingStorageEstimator(topology, constraints)]))

        case = Case(bag_model(), EIGHT)
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
            case = Case(bag_model(), EIGHT,
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

        case = Case(bag_model(), EIGHT, proposers=lambda: [GreedyProposer(), Cheaper()])
        planner, _ = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        self.assertEqual(planner.searched_by, "proposers")
        self.assertLess(planner._perf_model.rate(planner._best_plan), planner.result.rating)

    def test_no_proposal_begins_after_the_time_limit(self):
        case = Case(bag_model(), EIGHT)
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

        case = Case(bag_model(), EIGHT)
        planner = case.planner(EmbeddingShardingPlanner, mode="compat")
        planner._enumerator = Marked(planner._topology, case.batch_size)
        planner.plan(case.module, case.sharders)
        for option in planner._best_plan:
            self.assertEqual(option.note, option.sharding_type)
        # A plan does not write ranks on the options of the search space.
        self.assertIsNone(planner.get_search_space()[0].shards[0].rank)

    def test_another_release(self):
        with mock.patch.object(enumeration.torchrec, "__version__", "9.9"):
            self.searched_here(Case(bag_model(), EIGHT))


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
        case = Case(bag_model(), EIGHT)
        loader, stored = self.stored(case)
        for kind, options in ((Peer, {}), (EmbeddingShardingPlanner, {"mode": "compat"}),
                              (EmbeddingShardingPlanner, {"mode": "best"})):
            planner, plan = case.plan(kind, plan_loader=loader, **options)
            self.assertEqual(described(plan), described(stored))
        self.assertEqual(planner.searched_by, "loader")
        self.assertIsNone(planner.result)

    def test_a_plan_for_something_else_is_torchrecs_error(self):
        loader, _ = self.stored(Case(bag_model(), EIGHT))
        for other in (Case(bag_model(5), EIGHT), Case(bag_model(), {"world_size": 4})):
            with self.assertRaises(PlannerError) as theirs:
                other.plan(plan_loader=loader)
            with self.assertRaises(PlannerError) as ours:
                other.plan(EmbeddingShardingPlanner, plan_loader=loader)
            self.assertEqual(ours.exception.error_type, theirs.exception.error_type)

    def test_without_a_stored_plan_one_is_made(self):
        case = Case(bag_model(), EIGHT)
        loader, _ = self.stored(case)
        loader.options = None
        planner, plan = case.plan(EmbeddingShardingPlanner, mode="compat", plan_loader=loader)
        self.assertEqual(planner.searched_by, "shardwright")
        self.assertEqual(described(plan), described(case.plan()[1]))


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
        case = Case(bag_model(), {**EIGHT, "hbm_cap": 10_000, "ddr_cap": 10_000},
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
