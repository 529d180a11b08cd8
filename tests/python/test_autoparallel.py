"""The solver for AutoParallel's integer program, on programs of the shape of AutoParallel's and on random ones.

AutoParallel and PuLP are not installed here: the classes below have what the solver uses of them. Optima are those
that tests/golden/operators/operators_autoparallel_test.cc has, or those of all assignments.
"""

import gzip
import itertools
import json
import math
import random
import sys
import types
import unittest
from collections import defaultdict
from pathlib import Path
from unittest import mock

import shardwright
import shardwright.autoparallel

RECORDED = Path("tests/golden/operators/autoparallel")
AT_MOST, EQUAL, AT_LEAST = -1, 0, 1  # PuLP's senses
FORBIDDEN = 1e18


class Variable:
    """PuLP's LpVariable."""

    def __init__(self, name, low=0, high=1, cat="Integer"):
        self.name, self.lowBound, self.upBound, self.cat = name, low, high, cat
        self.varValue = None


class Sum(dict):
    """PuLP's LpAffineExpression, and with a sense its LpConstraint: sum + constant <= 0."""

    def __init__(self, terms, sense=None, bound=0.0):
        super().__init__(terms)
        self.sense, self.constant = sense, -bound

    def value(self):
        return math.fsum(factor * variable.varValue for variable, factor in self.items()) + self.constant


class Problem:
    """PuLP's LpProblem."""

    def __init__(self):
        self.sense, self.constraints, self.objective = 1, {}, Sum({})
        self.status = self.sol_status = None

    def variable(self, cost=0.0, **bounds):
        made = Variable(f"x{len(self.objective)}", **bounds)
        self.objective[made] = cost
        return made

    def add(self, terms, sense, bound, name=None):
        terms = terms if isinstance(terms, dict) else dict.fromkeys(terms, 1)
        self.constraints[name or f"row_{len(self.constraints)}"] = Sum(terms, sense, bound)

    def solve(self, solver):
        return solver.actualSolve(self)

    def assignStatus(self, status, sol_status):
        self.status, self.sol_status = status, sol_status

    def violated(self):
        rows = [name for name, row in self.constraints.items()
                if (abs(row.value()) if row.sense == EQUAL else -row.sense * row.value()) > 1e-6]
        return rows + [each.name for each in self.objective if not each.lowBound <= each.varValue <= each.upBound]


def program_of(recorded):
    """AutoParallel's program of a problem: a variable x[node, argument, output, input] for every entry."""
    nodes, edges = recorded["nodes"], recorded["edges"]
    problem, outputs, forbidden = Problem(), [], []
    arguments = defaultdict(list)
    for ends, matrix in zip(edges["nodes"], edges["costs"]):
        first, last = sorted(ends)
        count = len(nodes["costs"][ends[1]])
        rows = [matrix[at:at + count] for at in range(0, len(matrix), count)]
        arguments[last].append((first, rows if ends[0] == first else list(zip(*rows))))
    for node, costs in enumerate(nodes["costs"]):
        taken = arguments[node] or [(None, [[0] * len(costs)])]
        found = []
        for source, matrix in taken:
            x = [[problem.variable() for _ in matrix] for _ in costs]
            for (out, cost), (at, row) in itertools.product(enumerate(costs), enumerate(matrix)):
                if max(cost, row[out]) >= FORBIDDEN:
                    forbidden.append(x[out][at])
                problem.objective[x[out][at]] = min(cost / len(taken) + row[out], FORBIDDEN) / 1e9
            problem.add([each for group in x for each in group], EQUAL, 1)
            found.append(x)
            for out in range(len(costs)):
                tie(problem, found[0][out], x[out])
            for at in range(len(matrix) if source is not None else 0):
                tie(problem, outputs[source][at], [group[at] for group in x])
        outputs.append(found[0])
    for variable in forbidden:
        problem.add([variable], EQUAL, 0)
    if recorded.get("usage_limit") is not None:
        shares = {each: usage / 2**20 for node, (begin, end) in enumerate(nodes["intervals"]) if begin < end
                  for usage, group in zip(nodes["usages"][node], outputs[node]) for each in group}
        problem.add(shares, AT_MOST, recorded["usage_limit"] / 2**20, "memory_constraint_high")
        problem.add(shares, AT_LEAST, 0, "memory_constraint_low")
    return problem


