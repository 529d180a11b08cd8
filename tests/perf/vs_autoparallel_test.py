"""The comparison with AutoParallel: what it makes of the figures of both sides, without AutoParallel."""

import gzip
import importlib.machinery
import importlib.util
import json
import os
import stat
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

SCRIPT = Path(__file__).resolve().parents[2] / "perf" / "vs_autoparallel" / "compare"
PAGE = "before\n<!-- recorded -->\nold\n<!-- end -->\nafter\n"


def loaded():
    loader = importlib.machinery.SourceFileLoader("vs_autoparallel_compare", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


compare = loaded()


def theirs(**changes):
    return {"trace": 1.0, "build": 6.0, "solve": 2.0, "total": 9.0, "program": 1.5, "peak_bytes": 2**20, "proved": True,
            "objective_us": 100.0, "variables": 1000, "constraints": 10,
            "ours": {"program": 0.05, "objective_us": 100.0, "status": "optimal"}, **changes}


def ours(objective_us=100.0):
    return {"trace": 0.5, "plan": 0.25, "total": 0.75, "peak_bytes": 2**21, "objective_us": objective_us, "nodes": 81}


def case(**changes):
    made = compare.Case(SimpleNamespace(limit=300), (4, 2), 4, "free")
    made.take({"theirs": [theirs(**changes)], "ours": [ours()], "builds": [0.01], "same_graph": ours()})
    return made


class Cases(unittest.TestCase):
    def test_ratios_are_theirs_over_ours(self):
        row = case().times()
        self.assertIn("| 4x2 | 4 free |", row)
        self.assertIn("| 600x |", row)  # build
        self.assertIn("| 32x | 12x |", row)  # build and solve over plan, and all
        self.assertIn("| 1,000 | 10 | 1.50 | 0.05 | 30.0x |", case().program())

    def test_a_stopped_solver_would_have_taken_longer(self):
        stopped = case(proved=False)
        self.assertIn("over 32x", stopped.times())
        self.assertIn("over 30.0x", stopped.program())
        self.assertIn("(not proved)", stopped.objectives())

    def test_a_dearer_plan_of_the_same_is_found(self):
        self.assertEqual(case().dearer(), [])
        self.assertEqual(case(objective_us=100.0 * (1 - 1e-12)).dearer(), [])
        self.assertEqual(case(objective_us=99.9).dearer(), [100.0, 100.0])

    def test_figures_survive_being_kept(self):
        kept = json.loads(json.dumps(case().figures()))
        again = compare.Case(SimpleNamespace(limit=300), (4, 2), 4, "free")
        again.take(kept)
        self.assertEqual(kept["case"], again.key)
        self.assertEqual(again.times(), case().times())


class RecordedProblems(unittest.TestCase):
    """With a solver that says what the test wants."""

    def run_recorded(self, seconds, objective, optimum):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            solver = folder / "solver"
            answer = {"objective": objective, "status": "optimal", "work": 2000000, "solve_seconds": seconds}
            solver.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n", encoding="utf-8")
            os.chmod(solver, solver.stat().st_mode | stat.S_IXUSR)
            problem = folder / "m4x2_l1_full_none.json.gz"
            with gzip.open(problem, "wt") as file:
                json.dump({"problem": {"nodes": {"costs": [[1, 2], [3]]}, "edges": {"costs": [[4, 5]]}}}, file)
            answers = folder / "answers.json"
            answers.write_text(json.dumps({"m4x2_l1_full_none": {"optimum_us": optimum, "cbc_s": 2.5}}), encoding="utf-8")
            page = folder / "page.md"
            page.write_text(PAGE, encoding="utf-8")
            with redirect_stdout(StringIO()) as out:
                compare.recorded(SimpleNamespace(problems=[problem], answers=answers, command=str(solver), rounds=2, write=page))
            return out.getvalue(), page.read_text(encoding="utf-8")

    def test_the_table_of_the_page_is_replaced(self):
        out, page = self.run_recorded(0.01, 7e9, 7.0)
        self.assertIn("over the limit: none", out)
        self.assertTrue(page.startswith("before\n") and page.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", page)
        self.assertIn("| m4x2_l1_full_none | 3 | 2 | 7.000 | optimal | 2.00 |", page)
        self.assertIn("| 10.0 |  | 2.5 |", page)

    def test_a_slow_solver_misses_the_limit_of_its_mesh(self):
        out, page = self.run_recorded(0.06, 7e9, 7.0)
        self.assertIn("over the limit: m4x2_l1_full_none", out)
        self.assertIn("| missed |", page)

    def test_another_optimum_fails(self):
        with self.assertRaisesRegex(SystemExit, "not the recorded optimum: m4x2_l1_full_none"):
            self.run_recorded(0.01, 7.1e9, 7.0)


if __name__ == "__main__":
    unittest.main()
