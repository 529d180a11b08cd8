"""Ten architectures train three steps under programs for FSDP2 and tensor parallelism."""

import unittest
import warnings

import torch
from dtensor.groups import in_group

from shardwright import errors

from . import programs

# Mesh, roles, whether Megatron's parameters are divided, whether blocks are computed again.
FOUR = [((4,), ("shard",), False, False), ((4,), ("replicate",), False, True)]
TWO_BY_TWO = [((2, 2), ("shard", "tensor"), True, False), ((2, 2), ("shard", "tensor"), False, False),
              ((2, 2), ("replicate", "shard"), False, False)]
# The planner has no strategy for these on a data axis: rows of tokens that are sorted by expert, and masks
# that are indexed by the number of a sample, depend on the whole batch in the graph. Nor has it one for the
# bias of a module that divides rows (vit), which adds it after its partial sums.
UNPLANNED = ("mixtral", "bert", "whisper", "vit")


class Training(unittest.TestCase):
    def check(self, kinds):
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        cases = []
        for name in programs.NAMES:
            for kind in kinds:
                try:
                    cases.append(programs.Case(name, *kind))
                except errors.ShardwrightError as error:
                    with self.subTest(name=name, kind=kind):
                        self.assertIn(name, UNPLANNED, str(error))
        wanted = {name: programs.alone(name) for name in {case.name for case in cases}}
        answers = in_group(4, programs.train_all, cases, wanted)
        self.assertGreaterEqual(len(cases), len(kinds) * (len(programs.NAMES) - len(UNPLANNED)))
        for case in cases:
            self.assertNotIn("import shardwright", case.text)
            for rank, answer in enumerate(answers):
                sentences, held = answer[case.key]
                with self.subTest(case=case.key, rank=rank):
                    self.assertEqual(sentences, [])
                    parameters, gradients, states, _ = held
                    self.assertEqual(states, 2 * gradients)
                    if rank == 0:
                        self.assertEqual(parameters, case.planned_bytes)
                        self.assertLessEqual(gradients, parameters)
        return cases, answers

    def test_four_processes_along_one_axis(self):
        self.check(FOUR)

    def test_two_by_two_processes(self):
        cases, _ = self.check(TWO_BY_TWO)
        divided = {case.name for case in cases if case.recipe.styles}
        self.assertLessEqual({"llama", "qwen3", "t5", "gemma3"}, divided)


if __name__ == "__main__":
    unittest.main()
