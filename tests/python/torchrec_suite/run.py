#!/usr/bin/env python3
"""Runs TorchRec's own planner tests with its planner and with the drop-in in both modes.

    run.py --checkout torchrec

A test that passes with TorchRec's planner passes with the drop-in, too, unless known.py says why not. What known.py
says has to be so. The tests need not be of the installed release: those that its own planner fails are not compared.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from known import DIFFERENCES

SUITE = Path(__file__).resolve().with_name("suite.py")
LIMIT = 700  # seconds for all tests with one planner, which take one minute on an idle machine


def overlay(checkout, folder):
    """Links the installed torchrec and the test code that a wheel lacks. Processes that tests start see both, too."""
    installed = Path(importlib.util.find_spec("torchrec").origin).parent
    made = ("torchrec", "torchrec/distributed", "torchrec/distributed/planner")
    for package in made:
        (folder / package).mkdir()
        items = [*(installed.parent / package).iterdir(),
                 *(checkout / package / name for name in ("tests", "test_utils"))]
        for item in items:
            link = folder / package / item.name
            if item.exists() and not link.exists() and f"{package}/{item.name}" not in made:
                link.symlink_to(item)


def outcomes(checkout, planner):
    """Returns why each test failed, by its name; an empty text if it did not."""
    with tempfile.TemporaryDirectory() as folder:
        overlay(checkout, Path(folder))
        answer = Path(folder) / "outcomes.json"
        paths = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, SUITE, "--planner", planner, "--answer", answer],
                              check=False, capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, "PYTHONPATH": paths})
        if done.returncode != 0:
            sys.exit(done.stderr[-2000:])
        return json.loads(answer.read_text(encoding="utf-8"))


def short(name):
    return name.removeprefix("torchrec.distributed.planner.tests.")


def unexpected(theirs, ours, known):
    """Yields sentences about tests whose outcome is not the known one."""
    for name, reason in theirs.items():
        if reason:
            continue
        difference = ours.get(name, "was not run")
        if difference and short(name) not in known:
            yield f"{short(name)} fails: {difference}"
        if not difference and short(name) in known:
            yield f"{short(name)} passes, but known.py says that {known[short(name)]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True)
    checkout = parser.parse_args().checkout.resolve()
    theirs = outcomes(checkout, "torchrec")
    compared = sum(not reason for reason in theirs.values())
    for name, reason in theirs.items():
        if reason:
            print(f"not compared, because it fails with TorchRec's planner: {short(name)}: {reason[:120]}")
    failed = not compared
    for mode, known in DIFFERENCES.items():
        ours = outcomes(checkout, mode)
        wrong = list(unexpected(theirs, ours, known))
        failed = failed or bool(wrong)
        passed = sum(not reason and not ours.get(name, "was not run") for name, reason in theirs.items())
        print(f"{mode} mode: {passed} of {compared} tests pass, {len(wrong)} outcomes are not known", *wrong,
              sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
