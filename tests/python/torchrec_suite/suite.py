"""Runs TorchRec's own planner tests in this process, and writes the outcome of each.

    suite.py --planner torchrec|compat|best --answer outcomes.json
"""

import argparse
import importlib
import json
import sys
import unittest
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from torchrec.distributed import planner
from torchrec.distributed.planner import planners


class Outcomes(unittest.TestResult):
    """Why each test failed; an empty text if it passed or was skipped."""

    def __init__(self):
        super().__init__()
        self.reasons = {}

    def startTest(self, test):
        super().startTest(test)
        self.reasons[test.id()] = ""

    def fail(self, test, error):
        words = " ".join(f"{error[0].__name__}: {error[1]}".split())
        self.reasons.setdefault(test.id(), "")
        self.reasons[test.id()] += words[:400]

    addFailure = addError = fail

    def addSubTest(self, test, subtest, error):
        if error:
            self.fail(test, error)


def replace_planner(mode):
    """Puts the drop-in where TorchRec's modules and tests look for their planner."""
    from shardwright.torchrec import EmbeddingShardingPlanner
    EmbeddingShardingPlanner.__init__.__kwdefaults__["mode"] = mode
    planner.EmbeddingShardingPlanner = planners.EmbeddingShardingPlanner = EmbeddingShardingPlanner


def suite_of(outcomes):
    suite = unittest.TestSuite()
    for path in sorted(Path(planner.__path__[0], "tests").glob("test_*.py")):
        name = f"torchrec.distributed.planner.tests.{path.stem}"
        try:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name)))
        except ModuleNotFoundError as error:
            if not error.name.startswith("torchrec"):
                sys.exit(f"{path.name} needs {error.name}: install it for {sys.executable}")
            outcomes.reasons[name] = str(error)
        except ImportError as error:  # a name that this release lacks
            outcomes.reasons[name] = str(error)
    return suite


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planner", choices=("torchrec", "compat", "best"), required=True)
    parser.add_argument("--answer", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.planner != "torchrec":
        replace_planner(arguments.planner)
    outcomes = Outcomes()
    suite_of(outcomes).run(outcomes)
    arguments.answer.write_text(json.dumps(outcomes.reasons), encoding="utf-8")


if __name__ == "__main__":
    main()
