"""What can go wrong, as exceptions that say where."""

from __future__ import annotations


class ShardwrightError(Exception):
    """Base of all errors. `place` is where: a JSON pointer, an argument, a path; "" if nowhere."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class InvalidInputError(ShardwrightError, ValueError):
    """The problem, the plan or an option of the call is wrong."""


class InvalidHandleError(ShardwrightError, ValueError):
    """An object was used after `close()`."""


class InfeasibleError(ShardwrightError):
    """Well formed, but nothing satisfies it."""


class StoppedError(ShardwrightError):
    """A limit ended the call before anything was found."""


class VerificationError(ShardwrightError):
    """An answer violates what it claims."""


class UnsupportedError(ShardwrightError):
    """Valid, but this build or mode does not do it."""


class NoPlanError(ShardwrightError):
    """Asked for the plan of a result that has none; the message says why it has none."""


class InternalError(ShardwrightError):
    """A defect of the library."""
