#!/usr/bin/env python3
"""Measures how many CPU-seconds the build takes, by room and by target, and rewrites perf/build_times.md.

Configures the release preset into a fresh folder without a compiler cache, builds the command, then everything else, and
adds up what each call of the compiler and the linker used. CPU-seconds hardly depend on other load on the machine.

Usage: perf/compile_cost.py [--build FOLDER] [--jobs N] [--write FILE]
"""

import argparse
import collections
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = "SHARDWRIGHT_COMPILE_COST_RECORD"
STAGES = (("the command (`--target shardwright`)", ["--target", "shardwright"]),
          ("all else: tests, samples, C and Python libraries, instruction counts", []))
# Rows of the table are folders this deep.
DEPTH = {"core": 1, "search": 2, "runtime": 2, "tests": 2, "samples": 1, "perf": 1}

LEAST = 10  # CPU-seconds of a folder that has a row of its own

Step = collections.namedtuple("Step", "stage output seconds")


def run_recorded(command):
    """Runs the compiler, as its launcher, and records its output file and CPU-seconds."""
    code = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else "?"
    with open(os.environ[RECORD], "a", encoding="utf-8") as file:
        file.write(f"{used.ru_utime + used.ru_stime:.3f} {output}\n")
    return code


def build(folder, jobs):
    """Returns a Step for each call of the compiler or linker."""
    launcher = f"{sys.executable};{Path(__file__).resolve()};--record"
    subprocess.run(
        ["cmake", "--preset", "release", "-B", folder,
         *(f"-DCMAKE_{kind}_LAUNCHER={launcher}"
           for kind in ("C_COMPILER", "CXX_COMPILER", "C_LINKER", "CXX_LINKER"))],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    steps = []
    for stage, arguments in STAGES:
        record = Path(folder) / "compile_cost"
        record.write_text("", encoding="utf-8")
        subprocess.run(["cmake", "--build", folder, "--parallel", str(jobs), *arguments], check=True,
                       env={**os.environ, RECORD: str(record)}, stdout=subprocess.DEVNULL)
        for line in record.read_text(encoding="utf-8").splitlines():
            seconds, output = line.split(" ", 1)
            steps.append(Step(stage, output, float(seconds)))
    return steps


def row_of(output):
    """Returns the table row of an output file, such as `core` for `core/embedding/CMakeFiles/x.dir/a.cc.o`."""
    parts = [part for part in output.split("/CMakeFiles/")[0].split("/") if part != ".."]
    if "/CMakeFiles/" not in output:
        parts = parts[:-1]
    return "/".join(parts[:DEPTH.get(parts[0], 1)]) if parts else "."


def table(steps):
    yield f"{platform.machine()}, {os.cpu_count()} cores; {compiler()}; release preset, no compiler cache."
    yield ""
    yield "| stage | compiler calls | CPU-seconds |"
    yield "|---|---:|---:|"
    for stage, _ in STAGES:
        mine = [step for step in steps if step.stage == stage]
        compiled = sum(step.output.endswith(".o") for step in mine)
        yield f"| {stage} | {compiled} | {sum(step.seconds for step in mine):.0f} |"
    yield ""
    yield "| folder | CPU-seconds, linking included |"
    yield "|---|---:|"
    rows = collections.Counter()
    for step in steps:
        rows[row_of(step.output)] += step.seconds
    for row, seconds in rows.most_common():
        if seconds >= LEAST:
            yield f"| {row} | {seconds:.1f} |"
    small = [seconds for seconds in rows.values() if seconds < LEAST]
    yield f"| {len(small)} others | {sum(small):.1f} |"


def compiler():
    return subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main():
    if sys.argv[1:2] == ["--record"]:
        return run_recorded(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="folder that is emptied and built in; a temporary one by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", type=Path, help="Markdown file to rewrite below its marker")
    arguments = parser.parse_args()
    folder = arguments.build or tempfile.mkdtemp(prefix="compile_cost")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        text = "\n".join(table(build(folder, arguments.jobs))) + "\n"
    finally:
        if arguments.build is None:
            shutil.rmtree(folder, ignore_errors=True)
    if arguments.write is None:
        print(text, end="")
    else:
        head, marker, _ = arguments.write.read_text(encoding="utf-8").partition("<!-- measured -->\n")
        arguments.write.write_text(head + marker + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
