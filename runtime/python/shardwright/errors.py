"""Exceptions. Each names the place of the error."""

from __future__ import annotations


class ShardwrightError(Exception):
    """Base of all errors. `place` is a JSON pointer, an argument name, a path, or empty."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class InvalidInputError(ShardwrightError, ValueError):
    """The problem, the plan or an option of the call is wrong."""


class InvalidHandleError(ShardwrightError, ValueError):
    """An object was used after `close()`."""


class InfeasibleError(ShardwrightError):
    """The request is valid, but nothing satisfies it."""


class StoppedError(ShardwrightError):
    """A limit ended the call before anything was found."""


class VerificationError(ShardwrightError):
    """A claim of an answer is false."""


class UnsupportedError(ShardwrightError):
    """The request is valid, but this build or mode does not support it."""


class NoPlanError(ShardwrightError):
    """The result has no plan; the message says why."""


class InternalError(ShardwrightError):
    """A defect of the library."""
