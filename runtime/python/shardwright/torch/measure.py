"""Measures the operators of a model from the command line: python -m shardwright.torch.measure."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import Any, Sequence

import torch

from .. import errors
from .measuring import measure_operators
from .model_plan import ModelPlan
from .tracing import trace

_EPILOG = """\
MODEL is MODULE:FUNCTION, such as models:llama for a function in models.py. The function takes nothing
and returns the model and a tuple of example inputs, or these and a dict of keyword inputs. It is
called on the meta device, so that nothing needs memory.

  python -m shardwright.torch.measure models:llama --mesh 4x2 -o times.json
  shardwright operators plan graph.json --mesh 4x2 --machine times.json
"""


def _mesh_shape(text: str) -> tuple[int, ...]:
    sizes = text.split("x")
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise errors.InvalidInputError(f"must be such as 4x2, not {text!r}", "--mesh")
    return tuple(map(int, sizes))


def made_model(name: str, where: str = "MODEL") -> tuple[torch.nn.Module, Any, Any]:
    """The model of MODULE:FUNCTION with its example inputs. Raises InvalidInputError at `where`."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise errors.InvalidInputError(f"must be MODULE:FUNCTION, not {name!r}", where)
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise errors.InvalidInputError(str(error), where) from error
    with torch.device("meta"):
        made = make()
    is_pair = isinstance(made, tuple) and len(made) in (2, 3)
    if not is_pair or not isinstance(made[0], torch.nn.Module):
        raise errors.InvalidInputError(
            f"{name} must return a model and its inputs, and may return keyword inputs", where)
    return made[0], made[1], made[2] if len(made) == 3 else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 for bad input, which is printed."""
    parser = argparse.ArgumentParser(
        prog="python -m shardwright.torch.measure", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures the operators of a model on this machine, for plans to be made with them.")
    parser.add_argument("model", metavar="MODEL", help="what to measure, as MODULE:FUNCTION")
    parser.add_argument("--mesh", required=True, help="devices along each axis, such as 4x2")
    parser.add_argument("-o", "--output", required=True, metavar="FILE",
                        help="a machine with the times; those that it has are kept")
    parser.add_argument("--plan", metavar="FILE", help="measure only what this plan runs")
    parser.add_argument("--device", help="such as cuda:1 (default: cuda, or cpu without one)")
    parser.add_argument("--forward", action="store_true", help="leave the backward out")
    parser.add_argument("--warmup", type=int, default=2, help="runs before those that count (2)")
    parser.add_argument("--runs", type=int, default=7, help="runs, whose median counts (7)")
    parsed = parser.parse_args(arguments)
    try:
        mesh = _mesh_shape(parsed.mesh)
        plan = None if parsed.plan is None else ModelPlan.from_json(
            Path(parsed.plan).read_text(encoding="utf-8"))
        model, args, kwargs = made_model(parsed.model)
        rows = measure_operators(trace(model, args, kwargs, train=not parsed.forward), mesh, plan=plan,
                                 device=parsed.device, file=parsed.output, warmup=parsed.warmup,
                                 runs=parsed.runs)
    except (errors.ShardwrightError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(rows)} operators and shapes in {parsed.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
