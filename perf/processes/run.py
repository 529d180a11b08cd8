#!/usr/bin/env python3
"""Counts work, span and bytes of best mode in 1 to 64 processes, and models the time on a cluster.

Usage: run.py [--write perf/README.md]. Needs `perf_processes`, which the perf preset builds. Processes are threads of
one program; what is counted does not depend on that.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import measured_table  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MARKS = ("<!-- measured: processes -->", "<!-- end -->")
CASES = (("09", 32), ("43", 32), ("43", 128))
PROCESSES = (1, 2, 4, 8, 16, 32, 64)
WORK = 40_000_000

# The model of time.
SECONDS_PER_STEP = 1e-8  # one thread: the default of 400 million steps takes two seconds on two cores
LATENCY_S = 1e-6  # of a message
BYTES_PER_SECOND = 10e9


def seconds(counted):
    """One thread per process. In every round a process sends its message to every other one."""
    others = counted["processes"] - 1
    exchange = others * (counted["rounds"] * LATENCY_S + counted["bytes"] / counted["processes"] / BYTES_PER_SECOND)
    return counted["process_span_steps"] * SECONDS_PER_STEP + exchange, exchange


def measure(program, case, processes, lanes):
    arguments = [str(program), case, str(processes), str(lanes), str(WORK)]
    done = subprocess.run(arguments, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def table(program):
    lines = ["| case | lanes | processes | million steps | most in a process | span | bytes per process and round | most |"
             " modelled s | of it exchange | times as fast |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for case, lanes in CASES:
        alone = None
        for processes in PROCESSES:
            counted = measure(program, case, processes, lanes)
            steps = counted["steps_by_process"]
            modelled, exchange = seconds(counted)
            alone = alone or modelled
            mean = counted["bytes"] / processes / max(counted["rounds"], 1)
            lines.append(
                f"| {counted['case']} | {lanes} | {processes} | {sum(steps) / 1e6:.1f} | {max(steps) / 1e6:.1f} |"
                f" {counted['process_span_steps'] / 1e6:.1f} | {mean:,.0f} | {counted['most_bytes']:,} |"
                f" {modelled:.3f} | {exchange * 1e3:.3f} ms | {alone / modelled:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/perf", help="build folder")
    parser.add_argument("--write", type=Path, metavar="FILE", help="rewrite the table in this file")
    options = parser.parse_args()
    text = table((options.build / "perf/processes/perf_processes").resolve())
    print(text)
    if options.write:
        measured_table.rewrite(options.write, MARKS, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
