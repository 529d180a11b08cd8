"""Solves the integer program of PyTorch's AutoParallel in the place of PuLP's CBC.

    with shardwright.autoparallel.Solver(time_limit=60) as solver:
        placements = planner.optimize_placement()
    print(solver.result)

AutoParallel makes the program and reads the values of its variables, as ever. What is solved are the rows that PuLP
holds, so those that a user added count, too. The module itself needs neither torch nor PuLP.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections import defaultdict
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, SupportsIndex

from . import operators
from .answer import Cancel, ProgressLike
from .errors import StoppedError, UnsupportedError

_FORBIDDEN = 1e18  # what `operators.solve` takes for infinite
_DIGITS = 9  # to which sums of coefficients are compared; AutoParallel's are counts and ratios of sizes
_TOLERANCE = 10.0 ** -_DIGITS
_BITS = 48  # limited sums are counted in units of 2^-48 of their range
_STATUS = {"optimal": (1, 1), "feasible": (1, 2), "infeasible": (-1, -1)}  # PuLP's, of program and solution
_ONE_VALUE = 0  # the node with a single value

_Pair = tuple[int, int]


@dataclass(frozen=True)
class Result:
    """What is proved of a program. Costs are those of its objective; AutoParallel's are microseconds."""

    status: operators.Status  # "feasible" if a limit ended the proof
    objective: float | None  # None without a solution
    lower_bound: float | None  # no solution costs less; None without a solution


class Solver(AbstractContextManager["Solver"]):
    """A solver for PuLP, `problem.solve(Solver())`, and a block in which AutoParallel uses it.

    AutoParallel takes no solver from its caller, hence the block. It holds for all threads; of nested ones the inner
    one holds. Options are those of `operators.solve`. If every rank plans by itself, `work_limit` gives all the same
    placements, `time_limit` may not.
    """

    def __init__(self, *, threads: SupportsIndex = 0, time_limit: float | None = None,
                 work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
                 progress: ProgressLike = None, cancel: Cancel | None = None) -> None:
        self.result: Result | None = None  # of the last program
        self._options: dict[str, Any] = {"threads": threads, "time_limit": time_limit, "work_limit": work_limit,
                                         "seed": seed, "progress": progress, "cancel": cancel}
        self._replaced: list[tuple[Any, Any]] = []

    def __enter__(self) -> Solver:
        """Raises ImportError without AutoParallel, AttributeError for a release that solves elsewhere."""
        optimizer = importlib.import_module("autoparallel.optimize_sharding").ShardingOptimizer
        original = inspect.unwrap(optimizer._solve)  # also inside another block

        @functools.wraps(original)
        def solve(planner: Any, *arguments: Any, **options: Any) -> Any:
            problem = planner.prob
            problem.solve = lambda *_, **__: type(problem).solve(problem, self)
            try:
                return original(planner, *arguments, **options)
            finally:
                del problem.solve

        self._replaced.append((optimizer, optimizer._solve))
        optimizer._solve = solve
        return self

    def __exit__(self, *_: object) -> None:
        optimizer, before = self._replaced.pop()
        optimizer._solve = before

    def actualSolve(self, problem: Any) -> int:
        """Sets the variables and the status of PuLP's problem, and returns the status. PuLP calls this.

        Values of an infeasible program violate few rows, which AutoParallel lists. Raises UnsupportedError for a
        variable that is not binary, naming its row, and StoppedError if a limit ends the search before any solution.
        """
        program = _Program(problem)
        self.result, chosen = _Instance(program).solve(self._options)
        if self.result.status == "unknown":
            raise StoppedError("a limit ended the search before a solution was found")
        if self.result.status == "infeasible":
            chosen = _Instance(_Program(problem, relaxed=True)).solve(self._options)[1]
        for member, variable in enumerate(program.variables):
            if variable is not None:
                variable.varValue = float(member in chosen)
        status, of_solution = _STATUS[self.result.status]
        problem.assignStatus(status, of_solution)
        return status


@dataclass(frozen=True)
class _Row:
    terms: Mapping[int, float]  # by member, without zeros
    sense: int  # -1: at most, 0: equal, 1: at least
    bound: float

    def holds(self, total: float) -> bool:
        excess = total - self.bound
        return excess * self.sense >= -_TOLERANCE if self.sense else abs(excess) <= _TOLERANCE


