#!/usr/bin/env python3
"""Checks that the installed headers are complete and include none of the libraries behind the planner.

Usage: check_headers.py --cc CC --cxx CXX FOLDER. Every include of every header is followed by name, and one unit per
language compiles them all. That each header compiles by itself is what the presets ci-gcc and ci-clang check: it takes
seven minutes of a core. Exits 1 if something is wrong.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
BEHIND = re.compile(r"^(oneapi|tbb|spdlog|fmt|nlohmann|CLI|coin)/|^mimalloc|^zlib\.h|^Clp|^Coin")
C_HEADERS = ("shardwright.h", "shardwright_types.h")


def faults_of(header, folder):
    """Includes of the header that are not installed, or that a user should not need."""
    for bracket, name in INCLUDE.findall(header.read_text(encoding="utf-8")):
        if BEHIND.search(name):
            yield f"{header}: includes {name}"
        elif bracket == '"' and not (folder / name).is_file() and not (header.parent / name).is_file():
            yield f"{header}: includes {name}, which is not installed"


def compile_all(compiler, language, standard, folder, headers):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as source:
        source.writelines(f'#include "{header.relative_to(folder)}"\n' for header in headers)
        source.flush()
        compiled = subprocess.run(
            [compiler, f"-std={standard}", "-fsyntax-only", "-I", str(folder), "-x", language, source.name],
            capture_output=True, text=True, check=False)
    return [] if compiled.returncode == 0 else [f"as {standard}:\n{compiled.stderr}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder
    headers = sorted(folder.rglob("*.h"))
    if len(headers) < 50:
        sys.exit(f"{folder}: only {len(headers)} headers; is this where they are installed?")
    faults = [fault for header in headers for fault in faults_of(header, folder)]
    faults += compile_all(arguments.cxx, "c++", "c++20", folder, headers)
    faults += compile_all(arguments.cc, "c", "c11", folder, [h for h in headers if h.name in C_HEADERS])
    print("\n".join(faults) or f"{len(headers)} headers compile and include nothing behind the planner")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
