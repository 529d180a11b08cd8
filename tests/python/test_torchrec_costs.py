"""The library's options and costs are those of the installed TorchRec, to the last bit."""

import unittest
from unittest import mock

from torchrec.distributed.planner.estimator import (EmbeddingPerfEstimatorFactory,
                                                    HardwarePerfConfig)
from torchrec.distributed.planner.shard_estimators import (EmbeddingPerfEstimator,
                                                           EmbeddingStorageEstimator)
from torchrec_cases import GIB, Case, Model, bag_module, bags, cases

from shardwright.torchrec import enumerate_candidates
from shardwright.torchrec import enumeration
from shardwright.torchrec.candidates import GivenOptions
from shardwright.torchrec.candidates import EstimatedOptions

ATTRIBUTES = ("fqn", "sharding_type", "compute_kernel", "partition_by", "dependency", "is_pooled",
              "is_weighted", "input_lengths", "batch_size", "enforce_hbm", "stochastic_rounding",
              "bounds_check_mode", "feature_names", "output_dtype", "cache_load_factor",
              "key_value_params", "stash_weights", "module_type_key", "num_poolings", "shards")


class Costs(unittest.TestCase):
    def compare(self, name, case):
        ours = enumerate_candidates(case.planner()._enumerator, case.module, case.sharders)
        self.assertIsInstance(ours, EstimatedOptions, name)
        theirs = case.planner()._enumerator.enumerate(case.module, case.sharders)
        for own, their in zip(ours.options(), theirs, strict=True):
            for attribute in ATTRIBUTES:
                self.assertEqual(
                    getattr(own, attribute), getattr(their, attribute),
                    f"{name}: {their.fqn} {their.sharding_type} {their.compute_kernel} {attribute}")
            self.assertIs(own.tensor, their.tensor)
            self.assertIs(own.module[1], their.module[1])

    def test_every_case_option_for_option_shard_for_shard(self):
        with mock.patch.dict(enumeration._checked, clear=True):
            for name, case in cases().items():
                with self.subTest(name):
                    self.compare(name, case)
            self.assertTrue(enumeration._checked)
            self.assertTrue(all(enumeration._checked.values()))

    def test_sixty_four_ranks(self):
        self.compare("wide", Case(Model(ebc=bag_module(bags(6, 30))),
                                  {"world_size": 64, "local_world_size": 8}))

    def given(self, case, planner=None):
        planner = planner or case.planner()
        found = enumerate_candidates(planner._enumerator, case.module, case.sharders)
        self.assertIsInstance(found, GivenOptions)
        return found

    def test_estimators_of_the_user_are_asked(self):
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
        found = self.given(case, planner)
        wide = next(o for o in found._options if o.sharding_type == "row_wise")
        times = [shard.perf.fwd_compute for shard in wide.shards]
        self.assertEqual([round(b - a, 6) for a, b in zip(times, times[1:])], [1.0] * 15)

    def test_hardware_that_computes_is_asked(self):
        class Fast(HardwarePerfConfig):
            device_bw = 1e9

        class Odd(Fast):
            def post_process_perfs(self, shard_perfs, **_):
                return shard_perfs

        for config, kind in ((Fast, EstimatedOptions), (Odd, GivenOptions)):
            case = Case(Model(ebc=bag_module(bags(4, 60))), {"world_size": 4},
                        estimators=lambda topology, constraints: [
                            EmbeddingPerfEstimatorFactory.create_with_config(
                                topology=topology, constraints=constraints,
                                config=config()),  # noqa: B023
                            EmbeddingStorageEstimator(topology, constraints)])
            found = enumerate_candidates(case.planner()._enumerator, case.module, case.sharders)
            self.assertIsInstance(found, kind)

    def test_memory_is_what_the_reservation_left_whatever_the_estimators_were_told(self):
        case = Case(Model(ebc=bag_module(bags(4, 61))), {"world_size": 4})
        other = Case(case.module, {"world_size": 4, "hbm_cap": 3 * GIB}).make_topology()
        case.estimators = lambda topology, constraints: [
            EmbeddingPerfEstimator(topology, constraints),
            EmbeddingStorageEstimator(other, constraints)]
        found = enumerate_candidates(case.planner()._enumerator, case.module, case.sharders)
        left = Case(case.module, {"world_size": 4, "hbm_cap": 5 * GIB}).make_topology()
        problem = found.problem(left)
        self.assertEqual(problem["topology"]["hbm_cap"] - problem["reserved_memory"]["hbm"],
                         5 * GIB)

    def test_other_releases_enumerate_themselves(self):
        with mock.patch.object(enumeration.torchrec, "__version__", "9.9"):
            self.given(cases()["bags"])

    def test_costs_that_differ_are_found_and_not_used(self):
        case = cases()["optimizers"]

        whole = EstimatedOptions.options

        def dearer(of):
            options = whole(of)
            options[-1].shards[-1].storage.hbm += 1
            return options

        with mock.patch.dict(enumeration._checked, clear=True), \
                mock.patch.object(EstimatedOptions, "options", dearer):
            self.given(case)
            self.assertEqual(list(enumeration._checked.values()).count(False), 1)

    def test_kinds_tell_apart_what_formulas_depend_on(self):
        case = cases()["constraints"]
        enumerator = case.planner()._enumerator
        tables = list(enumeration.walk(enumerator, case.module, case.sharders))
        kinds = [enumeration._kind(enumerator, table) for table in tables]
        self.assertEqual(len(set(kinds)), 8)  # t7 has no constraints, the others all differ


if __name__ == "__main__":
    unittest.main()
