"""The history file: one result document per line, only ever appended to."""

from __future__ import annotations

import json
from pathlib import Path

from .errors import TrackError
from .results import Results, parse


def add(history: Path, results: Results) -> None:
    """Appends one run. A run that is already there (same date and revision) is refused."""
    if history.is_file():
        for known in load(history):
            if (known.date, known.revision) == (results.date, results.revision):
                raise TrackError(f"{history} already holds the run of {results.date} at {results.revision}")
    history.parent.mkdir(parents=True, exist_ok=True)
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(results.document(), separators=(",", ":")) + "\n")


def load(history: Path) -> list[Results]:
    """All runs, oldest line first."""
    try:
        lines = history.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TrackError(f"{history}: {error.strerror}; add a run with `perf/track history add FILE`") from None
    return [parse(line, f"{history}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]
