"""Plans compared with those of the installed TorchRec: compat mode the same, best mode never worse."""

import dataclasses
import unittest

from torchrec.distributed.planner import ParameterConstraints, planners
from torchrec_cases import Case, Model, bag_module, bags, cases

from shardwright.torchrec import EmbeddingShardingPlanner

WORK = 3_000_000


def described(plan):
    """Returns a ShardingPlan as nested values, complete."""
    found = {}
    for path, module_plan in plan.plan.items():
        for name, parameter in module_plan.items():
            values = {item.name: getattr(parameter, item.name)
                      for item in dataclasses.fields(parameter)}
            spec, cache = values.pop("sharding_spec"), values.pop("cache_params")
            values["shards"] = None if spec is None else [
                (list(shard.shard_sizes), list(shard.shard_offsets), str(shard.placement))
                for shard in spec.shards]
            values["cache"] = None if cache is None else cache.stable_fingerprint()
            found[path, name] = values
    return found


class Plans(unittest.TestCase):
    def test_compat_mode_plans_as_torchrec_and_best_mode_no_worse(self):
        for name, case in cases().items():
            with self.subTest(name):
                peer, theirs = case.plan()
                compat, ours = case.plan(EmbeddingShardingPlanner, mode="compat")
                self.assertEqual(compat.searched_by, "shardwright")
                self.assertEqual(described(ours), described(theirs))
                self.assertEqual((compat._num_proposals, compat._num_plans),
                                 (peer._num_proposals, peer._num_plans))
                rating = peer._perf_model.rate(peer._best_plan)
                self.assertEqual(compat.result.rating, rating)
                self.assertEqual(compat._perf_model.rate(compat._best_plan), rating)
                self.assertEqual([option.fqn for option in compat._best_plan],
                                 [option.fqn for option in peer._best_plan])

                best, _ = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
                self.assertEqual(best.searched_by, "shardwright")
                best_rating = best._perf_model.rate(best._best_plan)
                self.assertAlmostEqual(best_rating, best.result.rating, delta=1e-9 * rating)
                self.assertLessEqual(best_rating, rating)
                self.fits(best)

    def fits(self, planner):
        """Checks by TorchRec's own figures that the plan fits on the ranks."""
        free = [device.storage for device in
                planner._storage_reservation.last_reserved_topology.devices]
        for option in planner._best_plan:
            for shard in option.shards:
                free[shard.rank] = free[shard.rank] - shard.storage
        for storage in free:
            self.assertGreaterEqual(min(storage.hbm, storage.ddr, storage.ssd), 0)

    def test_lists_of_inputs_that_do_not_match_are_refused_in_torchrecs_words(self):
        for key, values in (("num_poolings", [1.0, 2.0]), ("batch_sizes", [64, 32, 16])):
            def case(**more):
                return Case(Model(ebc=bag_module(bags(3, 31))), {"world_size": 4}, constraints={
                    "t1": ParameterConstraints(**{key: values}, **more)})  # noqa: B023

            for kind, options in ((planners.EmbeddingShardingPlanner, {}),
                                  (EmbeddingShardingPlanner, {"mode": "compat"}),
                                  (EmbeddingShardingPlanner, {"work_limit": WORK})):
                with self.subTest(key), self.assertRaises(AssertionError) as refused:
                    case().plan(kind, **options)
                self.assertIn("must match", str(refused.exception))
            # Nobody reads those of a table that is left to another device.
            elsewhere = case(device_group="cpu")
            planner, plan = elsewhere.plan(EmbeddingShardingPlanner, mode="compat")
            self.assertEqual(planner.searched_by, "shardwright")
            self.assertEqual(described(plan), described(elsewhere.plan()[1]))

    def test_the_answer_passes_torchrecs_validation(self):
        for name in ("many_modules", "constraints", "cpu"):
            case = cases()[name]
            planner, plan = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
            planners.validate_modules_inclusion_in_sharding_plan(plan, case.module, case.sharders)
            planners.validate_rank_assignment(plan, planner._topology)
            planners.validate_compute_kernels(planner._best_plan)
            self.assertEqual(described(plan), described(
                planners.to_sharding_plan(planner._best_plan, planner._topology)))


if __name__ == "__main__":
    unittest.main()
