"""The command python -m shardwright.torch.plan."""

from __future__ import annotations

import argparse
import html
import json
import sys
import warnings
from pathlib import Path
from typing import Any, Sequence

from ... import errors
from ..measure import made_model
from . import hugging_face, torchtitan
from .choosing import Choice, Row, choose
from .held import Held

_EPILOG = """\
MODEL is hf:CONFIG, a config.json of the package transformers, or MODULE:FUNCTION, a function that
returns the model and a tuple of example inputs, or these and a dict of keyword inputs. Nothing needs
memory: models are made on the meta device.

  python -m shardwright.torch.plan --model hf:config.json --gpus 8 --batch 8 --sequence 4096 \\
      --memory 80GiB --emit fsdp2 -o parallel.py
"""
_GIB = 2**30


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shardwright.torch.plan", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Plans how a model trains on GPUs, and writes the program for FSDP2, tensor parallelism and "
                    "checkpointing.")
    parser.add_argument("--model", required=True, help="hf:CONFIG or MODULE:FUNCTION")
    parser.add_argument("--gpus", type=int, required=True, help="devices")
    parser.add_argument("--gpu", default="h100", help="whose times are estimated (h100)")
    parser.add_argument("--batch", type=int, default=8, help="sequences of a step on all devices (8)")
    parser.add_argument("--sequence", type=int, default=4096, help="tokens of a sequence (4096)")
    parser.add_argument("--memory", help="of a device, such as 80GiB; without it nothing is checkpointed")
    parser.add_argument("--optimizer-states", type=int, default=2, help="tensors per parameter (2)")
    parser.add_argument("--axes", type=int, default=3, help="most axes of a mesh (3)")
    parser.add_argument("--gap", type=float, help="end with plans this much above their bounds (0.001)")
    parser.add_argument("--emit", choices=("fsdp2", "torchtitan", "json"), help="the program, or what it says")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the program to this file")
    parser.add_argument("--report", metavar="FILE", help="write a page with the table and the program")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 for bad input or no plan, which is printed."""
    parsed = _parser().parse_args(arguments)
    try:
        args: Any = ()
        if parsed.model.startswith("hf:"):
            model, kwargs = hugging_face.model_of(parsed.model[3:], parsed.batch, parsed.sequence)
        else:
            model, args, kwargs = made_model(parsed.model, "--model")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            choice = choose(model, args, kwargs or {}, parsed.gpus, device=parsed.gpu, memory=parsed.memory,
                            optimizer_states=parsed.optimizer_states, axes=parsed.axes, gap=parsed.gap)
        emitted = {"fsdp2": lambda: choice.program, "torchtitan": lambda: torchtitan.sections_of(choice.recipe),
                   "json": lambda: json.dumps(choice.recipe.to_dict(), indent=1) + "\n"}[parsed.emit or "fsdp2"]()
        text = report_of(choice)
        if parsed.output:
            Path(parsed.output).write_text(emitted, encoding="utf-8")
        if parsed.report:
            Path(parsed.report).write_text(page_of(choice, text, emitted), encoding="utf-8")
    except (errors.ShardwrightError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    alone = parsed.emit and not parsed.output
    print(text, file=sys.stderr if alone else sys.stdout)
    if alone:
        print(emitted, end="")
    elif parsed.output:
        print(f"\nWrote {parsed.output}")
    return 0


def report_of(choice: Choice) -> str:
    """The table of meshes, the best one, and what its advantage consists of."""
    lines = [f"{'mesh and roles':42} {'ms':>9} {'bound ms':>9} {'GiB':>7}"]
    seen: set[str] = set()
    for row in choice.rows:
        if row.name not in seen:
            seen.add(row.name)
            mark = " *" if row is choice.row else ""
            lines.append(f"{row.name:42} {row.time_us / 1000:9.2f} {row.answer['lower_bound_us'] / 1000:9.2f} "
                         f"{row.answer['peak_bytes'] / _GIB:7.1f}{mark}")
    lines += ["", f"Best program: {choice.row.name}, {choice.row.time_us / 1000:.2f} ms estimated.", *choice.recipe.notes]
    if choice.free is not None:
        loss = choice.row.time_us / choice.free.time_us - 1
        lines.append(f"The best plan of any kind takes {choice.free.time_us / 1000:.2f} ms ({choice.free.name}); the "
                     f"program takes {100 * loss:.1f} % more: {_difference(choice.row, choice.free)}.")
    if choice.baselines:
        other = choice.baselines[0]
        lines.append(f"Fastest of the plans that people know: {other.name}, {other.time_us / 1000:.2f} ms. The program "
                     f"takes {100 * (1 - choice.row.time_us / other.time_us):.1f} % less: "
                     f"{_difference(choice.row, other)}.")
    lines += [f"Passed over: {sentence}" for sentence in choice.passed_over]
    lines.append(f"The first rank holds {_held_of(choice.predicted)}; a run of the program without values, "
                 f"{_held_of(choice.held)}.")
    lines.append("Seconds: " + ", ".join(f"{name} {value:.1f}" for name, value in choice.seconds.items()) + ".")
    return "\n".join(lines)


def _held_of(held: Held) -> str:
    return (f"{held.parameters / _GIB:.2f} GiB of parameters, {held.gradients / _GIB:.2f} of gradients and "
            f"{held.activations / _GIB:.2f} of activations")


def _difference(best: Row, other: Row) -> str:
    """By kind of work, where it is at least 5 us."""
    parts = {"operators": best.answer["compute_us"] - other.answer["compute_us"]}
    for name, value in other.answer.get("communication", {}).items():
        kind = name.removesuffix("_us").replace("_", "-")
        parts[kind] = best.answer["communication"].get(name, 0.0) - value
    found = [f"{name} {value / 1000:+.2f} ms" for name, value in parts.items() if abs(value) >= 5]
    return ", ".join(found) or "they are the same"


def page_of(choice: Choice, text: str, emitted: str) -> str:
    """A page with the report and the program."""
    style = "body{font:15px system-ui;margin:2em auto;max-width:60em}pre{background:#f4f4f4;padding:1em;overflow:auto}"
    title = f"{choice.recipe.model}: a program for {choice.row.name}"
    return (f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{style}</style>"
            f"<h1>{html.escape(title)}</h1><p>Times are estimates of a cost model.</p>"
            f"<pre>{html.escape(text)}</pre><h2>The program</h2><pre>{html.escape(emitted)}</pre>\n")
