"""The MILP of a problem: which option for every table, which rank for every shard.

Shards of an option that cost the same and have the same rules are counted instead of told apart:
an integer per class and rank. Times are scaled by a known rating and bytes by the memory of the
rank. The solver's tolerances leave room for about 1e-9 of each; a solution is therefore
evaluated exactly, and if it does not fit, the memory is made smaller by more than that and the
problem solved again. The answer is then an interval instead of a value.
"""

from dataclasses import dataclass

import highspy

from rows import NO_LIMIT, Rows
from rules import HOST_TYPES
from space import GIB, excess, rating

SMALLER = 1e-7  # by this much the memory shrinks where the tolerance let a plan through


@dataclass
class Outcome:
    """`plan` is None if there is none; `lower` bounds the objective of every plan from below."""

    plan: dict | None
    lower: float
    objective: float
    decided: bool


class Model:
    def __init__(self, options, machine, rules, cutoff=None, moves=None, weight=0.0, shrink=0.0):
        self.machine, self.rules = machine, rules
        self.cutoff, self.moves, self.weight = cutoff, moves, weight
        self.rows = Rows()
        self.time = [[] for _ in range(machine.world)]
        self.hbm = [[] for _ in range(machine.world)]
        self.ddr = [[] for _ in range(machine.world)]
        self.at = {}       # table -> rank -> [(column, most)]
        self.choices = {}  # table -> [(option, column, decode)]
        self.slowest = self.rows.column(2.0 if cutoff else 0.0, 1.0, whole=False)
        for table, all_of_table in options.items():
            self.add_table(table, self.candidates(all_of_table))
        self.add_ranks(shrink)
        for together, by_host, tables in rules.groups:
            (self.keep_together if together else self.keep_apart)(by_host, tables)
        if cutoff:
            terms = [(c, v) for c, v in enumerate(self.rows.cost) if v]
            self.rows.row(-NO_LIMIT, 1 + 1e-6, terms)

    def candidates(self, options):
        """Leaves out options that no plan below the cutoff has, and those that another dominates."""
        fastest = min(self.machine.speed)
        left = []
        for option in options:
            if len(option.shards) > self.rules.of(option.table).get("max_shards", 1 << 30):
                continue
            dear = self.cutoff and any(s.ms * fastest > self.cutoff * (1 + 1e-6)
                                       for s in option.shards)
            if not dear and not any(dominates(other, option) for other in left):
                left = [other for other in left if not dominates(option, other)] + [option]
        return left

    def add_table(self, table, options):
        self.at[table] = [[] for _ in range(self.machine.world)]
        self.choices[table] = []
        for option in options:
            chosen = self.rows.column(1.0)
            self.choices[table].append((option, chosen, self.add_option(option, chosen)))
        self.rows.row(1, 1, [(chosen, 1) for _, chosen, _ in self.choices[table]])

    def add_option(self, option, chosen):
        """Returns a function that reads the ranks of the shards from a solution."""
        local = self.machine.local
        if option.sharding_type in ("data_parallel", "row_wise"):
            places = [list(range(self.machine.world))]
            return self.add_blocks(option, chosen, len(option.shards), places)
        if option.sharding_type in ("table_row_wise", "grid_shard"):
            places = [list(range(h * local, (h + 1) * local)) for h in range(self.machine.hosts)]
            return self.add_blocks(option, chosen, local, places)
        places = [[rank] for rank in range(self.machine.world)]
        return self.add_blocks(option, chosen, 1, places)

    def add_blocks(self, option, chosen, size, places):
        """Blocks of `size` neighbouring shards, each of which fills one of `places` in order."""
        if len(option.shards) % size or size != len(places[0]):
            self.rows.row(0, 0, [(chosen, 1)])
            return lambda solution: []
        classes = {}
        for first in range(0, len(option.shards), size):
            classes.setdefault(self.key(option, first, places, size), []).append(first)
        used = [[] for _ in places]
        counts = []
        for (allowed, *_), firsts in classes.items():
            own = []
            for p, place in enumerate(places):
                column = self.rows.column(float(len(firsts)) if allowed[p] else 0.0)
                own.append(column)
                if allowed[p]:
                    used[p].append(column)
                    self.load(option, firsts[0], place, column, len(firsts))
            self.rows.row(0, 0, [(c, 1) for c in own] + [(chosen, -len(firsts))])
            counts.append((firsts, own))
        if option.sharding_type in HOST_TYPES:
            self.on_one_host(chosen, places, counts)
        if self.rules.distinct(option.table):
            for columns in used:
                self.rows.row(0, 1, [(c, 1) for c in columns])
        return lambda solution: decode(solution, counts, places, len(option.shards))

    def key(self, option, first, places, size):
        """Blocks with equal keys are interchangeable."""
        block = option.shards[first:first + size]
        allowed = tuple(all(self.rules.allows(option.table, first + i, rank)
                            for i, rank in enumerate(place)) for place in places)
        moved = tuple(self.moves.of_shard(option.table, s) for s in block) if self.moves else ()
        return allowed, tuple(s.cost() for s in block), moved

    def load(self, option, first, place, column, count):
        moved = 0.0
        for i, rank in enumerate(place):
            shard = option.shards[first + i]
            self.time[rank].append((column, shard.ms * self.machine.speed[rank]))
            self.hbm[rank].append((column, shard.hbm))
            self.ddr[rank].append((column, shard.ddr))
            self.at[option.table][rank].append((column, count))
            if self.moves and option.table in self.moves.held:
                moved += self.moves.of_shard(option.table, shard)[rank]
        if self.cutoff:
            self.rows.cost[column] += self.weight * moved / GIB / self.cutoff

    def on_one_host(self, chosen, places, counts):
        hosts = [self.rows.column(1.0) for _ in range(self.machine.hosts)]
        self.rows.row(0, 0, [(h, 1) for h in hosts] + [(chosen, -1)])
        for host, column in enumerate(hosts):
            for firsts, own in counts:
                there = [(c, 1) for c, place in zip(own, places)
                         if self.machine.host(place[0]) == host]
                self.rows.row(0, 0, there + [(column, -len(firsts))])

    def add_ranks(self, shrink):
        for rank in range(self.machine.world):
            if self.cutoff:
                terms = [(c, ms / self.cutoff) for c, ms in self.time[rank]]
                self.rows.row(-NO_LIMIT, 0, terms + [(self.slowest, -1)])
            # A rank that lacks memory of one tier can hold nothing but empty shards.
            lacks = self.machine.hbm[rank] < 0 or self.machine.ddr[rank] < 0
            for used, left in ((self.hbm[rank], self.machine.hbm[rank]),
                               (self.ddr[rank], self.machine.ddr[rank])):
                most = 0 if lacks else left * (1 - shrink)
                scale = max(most, 1)
                # Bytes that alone are too many are excluded exactly.
                for column, size in used:
                    if size > (0 if lacks else left):
                        self.rows.upper[column] = 0.0
                self.rows.row(-NO_LIMIT, most / scale,
                              [(c, size / scale) for c, size in used])

    def places(self, by_host, table):
        """Per rank or host, the columns that put shards of the table there."""
        if not by_host:
            return self.at.get(table, [])
        local = self.machine.local
        return [[entry for rank in range(h * local, (h + 1) * local)
                 for entry in self.at[table][rank]] for h in range(self.machine.hosts)]

    def keep_together(self, by_host, tables):
        number = self.machine.hosts if by_host else self.machine.world
        meeting = [self.rows.column(1.0) for _ in range(number)]
        self.rows.row(1, 1, [(column, 1) for column in meeting])
        for table in tables:
            for place, entries in enumerate(self.places(by_host, table)):
                for column, most in entries:
                    self.rows.row(-NO_LIMIT, 0, [(column, 1), (meeting[place], -most)])

    def keep_apart(self, by_host, tables):
        number = self.machine.hosts if by_host else self.machine.world
        holders = [[] for _ in range(number)]
        for table in set(tables):
            for place, entries in enumerate(self.places(by_host, table)):
                holder = self.rows.column(1.0)
                holders[place].append(holder)
                for column, most in entries:
                    self.rows.row(-NO_LIMIT, 0, [(column, 1), (holder, -most)])
        for columns in holders:
            self.rows.row(0, 1, [(column, 1) for column in columns])

    def read(self, solution):
        plan = {}
        for table, choices in self.choices.items():
            option, _, ranks = max(choices, key=lambda choice: solution[choice[1]])
            plan[table] = (option, ranks(solution))
        return plan


