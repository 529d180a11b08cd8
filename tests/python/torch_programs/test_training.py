"""Ten architectures train three steps under programs for FSDP2 and tensor parallelism."""

import unittest
import warnings

import torch
from dtensor.groups import in_group

from . import programs

# Mesh, roles, whether Megatron's parameters are divided, whether blocks are computed again.
FOUR = [((4,), ("shard",), False, False), ((4,), ("replicate",), False, True)]
TWO_BY_TWO = [((2, 2), ("shard", "tensor"), True, False), ((2, 2), ("shard", "tensor"), False, False),
              ((2, 2), ("replicate", "shard"), False, False)]


class Training(unittest.TestCase):
    def check(self, kinds, names=programs.NAMES):
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        cases = [programs.Case(name, *kind) for name in names for kind in kinds]
        wanted = {name: programs.alone(name) for name in {case.name for case in cases}}
        answers = in_group(4, programs.train_all, cases, wanted)
        for case in cases:
            self.assertNotIn("import shardwright", case.text)
            for rank, answer in enumerate(answers):
                sentences, held = answer[case.key]
                with self.subTest(case=case.key, rank=rank):
                    self.assertEqual(sentences, [])
                    parameters, gradients, states, activations = held
                    self.assertEqual(states, 2 * gradients)
                    if rank == 0:
                        self.assertEqual((parameters, gradients),
                                         (case.predicted.parameters, case.predicted.gradients))
                        self.assertLess(abs(case.predicted.activations / activations - 1), 0.15)
        return cases, answers

    def test_four_processes_along_one_axis(self):
        self.check(FOUR)

    def test_two_by_two_processes(self):
        cases, _ = self.check(TWO_BY_TWO)
        divided = {case.name for case in cases if case.recipe.styles}
        self.assertLessEqual({"llama", "qwen3", "bert", "t5", "vit", "mixtral", "gemma3", "whisper"}, divided)

    def test_memory_for_a_part_of_the_fastest_plan(self):
        kinds = [((4,), ("tensor",), False, False, 0.65), ((2, 2), ("shard", "tensor"), False, False, 0.65)]
        cases, _ = self.check(kinds, ("llama", "qwen3", "vit"))
        kinds = {style.kind for case in cases for style in case.recipe.styles.values()}
        self.assertLessEqual({"ColwiseParallel", "RowwiseParallel", "SequenceParallel", "PrepareModuleInput"}, kinds)


if __name__ == "__main__":
    unittest.main()
