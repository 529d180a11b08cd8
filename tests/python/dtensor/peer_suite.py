"""Runs PyTorch's own tests of redistributions, once with torch's planner and once with the drop-in.

    python peer_suite.py PATH [PATTERN ...]    # test_redistribute.py, or the folder of a checkout of PyTorch

The patterns are those of unittest's -k; tests of shard orders take many minutes.

A test that differs must be in KNOWN, which says why, and a test there must differ. Nothing is fetched; PyTorch's
test helpers need the package expecttest. Processes of the tests are forked, and so have the drop-in, too.
"""

import contextlib
import fnmatch
import importlib
import os
import subprocess
import sys
import unittest
from pathlib import Path

import torch
from torch.distributed.tensor import _redistribute, _utils

import shardwright.torch

PLACE = "test/distributed/tensor/test_redistribute.py"
ACTIVE = "SHARDWRIGHT_PEER_SUITE_DROP_IN"
# Patterns of tests whose outcome the drop-in changes, and the reason.
KNOWN = {
    "*.test_merging_reductions":
        "counts three collectives from (P, S, P) to R; ours joins both sums, before it gathers, and takes two",
    "*.test_force_min_cost_redistribution_plan":
        "spells the steps of torch's graph planner; ours takes others that cost no more",
    "*.test_redistribute_partial_to_different_partial_not_supported":
        "wants an error, since torch's planner has no steps from sums to averages; ours reduces and places the result",
}


class Outcomes(unittest.TestResult):
    """Prints the outcome of every test with its name, and what it said."""

    def _note(self, test, outcome):
        print(f"{outcome:8}{test.id()}", flush=True)

    def addSuccess(self, test):
        self._note(test, "ok")

    def addSkip(self, test, reason):
        self._note(test, "skipped")

    def addFailure(self, test, error):
        self._note(test, "failed")
        print(self._exc_info_to_string(error, test), flush=True)

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addFailure(test, error)


def run_here(path, patterns):
    """Prints the outcomes, for the process that compares."""
    from torch.testing._internal.common_distributed import MultiProcessTestCase
    torch.set_num_threads(1)
    forked = torch.multiprocessing.get_context("fork").Process
    MultiProcessTestCase._spawn_processes = lambda case: case._start_processes(forked)
    # What a checkout of another age than the installed torch calls a function.
    if not hasattr(_redistribute, "_assert_no_mixed_partial_types"):
        _redistribute._assert_no_mixed_partial_types = _utils.assert_no_mixed_partial_types
    sys.path.insert(0, str(path.parent))
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*" for pattern in patterns] or None
    tests = loader.loadTestsFromModule(importlib.import_module(path.stem))
    drop_in = os.environ.get(ACTIVE) == "1"
    with shardwright.torch.redistribution() if drop_in else contextlib.nullcontext():
        tests.run(Outcomes())


def outcomes_of(path, patterns, drop_in):
    done = subprocess.run([sys.executable, __file__, "--here", str(path), *patterns], capture_output=True, text=True,
                          env={**os.environ, ACTIVE: str(int(drop_in))}, check=False)
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {words[1].partition(".")[2]: words[0] for words in lines
             if len(words) == 2 and words[0] in ("ok", "skipped", "failed")}
    if done.returncode != 0 or "ok" not in found.values():
        sys.exit(f"PyTorch's tests do not run:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return found, done.stdout


def compare(path, patterns):
    """Returns sentences of what is not as it should be."""
    theirs, _ = outcomes_of(path, patterns, drop_in=False)
    ours, said = outcomes_of(path, patterns, drop_in=True)
    differ = [name for name in theirs if ours.get(name) != theirs[name]]
    wrong = [f"{name}: {theirs[name]} with torch's planner, {ours.get(name)} with ours" for name in differ
             if not any(fnmatch.fnmatch(name, pattern) for pattern in KNOWN)]
    wrong += [f"{pattern}: differs no more" for pattern in KNOWN
              if fnmatch.filter(ours, pattern) and not fnmatch.filter(differ, pattern)]
    if wrong:
        print(said)
    passed = sum(outcome == "ok" for outcome in ours.values())
    print(f"{len(ours)} tests of PyTorch: {passed} pass with the drop-in, {len(differ)} differ from torch's planner")
    return wrong


def main():
    if sys.argv[1] == "--here":
        run_here(Path(sys.argv[2]), sys.argv[3:])
        return
    given = Path(sys.argv[1])
    path = given / PLACE if given.is_dir() else given
    if not path.is_file():
        sys.exit(f"{path} is not there; give {Path(PLACE).name} or the folder of a checkout of PyTorch")
    for sentence in (wrong := compare(path.resolve(), sys.argv[2:])):
        print(sentence)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
