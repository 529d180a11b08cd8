#!/usr/bin/env python3
"""Rewrites REFERENCE.md beside this file, every command with its options, and ../io/FILES.md, every member of every
file, from the command's own description.

Usage: write_reference.py SHARDWRIGHT [--check]. With --check nothing is written; exits 1 if a page is out of date.
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


def row(name, second, meaning, required, default):
    notes = ["needed"] * required + [f"default: {default}"] * bool(default)
    meaning = " ".join([cell(meaning), f"({'; '.join(notes)})" if notes else ""]).strip()
    return f"| `{name}` | {second} | {meaning} |"


def command_row(member):
    on_line = member["flag"] + (f" {member['value']}" if member["flag"].startswith("--") and member["value"] else "")
    return row(member["name"], f"`{cell(on_line)}`", member["help"], member["required"], member["default"])


def page(commands):
    lines = [HEAD]
    for command in commands:
        lines += [f"## {command['command']}", "", f"{command['help']}.", "",
                  "| member | on the command line | meaning |", "|---|---|---|",
                  *(command_row(member) for member in command["members"]), ""]
    return "\n".join(lines)


FILES = Path(__file__).resolve().parents[1] / "io" / "FILES.md"
FILES_HEAD = """# All members of all files

A member of an object within a list is written `list[].member`, a member of an object whose keys are names
`object.NAME.member`. Keys that begin with `//` are comments, which may stand everywhere. Sizes are bytes, times
milliseconds, bandwidths bytes per millisecond, unless a key says otherwise. [README.md](README.md) explains the files.
`shardwright schema KIND` prints the JSON Schema of a kind, `shardwright init KIND` a commented file.
This page is written by `../cli/write_reference.py`.
"""


def type_of(shape):
    """The type of a value in words: "number or null"."""
    if "enum" in shape:
        words = [word for word in shape["enum"] if word is not None]
        lower = {word.lower() for word in words if word != word.lower()}
        words = [f"`{word}`" for word in words if word not in lower or word.lower() != word]
        return ", ".join(words) + (", null" if None in shape["enum"] else "")
    if "$ref" in shape:
        return shape["$ref"].rsplit("/", 1)[1]
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(type_of(one) for one in shape["anyOf"]))
    types = shape.get("type", "anything")
    words = [types] if isinstance(types, str) else list(types)
    if words[0] == "array" and "items" in shape and isinstance(shape["items"], dict):
        words[0] = f"list of {type_of(shape['items'])}"
    return " or ".join("text" if word == "string" else "list" if word == "array" else word for word in words)


def members_of(shape, path):
    """(path, member, required) of every member within a value."""
    for name, member in shape.get("properties", {}).items():
        if member.get("$comment") == "not read":
            continue
        yield f"{path}{name}", member, name in shape.get("required", ())
        yield from members_of(member, f"{path}{name}.")
    if isinstance(shape.get("additionalProperties"), dict):
        yield from members_of(shape["additionalProperties"], f"{path}NAME.")
    if isinstance(shape.get("items"), dict):
        yield from members_of(shape["items"], path.removesuffix(".") + "[].")
    for one in shape.get("anyOf", ()):
        yield from members_of(one, path)


def description_of(shape):
    """The description of a value; a list without one has that of its elements."""
    while "description" not in shape and isinstance(shape.get("items"), dict):
        shape = shape["items"]
    return shape.get("description", "")


def file_row(path, member, required):
    default = json.dumps(member["default"]) if "default" in member else ""
    return row(path, cell(type_of(member)), description_of(member), required, cell(default))


def files_page(shardwright):
    lines = [FILES_HEAD]
    for kind in json.loads(asked(shardwright, "schema", "--json"))["kinds"]:
        schema = json.loads(asked(shardwright, "schema", kind["kind"]))
        parts = {f"## {kind['kind']}\n\n{schema['description']}": schema,
                 **{f"`{name}`:": shape for name, shape in schema.get("$defs", {}).items()}}
        for head, shape in parts.items():
            lines += [head, "", "| member | type | meaning |", "|---|---|---|",
                      *dict.fromkeys(file_row(*member) for member in members_of(shape, "")), ""]
    return "\n".join(lines)


def asked(shardwright, *arguments):
    return subprocess.run([shardwright, *arguments], check=True, capture_output=True, text=True).stdout


def main():
    shardwright, *rest = sys.argv[1:]
    requests = json.loads(asked(shardwright, "schema", "requests"))
    changes = []
    for path, text in ((PAGE, page(requests["commands"])), (FILES, files_page(shardwright))):
        if rest != ["--check"]:
            path.write_text(text, encoding="utf-8")
            continue
        changes += difflib.unified_diff(path.read_text(encoding="utf-8").splitlines(), text.splitlines(), path.name,
                                        "the command", lineterm="", n=0)
    print("\n".join(changes), end="\n" if changes else "")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
