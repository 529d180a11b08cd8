"""Plans in one process, for any mesh: costs beside torch's planners, fallbacks, restoring."""

import threading
import unittest

import torch
import torch.distributed
from torch.distributed.tensor import Partial, Replicate, Shard, _redistribute
from torch.distributed.tensor._collective_utils import redistribute_cost
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor.placement_types import _MaskPartial, _StridedShard
from torch.testing._internal.distributed.fake_pg import FakeStore

import shardwright.torch
from shardwright.torch.specs import mesh_tensor
from shardwright.torch.traffic import traffic_of

from .cases import mesh_of, random_pairs
from .costs import cost_of

TORCHS = _redistribute._gen_transform_infos
OPS = ("sum", "avg", "min", "max", "product")


def setUpModule():
    torch.distributed.init_process_group("fake", rank=3, world_size=16, store=FakeStore())


def tearDownModule():
    torch.distributed.destroy_process_group()


def spec_of(mesh, placements, shape=(8, 8), **options):
    stride = torch.empty(shape, device="meta").stride()
    return DTensorSpec(mesh, tuple(placements),
                       TensorMeta(torch.Size(shape), stride, torch.float32), **options)


class Costs(unittest.TestCase):
    def costs(self, mesh_shape, count, plan_of, **options):
        mesh = mesh_of(mesh_shape)
        for pair in random_pairs(5, mesh_shape, count, OPS, **options):
            source, target = pair.specs(mesh)
            infos = plan_of(mesh, source, target)
            if infos is None:
                continue
            # A CPU is a host of one device in torch's model.
            ours = shardwright.torch.plan_redistribution(
                pair.mesh, pair.shape, torch.float32, pair.source.words(pair.reduce_op),
                pair.target.words(pair.reduce_op), devices_per_host=1)
            yield pair, ours, cost_of(source, infos)

    def test_no_plan_costs_more_than_torchs_greedy_one(self):
        def greedy(mesh, source, target):
            return _redistribute.get_redistribute_planner(
                mesh, source.tensor_meta).generate_greedy_transform_infos(source, target)

        less = 0
        for mesh_shape in ((4, 4), (2, 2, 4), (2, 2, 2, 2)):
            for pair, ours, theirs in self.costs(mesh_shape, 300, greedy, order_every=10 ** 6):
                with self.subTest(pair=pair):
                    self.assertLessEqual(ours.cost_us, theirs * (1 + 1e-12))  # sums of other order
                less += ours.cost_us < theirs * (1 - 1e-9)
        self.assertGreater(less, 100)

    def test_every_plan_costs_what_torchs_graph_finds_cheapest(self):
        def graph(mesh, source, target):
            planner = _redistribute.DTensorRedistributePlanner(mesh, source.tensor_meta)
            return planner.generate_graph_based_transform_infos(source, target, source.shape)

        compared = 0
        for mesh_shape, count in (((16,), 40), ((4, 4), 150), ((2, 2, 4), 15)):
            for pair, ours, theirs in self.costs(mesh_shape, count, graph, order_every=2):
                with self.subTest(pair=pair):
                    self.assertAlmostEqual(ours.cost_us, theirs, delta=theirs * 1e-12)
                compared += 1
        self.assertEqual(compared, 205)


