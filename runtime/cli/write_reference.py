#!/usr/bin/env python3
"""Rewrites REFERENCE.md beside this file: every command with its options, from the command's own description.

Usage: write_reference.py SHARDWRIGHT [--check]. With --check nothing is written; exits 1 if the page is out of date.
"""

import difflib
import json
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("REFERENCE.md")
HEAD = """# All commands and their options

From C and Python (`shardwright_ask`, `shardwright.ask`) a command takes a JSON object with these members; on the command line a
member is an argument or a flag. Lists are written with commas, in JSON as lists. A file is a path, in JSON also the object itself
or its text. Sizes are bytes, or `80GiB`. `-o`, `--json`, `--report`, `--csv` and `-v` say where the answer goes; they are no members.
[README.md](README.md) explains commands and options. This page is written by `write_reference.py`.
"""


def cell(text):
    return text.replace("|", "\\|")


def row(member):
    on_line = member["flag"] + (f" {member['value']}" if member["flag"].startswith("--") and member["value"] else "")
    notes = ["needed"] if member["required"] else []
    notes += [f"default: {member['default']}"] if member["default"] else []
    return (f"| `{member['name']}` | `{cell(on_line)}` | {cell(member['help'])}"
            f"{' (' + '; '.join(notes) + ')' if notes else ''} |")


def page(commands):
    lines = [HEAD]
    for command in commands:
        lines += [f"## {command['command']}", "", f"{command['help']}.", "",
                  "| member | on the command line | meaning |", "|---|---|---|",
                  *(row(member) for member in command["members"]), ""]
    return "\n".join(lines)


def main():
    shardwright, *rest = sys.argv[1:]
    answer = subprocess.run([shardwright, "schema", "requests"], check=True, capture_output=True, text=True)
    text = page(json.loads(answer.stdout)["commands"])
    if rest != ["--check"]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    changes = list(difflib.unified_diff(PAGE.read_text(encoding="utf-8").splitlines(), text.splitlines(),
                                        "REFERENCE.md", "the command", lineterm="", n=0))
    print("\n".join(changes), end="\n" if changes else "")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
