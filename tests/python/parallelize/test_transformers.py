"""Models of the transformers package: a step under random and best plans, and the memory that it takes."""

import unittest
import warnings

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor

from dtensor.groups import in_group
from shardwright.torch import parallelize, trace

from . import hugging_face
from .memory import peak_of_step
from .random_plans import random_plan
from .training import alone, differences, step

MESH = (2, 2)
# These models compute norms and rotations in 32 bits whatever their weights have, so that sums in
# another order differ by about 1e-7 of their terms, and gradients by some times that.
TOLERANCE = 5e-5
# 0.97 to 1.03 on an idle machine: the plan counts neither the room that operators use inside nor
# copies of outputs that share memory, and some operators return views of what they read.
LEAST, MOST = 0.9, 1.1
TRACED = {}  # by name; processes of a group inherit them


def sharded_parameters(model):
    """Each over all devices, in the first dimension that they divide. Consumers gather them."""
    placements = {}
    for name, tensor in model.named_parameters():
        dim = next((dim for dim, size in enumerate(tensor.shape) if size and size % 4 == 0), None)
        if dim is not None:
            placements[name] = [f"S{dim}"] * len(MESH)
    return placements


def peak(parallel, mesh, arguments):
    """The bytes that this rank holds at most in a step."""
    where = parallel.autoparallel_placements()
    placed = {key: distribute_tensor(tensor, mesh, where[key]) for key, tensor in arguments.items()}

    def one_step():
        parallel(**placed).loss.backward()
        parallel.zero_grad()

    held = [*parallel.parameters(), *parallel.buffers(), *placed.values()]
    return peak_of_step(one_step, [tensor.to_local() for tensor in held])


def train(name):
    """By kind of plan: (bytes counted, bytes planned), and what differs from a step of one process."""
    warnings.simplefilter("ignore")
    model, arguments = hugging_face.make(name)
    want, kind_of_result = alone(model, (), arguments), type(model(**arguments)).__name__
    mesh = init_device_mesh("cpu", MESH)
    inputs = {key: ["S0"] * len(MESH) for key in arguments}
    plans = {"random": {"plan": random_plan(TRACED[name], MESH, 0), "outputs": "full"},
             "fastest": {"placements": {"inputs": inputs}},
             "sharded": {"placements": {"inputs": inputs, "parameters": sharded_parameters(model)}}}
    bytes_of, differing = {}, {}
    for kind, options in plans.items():
        parallel = parallelize(model, mesh, arguments, traced=TRACED[name], optimizer_states=0, **options)
        if kind != "random":  # which is planned without a memory
            bytes_of[kind] = peak(parallel, mesh, arguments), parallel.plan.peak_bytes
        differing[kind] = differences(step(parallel, (), arguments), want, TOLERANCE)
        found = type(parallel(**arguments)).__name__
        if found != kind_of_result:
            differing[kind].append(f"the result is a {found}")
    return bytes_of, differing


def train_all():
    return {name: train(name) for name in hugging_face.NAMES}


class Transformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        for name in hugging_face.NAMES:
            TRACED[name] = trace(*hugging_face.make(name))
        cls.ranks = in_group(4, train_all)

    def test_a_step_of_training_is_the_same_under_random_and_best_plans(self):
        for answers in self.ranks:
            for name in hugging_face.NAMES:
                for kind, sentences in answers[name][1].items():
                    with self.subTest(name=name, kind=kind):
                        self.assertEqual(sentences, [])

    def test_counted_bytes_are_the_planned_ones(self):
        for answers in self.ranks:
            for name in hugging_face.NAMES:
                self.assertEqual(set(answers[name][0]), {"fastest", "sharded"})
                for kind, (found, planned) in answers[name][0].items():
                    with self.subTest(name=name, kind=kind, found=found, planned=planned):
                        self.assertGreater(found, LEAST * planned)
                        self.assertLess(found, MOST * planned)


if __name__ == "__main__":
    unittest.main()
