"""A step takes the memory that the plan says."""

import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from dtensor.groups import in_group
from shardwright.torch import parallelize

from .memory import peak_of_step

MESHES = ((4,), (2, 2))
SHARES = (1.0, 0.7, 0.5, 0.4)  # of the memory that the fastest plan takes
WIDTH, BATCH, LAYERS = 256, 512, 4
# The two are equal here, to the byte, if gloo frees in time.
LEAST, MOST = 0.9, 1.1


def counted():
    """(bytes counted, bytes planned) by mesh and share."""
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model, numbers = nn.Sequential(*layers), torch.randn(BATCH, WIDTH)
    found = {}
    for shape in MESHES:
        mesh = init_device_mesh("cpu", shape)
        options = {"placements": {"inputs": {"input": ["S0"] * len(shape)}}, "optimizer_states": 0}
        fastest = parallelize(model, mesh, (numbers,), **options).plan.peak_bytes
        for share in SHARES:
            parallel = parallelize(model, mesh, (numbers,), memory=int(fastest * share), **options)
            found[shape, share] = peak(parallel, mesh, numbers), parallel.plan.peak_bytes
    return found


def peak(parallel, mesh, numbers):
    local = torch.randn(BATCH // 4, WIDTH)
    placed = DTensor.from_local(local, mesh, parallel.autoparallel_placements()["input"],
                                run_check=False, shape=numbers.shape, stride=numbers.stride())

    def step():
        output = parallel(placed)
        output.backward(output.detach().clone())
        parallel.zero_grad()

    return peak_of_step(step, [*(tensor.to_local() for tensor in parallel.parameters()), local])


class MemoryOfAStep(unittest.TestCase):
    def test_counted_bytes_are_the_planned_ones(self):
        for answers in in_group(4, counted):
            self.assertEqual(len(answers), len(MESHES) * len(SHARES))
            for case, (found, planned) in answers.items():
                with self.subTest(case=case):
                    self.assertGreater(found, LEAST * planned)
                    self.assertLess(found, MOST * planned)


if __name__ == "__main__":
    unittest.main()
