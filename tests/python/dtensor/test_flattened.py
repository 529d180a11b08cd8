"""On meshes whose axes are flattened, DTensors that are cut unevenly keep all their elements."""

import itertools
import unittest

import torch

import shardwright.torch
from shardwright.torch.replacement import Merging

from .cases import mesh_of, random_pairs, reduced
from .groups import Sent, in_group
from .test_groups import redistributed

# Pairs by mesh.
PAIRS = {4: {(2, 2): 120}, 8: {(2, 4): 60, (2, 2, 2): 60}}


def flattened_mesh(shape):
    """Every two axes or more have a flattened mesh."""
    mesh = mesh_of(shape)
    names = mesh.mesh_dim_names
    for count in range(2, len(names) + 1):
        for axes in itertools.combinations(names, count):
            mesh[axes]._flatten("_".join(axes))
    return mesh


def run_pairs(pairs_of):
    """Per pair: right under our plan, and under torch's own with the same merging of collectives."""
    answers = []
    for shape, count in pairs_of.items():
        mesh = flattened_mesh(shape)
        for pair in random_pairs(23, shape, count, order_every=10 if len(shape) == 3 else 3):
            right = []
            for block in (shardwright.torch.redistribution, Merging):
                with block():
                    local, _ = redistributed(pair, mesh)
                right.append("P" in pair.target.axes
                             or torch.equal(local, reduced(pair, mesh.get_coordinate())))
            answers.append((pair, *right))
    return answers


def gathered(rows):
    """Collectives that gather so many rows cut by both axes, and whether all rows arrive, forward and
    backward."""
    mesh = flattened_mesh((2, 2))
    whole = torch.arange(rows * 3.0).view(rows, 3)
    shards = [torch.distributed.tensor.Shard(0)] * 2
    placed = torch.distributed.tensor.distribute_tensor(whole, mesh, shards).requires_grad_()
    with shardwright.torch.redistribution(), Sent() as sent:
        found = placed.full_tensor()
        found.square().sum().backward()
        gradient = placed.grad.full_tensor()
    return sent.collectives, torch.equal(found, whole), torch.equal(gradient, 2 * whole)


class Flattened(unittest.TestCase):
    def test_every_pair_gives_the_right_tensor(self):
        for processes, pairs_of in PAIRS.items():
            for answers in zip(*in_group(processes, run_pairs, pairs_of)):
                with self.subTest(pair=answers[0][0]):
                    self.assertTrue(all(ours for _, ours, _ in answers))
                    self.assertTrue(all(torchs for _, _, torchs in answers))

    def test_only_even_shards_are_gathered_by_one_collective(self):
        for rows, collectives in ((8, 1), (9, 2), (3, 2), (1, 2)):
            for answer in in_group(4, gathered, rows):
                with self.subTest(rows=rows):
                    # Once for the values, once for the gradient.
                    self.assertEqual(answer, (2 * collectives, True, True))


if __name__ == "__main__":
    unittest.main()