def tie(problem, first, second):
    if first is not second:
        problem.add({**dict.fromkeys(first, 1), **dict.fromkeys(second, -1)}, EQUAL, 0)


def recorded(name):
    with gzip.open(RECORDED / f"{name}.json.gz") as file:
        return json.load(file)["problem"]


class RecordedPrograms(unittest.TestCase):
    def test_every_optimum_is_proved_and_every_row_holds(self):
        for name, optimum_us in (("m8_l1_clu_mid", 5485.257579954), ("m8_l1_full_mid_nc", 5485.257579954),
                                 ("m8_l1_full_none", 4957.936254751), ("m8_l4_clu_mid", 14667.049325288),
                                 ("m8_l4_full_none", 12557.764024477), ("m4x2_l1_full_mid", 2978.487850705),
                                 ("m4x2_l1_full_none", 2349.337473645), ("m4x2_l4_clu_min", 10178.156260813)):
            with self.subTest(name):
                problem = program_of(recorded(name))
                solver = shardwright.autoparallel.Solver()
                self.assertEqual(problem.solve(solver), 1)
                self.assertEqual((problem.status, problem.sol_status, solver.result.status), (1, 1, "optimal"))
                self.assertEqual(problem.violated(), [])
                self.assertLessEqual({variable.varValue for variable in problem.objective}, {0.0, 1.0})
                # Entries were rounded to 10^-9 us when they were recorded.
                for found in (problem.objective.value(), solver.result.objective, solver.result.lower_bound):
                    self.assertAlmostEqual(found / optimum_us, 1, delta=1e-9)

    def test_a_limit_leaves_a_solution_with_a_bound(self):
        problem = program_of(recorded("m4x2_l1_full_mid"))
        solver = shardwright.autoparallel.Solver(work_limit=100)
        problem.solve(solver)
        self.assertEqual((problem.status, problem.sol_status, solver.result.status), (1, 2, "feasible"))
        self.assertEqual(problem.violated(), [])
        self.assertLess(solver.result.lower_bound, 2978.48)
        self.assertGreater(solver.result.objective, 2978.48)


