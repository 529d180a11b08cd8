"""Mesh axes of one device change nothing: every redistribution gives what torch alone gives."""

import itertools
import random
import unittest

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _MaskPartial, _StridedShard

import shardwright.torch

from .cases import mesh_of
from .groups import in_group

PLACEMENTS = (Replicate(), Shard(0), Shard(1), Partial(), Partial("max"), Partial("avg"))
# On an axis of one device, these are nothing special either.
STRANGE = (Partial("product"), _StridedShard(0, split_factor=2), _MaskPartial(offset_shape=torch.Size((5, 6))))
MOST = 700  # pairs of a mesh


def _placements(shape):
    """Those that torch allows: with terms of one kind only."""
    for placements in itertools.product(*(PLACEMENTS + (STRANGE if size == 1 else ()) for size in shape)):
        if len({str(placement) for placement in placements if placement.is_partial()}) <= 1:
            yield placements


def pairs(shape):
    """Pairs of placements, all or a sample."""
    found = list(itertools.product(_placements(shape), repeat=2))
    return found if len(found) <= MOST else random.Random(5).sample(found, MOST)


def local_of(shape, placements, mesh):
    """Numbers that differ from rank to rank where these hold terms or other parts."""
    sizes = [5, 6]
    for placement, size, place in zip(placements, shape, mesh.get_coordinate()):
        dim = getattr(placement, "dim", None)
        if dim is not None and size > 1:
            piece = -(-sizes[dim] // size)
            sizes[dim] = max(0, min(piece, sizes[dim] - piece * place))
    numbers = torch.arange(30.0).view(5, 6)[:sizes[0], :sizes[1]]
    return (numbers * (1 + torch.distributed.get_rank()) % 7).contiguous()


def redistributed(mesh, shape, source, target):
    """The local tensor and the gradient after a redistribution there; the kind of error if it is refused."""
    try:
        local = local_of(shape, source, mesh).requires_grad_()
        placed = DTensor.from_local(local, mesh, source, run_check=False, shape=torch.Size((5, 6)), stride=(6, 1))
        moved = placed.redistribute(mesh, target)
        moved.to_local().sum().backward()
        return moved.to_local().detach().clone(), local.grad, moved.placements
    except Exception as error:  # noqa: BLE001 - what torch refuses, it refuses with ours, too
        return type(error)


def same(ours, theirs):
    if isinstance(theirs, type) or isinstance(ours, type):
        return ours is theirs
    return (ours[0].shape == theirs[0].shape and torch.equal(ours[0], theirs[0])
            and torch.equal(ours[1], theirs[1]) and ours[2] == theirs[2])


def run_pairs(shapes):
    """Per mesh: how many pairs run, and those that give something else."""
    answers = {}
    for shape in shapes:
        mesh = mesh_of(shape)
        ran, wrong = 0, []
        for source, target in pairs(shape):
            theirs = redistributed(mesh, shape, source, target)
            with shardwright.torch.redistribution():
                ours = redistributed(mesh, shape, source, target)
            ran += not isinstance(ours, type)
            if not same(ours, theirs):
                wrong.append(f"{source} to {target}: {ours} instead of {theirs}")
        answers[shape] = ran, wrong
    return answers


class AxesOfOne(unittest.TestCase):
    def test_every_pair_gives_torchs_tensor_and_gradient(self):
        for processes, shapes in ((1, ((1,), (1, 1))), (2, ((2, 1), (1, 2), (1, 2, 1)))):
            for answers in in_group(processes, run_pairs, shapes):
                for shape, (ran, wrong) in answers.items():
                    with self.subTest(mesh=shape):
                        self.assertEqual(wrong, [])
                        self.assertGreater(ran, min(MOST, len(pairs(shape))) // 5)


if __name__ == "__main__":
    unittest.main()
