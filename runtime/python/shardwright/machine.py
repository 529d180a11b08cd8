"""Measured machines: models of what was measured, for the `machine` of every question.

The functions are the commands `shardwright machine ...`.
"""

from __future__ import annotations

from .answer import Answer, Row, ask_for
from .arguments import Document


class FittedMachine(Answer):
    """The answer of `fit`: the measurements with a model of each kernel and collective."""

    def _rows(self) -> list[Row]:
        return list(self.data["embedding"]["models"])


class MachineSummary(Answer):
    """The answer of `show`: errors of models, times of usual shapes, latencies and bandwidths."""

    _shows_rows = True

    def _rows(self) -> list[Row]:
        return list(self.data["kernels"])


class MachineDiff(Answer):
    """The answer of `diff`: the times of both machines."""

    _shows_rows = True

    def _rows(self) -> list[Row]:
        return list(self.data["figures"])


def fit(measurements: Document) -> FittedMachine:
    """Makes a model of what `shardwright.torchrec.measure` measured."""
    return ask_for(FittedMachine, "machine fit", locals())


def show(machine: Document) -> MachineSummary:
    """Says what a machine does, and how far its model is off."""
    return ask_for(MachineSummary, "machine show", locals())


def diff(machine_a: Document, machine_b: Document) -> MachineDiff:
    """Compares two machines, kernel by kernel and link by link."""
    return ask_for(MachineDiff, "machine diff", locals())


__all__ = ["FittedMachine", "MachineDiff", "MachineSummary", "diff", "fit", "show"]
