"""Tables of measurements inside pages, between two marks."""

from __future__ import annotations

import re
from pathlib import Path


def rewrite(page: Path, marks: tuple[str, str], text: str) -> None:
    """Puts `text` between the marks of a page, in place of what stands there."""
    begin, end = (re.escape(mark) for mark in marks)
    pattern = re.compile(f"({begin}\n).*?({end})", flags=re.DOTALL)
    old = page.read_text(encoding="utf-8")
    page.write_text(pattern.sub(lambda match: match[1] + text + "\n" + match[2], old), encoding="utf-8")
