"""What is asked of plans, problems and kinds of files: verify, explain, sweep, diff, schema, ..."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Mapping, Sequence, SupportsIndex, Union

from .answer import Answer, AnswerType, Cancel, ProgressLike, Row, ask_for, made, member
from .arguments import Counts, Document, Machine, Mode, Size, integer
from .problem import ProblemLike, SearchSpace, as_problem, problem_members

if TYPE_CHECKING:
    from typing_extensions import Unpack

Options = Union[SearchSpace, Document]  # options that somebody else computed


class Verification(Answer):
    """The answer of `verify`. True if every claim of the plan that matters was checked and holds."""

    claims: int = member("claims_checked", "Number of claims compared.")
    stats: Mapping[str, Any] | None = member(
        "stats", "TorchRec's statistics of the recomputed plan, if they were asked for.")

    @property
    def violations(self) -> tuple[str, ...]:
        """Claims that are false, and, as "not verified: ...", claims that could not be checked."""
        return (*(_finding(found) for found in self.data["violations"]),
                *(f"not verified: {_finding(found)}" for found in self.data["not_verified"]))

    @property
    def repeated(self) -> tuple[str, ...]:
        """Claims whose check repeated a search of all plans with the engine that proves bounds."""
        return tuple(_finding(found) for found in self.data["repeated"])

    def __bool__(self) -> bool:
        return bool(self.data["valid"])

    def __repr__(self) -> str:
        return (f"<shardwright.Verification: {self.claims} claims recomputed, "
                f"{len(self.violations)} do not hold or were not verified>")


def _finding(found: Mapping[str, str]) -> str:
    return f"{found['where']}: {found['message']}" if found["where"] else found["message"]


@dataclass(frozen=True)
class OptionInPlan:
    """An option of a table in the place of the chosen one, everything else as in the plan."""

    table: str
    standing: str  # "chosen", "possible", or why not: "too_large", "excluded", ...
    sharding_type: str
    compute_kernel: str
    load_factor: float | None
    rating: float | None  # of the plan with this option
    rating_change: float | None
    busiest_rank: int | None
    hbm: int  # bytes; ddr likewise
    ddr: int
    ranks: tuple[int, ...]


class Explanation(Answer):
    """The answer of `explain`: why every table is sharded as it is, or why nothing fits."""

    _shows_rows = True

    feasible: bool = member("feasible", "False if nothing fits; see `reason` and `remedies` then.")

    @property
    def options(self) -> tuple[OptionInPlan, ...]:
        """All options of all tables. Empty if nothing fits."""
        return tuple(
            made(OptionInPlan, option, table=one["table"], ranks=tuple(option["ranks"] or ()))
            for one in self.data.get("tables", ()) for option in one["options"])

    @property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """By table: why its other options are not better."""
        return {one["table"]: tuple(one["reasons"]) for one in self.data.get("tables", ())}

    @property
    def reason(self) -> str | None:
        """Why nothing fits, in a few sentences; None if there is a plan."""
        found = self.data.get("infeasible")
        return None if found is None else str(found["message"])

    @property
    def remedies(self) -> tuple[Mapping[str, Any], ...]:
        """The smallest single changes that would do: `kind`, `from`, `to`, `flags`, ..."""
        return tuple(self.data.get("remedies", ()))

    def _rows(self) -> list[Row]:
        return [vars(option) for option in self.options] if self.feasible else list(self.remedies)


@dataclass(frozen=True)
class SweepPoint:
    """A machine, and the plan that was found for it."""

    ranks: int
    ranks_per_host: int
    hbm: int | None  # bytes per rank
    batch_size: int
    fits: bool
    rating: float | None
    lower_bound: float | None
    why: str | None = None  # why nothing fits; None if something fits
    samples_per_second: float | None = None  # of all ranks, by the rating
    price_per_hour: float | None = None  # of all ranks
    price_per_billion_samples: float | None = None
    pareto: bool = False  # True: no other machine is as fast for the same price or less


class Sweep(Answer):
    """The answer of `sweep`."""

    _shows_rows = True

    @property
    def points(self) -> tuple[SweepPoint, ...]:
        """Every machine, by ranks, batch size and memory."""
        return tuple(made(SweepPoint, read, rating=read["best_rating"])
                     for read in self.data["points"])

    def _rows(self) -> list[Row]:
        return [vars(point) for point in self.points]


class Diff(Answer):
    """The answer of `diff`. True if there is a difference."""

    kind: Literal["plans", "problems"] = member("kind", "What was compared.")
    same: bool = member("same", "True if nothing differs.")
    moved_bytes: int | None = member("moved_bytes", "Bytes that moved, of tables in both plans; None "
                                     "for problems, and if a size is not known.")

    def __bool__(self) -> bool:
        return not self.same

    def _rows(self) -> list[Row]:
        return list(self.data["tables" if self.kind == "plans" else "differences"])


@dataclass(frozen=True)
class AuditChange:
    """A table of a running plan that should be sharded otherwise or move."""

    table: str
    module: str
    to: str  # such as "table_wise on rank 3"; `from` is in `Audit.data`
    gain_ms: float  # 0 while another rank is as slow
    moved_bytes: int
    rating_after: float  # ms, with all changes so far


class Audit(Answer):
    """The answer of `audit`: how good the plan in a log is, and what to change."""

    _shows_rows = True

    as_run: Mapping[str, Any] = member("as_run", "The plan of the log: `rating`, `mean`, ...")
    same_options: Mapping[str, Any] | None = member("same_options", "The best plan if only ranks move.")
    all_options: Mapping[str, Any] | None = member("all_options", "The best plan of all sharding types.")
    inferred: Mapping[str, Any] = member("inferred", "What costs depend on: `value` and `from`.")
    fit: Mapping[str, Any] = member("fit", "How far TorchRec's formulas are from printed columns.")

    @property
    def changes(self) -> tuple[AuditChange, ...]:
        """The fewest changes that reach most of the best plan, in the order in which to make them."""
        return tuple(made(AuditChange, change) for change in self.data["changes"])

    def _rows(self) -> list[Row]:
        return list(self.data["changes"])


def _ask_about(kind: type[AnswerType], command: str, arguments: dict[str, Any]) -> AnswerType:
    """`ask_for` with the arguments of a function about a problem and, in `machine`, its machine."""
    problem = problem_members(arguments.pop("problem"), arguments.pop("machine", {}))
    return ask_for(kind, command, {**problem, **arguments})


def verify(problem: ProblemLike, plan: Document, *, old_plan: Document | None = None,
           search_space: Options | None = None, stats: bool = False,
           time_limit: float | None = None, **machine: Unpack[Machine]) -> Verification:
    """Recomputes what a plan claims, including the proof of its bound.

    `plan` is a result, or a plan file: its path, dict or JSON text. An answer of `replan` also
    needs the `old_plan` that it began with. A false claim is a violation in the answer, not an
    exception; so is a claim that matters and cannot be checked, for instance within `time_limit`
    seconds. Raises InvalidInputError if the problem or a plan cannot be read.
    """
    return _ask_about(Verification, "verify", locals())


def explain(problem: ProblemLike, plan: Document | None = None, *, table: str | None = None,
            mode: Mode = "best", search_space: Options | None = None, threads: SupportsIndex = 0,
            time_limit: float | None = None, work_limit: SupportsIndex | None = None,
            seed: SupportsIndex = 0, lanes: SupportsIndex | None = None,
            progress: ProgressLike = None, cancel: Cancel | None = None,
            **machine: Unpack[Machine]) -> Explanation:
    """Says why every table is sharded as it is, or why nothing fits and what would help. Without a
    `plan`, the problem is planned first. Given the name of a `table`, explains this table only.
    """
    return _ask_about(Explanation, "explain", locals())


def sweep(problem: ProblemLike, *, ranks: Counts | None = None,
          hbm: Size | Sequence[Size] | None = None, batch_size: Counts | None = None,
          machine: Document | None = None, zipf: float | None = None,
          ranks_per_host: SupportsIndex | None = None, gpu: str | None = None,
          hbm_mem_bw: float | str | None = None, intra_host_bw: float | str | None = None,
          inter_host_bw: float | str | None = None,
          price: float | Sequence[float] | None = None, ddr: Size | None = None,
          ssd: Size | None = None, device: Literal["cuda", "cpu", "mtia", "tpu"] | None = None,
          sharding_group_size: Counts | Literal["any"] | None = None,
          sync_interval: SupportsIndex | None = None, pod_size: Counts | None = None,
          torchrec: Literal["1.9.2", "a48cef79"] | None = None,
          mode: Mode = "best", threads: SupportsIndex = 0, time_limit: float | None = None,
          work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
          lanes: SupportsIndex | None = None,
          progress: ProgressLike = None, cancel: Cancel | None = None) -> Sweep:
    """Plans for every combination of these lists: what fits, how fast, which is the smallest.

    `sweep(problem, ranks=[8, 16], hbm=["40GiB", "80GiB"])`. Limits hold for each combination.
    `price` is what a rank costs for an hour: one number, or one for every size of `hbm`.
    """
    arguments = locals()
    return ask_for(Sweep, "sweep", {**problem_members(arguments.pop("problem"), {}), **arguments})


def diff(before: Document, after: Document, **machine: Unpack[Machine]) -> Diff:
    """Says what differs between two plans, or between two problems on the same `machine`."""
    return ask_for(Diff, "diff", {"plan_a": before, "plan_b": after, **machine})


def audit(log: str | os.PathLike[str], *, plan: SupportsIndex | None = None,
          within: float | None = None, machine: Document | None = None,
          ranks_per_host: SupportsIndex | None = None,
          intra_host_bw: float | str | None = None, inter_host_bw: float | str | None = None,
          hbm_mem_bw: float | str | None = None, weights: str | None = None,
          communication: str | None = None, reduction: str | None = None,
          threads: SupportsIndex = 0, time_limit: float | None = None,
          work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
          lanes: SupportsIndex | None = None,
          progress: ProgressLike = None, cancel: Cancel | None = None) -> Audit:
    """Judges a running plan from the log of its planner: the text with TorchRec's statistics, or a
    file. `plan` is its number in the log, the last unless given. Plans are judged by the measured
    costs of `machine`, if there is one. What is given of the machine
    takes precedence over what the log tells. Raises InvalidInputError with the number of the line.
    """
    arguments = {**locals(), "plan": None if plan is None else str(integer(plan, "plan"))}
    return ask_for(Audit, "audit", arguments)


def enumerate_options(problem: ProblemLike, **machine: Unpack[Machine]) -> SearchSpace:
    """All sharding options of a problem with their estimated costs. Raises InvalidInputError."""
    return SearchSpace(as_problem(problem, **machine))


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of file, such as "problem", "plan" or "sweep".
    Raises InvalidInputError, which names the known kinds.
    """
    found: dict[str, Any] = ask_for(Answer, "schema", {"kind": kind}).data
    return found


def kinds() -> dict[str, str]:
    """The kinds of files, and what they are."""
    listed = ask_for(Answer, "schema", {}).data["kinds"]
    return {entry["kind"]: entry["description"] for entry in listed}


def init(kind: str = "problem") -> str:
    """The text of a commented file to begin with. Raises InvalidInputError for an unknown kind."""
    return ask_for(Answer, "init", {"kind": kind}).to_json()
