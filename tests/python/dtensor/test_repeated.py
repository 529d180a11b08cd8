"""Answers of plan_redistribution that are kept."""

import functools
import unittest

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

import shardwright.torch

LINK = shardwright.torch.Link(1, 200)


class Repeated(unittest.TestCase):
    def test_an_answer_is_kept_for_its_own_question_only(self):
        plan = functools.partial(shardwright.torch.plan_redistribution, links=[LINK, LINK])
        question = ((2, 4), (64, 48), 4, ("P(sum)", "S(0)"), ("S(1)", "R"))
        first = plan(*question)
        self.assertIs(plan([2, 4], [64, 48], torch.float32, ["P(sum)", "S(0)"], ["S(1)", "R"]), first)
        for place, other in enumerate(((4, 2), (48, 64), 2, ("P(max)", "S(0)"), ("R", "R"))):
            self.assertIsNot(plan(*question[:place], other, *question[place + 1:]), first)
        for option in ({"links": [LINK, shardwright.torch.Link(9, 9)]}, {"copy_gb_per_s": 1},
                       {"groups": True}, {"memory_limit": 1 << 30}, {"collective_limit": 2},
                       {"links": None, "devices_per_host": 4}):
            self.assertIsNot(plan(*question, **option), first)
        self.assertIs(plan(*question), first)

    def test_torchs_placements_are_told_apart(self):
        def plan(*source):
            return shardwright.torch.plan_redistribution(
                (4, 4), (32, 8), 4, source, (Replicate(), Replicate()))

        first = plan(Shard(0), Shard(0))
        self.assertIs(plan(Shard(0), Shard(0)), first)
        self.assertNotEqual(plan(_StridedShard(0, split_factor=4), Shard(0)), first)
        self.assertNotEqual(plan(Partial(), Shard(0)), plan(Partial("max"), Shard(0)))

    def test_split_factors_of_no_order_name_the_words(self):
        with self.assertRaisesRegex(shardwright.InvalidInputError, r'^/source: .*"S\(0\)\[1\]" for the next one'):
            shardwright.torch.plan_redistribution(
                (4, 4), (32, 8), 4, (_StridedShard(0, split_factor=3), Shard(0)), "R R")

    def test_an_error_is_raised_every_time(self):
        for _ in range(2):
            with self.assertRaises(shardwright.InfeasibleError):
                shardwright.torch.plan_redistribution((2,), (8,), 4, "S(0)", "R",
                                                      collective_limit=0)


if __name__ == "__main__":
    unittest.main()
