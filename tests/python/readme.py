#!/usr/bin/env python3
"""Runs the ten lines of two sections of the Python package's README in a new virtual environment.

They install the package with TorchRec for a CPU, and plan; and they train a sharded model in four processes. The wheel
is packed around --library instead of being compiled. Exits as run.py does where something cannot be installed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from run import PACKAGE, CannotHave, extra, nothing_tested

BLOCKS = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the last line has to have made. The file is the installed one, not the one in the tree.
PLANNED = """
import shardwright
assert "site-packages" in shardwright.__file__, shardwright.__file__
assert planner.searched_by == "shardwright", planner.searched_by
assert list(plan.plan[""]) == ["ads"], plan
print(plan)
"""


# What the model has to be after the last line, and that it is sharded.
TRAINED = """
assert "site-packages" in shardwright.__file__, shardwright.__file__
assert any(placement.is_shard() for tensor in model.parameters() for placement in tensor.placements)
print(model.describe())
"""


def ten_lines(section):
    """The commands and the program of a section of the README."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    blocks = BLOCKS.findall(text[text.index(section):])
    (shell, commands), (language, program) = blocks[:2]
    if (shell, language) != ("sh", "python") or len((commands + program).splitlines()) != 10:
        raise SystemExit(f"the README does not have ten lines, but\n{commands}{program}")
    return commands.splitlines(), program


def variables(folder, library):
    """The environment of somebody in the new virtual environment."""
    result = {key: value for key, value in os.environ.items()
              if key not in ("PYTHONPATH", "PYTHONHOME", "SHARDWRIGHT_LIBRARY")}
    # PyPI's torch would bring 5 GB of CUDA libraries where PyTorch's index cannot be reached.
    constraints = folder / "constraints.txt"
    constraints.write_text(f"{extra('torchrec')[0]}+cpu\n", encoding="utf-8")
    result.update(
        PATH=f"{folder.resolve() / 'venv' / 'bin'}{os.pathsep}{result['PATH']}",
        PIP_CONSTRAINT=str(constraints.resolve()), PIP_RETRIES="1", PIP_DISABLE_PIP_VERSION_CHECK="1",
        SKBUILD_CMAKE_DEFINE=f"SHARDWRIGHT_PYTHON_LIBRARY={library}",
        SKBUILD_BUILD_DIR=str(folder.resolve() / "wheel"))
    return result


def call(what, command, environment, limit):
    """Raises CannotHave."""
    print(what, flush=True)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as expired:
        raise CannotHave(f"{what}: the time limit was reached") from expired
    if done.returncode != 0:
        raise CannotHave(f"{what}: " + "\n  ".join((done.stderr + done.stdout).strip().splitlines()[-12:]))


def install(commands, folder, environment, limit):
    """Raises CannotHave."""
    call("python -m venv", [sys.executable, "-m", "venv", folder / "venv"], environment, limit)
    for command in commands:
        call(command, ["bash", "-c", command], environment, limit)


def plan(program, folder, environment):
    """Returns the exit status of the program, which does not run in the tree."""
    return subprocess.run([folder.resolve() / "venv" / "bin" / "python", "-W", "ignore", "-c", program + PLANNED],
                          env=environment, cwd=folder, check=False, stdin=subprocess.DEVNULL).returncode


def train(program, command, folder, environment):
    """Returns the exit status of the command, which runs the program in several processes."""
    (folder / "train.py").write_text(program + TRAINED, encoding="utf-8")
    return subprocess.run(["bash", "-c", command], env={**environment, "OMP_NUM_THREADS": "1"}, cwd=folder, check=False,
                          stdin=subprocess.DEVNULL).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="is made anew, and removed")
    parser.add_argument("--library", type=Path, required=True, help="of the wheel")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each command")
    arguments = parser.parse_args()
    commands, program = ten_lines("## TorchRec's planner")
    (to_install, to_train), training = ten_lines("## From pip install")
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    environment = variables(arguments.folder, arguments.library.resolve())
    try:
        install(commands, arguments.folder, environment, arguments.limit)
        planned = plan(program, arguments.folder, environment)
        call(to_install, ["bash", "-c", to_install], environment, arguments.limit)
        return planned or train(training, to_train, arguments.folder, environment)
    except CannotHave as reason:
        return nothing_tested(reason)
    finally:
        shutil.rmtree(arguments.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
