#!/usr/bin/env python3
"""Where the time of whole planning runs goes: samples of `perf record`, by stage."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import repository  # noqa: E402
from tracking.errors import TrackError  # noqa: E402

CASES = ["36", "40", "41", "43", "ads_bootstrap_1000t@128"]

# A function belongs to the first stage whose pattern its name matches. Inlining moves work into callers, so stages
# are whole files or groups of them, not single functions.
STAGES = {
    "enumerate and estimate": r"enumerate|[Ee]stimat|shard_layout|Enumerat|kernel_bandwidth|Interner|OptionPool",
    "propose": r"Proposer|ProposalBatch|proposer",
    "order groups": r"GroupOrder|__introsort|__insertion_sort|__unguarded_linear",
    "place on devices": r"place_run|place_on_devices|readmit|ensure_tree|DeviceTree|DeviceHeap",
    "place on hosts": r"place_on_host|place_rows|place_columns|next_host|host_perf|sync_tree|try_host|HostOrder",
    "place uniform": r"[Uu]niform",
    "rate": r"rate_perf|rate_storage|rate_|RankSums|busiest",
    "drive the search": r"ProposalLane|ProposalEvaluator|EmbeddingSearch|Partitioner|Placement::|Placer|explore",
    "verify": r"Verifier|evaluate|ranks_sha1|[Ss]ha1",
    "copy memory": r"^__?mem(move|cpy|set)",
    "read and write JSON": r"nlohmann|Json|json|inflate|read_problem",
    "allocate": r"^mi_|_mi_|malloc|free$|operator new",
    "kernel and threads": r"^\[k\]|tbb::|futex|sched",
}


def stage_of(symbol: str, kernel: bool) -> str:
    if kernel:
        return "kernel and threads"
    for stage, pattern in STAGES.items():
        if re.search(pattern, symbol):
            return stage
    return "other"


def profile(program: Path, case: str, seconds: float) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """Share of samples by stage, in percent, and the functions that take most."""
    perf = shutil.which("perf")
    if not perf:
        raise TrackError("`perf` is not installed (Debian package: linux-perf)")
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        once = subprocess.run([str(program), "--case", case, "--repeat", "1"], cwd=repository.ROOT,
                              capture_output=True, text=True, check=False)
        if once.returncode != 0:
            raise TrackError(f"case {case}: {once.stderr.strip()}")
        total = float(re.findall(r'"total_s": ([0-9.e-]+)', once.stdout)[-1])
        repeat = max(1, min(500, round(seconds / total)))
        subprocess.run([perf, "record", "-q", "-F", "1999", "-o", data, str(program), "--case", case, "--repeat",
                        str(repeat)], cwd=repository.ROOT, capture_output=True, check=True)
        report = subprocess.run([perf, "report", "-i", data, "--stdio", "--no-children", "-F", "overhead,symbol"],
                                capture_output=True, text=True, check=True).stdout
    stages: dict[str, float] = {}
    functions: list[tuple[str, float]] = []
    for share, ring, symbol in re.findall(r"^\s*([0-9.]+)%\s+\[(.)\]\s+(.+?)\s*$", report, re.MULTILINE):
        stage = stage_of(symbol, ring == "k")
        stages[stage] = stages.get(stage, 0.0) + float(share)
        functions.append((symbol, float(share)))
    return stages, functions


def markdown(profiles: dict[str, dict[str, float]]) -> str:
    """Stages down, cases across; stages below 1 % everywhere are summed up as other."""
    stages = [stage for stage in (*STAGES, "other")
              if any(shares.get(stage, 0) >= 1 for shares in profiles.values()) and stage != "other"]
    lines = ["| stage, % of samples | " + " | ".join(profiles) + " |", "|---|" + "---:|" * len(profiles)]
    for stage in stages:
        lines.append(f"| {stage} | " + " | ".join(f"{shares.get(stage, 0):.0f}" for shares in profiles.values()) + " |")
    rest = (f"{sum(share for name, share in shares.items() if name not in stages):.0f}" for shares in profiles.values())
    lines.append("| other | " + " | ".join(rest) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    parser.add_argument("--case", action="append", help=f"default: {' '.join(CASES)}")
    parser.add_argument("--seconds", type=float, default=3, help="of sampling per case (default: %(default)s)")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="list the N busiest functions, too")
    options = parser.parse_args()
    try:
        program = repository.program("macro", options.build)
        profiles = {}
        for case in options.case or CASES:
            profiles[case], functions = profile(program, case, options.seconds)
            for symbol, share in functions[:options.functions]:
                print(f"{case}  {share:5.1f} %  {symbol[:120]}")
    except TrackError as error:
        print(f"where.py: {error}", file=sys.stderr)
        return 2
    print(markdown(profiles))
    return 0


if __name__ == "__main__":
    sys.exit(main())
