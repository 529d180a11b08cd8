"""The kinds of files: their JSON Schemas, and files to begin with."""

from __future__ import annotations

from typing import Any

from .answer import Answer, ask_for


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of file, such as "problem", "plan" or "sweep".

    Raises InvalidInputError for an unknown kind, with the known ones.
    """
    found: dict[str, Any] = ask_for(Answer, "schema", {"kind": kind}).data
    return found


def kinds() -> dict[str, str]:
    """The kinds of files, and what they are."""
    listed = ask_for(Answer, "schema", {}).data["kinds"]
    return {entry["kind"]: entry["description"] for entry in listed}


def init(kind: str = "problem") -> str:
    """The text of a commented file to begin with. Raises InvalidInputError for an unknown kind."""
    return ask_for(Answer, "init", {"kind": kind}).to_json()