class DropIn(unittest.TestCase):
    def test_no_plan_needs_more_than_torchs_own_where_gpus_exchange_shards(self):
        """The devices of this mesh are not there; nothing runs."""
        compared = 0
        for mesh_shape in ((4, 4), (2, 2, 4)):
            mesh = mesh_of(mesh_shape, "cuda")
            for pair in random_pairs(9, mesh_shape, 200, OPS, order_every=10 ** 6):
                source, target = pair.specs(mesh)
                tensor = mesh_tensor(source)
                theirs = traffic_of(tensor, source.placements, TORCHS(source, target))
                with shardwright.torch.redistribution(devices_per_host=8):
                    plan = _redistribute._gen_transform_infos(source, target)
                ours = traffic_of(tensor, source.placements, plan)
                with self.subTest(pair=pair):
                    self.assertLessEqual(ours.bytes, theirs.bytes)
                    self.assertLessEqual(ours.collectives, theirs.collectives)
                compared += 1
        self.assertEqual(compared, 400)

    def test_merged_collectives_count_as_one(self):
        names = ("a", "b", "c")
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2, 2, 4), mesh_dim_names=names)
        mesh["a", "b"]._flatten("ab")
        source = spec_of(mesh, [Partial(), Partial(), Shard(0)])
        target = spec_of(mesh, [Replicate(), Replicate(), Shard(1)])
        with shardwright.torch.redistribution():
            plan = _redistribute._gen_transform_infos(source, target)
        merged = _redistribute._optimize_transform_infos(plan, mesh, source.placements,
                                                         target.placements)
        self.assertEqual(sum(info._comm_type_key() is not None for info in merged), 2)

    def test_strided_shards_stand_for_a_shard_order(self):
        mesh = mesh_of((4, 4))
        source = spec_of(mesh, [_StridedShard(0, split_factor=4), Shard(0)], (32, 8))
        with shardwright.torch.redistribution():
            plan = _redistribute._gen_transform_infos(
                source, spec_of(mesh, [Replicate(), Shard(0)], (32, 8)))
        # Axis 1 cuts first, so that axis 0 is gathered and nothing else moves.
        self.assertEqual([(info.mesh_dim, info.src_dst_placements) for info in plan],
                         [(0, (Shard(0), Replicate()))])

    def test_what_is_not_known_is_planned_by_torch(self):
        mesh = mesh_of((4, 4))
        plain = spec_of(mesh, [Replicate(), Replicate()])
        for source in (
                spec_of(mesh, [_MaskPartial(offset_shape=torch.Size((8, 8))), Replicate()]),
                spec_of(mesh, [Partial("band"), Replicate()]),
                spec_of(mesh, [_StridedShard(0, split_factor=2), Replicate()],
                        use_strided_shard_as_shard_order=False),
                spec_of(mesh, [_StridedShard(0, split_factor=3), Replicate()])):
            expected = TORCHS(source, plain)
            with self.subTest(source=source), shardwright.torch.redistribution():
                self.assertEqual(_redistribute._gen_transform_infos(source, plain), expected)

    def test_partial_products_that_nothing_can_make_are_left_to_torch(self):
        mesh = mesh_of((4, 4))
        source = spec_of(mesh, [Replicate(), Replicate()])
        target = spec_of(mesh, [Partial("product"), Replicate()])
        expected = TORCHS(source, target)
        with shardwright.torch.redistribution():
            self.assertEqual(_redistribute._gen_transform_infos(source, target), expected)

    def test_terms_of_a_sum_that_stays_due_are_not_reduced(self):
        for mesh_shape in ((4, 4), (2, 2, 4)):
            mesh = mesh_of(mesh_shape)
            for pair in random_pairs(4, mesh_shape, 150, order_every=3):
                with shardwright.torch.redistribution():
                    plan = _redistribute._gen_transform_infos(*pair.specs(mesh))
                kept = {axis for axis, (a, b) in enumerate(zip(pair.source.axes, pair.target.axes))
                        if a == b == "P"}
                self.assertFalse(kept & {info.mesh_dim for info in plan}, pair)

    def test_costs_of_operators_are_those_of_the_plans_that_run(self):
        mesh = mesh_of((4, 4))
        source = spec_of(mesh, [Shard(0), Shard(0)], (4096, 4096))
        target = spec_of(mesh, [Replicate(), Shard(1)], (4096, 4096))
        theirs = redistribute_cost(source, target)
        with shardwright.torch.redistribution():
            plan = _redistribute._gen_transform_infos(source, target)
            self.assertAlmostEqual(redistribute_cost(source, target), cost_of(source, plan))
        self.assertEqual(redistribute_cost(source, target), theirs)


class Restoring(unittest.TestCase):
    def setUp(self):
        self.assertIs(_redistribute._gen_transform_infos, TORCHS)

    tearDown = setUp

    def test_nested_uses_restore_each_other(self):
        with shardwright.torch.redistribution():
            outer = _redistribute._gen_transform_infos
            with shardwright.torch.redistribution(devices_per_host=2):
                self.assertIsNot(_redistribute._gen_transform_infos, outer)
            self.assertIs(_redistribute._gen_transform_infos, outer)
            again = shardwright.torch.redistribution()
            with again, again:
                self.assertIs(_redistribute._gen_transform_infos, outer)
            self.assertIs(_redistribute._gen_transform_infos, outer)

    def test_an_exception_restores_torchs_planner(self):
        with self.assertRaises(KeyError), shardwright.torch.redistribution():
            raise KeyError("in the middle")

    def test_leaving_in_another_order_keeps_what_is_active(self):
        first, second = (shardwright.torch.redistribution(devices_per_host=n) for n in (1, 2))
        first.__enter__()
        planner = _redistribute._gen_transform_infos
        second.__enter__()
        first.__exit__(None, None, None)
        self.assertNotIn(_redistribute._gen_transform_infos, (planner, TORCHS))
        second.__exit__(None, None, None)

    def test_threads_enter_plan_and_leave_at_once(self):
        mesh = mesh_of((4, 4))
        pairs = random_pairs(2, (4, 4), 40)
        expected, failures = [], []
        with shardwright.torch.redistribution():
            expected = [_redistribute._gen_transform_infos(*pair.specs(mesh)) for pair in pairs]
        start = threading.Barrier(8)

        def work():
            start.wait()
            for pair, plan in zip(pairs, expected):
                with shardwright.torch.redistribution():
                    if _redistribute._gen_transform_infos(*pair.specs(mesh)) != plan:
                        failures.append(pair)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_host_has_a_device(self):
        with self.assertRaisesRegex(ValueError, "devices_per_host"):
            shardwright.torch.redistribution(devices_per_host=0)


if __name__ == "__main__":
    unittest.main()