class _Program:
    """A program as choices of one member each. Members are variables, by number.

    Rows that sum variables to one make the choices. Other rows on a single choice forbid members, equations on two
    choices tie them, the rest limits sums. Relaxed, a member costs the number of rows that forbid it, and sums have
    no limits.
    """

    def __init__(self, problem: Any, relaxed: bool = False) -> None:
        if problem.sense != 1:
            raise UnsupportedError("maximizes; negate the objective, or solve the program with CBC", "objective")
        self.variables: list[Any] = []  # None: the choice leaves its variable 0
        self.numbers: dict[int, int] = {}  # by id, since PuLP's variables hash slowly
        self.choices: list[list[int]] = []
        self.choice_of: dict[int, int] = {}
        rows = [row for row in map(self._row, problem.constraints.items()) if not self._is_choice(row)]
        costs = {self._number(variable, "objective"): cost for variable, cost in problem.objective.items()}
        for member in range(len(self.variables)):
            if member not in self.choice_of:
                self.variables.append(None)
                self._choose([member, len(self.variables) - 1])
        rows += [_Row({member: 1.0}, 0, variable.lowBound) for member, variable in enumerate(self.variables)
                 if variable is not None and variable.lowBound == variable.upBound]
        self.constant: float = problem.objective.constant
        self.costs = [0.0 if relaxed else costs.get(member, 0.0) for member in range(len(self.variables))]
        self.forbidden: set[int] = set()
        self.contradicts = False
        self.limits: list[_Row] = []
        self.ties: list[dict[int, int]] = []
        self._sort(rows, relaxed)

    def _number(self, variable: Any, place: str) -> int:
        number = self.numbers.get(id(variable))
        if number is None:
            bounds = variable.lowBound, variable.upBound
            if bounds not in ((0, 0), (1, 1)) and (bounds != (0, 1) or variable.cat != "Integer"):
                raise UnsupportedError(f"variable {variable.name} is not binary; solve the program with CBC", place)
            number = self.numbers[id(variable)] = len(self.variables)
            self.variables.append(variable)
        return number

    def _row(self, named: tuple[str, Any]) -> _Row:
        name, constraint = named
        terms = {self._number(variable, f"constraint {name}"): factor
                 for variable, factor in constraint.items() if factor}
        return _Row(terms, constraint.sense, -constraint.constant)

    def _is_choice(self, row: _Row) -> bool:
        if row.sense or {*row.terms.values(), row.bound} != {1} or not self.choice_of.keys().isdisjoint(row.terms):
            return False
        self._choose(list(row.terms))
        return True

    def _choose(self, members: list[int]) -> None:
        self.choice_of.update(dict.fromkeys(members, len(self.choices)))
        self.choices.append(members)

    def choices_of(self, members: Iterable[int]) -> list[int]:
        return sorted({self.choice_of[member] for member in members})

    def _sort(self, rows: Iterable[_Row], relaxed: bool) -> None:
        tied: dict[tuple[int, ...], list[_Row]] = defaultdict(list)
        for row in rows:
            choices = self.choices_of(row.terms)
            if len(choices) == 2 and row.sense == 0:
                tied[tuple(choices)].append(row)
            elif len(choices) > 1:
                self.limits += [] if relaxed else [row]
            else:
                self._forbid(row, self.choices[choices[0]] if choices else [], relaxed)
        self.ties = [self._tie(first, second, equations) for (first, second), equations in tied.items()]

    def _forbid(self, row: _Row, choice: list[int], relaxed: bool) -> None:
        wrong = [member for member, factor in row.terms.items() if not row.holds(factor)]
        if not row.holds(0):
            wrong += [member for member in choice if member not in row.terms]
            self.contradicts |= not choice
        for member in wrong:
            self.costs[member] += relaxed
        self.forbidden.update([] if relaxed else wrong)

    def _tie(self, first: int, second: int, equations: list[_Row]) -> dict[int, int]:
        """A label by member of two choices. The equations hold for two members if their labels are equal."""
        labels = dict.fromkeys(self.choices[first] + self.choices[second], 0)
        known: dict[tuple[int, int, float], int] = {}
        for number, row in enumerate(equations):
            others = dict.fromkeys(self.choices[first], 0.0) if row.bound else {}
            for member, factor in {**others, **row.terms}.items():
                adds = round(row.bound - factor if self.choice_of[member] == first else factor, _DIGITS)
                if adds:
                    labels[member] = known.setdefault((labels[member], number, adds), len(known) + 1)
        return labels


