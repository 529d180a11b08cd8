"""The fast enumeration gives the options and costs of the installed TorchRec, to the last bit."""

import unittest

from torchrec_cases import Case, Model, bag_module, bags, cases

from shardwright.torchrec import Candidates, enumerate_candidates
from shardwright.torchrec import enumeration


class Costs(unittest.TestCase):
    def compare(self, name, case):
        ours = enumerate_candidates(case.planner()._enumerator, case.module, case.sharders)
        options = case.planner()._enumerator.enumerate(case.module, case.sharders)
        theirs = Candidates.of_options(options)
        self.assertEqual(ours.num_options, len(options), name)
        numbered = [(table, choice) for table in ours.tables for choice in table.choices]
        for (table, choice), option in zip(numbered, options):
            where = f"{name}: {option.fqn} {option.sharding_type} {option.compute_kernel}"
            self.assertEqual((table.fqn, choice.sharding_type, choice.compute_kernel),
                             (option.fqn, option.sharding_type, option.compute_kernel), where)
            made = table.sharding_option(choice, [None] * len(option.shards))
            for shard, wanted in zip(made.shards, option.shards, strict=True):
                self.assertEqual(shard, wanted, where)
            for attribute in ("partition_by", "dependency", "is_pooled", "is_weighted",
                              "input_lengths", "batch_size", "enforce_hbm", "stochastic_rounding",
                              "bounds_check_mode", "feature_names", "output_dtype",
                              "cache_load_factor", "key_value_params", "stash_weights",
                              "module_type_key", "num_poolings"):
                self.assertEqual(getattr(made, attribute), getattr(option, attribute),
                                 f"{where}: {attribute}")
            self.assertIs(made.tensor, option.tensor)
        for ours_table, their_table in zip(ours.tables, theirs.tables, strict=True):
            self.assertEqual(ours_table.choices, their_table.choices)

    def test_every_case_option_for_option_shard_for_shard(self):
        for name, case in cases().items():
            with self.subTest(name):
                self.assertTrue(enumeration.is_known(case.planner()._enumerator),
                                "the fast enumeration must serve this release")
                self.compare(name, case)
        self.assertTrue(enumeration._checked)
        self.assertTrue(all(enumeration._checked.values()))

    def test_sixty_four_ranks(self):
        self.compare("wide", Case(Model(ebc=bag_module(bags(6, 30))),
                                  {"world_size": 64, "local_world_size": 8}))

    def test_strange_estimators_are_asked_for_every_shard(self):
        class Strange(type(cases()["bags"].planner()._enumerator._estimators[0])):
            def estimate(self, sharding_options, sharder_data_map):
                super().estimate(sharding_options, sharder_data_map)
                for option in sharding_options:
                    for number, shard in enumerate(option.shards):
                        shard.perf.fwd_compute += number

        case = cases()["bags"]
        planner = case.planner()
        perf, storage = planner._enumerator._estimators
        planner._enumerator._estimators = [
            Strange(topology=perf._topology, constraints=None, config=perf.config), storage]
        self.assertFalse(enumeration.is_known(planner._enumerator))
        found = enumerate_candidates(planner._enumerator, case.module, case.sharders)
        wide = next(c for t in found.tables for c in t.choices if c.sharding_type == "row_wise")
        times = [shard.perf.fwd_compute for shard in wide.shards(range(wide.num_shards))]
        self.assertEqual([round(b - a, 6) for a, b in zip(times, times[1:])], [1.0] * 15)

    def test_equal_tables_share_their_choices(self):
        case = cases()["equal_tables"]
        found = enumerate_candidates(case.planner()._enumerator, case.module, case.sharders)
        self.assertEqual(len({id(table.choices) for table in found.tables}), 2)


if __name__ == "__main__":
    unittest.main()
