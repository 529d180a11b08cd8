#!/usr/bin/env python3
"""Compiles every installed header by itself and checks that it includes none of the libraries behind the planner.

Usage: check_headers.py --cc CC --cxx CXX FOLDER. Exits 1 if a header does not compile or includes such a library.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BEHIND = re.compile(r"/(oneapi|tbb|spdlog|fmt|nlohmann|CLI|coin)/|/mimalloc[^/]*\.h|/zlib\.h")
C_HEADERS = ("shardwright.h", "shardwright_types.h")


def fault(arguments, header):
    """Returns what is wrong with one header, or None."""
    in_c = header.name in C_HEADERS
    languages = [(arguments.cxx, "c++", "c++20")] + ([(arguments.cc, "c", "c11")] if in_c else [])
    for compiler, language, standard in languages:
        with tempfile.TemporaryDirectory() as folder:
            source, reached = Path(folder) / "alone", Path(folder) / "reached"
            source.write_text(f'#include "{header.relative_to(arguments.folder)}"\n', encoding="utf-8")
            compiled = subprocess.run(
                [compiler, f"-std={standard}", "-fsyntax-only", "-MD", "-MF", str(reached), "-I", str(arguments.folder),
                 "-x", language, str(source)], capture_output=True, text=True, check=False)
            if compiled.returncode != 0:
                return f"{header}: does not compile by itself as {standard}:\n{compiled.stderr}"
            found = [path for path in reached.read_text(encoding="utf-8").split() if BEHIND.search(path)]
            if found:
                return f"{header}: reaches {found[0]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    headers = sorted(arguments.folder.rglob("*.h"))
    if len(headers) < 50:
        sys.exit(f"{arguments.folder}: only {len(headers)} headers; is this where they are installed?")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [each for each in pool.map(lambda header: fault(arguments, header), headers) if each]
    print("\n".join(faults) or f"{len(headers)} headers compile alone and reach nothing behind the planner")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
