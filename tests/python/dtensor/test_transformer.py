"""A transformer trains under the drop-in as it does without it, with no more traffic."""

import contextlib
import unittest
import unittest.mock

import torch
from torch.distributed.tensor import _redistribute

import shardwright.torch

from .cases import mesh_of
from .groups import Sent, in_group
from .transformer import PLACED, Transformer, batch, loss_of, placed_transformer


def step(mesh):
    """The loss, all gradients as they lie on this rank and as a whole, and what was sent."""
    model = placed_transformer(mesh)
    with Sent() as sent:
        loss = loss_of(model, *batch(mesh))
        loss.backward()
    tensors = {"loss": loss.detach().full_tensor()}
    for name, parameter in model.named_parameters():
        tensors[f"{name}, local"] = parameter.grad.to_local()
        tensors[f"{name}, whole"] = parameter.grad.full_tensor()
    return tensors, (sent.bytes, sent.collectives)


def steps(drop_in):
    """A step on every mesh, and the plans by what was asked. Nothing was planned before."""
    answers = {}
    for shape in PLACED:
        mesh, plans = mesh_of(shape), {}
        with shardwright.torch.redistribution() if drop_in else contextlib.nullcontext():
            planner = _redistribute._gen_transform_infos

            def planned(source, target, *options):
                infos = planner(source, target, *options)
                if all(a != b for a, b in zip(source.placements, target.placements)):
                    plans[f"{source} to {target}"] = str(infos)
                return infos

            with unittest.mock.patch.object(_redistribute, "_gen_transform_infos", planned):
                answers[shape] = (*step(mesh), plans)
    return answers


def unsharded():
    torch.manual_seed(3)
    model = Transformer()
    loss = loss_of(model, *batch())
    loss.backward()
    return {"loss": loss.detach(), **{f"{name}, whole": parameter.grad
                                      for name, parameter in model.named_parameters()}}


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.theirs, cls.ours = (in_group(4, steps, drop_in) for drop_in in (False, True))

    def by_rank(self, shape):
        return [(theirs[shape], ours[shape]) for theirs, ours in zip(self.theirs, self.ours)]

    def test_loss_and_gradients_are_those_of_torchs_plans_to_the_bit(self):
        """Whatever the plan, a sum has the same terms in the same order: those of one axis with
        torch's collectives on a mesh of one axis, two terms at a time on a mesh of 2x2.
        """
        for shape in PLACED:
            for (theirs, _, _), (ours, _, _) in self.by_rank(shape):
                self.assertEqual(list(theirs), list(ours))
                for name, tensor in theirs.items():
                    with self.subTest(shape=shape, tensor=name):
                        self.assertTrue(torch.equal(tensor, ours[name]))

    def test_loss_and_gradients_are_those_of_the_model_on_one_device(self):
        right = unsharded()
        for shape in PLACED:
            for _, (ours, _, _) in self.by_rank(shape):
                for name, tensor in right.items():
                    with self.subTest(shape=shape, tensor=name):
                        # Float32 sums of other order; the gradients are below 1.
                        torch.testing.assert_close(ours[name], tensor, rtol=1e-5, atol=1e-6)

    def test_no_rank_sends_more_bytes_or_needs_more_collectives(self):
        for shape in PLACED:
            for (_, theirs, _), (_, ours, _) in self.by_rank(shape):
                self.assertLessEqual(ours[0], theirs[0])
                self.assertLessEqual(ours[1], theirs[1])
        for (_, theirs, _), (_, ours, _) in self.by_rank((2, 2)):
            self.assertLess(ours[0], theirs[0])

    def test_redistributions_over_two_axes_are_planned_in_other_ways(self):
        for (_, _, theirs), (_, _, ours) in self.by_rank((2, 2)):
            self.assertEqual(set(theirs), set(ours))
            differ = sum(theirs[asked] != plan for asked, plan in ours.items())
            self.assertGreater(differ, 3)


if __name__ == "__main__":
    unittest.main()