class _Instance:
    """A program as a cost instance: nodes with costs by value, and matrices of costs between two nodes.

    Every tie is a node whose values are its labels. They divide the members of its choices, for example by output or
    by input. So does what members use of a limit. A choice is a matrix between the two finest divisions, which
    determine its others; if they do not, the choice is a node itself.
    """

    def __init__(self, program: _Program) -> None:
        self.program = program
        self.members = [[each for each in choice if each not in program.forbidden] for choice in program.choices]
        self.is_possible = all(self.members) and not program.contradicts
        self.costs: list[list[float]] = []
        self.usages: list[list[int]] = []
        self.steps: list[int] = []  # by node: the number of the limit on its usage
        self.rooms: list[int] = []  # by limit
        self.edges: list[list[int]] = []
        self.matrices: list[list[float]] = []
        self.columns: list[dict[int, list[int]]] = [{} for _ in self.members]  # by choice and node: members' values
        self.cheapest: list[tuple[int, int, dict[_Pair, int]]] = []  # by choice: two nodes, members by values
        self._add_node([0])  # _ONE_VALUE
        if self.is_possible:
            for labels in program.ties:
                self._divide(labels)
            for row in program.limits:
                for sign in {-1, 1} - {row.sense}:
                    self._limit(row, sign)
            self.base = program.constant + sum(map(self._charge, self.members, self.columns))

    def _add_node(self, usages: list[int], step: int = 0) -> int:
        self.costs.append([0.0] * len(usages))
        self.usages.append(usages)
        self.steps.append(step)
        return len(self.costs) - 1

    def _add_edge(self, first: int, second: int, costs: Mapping[_Pair, float]) -> None:
        """Pairs of values without a cost are forbidden."""
        self.edges.append([first, second])
        self.matrices.append([costs.get((a, b), _FORBIDDEN) for a in range(len(self.costs[first]))
                              for b in range(len(self.costs[second]))])

    def _divide(self, labels: Mapping[int, float], unit: float = math.inf) -> None:
        """Adds a node with a value by label, which uses as many units as the label is above the least one."""
        values = {label: value for value, label in enumerate(sorted(set(labels.values())))}
        least = min(values)
        node = self._add_node([int((label - least) / unit) for label in values], len(self.rooms))
        for choice in self.program.choices_of(labels):
            self.columns[choice][node] = [values[labels[member]] for member in self.members[choice]]

    def _limit(self, row: _Row, sign: int) -> None:
        """Every limit is a time step of its own. Each of its choices has a node for what the members use."""
        weights = [{member: sign * row.terms.get(member, 0.0) for member in self.members[choice]}
                   for choice in self.program.choices_of(row.terms)]
        least = sum(min(each.values()) for each in weights)
        span = sum(max(each.values()) for each in weights) - least
        room = sign * row.bound - least + _TOLERANCE
        self.is_possible &= room >= 0
        if not 0 <= room < span:
            return
        unit = 2.0 ** (math.frexp(span)[1] - _BITS)
        for each in weights:
            self._divide(each, unit)
        self.rooms.append(int(room / unit))

    def _charge(self, members: list[int], columns: dict[int, list[int]]) -> float:
        """Adds a choice. Returns its least cost, which its entries lack."""
        costs = self.program.costs
        least = min(costs[member] for member in members)
        (first, column), (second, other) = self._axes(members, columns)
        cheapest: dict[_Pair, int] = {}
        for member, pair in zip(members, zip(column, other)):
            if costs[member] < costs[cheapest.setdefault(pair, member)]:
                cheapest[pair] = member
        self.cheapest.append((first, second, cheapest))
        self._add_edge(first, second, {pair: costs[member] - least for pair, member in cheapest.items()})
        return least

    def _axes(self, members: list[int], columns: dict[int, list[int]]) -> list[tuple[int, list[int]]]:
        """Two nodes that determine the others of a choice, with the values of its members."""
        axes: list[tuple[int, list[int]]] = []
        for node, column in sorted(columns.items(), key=lambda item: -len(set(item[1]))):
            for axis, finer in axes:
                pairs = dict.fromkeys(zip(finer, column), 0.0)
                if len(pairs) == len(set(finer)):
                    self._add_edge(axis, node, pairs)
                    break
            else:
                axes.append((node, column))
        if len(axes) > 2:
            own = self._add_node([0] * len(members))
            for node, column in axes:
                self._add_edge(own, node, dict.fromkeys(enumerate(column), 0.0))
            axes = [(own, list(range(len(members))))]
        return [*axes, *[(_ONE_VALUE, [0] * len(members))] * 2][:2]

    def solve(self, options: Mapping[str, Any]) -> tuple[Result, set[int]]:
        """Also returns the members that are chosen: any ones if there is no solution."""
        chosen = {member for choice in self.program.choices for member in choice[:1]}
        if not self.is_possible:
            return Result("infeasible", None, None), chosen
        limit = max(self.rooms, default=0)
        for step, room in enumerate(self.rooms):
            self._add_node([limit - room], step)
        answer = operators.solve({"problem": {
            "nodes": {"costs": self.costs, "usages": self.usages, "intervals": [[at, at + 1] for at in self.steps]},
            "edges": {"nodes": self.edges, "costs": self.matrices}, "usage_limit": limit}}, **options)
        if answer.objective is None:
            return Result(answer.status, None, None), chosen
        chosen = {cheapest[answer.choice[a], answer.choice[b]] for a, b, cheapest in self.cheapest}
        objective = self.program.constant + math.fsum(self.program.costs[member] for member in chosen)
        return Result(answer.status, objective, min(self.base + (answer.lower_bound or 0.0), objective)), chosen