class RandomProgram:
    """A few choices and rows of every kind. `assignments` are all sets of variables that make every choice."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.problem = Problem()
        self.choices = [[self.problem.variable(self.cost()) for _ in range(self.random.randint(1, 4))]
                        for _ in range(self.random.randint(1, 4))]
        for choice in self.choices:
            self.problem.add(choice, EQUAL, 1)
        self.alone = [self.problem.variable(self.cost(), **self.random.choice([{}, {}, {"low": 1}, {"high": 0}]))
                      for _ in range(self.random.randint(0, 2))]
        self.problem.objective.constant = self.cost()
        for _ in range(self.random.randint(0, 4)):
            self.random.choice([self.tie, self.tie, self.forbid, self.pin, self.limit])()

    def cost(self):
        return self.random.choice([self.random.uniform(-5, 100), self.random.randint(0, 3)])

    def tie(self):
        if len(self.choices) < 2:
            return
        first, second = self.random.sample(self.choices, 2)
        labels = {each: self.random.randint(0, 2) for each in first + second}
        for label in self.random.sample(range(3), self.random.randint(1, 3)):
            self.problem.add({each: 1 if each in first else -1 for each in first + second if labels[each] == label},
                             EQUAL, self.random.choice([0, 0, 0, 1]))

    def forbid(self):
        self.problem.add([self.random.choice(self.random.choice(self.choices))], EQUAL, 0)

    def pin(self):
        choice = self.random.choice(self.choices)
        self.problem.add(self.random.sample(choice, self.random.randint(1, len(choice))), EQUAL, 1)

    def limit(self):
        every = [*itertools.chain(*self.choices), *self.alone]
        terms = {each: self.random.choice([1, 1, -1, 0.5, 1 / 3, 1 / 7, self.random.random()])
                 for each in self.random.sample(every, self.random.randint(1, len(every)))}
        sense = self.random.choice([AT_MOST, AT_LEAST, EQUAL])
        if sense == EQUAL:
            terms = dict.fromkeys(terms, 1)
        self.problem.add(terms, sense, self.random.choice([1, 2, 1 / 3 + 1 / 7, self.random.uniform(0, 2)]
                                                          if sense != EQUAL else [1, 2]))

    def optimum(self):
        """None without one. Leaves the variables at values that hold or not."""
        best = None
        free = [[{each: value} for value in range(each.lowBound, each.upBound + 1)] for each in self.alone]
        for taken in itertools.product(*([{each: 1} for each in choice] for choice in self.choices), *free):
            for variable in self.problem.objective:
                variable.varValue = 0
            for variable, value in itertools.chain(*(part.items() for part in taken)):
                variable.varValue = value
            if not self.problem.violated():
                best = min(self.problem.objective.value(), math.inf if best is None else best)
        return best


class RandomPrograms(unittest.TestCase):
    def test_optima_are_those_of_all_assignments(self):
        outcomes = defaultdict(int)
        solver = shardwright.autoparallel.Solver(threads=1)
        for seed in range(600):
            with self.subTest(seed):
                program = RandomProgram(seed)
                optimum, problem = program.optimum(), program.problem
                problem.solve(solver)
                if optimum is None:
                    self.assertEqual((problem.status, problem.sol_status), (-1, -1))
                    self.assertEqual((solver.result.status, solver.result.objective), ("infeasible", None))
                    self.assertNotEqual(problem.violated(), [])
                else:
                    self.assertEqual((problem.status, solver.result.status), (1, "optimal"))
                    self.assertEqual(problem.violated(), [])
                    for found in (problem.objective.value(), solver.result.objective, solver.result.lower_bound):
                        self.assertAlmostEqual(found, optimum, places=6)
                outcomes[optimum is None] += 1
        self.assertGreater(min(outcomes.values()), 100)


class Rows(unittest.TestCase):
    """What random programs are too small for."""

    def setUp(self):
        self.problem = Problem()

    def choice(self, costs):
        made = [self.problem.variable(cost) for cost in costs]
        self.problem.add(made, EQUAL, 1)
        return made

    def assert_optimum(self, cost):
        solver = shardwright.autoparallel.Solver()
        self.problem.solve(solver)
        self.assertEqual((solver.result.status, self.problem.violated()), ("optimal", []))
        self.assertAlmostEqual(self.problem.objective.value(), cost, places=9)

    def test_a_choice_that_is_tied_to_three_others(self):
        corners = self.choice([9, 1, 4, 9, 9, 9, 5, 9])
        for bit in range(3):
            ends = self.choice([0, 3] if bit == 0 else [2, 0])
            for end in (0, 1):
                tie(self.problem, [each for corner, each in enumerate(corners) if corner >> bit & 1 == end], [ends[end]])
        self.assert_optimum(5)  # corner 6; corner 1 costs 1 + 3 + 2 + 2, corner 2 costs 4 + 2

    def test_weights_that_hardly_differ(self):
        weights = dict(zip(self.choice([7, 100]), (3, 0)))
        for light in (2, 3):
            weights.update(zip(self.choice([1, light]), (1 + 1e-5, 1)))
        self.problem.add(weights, AT_MOST, 5 + 1.5e-5)
        self.assert_optimum(10)  # with one of the two heavy ones

    def test_a_row_without_variables(self):
        self.choice([1, 2])
        self.problem.add({}, AT_LEAST, 0)
        self.assert_optimum(1)
        self.problem.add({}, AT_MOST, -1, "nothing")
        self.problem.solve(shardwright.autoparallel.Solver())
        self.assertEqual((self.problem.status, self.problem.violated()), (-1, ["nothing"]))


class Refusals(unittest.TestCase):
    def test_what_has_no_choice_is_refused_by_name(self):
        for bounds in ({"cat": "Continuous"}, {"high": 2}, {"low": None}):
            with self.subTest(bounds):
                problem = Problem()
                choice = [problem.variable() for _ in range(3)]
                problem.add(choice, EQUAL, 1)
                problem.add([choice[0], Variable("slack", **bounds)], AT_MOST, 1, "users_own")
                self.refused(problem, shardwright.UnsupportedError, "^constraint users_own: variable slack .* CBC$")
        problem.sense = -1
        self.refused(problem, shardwright.UnsupportedError, "^objective: .* CBC$")

    def test_a_search_that_is_stopped_at_once_has_no_solution(self):
        cancel = shardwright.Cancel()
        cancel.request()
        problem = program_of(recorded("m8_l1_clu_mid"))
        self.refused(problem, shardwright.StoppedError, "before a solution", cancel=cancel)

    def refused(self, problem, error, message, **options):
        with self.assertRaisesRegex(error, message):
            problem.solve(shardwright.autoparallel.Solver(**options))
        self.assertIsNone(problem.status)
        self.assertEqual({variable.varValue for variable in problem.objective}, {None})

    def test_the_values_of_an_infeasible_program_show_what_contradicts(self):
        problem = program_of(recorded("m8_l1_full_mid_nc"))
        memory = problem.constraints["memory_constraint_high"]
        memory.constant = -0.1
        problem.solve(shardwright.autoparallel.Solver())
        self.assertEqual((problem.status, problem.violated()), (-1, ["memory_constraint_high"]))
        memory.constant = -100
        free = [variable for variable, share in memory.items() if share < 1]
        problem.add(free[:1], EQUAL, 1, "users_own")
        problem.add(free[:1], EQUAL, 0, "another")
        problem.solve(shardwright.autoparallel.Solver())
        self.assertEqual(problem.status, -1)
        self.assertEqual(len(problem.violated()), 1)
        self.assertLessEqual({*problem.violated()}, {"users_own", "another"})


class Optimizer:
    """The part of AutoParallel's ShardingOptimizer that solves."""

    def __init__(self, problem):
        self.prob = problem

    def _solve(self, verbose=False):
        self.prob.solve(types.SimpleNamespace(actualSolve=lambda problem: self.by_cbc()))
        return verbose

    def by_cbc(self):
        self.prob.status = "by CBC"


