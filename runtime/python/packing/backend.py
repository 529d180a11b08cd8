"""The build backend of the package: scikit-build-core, which tells a terminal how far compiling is."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from scikit_build_core import build as _build
from scikit_build_core.build import (build_sdist, get_requires_for_build_editable,
                                     get_requires_for_build_sdist, get_requires_for_build_wheel,
                                     prepare_metadata_for_build_editable,
                                     prepare_metadata_for_build_wheel)

_INTERVAL_S = 10.0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _all_commands(log: Path) -> int:
    """The commands that a build has at most, with those that ninja skips."""
    return sum(line.startswith("build ") and "_COMPILER__" in line
               for line in _lines(log.with_name("build.ninja")))


def _commands(log: Path) -> int:
    """The commands that ninja has finished in this build, by its log."""
    return sum(not line.startswith("#") for line in _lines(log))


def _logs() -> set[Path]:
    """The logs of builds, which may be in the tree and in a source distribution."""
    return {log for root in (Path("../../build/python"), Path("build"))
            for log in root.glob("*/.ninja_log")}


@contextmanager
def _progress() -> Iterator[None]:
    """Writes to the terminal, if there is one, because pip shows nothing of a build that goes well.
    """
    try:
        terminal = open("/dev/tty", "w", encoding="utf-8")
    except OSError:
        yield
        return
    before = {log: _commands(log) for log in _logs()}
    done = threading.Event()

    def tell() -> None:
        told = 0
        while not done.wait(_INTERVAL_S):
            counts = [(_commands(log) - before.get(log, 0), _all_commands(log)) for log in _logs()]
            count, most = max(counts, default=(0, 0))
            if count > told:
                told = count
                terminal.write(f"\r\nshardwright: {count} files compiled, of at most {most}\r\n")
                terminal.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        terminal.close()


def build_wheel(*arguments: Any, **options: Any) -> str:
    with _progress():
        return _build.build_wheel(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    with _progress():
        return _build.build_editable(*arguments, **options)


__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_sdist", "get_requires_for_build_wheel",
           "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]
