#!/usr/bin/env python3
"""Checks counted figures against perf/baselines/instr.json, or accepts new ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import baseline as baselines  # noqa: E402
from tracking import counted, fingerprint, repository  # noqa: E402
from tracking.errors import TrackError  # noqa: E402

EXAMPLES = """examples:
  perf/instr/run.py check                          everything, against the committed baseline
  perf/instr/run.py check --only quality           ratings at fixed work budgets alone; needs no valgrind
  perf/instr/run.py check --region enumerate --keep profiles     
                                                   one region; its profile is kept for callgrind_annotate
  perf/instr/run.py update --reason "Options carry their cache statistics"
                                                   accept what is measured now
  perf/instr/run.py update --region operators_blocks --reason "A region for the block solver"
                                                   accept one region; all other figures stay

A region fails above +2 % instructions, the total above +0.5 %, allocations or their bytes above +1 %, a rating
if it is worse at all. If compiler, flags, libraries or processor differ from the baseline's, instruction and
allocation counts are "not comparable"; the check says so and passes. `update` writes its reason into the baseline."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="check|update")
    for name, text in (("check", "compare with the baseline"), ("update", "write the baseline")):
        command = commands.add_parser(name, help=text, epilog=EXAMPLES,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        command.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
        command.add_argument("--baseline", type=Path, default=repository.BASELINE, help="default: %(default)s")
        command.add_argument("--jobs", type=int, default=0, help="regions at once (default: one per core)")
        if name == "check":
            command.add_argument("--only", choices=("instr", "quality"), help="leave out the other")
            command.add_argument("--region", action="append", help="this region alone; repeatable")
            command.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the callgrind profiles here")
            command.add_argument("--quiet", action="store_true", help="print only what differs")
        else:
            command.add_argument("--reason", required=True, help="why the figures change")
            command.add_argument("--region", action="append",
                                 help="this region alone, the other figures stay; repeatable")
    return parser.parse_args(arguments)


def check_regions(options: argparse.Namespace, driver: Path, old: baselines.Baseline) -> bool:
    """Returns true if the regions pass. Prints "skipped" or "not comparable" if they cannot be judged."""
    if not counted.have_valgrind():
        print("skipped: valgrind is not installed, instructions were not counted")
        return True
    differences = fingerprint.differences(old.fingerprint, fingerprint.take(driver))
    if differences:
        print("not comparable: " + "; ".join(differences))
        return True
    regions = counted.measure_regions(driver, options.region, options.jobs, options.keep)
    report = baselines.judge_regions(old, regions, partial=bool(options.region))
    print(report.text(not options.quiet) or "no instruction or allocation count differs")
    return not report.failed


def check(options: argparse.Namespace) -> int:
    driver = repository.program("instr", options.build)
    old = baselines.load(options.baseline)
    passed = True
    if options.only != "instr" and not options.region:
        report = baselines.judge_quality(old.quality, counted.measure_quality(driver))
        print(report.text(not options.quiet) or "no rating differs")
        passed = not report.failed
    if options.only != "quality":
        passed = check_regions(options, driver, old) and passed
    print("passed" if passed else "FAILED: find out why, or accept it with `perf/instr/run.py update --reason ...`")
    return 0 if passed else 1


def raises(old: baselines.Baseline, new: baselines.Baseline) -> list[baselines.Judgement]:
    """Returns what got worse by more than the check allows."""
    worse = list(baselines.judge_quality(old.quality, new.quality).judgements)
    if not fingerprint.differences(old.fingerprint, new.fingerprint):
        worse += baselines.judge_regions(old, new.regions).judgements
    return [judgement for judgement in worse if judgement.verdict == "worse"]


def measure(options: argparse.Namespace, driver: Path, old: baselines.Baseline | None) -> baselines.Baseline:
    """Everything, or the old baseline with the regions of --region measured anew."""
    mark = fingerprint.take(driver)
    regions = counted.measure_regions(driver, options.region, options.jobs)
    if not options.region:
        return baselines.Baseline(mark, regions, counted.measure_quality(driver), options.reason)
    if old is None:
        raise TrackError(f"{options.baseline} does not exist, so --region has nothing to add to")
    differences = fingerprint.differences(old.fingerprint, mark)
    if differences:
        raise TrackError("--region cannot be combined with the old figures: " + "; ".join(differences))
    return baselines.Baseline(mark, baselines.with_regions(old.regions, regions, list(counted.list_regions(driver))),
                              old.quality, options.reason)


def update(options: argparse.Namespace) -> int:
    if not options.reason.strip():
        raise TrackError("--reason is empty")
    driver = repository.program("instr", options.build)
    old = baselines.load(options.baseline) if options.baseline.is_file() else None
    new = measure(options, driver, old)
    if old:
        worse = raises(old, new)
        if worse:
            print(baselines.Report(worse).text())
    baselines.save(options.baseline, new)
    print(f"{options.baseline}: {len(new.regions)} regions, {new.total:,} instructions, {len(new.quality)} ratings")
    return 0


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        return check(options) if options.command == "check" else update(options)
    except TrackError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
