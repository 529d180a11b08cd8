#!/usr/bin/env python3
"""Makes the source distribution and its wheel, and tries the wheel in a new environment without anything else.

Runs in the environment of run.py's stage `light`. The library is packed instead of being compiled.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

NEEDED = ("libCoinUtils", "libClp", "libtbb", "libspdlog", "libfmt", "libbz2")
FORTRAN = ("lapack", "blas", "gfortran", "quadmath")
PROGRAM = """
import pathlib, shardwright
folder = pathlib.Path(shardwright.__file__).parent
assert "site-packages" in folder.parts, folder
result = shardwright.plan({"topology": {"world_size": 4}, "tables": [
    {"name": "ads", "num_embeddings": 4_000_000, "embedding_dim": 128}]})
assert shardwright.verify({"topology": {"world_size": 4}, "tables": [
    {"name": "ads", "num_embeddings": 4_000_000, "embedding_dim": 128}]}, result)
mapped = [line.split()[-1] for line in open("/proc/self/maps") if ".so" in line]
assert any(path.startswith(str(folder / "libCoinUtils-shardwright")) for path in mapped), mapped
assert not any(name in path for path in mapped for name in ("lapack", "gfortran")), mapped
print(result)
"""


def require(condition, text):
    if not condition:
        raise SystemExit(text)


def check_source(path):
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for name in ("LICENSE", "pyproject.toml", "source/CMakeLists.txt", "source/core/version.h", "source/LICENSE"):
        require(name in names, f"{path} has no {name}")
    require(not any("__pycache__" in name or "_cache/" in name for name in names), f"{path} has caches")


def check_wheel(path):
    require("manylinux" in path.name, f"{path.name} is for this machine alone")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("dist-info/METADATA")]
    for line in ("License-Expression: Apache-2.0", "Author: The shardwright maintainers", "License-File: LICENSE",
                 "Classifier: Programming Language :: Python :: 3"):
        require(line in metadata, f"the metadata lack {line}")
    libraries = [Path(name).name for name in names if ".so" in name]
    licences = [name for name in names if "/licenses/" in name and not name.endswith("/")]
    for library in NEEDED:
        require(any(name.startswith(f"{library}-shardwright.so") for name in libraries), f"{library} is not packed")
    require(len(licences) == len(NEEDED) + 1, f"{len(NEEDED)} libraries and the package, but licences {licences}")
    require(not any(word in name for name in libraries for word in FORTRAN), f"Fortran in {libraries}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="is made anew, and removed")
    parser.add_argument("--library", type=Path, required=True)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        subprocess.run([sys.executable, "runtime/python/packing/release.py", "--library", arguments.library, folder],
                       env=variables, check=True)
        (source,), (wheel,) = list(folder.glob("*.tar.gz")), list(folder.glob("*.whl"))
        check_source(source)
        check_wheel(wheel)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        python = folder / "venv" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel],
                       env=variables, check=True)
        subprocess.run([python, "-c", PROGRAM], env=variables, cwd=folder, check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
