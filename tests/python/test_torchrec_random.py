"""Random problems as TorchRec's objects: the drop-in planner makes TorchRec's options and TorchRec's plans."""

import collections
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "torchrec_release"))

from problems import random_problem
from recorder import planner_of
from recorder.model import Model
from recorder.sharders import sharders
from test_torchrec_costs import ATTRIBUTES
from test_torchrec_plans import WORK, described

from shardwright.torchrec import EmbeddingShardingPlanner, enumerate_candidates
from shardwright.torchrec.candidates import EstimatedOptions

COUNT = 60


def attempt(work):
    """Returns the answer, or the type of the error, which is TorchRec's for a PlannerError."""
    try:
        return work()
    except Exception as error:
        return getattr(error, "error_type", type(error))


class Random(unittest.TestCase):
    def compare_options(self, problem, module, own):
        """Returns true if the library made the options."""
        theirs = attempt(lambda: planner_of(problem)._enumerator.enumerate(module, own))
        ours = attempt(lambda: enumerate_candidates(
            planner_of(problem)._enumerator, module, own))
        if not isinstance(theirs, list):
            self.assertEqual(ours, theirs)
            return False
        if not isinstance(ours, EstimatedOptions):
            return False
        for option, their in zip(ours.options(), theirs, strict=True):
            for attribute in ATTRIBUTES:
                self.assertEqual(getattr(option, attribute), getattr(their, attribute),
                                 f"{their.fqn} {their.sharding_type} {attribute}")
        return True

    def compare_plans(self, problem, module, own):
        """Returns who searched."""
        peer = planner_of(problem)
        theirs = attempt(lambda: peer.plan(module, own))
        if theirs is IndexError:  # it looks for the first host of a machine that has none
            return "nobody"
        planner = planner_of(problem, EmbeddingShardingPlanner, mode="compat")
        ours = attempt(lambda: planner.plan(module, own))
        if not hasattr(theirs, "plan"):
            self.assertEqual(ours, theirs)
            return "nobody"
        self.assertEqual(described(ours), described(theirs))
        best = planner_of(problem, EmbeddingShardingPlanner, work_limit=WORK)
        best.plan(module, own)
        if theirs.plan:
            self.assertLessEqual(best._perf_model.rate(best._best_plan),
                                 peer._perf_model.rate(peer._best_plan))
        return planner.searched_by

    def check(self, problems):
        """Returns how many times the library made the options, and who searched how often."""
        made, searched = 0, collections.Counter()
        for problem in problems:
            with self.subTest(problem["name"]):
                module, own = Model(problem), sharders(problem)
                made += self.compare_options(problem, module, own)
                searched[self.compare_plans(problem, module, own)] += 1
        return made, searched

    def test_options_and_plans(self):
        made, searched = self.check(map(random_problem, range(COUNT)))
        # TorchRec refuses the others.
        self.assertGreater(made, COUNT * 0.75)
        self.assertGreater(searched["shardwright"], COUNT * 0.5)

    def test_hardware_configurations(self):
        problems = [problem for problem in (random_problem(seed, {"estimator"})
                                            for seed in range(COUNT // 2))
                    if "config" in problem.get("perf_estimator", {})]
        made, _ = self.check(problems)
        self.assertGreater(len(problems), COUNT * 0.2)
        self.assertGreater(made, len(problems) * 0.6)

    def test_hosts_that_leave_ranks_over(self):
        made, searched = self.check(random_problem(seed, {"uneven-hosts"}) for seed in range(20))
        self.assertGreater(made, 15)
        self.assertGreater(searched["shardwright"], 10)


if __name__ == "__main__":
    unittest.main()
