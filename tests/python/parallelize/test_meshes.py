"""Meshes with axes of one device, and meshes whose axes are flattened, train models as one process does."""

import unittest
import warnings

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

import shardwright.torch
from dtensor.groups import in_group
from shardwright.torch import parallelize, trace
from shardwright.torch.applying.layouts import word_of_placement

from .models import D, make
from .random_plans import random_plan
from .training import alone, differences, step

TOLERANCE = 1e-9  # as in test_random_plans.py
AXES_OF_ONE = {1: ((1,), (1, 1)), 2: ((2, 1), (1, 2, 1))}
FLATTENED = ((2, 2),)
SEEDS = 2
F = nn.functional


class Extremes(nn.Module):
    """What has terms of other kinds than sums: logarithms of sums, largest and smallest numbers, means."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 15)

    def forward(self, x, targets):
        y = self.layer(x)
        return (F.cross_entropy(y, targets), y.logsumexp(1), y.amax(1), y.amin(0), y.max(), y.mean(), y.log_softmax(0))


def models(batch):
    """(name, model, inputs)"""
    torch.manual_seed(0)
    yield "extremes", Extremes().to(D), (torch.randn(batch, 8, dtype=D), torch.randint(0, 15, (batch,)))
    for name in ("mlp", "transformer", "tables", "odds", "batch norm", "bags"):
        yield name, *make(name, batch)


def train(mesh, **options):
    """What differs from a step in one process, per model and plan: the best one, and random ones.

    DTensors are joined by the block's plans.
    """
    found = {}
    for name, model, args in models(5):
        want, traced = alone(model, args), trace(model, args)
        plans = {"best": None, **{seed: random_plan(traced, mesh.shape, seed) for seed in range(SEEDS)}}
        for number, plan in plans.items():
            parallel = parallelize(model, mesh, args, plan=plan, traced=traced, outputs="full", **options)
            with shardwright.torch.redistribution():
                found[name, tuple(mesh.shape), number, *options.items()] = differences(
                    step(parallel, args), want, TOLERANCE)
    return found


def train_on_axes_of_one(shapes):
    found = {}
    for shape in shapes:
        found |= train(init_device_mesh("cpu", shape))
    return found


def train_on_flattened_meshes():
    found = {}
    for shape in FLATTENED:
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("outer", "inner"))
        mesh["outer", "inner"]._flatten("both")
        for redistribution in (True, False):
            found |= train(mesh, redistribution=redistribution)
    return found


def warned_of():
    """What is warned of, by even or uneven vocabulary and whether the mesh is flattened."""
    found = {}
    for flat in (False, True):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("outer", "inner"))
        if flat:
            mesh["outer", "inner"]._flatten("both")
        for words in (8, 9):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                parallelize(nn.Embedding(words, 4), mesh, (torch.zeros(4, 2, dtype=torch.int64),),
                            placements={"parameters": {"weight": ["S0", "S0"]}})
            found[flat, words] = [str(each.message) for each in caught if "flattened" in str(each.message)]
    return found


def dtensors_in():
    """What differs where inputs are DTensors whose placement on an axis of one device is any."""
    mesh = init_device_mesh("cpu", (2, 1))
    model, (x,) = make("mlp", 5)
    want = model(x).detach()
    parallel = parallelize(model, mesh, (x,), outputs="full")
    found = {}
    for placement in (Replicate(), Shard(0), Shard(1), Partial(), Partial("max"), Partial("product")):
        placed = DTensor.from_local(x, mesh, [Replicate(), placement], run_check=False).requires_grad_()
        result = parallel(placed)
        result.sum().backward()
        found[str(placement)] = (differences({"output": result.detach()}, {"output": want}, TOLERANCE),
                                 placed.grad.to_local().shape == x.shape)
    return found


class Meshes(unittest.TestCase):
    def check(self, by_rank, count):
        for answers in by_rank:
            self.assertEqual(len(answers), count)
            for case, sentences in answers.items():
                with self.subTest(case=case):
                    self.assertEqual(sentences, [])

    def test_axes_of_one_device_change_nothing(self):
        for processes, shapes in AXES_OF_ONE.items():
            self.check(in_group(processes, train_on_axes_of_one, shapes), len(shapes) * 7 * (1 + SEEDS))

    def test_flattened_axes_change_nothing(self):
        self.check(in_group(4, train_on_flattened_meshes), len(FLATTENED) * 2 * 7 * (1 + SEEDS))

    def test_shards_that_torch_loses_are_warned_of(self):
        for answer in in_group(4, warned_of):
            self.assertRegex(answer.pop((True, 9))[0], r"^weight: .* inside shardwright.torch.redistribution\(\)")
            self.assertEqual(list(answer.values()), [[], [], []])

    def test_strided_shards_are_refused_with_the_remedy(self):
        with self.assertRaisesRegex(shardwright.UnsupportedError,
                                    r'"S\(1\)\[1\]".*redistribute the tensor to Shard\(1\)'):
            word_of_placement(_StridedShard(1, split_factor=2))

    def test_inputs_may_be_placed_anyhow_on_an_axis_of_one_device(self):
        for answers in in_group(2, dtensors_in):
            for placement, answer in answers.items():
                with self.subTest(placement):
                    self.assertEqual(answer, ([], True))


if __name__ == "__main__":
    unittest.main()
