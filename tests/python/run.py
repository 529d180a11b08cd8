#!/usr/bin/env python3
"""Runs Python tests in a virtual environment that has the wheel of this tree and other packages.

The environment is made once and kept; the wheel is made anew where the package changed. Exits 77,
which CTest reports as skipped, where a package cannot be had: it says which one and why.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
PACKAGE = Path("runtime/python")
# Each line is one call of pip. TorchRec's wheel asks for the CUDA build of FBGEMM, so that its
# requirements are listed here; FBGEMM 1.9 loads with torch 2.14, not with 2.15.
REQUIREMENTS = {
    "light": [["scikit-build-core>=0.10", "numpy", "pandas", "matplotlib", "tqdm", "mypy"]],
    "torch": [
        ["scikit-build-core>=0.10"],
        ["torch>=2.14,<2.15"],
        ["--no-deps", "torchrec==1.9.2"],
        ["fbgemm-gpu-cpu==1.9.0", "tensordict", "torchmetrics==1.0.3", "pyre-extensions", "tqdm",
         "psutil", "setuptools<81"],
    ],
}


class CannotHave(Exception):
    """A package or tool that this machine cannot have."""


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

    def prepare(self):
        """Makes the environment; one that a time limit cut short is continued."""
        if not self.python.exists():
            self.call("venv (on Debian: python3-venv)", [sys.executable, "-m", "venv", self.folder])
        for number, packages in enumerate(REQUIREMENTS[self.stage]):
            stamp = self.folder / f"installed-{number}"
            wanted = " ".join(packages)
            if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
                print(f"installing {wanted}", flush=True)
                self.pip(wanted, *packages)
                stamp.write_text(wanted, encoding="utf-8")

    def install_package(self, library):
        """The wheel around the library that is built already. Failing to make it is a failure."""
        stamp = self.folder / "package"
        print_ = fingerprint(library)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == print_:
            return
        subprocess.run(
            [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--no-build-isolation", "--no-deps", "--force-reinstall", f"./{PACKAGE}",
             "-C", f"cmake.define.SHARDWRIGHT_PYTHON_LIBRARY={library}",
             "-C", f"build-dir={self.folder.resolve() / 'wheel'}"],
            check=True, stdin=subprocess.DEVNULL)
        stamp.write_text(print_, encoding="utf-8")


def fingerprint(library):
    found = hashlib.sha256()
    files = [path for path in sorted(PACKAGE.rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts]
    for path in [Path(library), *files]:
        found.update(str(path).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", choices=REQUIREMENTS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=300, help="seconds for getting packages")
    parser.add_argument("command", nargs="+", help="arguments of python")
    arguments = parser.parse_args()
    environment = Environment(arguments.folder, arguments.stage,
                              time.monotonic() + arguments.limit)
    try:
        environment.prepare()
    except CannotHave as reason:
        print(f"SKIPPED, nothing was tested. Cannot have {reason}")
        return SKIPPED
    environment.install_package(arguments.library.resolve())
    variables = {key: value for key, value in os.environ.items()
                 if key not in ("PYTHONPATH", "SHARDWRIGHT_LIBRARY")}
    variables["PYTHONPATH"] = str(Path(__file__).resolve().parent)
    variables["MPLBACKEND"] = "Agg"
    return subprocess.run([environment.python, *arguments.command], env=variables,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
