"""The command line of perf/track."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from . import history, judge, page, paired, repository, results, suites
from .alternate import alternate
from .errors import TrackError
from .planners import BuildPlanner, CommandPlanner, MicroPlanner, Planner
from .results import TIMES

EXAMPLES = """examples:
  perf/track run --suite all -o after.json                    every suite of build/perf or build/release
  perf/track run --suite macro --case 36 --repeat 9 -o a.json
  perf/track run --command "their_planner {problem} -o {out}" --case 36 -o theirs.json
                                                              somebody else's planner; reads best_rating and timing
  perf/track compare before.json after.json                   two result files
  perf/track compare --paired build/old build/perf --case 41  two builds in alternation: A B A B ...
  perf/track compare --paired "old plan {problem} -o {out}" "new plan {problem} -o {out}" --case 36 --pairs 20
  perf/track history add after.json                           append to the history
  perf/track html -o performance.html                         the history as one page

exit codes: 0 done, 1 something is slower or worse, 2 bad input or usage"""


def _run(options: argparse.Namespace) -> int:
    request = suites.Request(options.build, options.command_line, options.case or [], options.repeat,
                             options.threads, options.work_limit)
    if options.suite == "all":
        if options.case:
            raise TrackError("--case needs one --suite: cases of one suite mean nothing to another")
        if options.command_line:
            raise TrackError("--command measures the macro suite; leave --suite out")
    names = suites.SUITES if options.suite == "all" else (options.suite or "macro",)
    notes: dict[str, Any] = {}
    measurements = []
    for name in names:
        print(f"running {name}", file=sys.stderr)
        measurements += suites.run(name, request, notes)
    driver = None if options.command_line else repository.program("instr", options.build)
    done = results.stamped(measurements, driver, notes)
    if options.output:
        results.save(done, options.output)
    else:
        print(json.dumps(done.document(), indent=1))
    return 0


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _planner(side: str, options: argparse.Namespace) -> Planner:
    if "{problem}" in side:
        return CommandPlanner(side)
    build = Path(side)
    if not build.is_dir():
        raise TrackError(f"{side} is neither a build folder nor a command with {{problem}}")
    if options.suite == "micro":
        return MicroPlanner(build)
    arguments = ["--threads", str(options.threads)]
    if options.work_limit is not None:
        arguments += ["--work-limit", str(options.work_limit)]
    return BuildPlanner(build, arguments)


def _compare_paired(options: argparse.Namespace) -> int:
    if options.pairs < paired.MIN_PAIRS:
        raise TrackError(f"--pairs {options.pairs}: below {paired.MIN_PAIRS} pairs nothing can be significant")
    cases = options.case or ([] if options.suite == "micro" else ["36"])
    outcomes = alternate(_planner(options.a, options), _planner(options.b, options), cases, options.pairs,
                         options.floor / 100, lambda text: print(text, file=sys.stderr))
    if not outcomes:
        raise TrackError("A and B have no figure in common")
    print(_table([(each.verdict, each.case, each.metric, each.text) for each in outcomes]))
    return 1 if any(each.failed for each in outcomes) else 0


def _compare_files(options: argparse.Namespace) -> int:
    judged = judge.judge(results.load(Path(options.a)), results.load(Path(options.b)))
    if not judged:
        raise TrackError(f"{options.a} and {options.b} hold no figures")
    shown = [each for each in judged if options.all or each.verdict != "same"]
    if shown:
        print(_table([(each.verdict, *each.key, f"{page.number(each.old, each.unit)} -> "
                       f"{page.number(each.new, each.unit)}", each.change, each.note) for each in shown]))
    counts = Counter(each.verdict for each in judged)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    # Times of separate runs are only a hint, so they do not fail.
    return 1 if any(each.verdict in judge.BAD and each.unit not in TIMES for each in judged) else 0


def _compare(options: argparse.Namespace) -> int:
    return _compare_paired(options) if options.paired else _compare_files(options)


def _history(options: argparse.Namespace) -> int:
    if options.action == "add":
        if not options.file:
            raise TrackError("history add needs a result file")
        history.add(options.history, results.load(options.file))
        return 0
    rows = [(run.date, run.revision or "?", f"{len(run.measurements)} figures",
             " ".join(sorted({each.suite for each in run.measurements}))) for run in history.load(options.history)]
    print(_table(rows) if rows else f"{options.history} is empty")
    return 0


def _html(options: argparse.Namespace) -> int:
    runs = history.load(options.history) if options.history.is_file() or not options.results else []
    runs += [results.load(path) for path in options.results or []]
    if not runs:
        raise TrackError(f"{options.history} is empty")
    options.output.write_text(page.render(runs, options.title), encoding="utf-8")
    return 0


def _add_measuring(command: argparse.ArgumentParser) -> None:
    command.add_argument("--case", action="append",
                         help="macro: golden case 36, workload ads_bootstrap_1000t@128 or problem file; "
                              "micro: filter; instr: region; repeatable")
    command.add_argument("--threads", type=int, default=1, help="workers of a planning run (default: %(default)s)")
    command.add_argument("--work-limit", type=int, help="stop each search after this many work steps")


def _parser() -> argparse.ArgumentParser:
    style: dict[str, Any] = {"epilog": EXAMPLES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(prog="perf/track", description="Measures, compares and keeps performance.", **style)
    commands = parser.add_subparsers(dest="command", required=True, metavar="run|compare|history|html")

    run = commands.add_parser("run", help="measure a suite", **style)
    run.add_argument("--suite", choices=(*suites.SUITES, "all"), help="default: macro")
    run.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    run.add_argument("--command", dest="command_line", metavar="COMMAND", help="a planner, with {problem} and {out}")
    run.add_argument("--repeat", type=int, default=3, help="samples of each time (default: %(default)s)")
    run.add_argument("-o", "--output", type=Path, metavar="FILE", help="result file (default: standard output)")
    _add_measuring(run)
    run.set_defaults(action_of=_run)

    compare = commands.add_parser("compare", help="verdict per case on two results or two builds", **style)
    compare.add_argument("a", metavar="A", help="result file; with --paired a build folder or a command")
    compare.add_argument("b", metavar="B")
    compare.add_argument("--paired", action="store_true", help="run A and B in alternation")
    compare.add_argument("--suite", choices=("macro", "micro"), default="macro", help="with --paired")
    compare.add_argument("--pairs", type=int, default=10, help="default: %(default)s")
    compare.add_argument("--floor", type=float, default=paired.FLOOR * 100, metavar="PERCENT",
                         help="effects below are \"same\" (default: %(default)g)")
    compare.add_argument("--all", action="store_true", help="print what is the same, too")
    _add_measuring(compare)
    compare.set_defaults(action_of=_compare)

    keep = commands.add_parser("history", help="the history file", **style)
    keep.add_argument("action", choices=("add", "list"))
    keep.add_argument("file", nargs="?", type=Path, metavar="FILE")
    keep.add_argument("--history", type=Path, default=repository.HISTORY, help="default: %(default)s")
    keep.set_defaults(action_of=_history)

    show = commands.add_parser("html", help="the history as a page", **style)
    show.add_argument("--history", type=Path, default=repository.HISTORY, help="default: %(default)s")
    show.add_argument("--results", type=Path, action="append", metavar="FILE", help="further runs, after the history")
    show.add_argument("--title", default="shardwright performance")
    show.add_argument("-o", "--output", type=Path, required=True, metavar="PAGE")
    show.set_defaults(action_of=_html)
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.action_of(options))
    except TrackError as error:
        print(f"track: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"track: {error.filename or ''}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
