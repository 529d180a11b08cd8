"""Random operators: replicas draw the same numbers, parts and calls draw different ones."""

import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize

SIZE = 4096


def dropped():
    """By placement of the input: what two calls give, whole, and the gradients of the first call."""
    found = {}
    for shape, words in (((4,), ["S0"]), ((2, 2), ["S0", "R"]), ((2, 2), ["R", "S1"]), ((4,), ["R"])):
        torch.manual_seed(torch.distributed.get_rank())  # ranks need not agree
        mesh = init_device_mesh("cpu", shape)
        model = nn.Sequential(nn.Dropout(0.25))
        ones = torch.ones(4, SIZE, requires_grad=True)
        parallel = parallelize(model, mesh, (ones,), outputs="full",
                               placements={"inputs": {"input": words}, "outputs": {"0": words}})
        first, second = parallel(ones), parallel(ones)
        first.sum().backward()
        state = torch.get_rng_state()
        third = parallel.eval()(ones)
        found[shape, tuple(words)] = {
            "first": first.detach(), "second": second.detach(), "gradient": ones.grad,
            "state is kept": torch.equal(state, torch.get_rng_state()),
            "evaluation drops nothing": torch.equal(third, ones)}
    return found


class Randomness(unittest.TestCase):
    def test_dropout(self):
        by_rank = in_group(4, dropped)
        for case, found in by_rank[0].items():
            with self.subTest(case=case):
                self.check(found, [answers[case] for answers in by_rank])

    def check(self, found, on_all_ranks):
        for other in on_all_ranks:
            for name in ("first", "second", "gradient"):
                self.assertTrue(torch.equal(other[name], found[name]), name)
            self.assertTrue(other["state is kept"])
            self.assertTrue(other["evaluation drops nothing"])
        self.assertTrue(torch.equal(found["first"], found["gradient"]))  # the same mask
        self.assertFalse(torch.equal(found["first"], found["second"]))
        kept = (found["first"] != 0).double()
        # Four deviations of a mean of 4 x 4096 draws: 4 x 0.43 / 128.
        self.assertLess(abs(float(kept.mean()) - 0.75), 0.014)
        for row in kept[1:]:  # rows of different ranks differ in about 3/8 of their places
            self.assertGreater(float((row != kept[0]).double().mean()), 0.3)
        left, right = kept.chunk(2, 1)
        self.assertGreater(float((left != right).double().mean()), 0.3)


if __name__ == "__main__":
    unittest.main()
