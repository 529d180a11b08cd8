"""Machines beyond whole hosts with HBM: caches that grow, SSD, pods, ranks left over."""

import unittest

from torchrec.distributed.planner import ParameterConstraints
from torchrec_cases import EIGHT, GIB, Case, bag_model, scaled_caches
from test_torchrec_plans import WORK, described

from shardwright.torchrec import EmbeddingShardingPlanner


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
        return Case(bag_model(), {**EIGHT, "ssd_cap": 4000 * GIB}, constraints=constraints)

    def test_whole_tables_and_rows_on_ssd(self):
        best, _ = self.as_torchrec_and_better(
            self.on_ssd(sharding_types=["table_wise", "row_wise"]))
        for option in best._best_plan:
            self.assertTrue(all(shard.storage.ssd > 0 for shard in option.shards))

    def test_columns_on_ssd_lie_on_distinct_ranks_in_compat_mode(self):
        self.as_torchrec_and_better(self.on_ssd())

    def test_pods_join_nodes_to_one_host(self):
        self.as_torchrec_and_better(
            Case(bag_model(), {"world_size": 8, "local_world_size": 2, "pod_size": 2}))

    def test_ranks_that_do_not_fill_a_host_hold_no_host_wise_tables(self):
        types = ["table_row_wise", "table_column_wise", "table_wise"]
        some = {f"t{i}": ParameterConstraints(sharding_types=types[i % 2:2]) for i in range(3)}
        for machine in ({"world_size": 12, "local_world_size": 8},
                        {"world_size": 14, "local_world_size": 4},
                        {"world_size": 10, "local_world_size": 2, "pod_size": 2}):
            hosted = machine["world_size"] - machine["world_size"] % (
                machine["local_world_size"] * machine.get("pod_size", 1))
            with self.subTest(machine):
                best, _ = self.as_torchrec_and_better(Case(bag_model(), machine, constraints=some))
                for option in best._best_plan:
                    if option.sharding_type in types[:2]:
                        self.assertLess(max(shard.rank for shard in option.shards), hosted)

    def test_a_part_of_a_host_is_planned_without_host_wise_tables(self):
        best, plan = self.as_torchrec_and_better(
            Case(bag_model(), {"world_size": 4, "local_world_size": 8}))
        self.assertFalse({"table_row_wise", "table_column_wise", "grid_shard"}
                         & {own.sharding_type for own in plan.plan["ebc"].values()})


if __name__ == "__main__":
    unittest.main()
