#!/usr/bin/env python3
"""Makes the tables of perf/README.md, and writes them there."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import scaling  # noqa: E402
import where  # noqa: E402
from tracking import baseline, fingerprint, repository  # noqa: E402
from tracking.errors import TrackError  # noqa: E402
from tracking.planners import BuildPlanner, MicroPlanner  # noqa: E402

# Bytes that placing one shard on a device reads and writes, by structure: the cost of the shard (a cache line), the
# state of the device (a cache line, read and written), the rank; and per level of the tournament one node read and
# one written. Source: RunCost, DeviceState, DeviceTree in search/embedding.
_COST_BYTES, _STATE_BYTES, _RANK_BYTES, _NODE_BYTES = 64, 2 * 64, 4, 2 * 12

_MOST_CHANGED = 10  # tables, of the edits in the table of copies


def placement_bytes(ranks: int) -> int:
    levels = math.ceil(math.log2(ranks)) if ranks > 1 else 0
    return _COST_BYTES + _STATE_BYTES + _RANK_BYTES + _NODE_BYTES * levels


def planning_runs(build: Path | None, repeat: int, threads: int) -> str:
    alone = BuildPlanner(build, ["--threads", "1"]).documents([], repeat)
    together = {run["name"]: run for run in BuildPlanner(build, ["--threads", str(threads)]).documents([], repeat)}
    lines = [f"| case | proposals | placed shards | enumerate ms | explore ms | on {threads} threads ms | peak MiB | "
             f"TorchRec's enumeration | TorchRec's loop | ... on {threads} threads |", "|---|" + "---:|" * 9]
    for run in alone:
        cut = " (cut)" if run["stopped_by"] else ""
        other = together[run["name"]]
        ratios = [f"{measured[key]:,.0f}x" if key in measured else ""
                  for measured, key in ((run, "enumerate_ratio"), (run, "loop_ratio"), (other, "loop_ratio"))]
        lines.append(
            f"| {run['name']} | {run['num_proposals']:,}{cut} | {run['work_steps']:,} | "
            f"{run['enumerate_s'] * 1e3:.2f} | {run['explore_s'] * 1e3:.2f} | {other['explore_s'] * 1e3:.2f} | "
            f"{run['peak_bytes'] / (1 << 20):.0f} | {ratios[0]} | {ratios[1]} | {ratios[2]} |")
    return "\n".join(lines)


def profiles(build: Path | None, _repeat: int, _threads: int) -> str:
    program = repository.program("macro", build)
    return where.markdown({case: where.profile(program, case, 3)[0] for case in where.CASES})


def exponents(build: Path | None, repeat: int, _threads: int) -> str:
    return scaling.markdown(scaling.rows(build, repeat, 1))


def physical(build: Path | None, repeat: int, _threads: int) -> str:
    """Measured cost per shard, beside the two lower limits: the dependent chain and the necessary bytes."""
    figures: dict[tuple[str, str], list[float]] = {}
    for _ in range(repeat):
        for key, value in MicroPlanner(build).run(["evaluate_proposal", "device_tree_replay", "memory_read"]).items():
            figures.setdefault(key, []).append(value)
    best = {key: sorted(values)[len(values) // 2] for key, values in figures.items()}
    # ns per byte out of the second-level cache, where the state of up to 1,024 devices lives.
    per_byte = best[("memory_read/KiB:256", "cpu_ns")] / (256 * 1024)
    lines = ["| proposals | ranks | ns per placed shard | one replay, alone, ns | bytes per single shard | "
             "these at L2 pace, ns |", "|---|" + "---:|" * 5]
    for mix in ("table_wise", "table_row_wise", "row_wise", "default_mix"):
        for ranks in (16, 64, 1024):
            name = f"evaluate_proposal/{mix}/ranks:{ranks}"
            touched = placement_bytes(ranks)
            alone = mix == "table_wise"
            lines.append(
                f"| {mix.replace('_', '-')} | {ranks:,} | {best[(name, 'per_shard_ns')]:.2f} | "
                + (f"{best[(f'device_tree_replay/ranks:{ranks}', 'cpu_ns')]:.1f} | {touched} | "
                   f"{touched * per_byte:.1f} |" if alone else " | | |"))
    return "\n".join(lines)


def plan_copies(build: Path | None, _repeat: int, _threads: int) -> str:
    """What publishing a better plan allocates. The figures are counted, so they repeat exactly."""
    program = repository.program("copies", build)
    done = subprocess.run([str(program)], cwd=repository.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TrackError(f"{program.name} ended with {done.returncode}: {done.stderr.strip()}")
    measured = json.loads(done.stdout)
    lines = ["| tables | changed tables | shards each | bytes of the edit | tree nodes | bytes of a whole plan |",
             "|---:|---:|---:|---:|---:|---:|"]
    for edit in (edit for edit in measured["edits"] if edit["changed"] <= _MOST_CHANGED):
        lines.append(f"| {edit['tables']:,} | {edit['changed']:,} | {edit['shards']:,} | {edit['bytes']:,} | "
                     f"{edit['nodes']:,} | {edit['whole_bytes']:,} |")
    lines += ["", "| planning run, 20 M units of work | plans published | assignments copied per plan | "
              "shared per plan |", "|---|" + "---:|" * 3]
    for run in measured["runs"]:
        plans = max(run["plans"], 1)
        lines.append(f"| {run['case']} | {run['plans']:,} | {run['assignments_copied'] / plans:,.0f} | "
                     f"{run['assignments_shared'] / plans:,.0f} |")
    return "\n".join(lines)


def machine(build: Path | None, _repeat: int, _threads: int) -> str:
    told = fingerprint.machine()
    built = fingerprint.take(repository.program("instr", build))
    return (f"{told['processor']} ({built['processor']}), {told['cores']} cores; {built['compiler']}, `{built['flags']}`; "
            f"one thread unless stated; medians.")


# Row of the table: regions of the baseline.
_OPERATOR_ROWS = {
    "build ResNet-50 on 2x2: 2,356 strategies, 195 edges with matrices, merging": ("operators_build",),
    "solve it without a budget, proved": ("operators_solve",),
    "solve it within 400,000,000 bytes, proved": ("operators_solve_budget",),
    "1,044 paths as ColossalAI finds them; the cheapest ones": ("operators_paths", "operators_paths_exact"),
    "auto-sharding, 9 recorded models, proved": ("operators_autoshard",),
    "252 resharding cases on all ranks, simulated; in compat mode": ("program_reshard", "program_reshard_compat"),
    "the recorded programs on all ranks, outputs included": ("program_apply",),
}


def operators(_build: Path | None, _repeat: int, _threads: int) -> str:
    """Accepted counts of the operator and program regions. Measures nothing."""
    regions = baseline.load(repository.BASELINE).regions
    lines = ["| region | instructions | allocations |", "|---|---:|---:|"]
    for text, names in _OPERATOR_ROWS.items():
        counts = [regions[name] for name in names]
        lines.append(f"| {text} | {'; '.join(f'{each.instructions / 1e6:.1f} M' for each in counts)} | "
                     f"{'; '.join(f'{each.allocations:,}' for each in counts)} |")
    return "\n".join(lines)


SECTIONS: dict[str, Callable[[Path | None, int, int], str]] = {
    "machine": machine, "plan-copies": plan_copies, "planning-runs": planning_runs, "where": profiles,
    "limits": physical, "operators": operators, "scaling": exponents}


def splice(text: str, section: str, content: str) -> str:
    """Returns `text` with the part between the markers of the section replaced."""
    pattern = re.compile(rf"(<!-- measured: {section} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    if not pattern.search(text):
        raise TrackError(f"no markers for section {section}")
    return pattern.sub(lambda match: match.group(1) + content + match.group(2), text, count=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    parser.add_argument("--section", action="append", choices=list(SECTIONS), help="default: all")
    parser.add_argument("--repeat", type=int, default=15, help="runs per figure (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2,
                        help="that planning runs are repeated with, after one (default: all cores)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="replace the sections of this file; else print them")
    options = parser.parse_args()
    try:
        for section in options.section or SECTIONS:
            print(f"measuring {section}", file=sys.stderr)
            content = SECTIONS[section](options.build, options.repeat, options.threads)
            if options.write:
                options.write.write_text(splice(options.write.read_text(encoding="utf-8"), section, content),
                                         encoding="utf-8")
            else:
                print(f"{content}\n")
    except TrackError as error:
        print(f"limits.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
