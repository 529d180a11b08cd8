#!/usr/bin/env python3
"""Work and span of the compat search by case, counted in instructions.

Work is what all stages of the pipeline execute. Span is its critical path with any number of workers: the serial
stages, propose and take in, run one after the other on the exploring thread, beside evaluation. Whenever the pipeline
is full, that thread waits for the oldest batch, which unlimited workers evaluate in the time of one range. A range of
its smallest size counts twice its share of the evaluation, since it begins by seeking its first proposal.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import measured_table, repository  # noqa: E402
from tracking.errors import TrackError  # noqa: E402

CASES = ("36", "40", "41", "42", "43", "ads_bootstrap_1000t@128")
# EmbeddingSearch::kBatchesInFlight and kGrain.
BATCHES_IN_FLIGHT = 4
GRAIN = 4
MARKS = ("<!-- measured: work-span -->", "<!-- end -->")


@dataclass(frozen=True)
class Stages:
    """Instructions of one search by stage."""

    case: str
    propose: int
    evaluate: int
    take_in: int
    batches: int
    proposals: int

    @property
    def work(self) -> int:
        return self.propose + self.evaluate + self.take_in

    @property
    def span(self) -> int:
        waits = math.ceil(self.batches / BATCHES_IN_FLIGHT)
        one_range = 2 * GRAIN * self.evaluate // max(1, self.proposals)
        return self.propose + self.take_in + waits * one_range


def inclusive(profile: Path, function: str) -> int:
    """Instructions below a member function of EmbeddingSearch."""
    command = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(profile)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^\s*([\d,]+) .*EmbeddingSearch::{function}\(", text, re.MULTILINE)
    return int(found.group(1).replace(",", "")) if found else 0


def measure(driver: Path, case: str) -> Stages:
    """Runs one case under callgrind."""
    with tempfile.TemporaryDirectory() as scratch:
        profile = Path(scratch) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=shardwright_measured_region",
                   f"--callgrind-out-file={profile}", str(driver), "--explore", case]
        done = subprocess.run(command, cwd=repository.ROOT, env={"PATH": "/usr/bin:/bin"}, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise TrackError(f"{case}: ended with {done.returncode}: {done.stderr.strip()[-200:]}")
        told = json.loads(done.stdout)
        stages = [inclusive(profile, name) for name in ("propose", "evaluate", "synchronize")]
        if 0 in stages:
            raise TrackError(f"{case}: a stage is missing in the profile")
        return Stages(told["case"], *stages, told["batches"], told["proposals"])


def table(rows: list[Stages]) -> str:
    lines = ["| case | proposals | work | span | work / span |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        figures = (row.proposals, row.work, row.span)
        lines.append(f"| {row.case} | " + " | ".join(f"{figure:,}" for figure in figures) +
                     f" | {row.work / row.span:.0f} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    parser.add_argument("--case", action="append", help="this case alone; repeatable")
    parser.add_argument("--write", type=Path, metavar="FILE", help="rewrite the table in this file")
    options = parser.parse_args(arguments)
    try:
        driver = repository.program("instr", options.build)
        text = table([measure(driver, case) for case in options.case or CASES])
    except TrackError as error:
        print(f"work_span.py: {error}", file=sys.stderr)
        return 2
    print(text)
    if options.write:
        measured_table.rewrite(options.write, MARKS, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
