"""Blocks that are computed again in the backward: the same training, less memory, and how many."""

import itertools
import math
import random
import types
import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright import errors
from shardwright.torch import parallelize, trace
from shardwright.torch.applying.recomputing import blocks_to_recompute, fastest_recomputation

from .models import Transformer, make
from .test_planned import TOLERANCE, sharded_batch
from .training import alone, differences, step

MESHES = ((4,), (2, 2))


class Dropping(nn.Module):
    """The gradient of each weight tells what was dropped."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Sigmoid(), nn.Dropout(0.5)) for _ in range(2))

    def forward(self, x):
        kept = []
        for block in self.blocks:
            kept.append(block(x))
            x = x + kept[-1].square()
        return x, *kept


def trained():
    found = {}
    for (name, batch), shape in itertools.product((("transformer", 8), ("transformer", 5)), MESHES):
        model, args = make(name, batch)
        mesh = init_device_mesh("cpu", shape)
        options = {"outputs": "full", "placements": sharded_batch(("ids", "targets"), shape)}
        wanted = alone(model, args)
        for recompute in (True, ["blocks.1"], ["blocks.0.mlp"]):
            parallel = parallelize(model, mesh, args, recompute=recompute, **options)
            found[name, batch, shape, str(recompute)] = differences(
                step(parallel, args), wanted, TOLERANCE), parallel.recomputed
    return found


def dropped():
    """Whether the gradient is the one of what the forward kept."""
    x = torch.randn(8, 6, dtype=torch.float64, requires_grad=True)
    torch.distributed.broadcast(x.data, 0)
    parallel = parallelize(Dropping(), init_device_mesh("cpu", (2, 2)), (x,), outputs="full", recompute=True,
                           placements={"inputs": {"x": ["S0", "S1"]}})
    result, *kept = parallel(x)
    parallel(x)  # draws other numbers in between
    result.sum().backward()
    value, wanted = x.detach(), torch.ones_like(x)
    for numbers in kept:
        scale = 2 * (numbers.detach() != 0)
        sigmoid = value.sigmoid()
        wanted = wanted * (1 + 2 * sigmoid * scale * scale * sigmoid * (1 - sigmoid))
        value = value + numbers.detach().square()
    return float((x.grad - wanted).abs().max())


def chosen():
    """What "auto" recomputes, with the plan's time and memory, by limit of memory."""
    model, args = make("transformer", 8)
    mesh = init_device_mesh("cpu", (4,))
    placements = sharded_batch(("ids", "targets"), (4,))
    everything = parallelize(model, mesh, args, placements=placements, recompute=True).plan.peak_bytes
    found = {}
    for memory in (None, "1GiB", everything):
        parallel = parallelize(model, mesh, args, placements=placements, recompute="auto", memory=memory)
        found[memory] = parallel.recomputed, parallel.plan.peak_bytes, differences(
            step(parallel, args), alone(model, args), TOLERANCE)
    return found


class Recomputation(unittest.TestCase):
    def test_training_is_the_same(self):
        for found in in_group(4, trained):
            for case, (sentences, blocks) in found.items():
                with self.subTest(case=case):
                    self.assertEqual(sentences, [])
                    self.assertTrue(blocks)

    def test_the_same_numbers_are_dropped(self):
        for difference in in_group(4, dropped):
            self.assertLess(difference, TOLERANCE)

    def test_auto_takes_what_memory_needs(self):
        for found in in_group(4, chosen):
            for memory in (None, "1GiB"):
                self.assertEqual(found[memory][0], ())
            for memory, (_, peak, sentences) in found.items():
                self.assertEqual(sentences, [])
                if isinstance(memory, int):
                    self.assertLessEqual(peak, memory)

    def test_wrong_requests(self):
        model = Transformer()
        for recompute in ("all", ["blocks.7"]):
            with self.assertRaisesRegex(errors.InvalidInputError, "recompute"):
                blocks_to_recompute(model, recompute)
        with self.assertRaisesRegex(errors.InvalidInputError, "device_mesh: must be torch's DeviceMesh"):
            parallelize(model, (2, 2), recompute=True)
        self.assertEqual(blocks_to_recompute(model, True), ("blocks.0", "blocks.1"))
        self.assertEqual(blocks_to_recompute(nn.Linear(2, 2), "auto"), ())


class Graphs(unittest.TestCase):
    def test_what_is_kept(self):
        """Between forward and backward, a block that is computed again leaves what enters it alone."""
        model = Transformer()
        ids = torch.zeros(8, 6, dtype=torch.int64)
        traced = trace(model, (ids, ids))
        again = traced.recomputed(["blocks.0", "blocks.1"])
        self.assertLess(kept_elements(again), 0.5 * kept_elements(traced))
        self.assertEqual([each.target for each in again.joint.outputs],
                         [each.target for each in traced.joint.outputs])
        forward = [row["op"] for row in traced.document["nodes"] if row.get("phase") == "forward"]
        self.assertEqual(sorted(forward), sorted(
            row["op"] for row in again.document["nodes"] if row.get("phase") == "forward"))


def kept_elements(traced):
    """Of the forward's values that the backward reads, without placeholders."""
    nodes = traced.document["nodes"]
    read = {(producer, output) for row in nodes if row.get("phase") == "backward"
            for producer, output in row["inputs"]}
    return sum(math.prod(nodes[producer]["outputs"][output]["shape"]) for producer, output in read
               if nodes[producer].get("phase") == "forward")


class _Plan:
    """Stands for a traced model: its plan's time depends on the number of blocks alone."""

    def __init__(self, count):
        self.count = count

    def recomputed(self, blocks):
        return _Plan(len(blocks))


def search(blocks, times, asked, unlimited=0):
    """How many blocks `fastest_recomputation` takes. `asked` gets the numbers of which it plans."""
    def plan_of(traced):
        asked.append(traced.count)
        if times[traced.count] == math.inf:
            raise errors.InfeasibleError(f"does not fit with {traced.count}")
        return types.SimpleNamespace(objective_us=times[traced.count], count=traced.count)

    chosen_blocks, plan = fastest_recomputation(_Plan(0), blocks, plan_of, lambda: unlimited)
    assert len(chosen_blocks) == plan.count
    return plan.count


class Search(unittest.TestCase):
    def test_finds_the_least_of_times_that_fall_and_rise(self):
        generator = random.Random(7)
        for _ in range(300):
            size = generator.randrange(1, 40)
            blocks = [f"layers.{number}" for number in range(size)]
            first, least = generator.randrange(size + 1), generator.randrange(size + 1)
            times = [math.inf if count < first else 100 + abs(count - max(first, least))
                     for count in range(size + 1)]
            asked = []
            found = search(blocks, times, asked)
            self.assertEqual(found, min(range(size + 1), key=times.__getitem__))
            self.assertLessEqual(len(asked), 3 + 2 * math.log2(size + 1))

    def test_nothing_fits(self):
        with self.assertRaisesRegex(errors.InfeasibleError, "with 4"):
            search(list("abcd"), [math.inf] * 5, [])

    def test_nothing_is_recomputed_where_memory_does_not_matter(self):
        asked = []
        self.assertEqual(search(list("abcd"), [5, 1, 1, 1, 1], asked, unlimited=5), 0)
        self.assertEqual(asked, [0])
