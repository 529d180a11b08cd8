#!/usr/bin/env python3
"""Compares the C interface with the committed one: exported symbols, signatures, constants, layouts of structures.

Usage: check_abi.py --cc CC --nm NM --library LIBRARY --include FOLDER EXPECTED [--update]
Exits 1 if something differs. A change that a compiled program would notice raises SHARDWRIGHT_ABI_VERSION.
"""

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """#include <stdio.h>
#include "shardwright.h"
int main(void) {{
{lines}
  return 0;
}}
"""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declarations(arguments):
    """Returns what the header declares, without comments and without included headers."""
    text = run(arguments.cc, "-std=c11", "-E", f"-I{arguments.include}", "-DSHARDWRIGHT_API=", "-x", "c",
               str(Path(arguments.include) / "shardwright.h"))
    ours, inside = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            inside = Path(marker.group(1)).name.startswith("shardwright")
        elif inside:
            ours.append(line)
    text = re.sub(r'__attribute__\(\(visibility\("default"\)\)\)', "", " ".join(ours))
    return re.sub(r"\s+", " ", text)


def functions(text):
    for result, name, parameters in re.findall(r"([\w ]+\*? ?\*?)\b(shardwright_\w+)\(([^()]*)\);", text):
        if "typedef" not in result:
            yield name, f"{result.strip()} {name}({parameters.strip()})"


def structures(text):
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text):
        members = [re.search(r"(\w+)$", member.strip()).group(1) for member in body.split(";") if member.strip()]
        yield name, body, members


def constants(text):
    for body in re.findall(r"enum \{(.*?)\}", text):
        yield from re.findall(r"(SHARDWRIGHT_\w+)", body)


def layout(arguments, text):
    """Returns sizes, offsets and values as the compiler sees them."""
    lines = [f'  printf("constant {name} %ld\\n", (long){name});' for name in constants(text)]
    lines.insert(0, '  printf("constant SHARDWRIGHT_ABI_VERSION %ld\\n", (long)SHARDWRIGHT_ABI_VERSION);')
    for name, body, members in structures(text):
        lines.append(f'  printf("struct {name} size %zu\\n", sizeof({name}));')
        for member, declaration in zip(members, body.split(";")):
            kind = re.sub(r"\s*\b\w+$", "", declaration.strip())
            lines.append(f'  printf("  {kind} {member} at %zu\\n", offsetof({name}, {member}));')
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "layout.c", Path(folder) / "layout"
        source.write_text(PROGRAM.format(lines="\n".join(lines)), encoding="utf-8")
        run(arguments.cc, "-std=c11", f"-I{arguments.include}", str(source), "-o", str(program))
        return run(str(program)).splitlines()


def exported(arguments):
    for line in run(arguments.nm, "-D", "--defined-only", arguments.library).splitlines():
        name = line.split()[-1]
        # The name of the version is an absolute symbol. Sanitizers add symbols of their own.
        if " A " not in line and not re.match(r"_|asan|tsan|ubsan", name):
            yield name.replace("@@", " @ ")


def describe(arguments):
    text = declarations(arguments)
    declared = dict(functions(text))
    symbols = sorted(exported(arguments))
    for name in sorted(declared.keys() ^ {symbol.split()[0] for symbol in symbols}):
        sys.exit(f"{name}: declared or exported, but not both")
    return [*(f"symbol {symbol}" for symbol in symbols), *(declared[name] for name in sorted(declared)),
            *layout(arguments, text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--cc", "--nm", "--library", "--include"):
        parser.add_argument(option, required=True)
    parser.add_argument("expected", type=Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    found = describe(arguments)
    if arguments.update:
        arguments.expected.write_text("\n".join(found) + "\n", encoding="utf-8")
        return 0
    expected = arguments.expected.read_text(encoding="utf-8").splitlines()
    difference = list(difflib.unified_diff(expected, found, "committed", "built", lineterm="", n=0))
    print("\n".join(difference) or f"{len(found)} lines agree")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