def dominates(a, b):
    """Returns true if `a` may replace `b` on the same ranks: the same cut, nowhere dearer."""
    return (a.sharding_type == b.sharding_type and len(a.shards) == len(b.shards) and
            all(x.region() == y.region() and x.ms <= y.ms and x.hbm <= y.hbm and x.ddr <= y.ddr
                for x, y in zip(a.shards, b.shards)))


def decode(solution, counts, places, shards):
    ranks = [None] * shards
    for firsts, own in counts:
        left = list(firsts)
        for column, place in zip(own, places):
            for _ in range(round(solution[column])):
                first = left.pop()
                ranks[first:first + len(place)] = place
    return ranks


def solve_once(arguments, shrink, presolve=True):
    model = Model(*arguments, shrink=shrink)
    if any(not choices for choices in model.choices.values()):
        return Outcome(None, float("inf"), float("inf"), True)
    solver = model.rows.solve(presolve)
    status, info = solver.getModelStatus(), solver.getInfo()
    statuses = highspy.HighsModelStatus
    if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
        return Outcome(None, float("inf"), float("inf"), True)
    cutoff = model.cutoff or 0.0
    lower = info.mip_dual_bound * cutoff
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Outcome(None, lower, float("inf"), False)
    plan = model.read(solver.getSolution().col_value)
    return Outcome(plan, lower, objective(plan, *arguments[1:2], *arguments[4:]),
                   status == statuses.kOptimal)


def objective(plan, machine, moves=None, weight=0.0):
    """Milliseconds: the rating, and the weight times the GiB moved."""
    moved = moves.of_plan(plan) if moves else 0
    return rating(plan, machine) + weight * moved / GIB


def solve(options, machine, rules, cutoff=None, moves=None, weight=0.0):
    """The best plan whose objective is at most `cutoff`; without one, any plan."""
    if machine.overdrawn:
        return Outcome(None, float("inf"), float("inf"), True)
    arguments = (options, machine, rules, cutoff, moves, weight)
    found = solve_once(arguments, 0.0)
    if found.plan is None and found.decided and cutoff is not None:
        # The caller has such a plan. HiGHS' presolve has denied plans that its search then found.
        found = solve_once(arguments, 0.0, presolve=False)
    if found.plan is None or (excess(found.plan, machine) == 0 and
                              not rules.violations(found.plan)):
        return found
    smaller = solve_once(arguments, SMALLER)
    if smaller.plan is not None and (excess(smaller.plan, machine) or
                                     rules.violations(smaller.plan)):
        raise AssertionError(f"the MILP's plan is not valid: {rules.violations(smaller.plan)}")
    return Outcome(smaller.plan, found.lower, smaller.objective, smaller.plan is not None)