class Block(unittest.TestCase):
    def setUp(self):
        module = types.ModuleType("autoparallel.optimize_sharding")
        self.kind = module.ShardingOptimizer = type("ShardingOptimizer", (Optimizer,), {"_solve": Optimizer._solve})
        self.original = self.kind._solve
        modules = {"autoparallel": types.ModuleType("autoparallel"), module.__name__: module}
        patched = mock.patch.dict(sys.modules, modules)
        patched.start()
        self.addCleanup(patched.stop)
        problem = Problem()
        problem.add([problem.variable(3.0), problem.variable(2.0)], EQUAL, 1)
        self.optimizer = self.kind(problem)

    def status(self):
        self.optimizer.prob.status = None
        self.assertEqual(self.optimizer._solve(verbose=True), True)
        return self.optimizer.prob.status

    def test_autoparallel_solves_with_shardwright_inside_alone(self):
        self.assertEqual(self.status(), "by CBC")
        with shardwright.autoparallel.Solver(threads=1) as outer:
            self.assertEqual(self.status(), 1)
            self.assertEqual((outer.result.objective, outer.result.lower_bound), (2.0, 2.0))
            outer.result = None
            with shardwright.autoparallel.Solver() as inner:
                self.assertEqual(self.status(), 1)
                self.assertEqual((inner.result.status, outer.result), ("optimal", None))
            with self.assertRaises(ZeroDivisionError), shardwright.autoparallel.Solver():
                raise ZeroDivisionError
            self.assertEqual(self.status(), 1)
            self.assertEqual(outer.result.status, "optimal")
        self.assertEqual(self.status(), "by CBC")
        self.assertIs(self.kind._solve, self.original)

    def test_another_release_is_refused(self):
        del self.kind._solve, Optimizer._solve
        self.addCleanup(setattr, Optimizer, "_solve", self.original)
        with self.assertRaises(AttributeError), shardwright.autoparallel.Solver():
            self.fail("entered")


if __name__ == "__main__":
    unittest.main()
