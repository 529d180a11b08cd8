"""A step of models of the transformers package takes the memory that the plan says."""

import unittest
import warnings

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor

from dtensor.groups import in_group
from shardwright.torch import parallelize

from . import hugging_face
from .memory import peak_of_step

MESH = (2, 2)
# 0.97 to 1.03 on an idle machine: the plan counts neither the room that operators use inside nor
# copies of outputs that share memory, and some operators return views of what they read.
LEAST, MOST = 0.9, 1.1


def sharded_parameters(model):
    """Each over all devices, in the first dimension that they divide. Consumers gather them."""
    placements = {}
    for name, tensor in model.named_parameters():
        dim = next((dim for dim, size in enumerate(tensor.shape) if size and size % 4 == 0), None)
        if dim is not None:
            placements[name] = [f"S{dim}"] * len(MESH)
    return placements


def counted(name):
    """(bytes counted, bytes planned) of the fastest plan, and of that with sharded parameters."""
    warnings.simplefilter("ignore")
    model, arguments = hugging_face.make(name)
    mesh = init_device_mesh("cpu", MESH)
    inputs = {key: ["S0"] * len(MESH) for key in arguments}
    found = {}
    for kind, parameters in (("fastest", {}), ("sharded", sharded_parameters(model))):
        parallel = parallelize(model, mesh, arguments, optimizer_states=0,
                               placements={"inputs": inputs, "parameters": parameters})
        where = parallel.autoparallel_placements()
        placed = {key: distribute_tensor(tensor, mesh, where[key])
                  for key, tensor in arguments.items()}

        def step(parallel=parallel, placed=placed):
            parallel(**placed).loss.backward()
            parallel.zero_grad()

        held = [*parallel.parameters(), *parallel.buffers(), *placed.values()]
        found[kind] = (peak_of_step(step, [tensor.to_local() for tensor in held]),
                       parallel.plan.peak_bytes)
    return found


def counted_all():
    return {name: counted(name) for name in hugging_face.NAMES}


class MemoryOfTransformers(unittest.TestCase):
    def test_counted_bytes_are_the_planned_ones(self):
        for answers in in_group(4, counted_all):
            self.assertEqual(len(answers), len(hugging_face.NAMES))
            for name, by_kind in answers.items():
                for kind, (found, planned) in by_kind.items():
                    with self.subTest(name=name, kind=kind, found=found, planned=planned):
                        self.assertGreater(found, LEAST * planned)
                        self.assertLess(found, MOST * planned)


if __name__ == "__main__":
    unittest.main()
