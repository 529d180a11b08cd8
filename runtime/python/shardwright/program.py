"""Programs, single tensors and whole models: which communication their placements require.

The functions are the commands `shardwright program ...`.
"""

from __future__ import annotations

from typing import SupportsIndex

from .answer import Answer, Cancel, Row, ask_for, member
from .arguments import Document, Size


class Reshards(Answer):
    """The answer of `reshard`: by case, the operators of every rank."""

    def _rows(self) -> list[Row]:
        return [{"case": number, "rank": int(rank), "operators": [step["op"] for step in steps]}
                for number, case in enumerate(self.data)
                for rank, steps in (case.get("seq") or {}).items()]


class Programs(Answer):
    """The answer of `apply`: the program of every rank."""

    _shows_rows = True

    def _rows(self) -> list[Row]:
        return [{"program": program["name"], "rank": rank["rank"], "operators": len(rank["ops"]),
                 **rank["counters"]}
                for program in self.data["programs"] for rank in program["ranks"]]


class Redistribution(Answer):
    """The answer of `redistribute`: the cheapest sequence of collectives."""

    @property
    def cost_us(self) -> float:
        """The time of all steps."""
        return float(self._path["cost_us"])

    @property
    def is_optimal(self) -> bool:
        """True if it is proved that no path costs less."""
        return bool(self._path["is_optimal"])

    @property
    def _path(self) -> Row:
        found: Row = self.data["front"][0] if "front" in self.data else self.data
        return found

    def _rows(self) -> list[Row]:
        return list(self.data["front"] if "front" in self.data else self.data["steps"])


class Transfer(Answer):
    """The answer of `transfer`: who sends what to whom, in which rounds."""

    _shows_rows = True

    busiest: float = member(
        "busiest", "What the busiest rank or link needs: ms with hosts, else bytes.", float)
    lower_bound: float = member("lower_bound", "No plan has a smaller `busiest`.", float)
    moved_bytes: int = member("moved_bytes", "Bytes sent from rank to rank.")

    def _rows(self) -> list[Row]:
        return [dict(zip(("rank", "sent", "received", "kept"), row)) for row in self.data["ranks"]]


def reshard(cases: Document, *, compat: bool = False, legacy_sync: bool = False) -> Reshards:
    """Plans how tensors get from one placement to another, rank by rank.

    With `compat`, plans as Paddle does, instead of the cheapest way known. With `legacy_sync`,
    counts a synchronisation before every inserted operator, as Paddle does.
    """
    return ask_for(Reshards, "program reshard", locals())


def apply(program: Document, *, full: bool = False, startup: Document | None = None,
          batch_size: SupportsIndex | None = None, compat: bool = False, legacy_sync: bool = False,
          threads: SupportsIndex = 0, cancel: Cancel | None = None) -> Programs:
    """Makes the program of every rank.

    With `full`, also reshards outputs and removes what a rank does not need; `startup` is then the
    startup program. `batch_size` is the whole size of batch dimensions that are written as -1.
    `compat` and `legacy_sync` are those of `reshard`.
    """
    return ask_for(Programs, "program apply", locals())


def redistribute(redistribution: Document, *, front: bool = False,
                 cancel: Cancel | None = None) -> Redistribution:
    """Finds the cheapest way of one tensor from one placement to another. With `front`, also all
    ways that no other way beats in both time and memory.
    """
    return ask_for(Redistribution, "program redistribute", locals())


def transfer(transfer: Document, *, memory: Size | None = None, message_bytes: Size | None = None,
             full: bool = False, cancel: Cancel | None = None) -> Transfer:
    """Plans how all tensors of a model move from one layout to another. `memory` bounds the bytes
    that a rank sends, and those that it receives, in a round; `message_bytes` bounds a message.
    With `full`, the text has a row for every rank.
    """
    return ask_for(Transfer, "program transfer", locals())


__all__ = ["Programs", "Redistribution", "Reshards", "Transfer", "apply", "redistribute", "reshard",
           "transfer"]
