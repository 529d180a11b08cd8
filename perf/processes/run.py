#!/usr/bin/env python3
"""Counts work, span and bytes of best mode in 1 to 64 processes, and models the time on a cluster. Counts how equal the
shares of eight processes are for large problems, contest instances and sweeps. Measures seconds with `mpirun`.

Usage: run.py [--write perf/README.md] [--mpi]. Needs `perf_processes`, which the perf preset builds, and for --mpi the
command with its library for MPI. Processes are threads of one program, except with --mpi; what is counted does not
depend on that.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import measured_table  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MARKS = ("<!-- measured: processes -->", "<!-- end -->")
SHARE_MARKS = ("<!-- measured: shares of processes -->", "<!-- end -->")
MPI_MARKS = ("<!-- measured: mpirun -->", "<!-- end -->")
CASES = (("09", 32), ("43", 32), ("43", 128))
PROCESSES = (1, 2, 4, 8, 16, 32, 64)
WORK = 40_000_000

# Of eight processes: the program's arguments but for the number of processes, in two parts.
CONTEST = Path(os.environ.get("SHARDWRIGHT_IOPDDL", "shared/iopddl"))
SHARES = (
    (("plan", "ads_bootstrap_5384t@1024"), ("32", "40000000")),
    (("plan", "ads_bootstrap_5384t@1024"), ("256", "400000000")),
    (("plan", "hugectr_510table_110B_hotness5@64"), ("32", "400000000")),
    (("plan", "hugectr_510table_110B_hotness5@64"), ("256", "400000000")),
    (("plan", "09"), ("256", "400000000")),
    (("solve", str(CONTEST / "asplos-2025-iopddl-N.json.gz")), ("500000000",)),
    (("solve", str(CONTEST / "asplos-2025-iopddl-N.json.gz")), ("2000000000",)),
    (("sweep", "09"), ("32", "2000000")),
)
SHARING_PROCESSES = 8

MPI_CASE = "tests/golden/embedding/cases/43_big_500t_64r_rw_mix.json.gz"
MPI_PROCESSES = (1, 2, 4, 8)

# The model of time.
SECONDS_PER_STEP = 1e-8  # one thread: the default of 400 million steps takes two seconds on two cores
LATENCY_S = 1e-6  # of a message
BYTES_PER_SECOND = 10e9


def seconds(counted):
    """One thread per process. In every round a process sends its message to every other one."""
    others = counted["processes"] - 1
    exchange = others * (counted["rounds"] * LATENCY_S + counted["bytes"] / counted["processes"] / BYTES_PER_SECOND)
    return counted["process_span_steps"] * SECONDS_PER_STEP + exchange, exchange


def measure(program, before, processes, after):
    arguments = [str(program), *before, str(processes), *after]
    done = subprocess.run(arguments, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def table(program):
    lines = ["| case | lanes | processes | million steps | most in a process | span | bytes per process and round | most |"
             " modelled s | of it exchange | times as fast |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for case, lanes in CASES:
        alone = None
        for processes in PROCESSES:
            counted = measure(program, ("plan", case), processes, (str(lanes), str(WORK)))
            steps = counted["steps_by_process"]
            modelled, exchange = seconds(counted)
            alone = alone or modelled
            mean = counted["bytes"] / processes / max(counted["rounds"], 1)
            lines.append(
                f"| {counted['case']} | {lanes} | {processes} | {sum(steps) / 1e6:.1f} | {max(steps) / 1e6:.1f} |"
                f" {counted['process_span_steps'] / 1e6:.1f} | {mean:,.0f} | {counted['most_bytes']:,} |"
                f" {modelled:.3f} | {exchange * 1e3:.3f} ms | {alone / modelled:.2f} |")
    return "\n".join(lines)


def shares(program):
    lines = ["| asked | lanes | million steps | equal share | most | least | most over equal | least below equal | rounds |"
             " bytes per process and round | most |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for before, after in SHARES:
        if not (ROOT / before[1]).exists() and before[0] == "solve":
            print(f"left out: {before[1]} is not here", file=sys.stderr)
            continue
        counted = measure(program, before, SHARING_PROCESSES, after)
        steps = counted["steps_by_process"]
        equal = sum(steps) / len(steps)
        mean = counted["bytes"] / SHARING_PROCESSES / max(counted["rounds"], 1)
        name = f"{before[0]} {Path(counted['case']).name.removesuffix('.json.gz')}"
        total = counted.get("work", sum(steps))
        lines.append(
            f"| {name} | {counted.get('lanes', '')} | {total / 1e6:.1f} | {equal / 1e6:.2f} | {max(steps) / 1e6:.2f} |"
            f" {min(steps) / 1e6:.2f} | {(max(steps) / equal - 1) * 100:.1f} % | {(1 - min(steps) / equal) * 100:.1f} % |"
            f" {counted['rounds']:,} | {mean:,.0f} | {counted['most_bytes']:,} |")
    return "\n".join(lines)


def launched(command, processes):
    """Seconds, and what process 0 says was sent."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(processes)]
    began = time.monotonic()
    done = subprocess.run(launcher + command, cwd=ROOT, check=True, capture_output=True, text=True, env=environment)
    sent = [line for line in done.stderr.splitlines() if "bytes to other processes" in line]
    return time.monotonic() - began, sent[0].split("sent ")[1] if sent else "", done.stdout


def mpi_table(command):
    arguments = [str(command), "plan", MPI_CASE, "--threads", "1", "--work-limit", str(WORK), "--lanes", "128", "-v",
                 "--json"]
    lines = ["| processes | seconds | the plan of one | process 0 sent |", "|---:|---:|---|---|"]
    plan = None
    for processes in MPI_PROCESSES:
        seconds_taken, sent, answer = launched(arguments, processes)
        found = json.loads(answer)["plan"]
        plan = plan or found
        lines.append(f"| {processes} | {seconds_taken:.1f} | {'yes' if found == plan else 'NO'} | {sent} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/perf", help="build folder")
    parser.add_argument("--write", type=Path, metavar="FILE", help="rewrite the tables in this file")
    parser.add_argument("--mpi", action="store_true", help="only the table of mpirun")
    options = parser.parse_args()
    program = (options.build / "perf/processes/perf_processes").resolve()
    if options.mpi:
        tables = [(MPI_MARKS, mpi_table((options.build / "runtime/shardwright").resolve()))]
    else:
        tables = [(MARKS, table(program)), (SHARE_MARKS, shares(program))]
    for marks, text in tables:
        print(text)
        if options.write:
            measured_table.rewrite(options.write, marks, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
