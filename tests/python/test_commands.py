"""Every command from Python: typed functions, their results, and what they accept."""

import json
import os
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path

import shardwright
from shardwright import operators, program
from test_planning import SAMPLE, SMALL

DATA = Path("samples/data")
COMMAND = os.environ.get("SHARDWRIGHT_COMMAND")


def json_of_command(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments), "--json"], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class PlansInUse(InFolder):
    """`reuse` and `resume`, as the command has them."""

    def test_a_plan_that_still_holds_is_the_answer(self):
        first = shardwright.plan(SMALL, work_limit=100_000)
        path = self.folder / "plan.json"
        first.save(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for plan in (first, path, first.to_json(), first.to_dict()):
                kept = shardwright.plan(SMALL, reuse=plan, work_limit=100_000)
                self.assertTrue(kept.to_dict()["reused"])
                self.assertEqual(kept.rating, first.rating)

    def test_a_plan_that_does_not_hold_is_said_and_planned_again(self):
        other = shardwright.plan(SMALL, batch_size=64, work_limit=100_000)
        with self.assertWarnsRegex(UserWarning, "the plan is not reused: .*batch_size"):
            planned = shardwright.plan(SMALL, reuse=other, work_limit=100_000)
        self.assertNotIn("reused", planned.to_dict())
        compat = shardwright.plan(SMALL, mode="compat")
        with self.assertWarnsRegex(UserWarning, "it was made in compat mode"):
            self.assertEqual(shardwright.plan(SMALL, reuse=compat, work_limit=100_000).mode, "best")
        with self.assertRaises(shardwright.InvalidInputError):
            shardwright.plan(SMALL, reuse={"tables": []})

    def test_a_search_goes_on_from_a_plan(self):
        first = shardwright.plan(SAMPLE, ranks=16, work_limit=1)
        resumed = shardwright.plan(SAMPLE, ranks=16, resume=first, work_limit=1)
        self.assertLessEqual(resumed.rating, first.rating)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "problem_hash"):
            shardwright.plan(SAMPLE, ranks=8, resume=first)
        with self.assertRaises(shardwright.UnsupportedError):
            shardwright.plan(SAMPLE, ranks=16, resume=first, mode="compat")


class Tables(InFolder):
    """Tables as CSV."""

    CSV = "name,num_embeddings,embedding_dim\na,1000,16\nb,500,8\n"

    def test_csv_is_a_text_of_several_lines_or_a_file(self):
        path = self.folder / "tables.csv"
        path.write_text(self.CSV, encoding="utf-8")
        for problem in (self.CSV, path, str(path), shardwright.Problem(self.CSV, ranks=2)):
            machine = {} if isinstance(problem, shardwright.Problem) else {"ranks": 2}
            result = shardwright.plan(problem, work_limit=100_000, **machine)
            self.assertEqual(sorted(table.table for table in result.tables), ["a", "b"])
            self.assertTrue(shardwright.verify(problem, result, **machine))

    def test_errors_name_line_and_column(self):
        with self.assertRaisesRegex(shardwright.InvalidInputError, r"line 2, column 2 \(num_embeddings\)"):
            shardwright.plan(self.CSV.replace("1000", "many"), ranks=2)


class Questions(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.result = shardwright.plan(SAMPLE, ranks=16, hbm="80GiB", work_limit=100_000)

    def test_the_machine_takes_the_place_of_the_problems(self):
        self.assertEqual(len(self.result.ranks), 16)
        problem = shardwright.Problem.from_file(SAMPLE, ranks=16, ranks_per_host=8)
        self.assertEqual((problem.num_ranks, problem.ranks_per_host), (16, 8))
        self.assertTrue(shardwright.verify(problem, self.result, hbm=80 << 30))
        with self.assertRaisesRegex(TypeError, "machine"):
            shardwright.plan(problem, ranks=8)
        with self.assertRaisesRegex(TypeError, "rank"):
            shardwright.plan(SAMPLE, rank=8)

    def test_paths_are_taken_wherever_documents_are(self):
        path = self.folder / "plan.json"
        self.result.save(path)
        for plan in (path, str(path), path.read_text(encoding="utf-8"), self.result,
                     self.result.to_dict()):
            self.assertTrue(shardwright.verify(SAMPLE, plan, ranks=16))
            again = shardwright.replan(SAMPLE, plan, ranks=16, work_limit=1000)
            self.assertTrue(again.has_plan)
            self.assertFalse(shardwright.diff(plan, self.result))

    def test_a_saved_plan_is_loaded_for_its_problem_alone(self):
        path = self.folder / "plan.json"
        self.result.save(path)
        loaded = shardwright.PlanResult.load(path, SAMPLE, ranks=16)
        self.assertEqual((loaded.rating, loaded.lower_bound, loaded.mode),
                         (self.result.rating, self.result.lower_bound, "best"))
        self.assertEqual(loaded.tables, self.result.tables)
        self.assertEqual(loaded.ranks, self.result.ranks)
        with self.assertRaisesRegex(shardwright.VerificationError, "another problem"):
            shardwright.PlanResult.load(path, SAMPLE, ranks=8)
        with self.assertRaises(FileNotFoundError):
            shardwright.PlanResult.load(self.folder / "nothing.json", SAMPLE)

    def test_a_result_has_text_page_and_statistics(self):
        self.assertIn("cat_0", str(self.result))
        self.result.report(self.folder / "page.html")
        self.assertIn("<title>", (self.folder / "page.html").read_text(encoding="utf-8"))
        stats = self.result.stats()
        late = shardwright.verify(SAMPLE, self.result, ranks=16, time_limit=0)
        self.assertFalse(late)
        self.assertIn("the check was stopped", late.violations[0])
        self.assertTrue(shardwright.verify(SAMPLE, self.result, ranks=16, time_limit=1e9))
        checked = shardwright.verify(SAMPLE, self.result, ranks=16, stats=True)
        self.assertEqual(checked.stats, stats)

    def test_explain_says_why_a_table_is_sharded_as_it_is(self):
        explained = shardwright.explain(SAMPLE, self.result, table="cat_9", ranks=16)
        self.assertTrue(explained.feasible)
        chosen = [option for option in explained.options if option.standing == "chosen"]
        (plan,) = [table for table in self.result.tables if table.table == "cat_9"]
        self.assertEqual(chosen[0].sharding_type, plan.sharding_type)
        self.assertEqual(chosen[0].ranks, plan.ranks)
        self.assertEqual(list(explained.reasons), ["cat_9"])
        self.assertIn(plan.sharding_type, explained._repr_html_())

    def test_explain_says_what_would_help(self):
        explained = shardwright.explain(SAMPLE, ranks=2, hbm="1GiB", ddr="1GiB", work_limit=1000)
        self.assertFalse(explained.feasible)
        self.assertEqual(explained.outcome, "nothing fits")
        self.assertIn("HBM", explained.reason)

    def test_every_question_has_a_page(self):
        other = shardwright.plan(SAMPLE, ranks=16, mode="compat")
        moved = shardwright.replan(SAMPLE, other, ranks=16, work_limit=100000)
        for answer, words in (
                (shardwright.explain(SAMPLE, other, ranks=16, mode="compat"), "Sharding plan"),
                (shardwright.sweep(SAMPLE, ranks=[8, 16], work_limit=1000), "Sweep"),
                (shardwright.diff(other, self.result), "Before and after"),
                (moved, "Sharding plan"),
                (operators.sweep(DATA / "traced_mlp.json", 4), "Meshes for a model"),
                (program.reshard(DATA / "reshard.json"), "Answer"),
                (program.apply(DATA / "program.json", full=True), "Answer")):
            answer.report(self.folder / "page.html")
            page = (self.folder / "page.html").read_text(encoding="utf-8")
            self.assertIn(f"<title>{words}</title>", page)
        moved.report(self.folder / "page.html")
        self.assertIn('"change":', (self.folder / "page.html").read_text(encoding="utf-8"))

    def test_sweep_plans_every_machine(self):
        swept = shardwright.sweep(SAMPLE, ranks=[8, 16], hbm=["1GiB", "80GiB"], work_limit=1000)
        self.assertEqual([(point.ranks, point.hbm >> 30) for point in swept.points],
                         [(8, 1), (8, 80), (16, 1), (16, 80)])
        for point in swept.points:
            self.assertEqual(point.fits, point.rating is not None)
            self.assertEqual(point.fits, point.why is None)
        self.assertIn("ranks_per_host", swept._repr_html_())

    def test_sweep_says_what_machines_are_worth(self):
        swept = shardwright.sweep(SAMPLE, ranks=[8, 16], hbm=["40GiB", "80GiB"], price=[1.5, 2.5], work_limit=1000)
        self.assertEqual([point.price_per_hour for point in swept.points], [12, 20, 24, 40])
        for point in swept.points:
            speed = 1000 * point.ranks * point.batch_size / point.rating
            self.assertAlmostEqual(point.samples_per_second / speed, 1)
            self.assertAlmostEqual(point.price_per_billion_samples, 1e9 / speed / 3600 * point.price_per_hour)
        self.assertTrue(any(point.pareto for point in swept.points))
        with self.assertRaisesRegex(shardwright.InvalidInputError, "--price|price"):
            shardwright.sweep(SAMPLE, ranks=[8], hbm=["40GiB", "80GiB"], price=[1, 2, 3])

    def test_diff_of_plans_and_of_problems(self):
        other = shardwright.plan(SAMPLE, ranks=16, mode="compat")
        found = shardwright.diff(self.result, other)
        self.assertTrue(found)
        self.assertEqual((found.kind, found.same), ("plans", False))
        self.assertGreater(found.moved_bytes, 0)
        changed = dict(SMALL, batch_size=64)
        self.assertEqual(shardwright.diff(SMALL, changed).kind, "problems")
        self.assertTrue(shardwright.diff(SMALL, SMALL).same)

    def test_other_peoples_options_are_taken_as_object_and_as_text(self):
        space = shardwright.enumerate_options(SMALL)
        problem = shardwright.Problem(SMALL)
        result = shardwright.plan(problem, search_space=shardwright.SearchSpace(problem),
                                  mode="compat")
        self.assertTrue(shardwright.verify(SMALL, result, search_space=space))
        self.assertTrue(shardwright.verify(SMALL, result, search_space=space.to_json()))


class Operators(InFolder):
    def test_build_and_solve(self):
        built = operators.build(DATA / "mlp_graph.json", "2x2")
        solved = operators.solve(built, budget=200_000)
        self.assertEqual(solved.status, "optimal")
        self.assertEqual(len(solved.choice), 6)
        self.assertEqual(solved.lower_bound, solved.objective)
        path = self.folder / "instance.json"
        built.save(path)
        self.assertEqual(operators.solve(path, budget="200KB").choice, solved.choice)
        tight = operators.solve(built, budget=1000)
        self.assertEqual((tight.status, tight.outcome), ("infeasible", "nothing fits"))

    def test_plan_and_sweep_of_a_traced_model(self):
        graph = DATA / "traced_mlp.json"
        seen = []
        planned = operators.plan(graph, (4, 2), memory="16GiB", gap=0, progress=seen.append)
        self.assertEqual(planned.status, "optimal")
        self.assertGreaterEqual(planned.objective_us, planned.lower_bound_us)
        self.assertGreater(len(seen), 0)
        planned.report(self.folder / "model.html")
        self.assertIn("<title>", (self.folder / "model.html").read_text(encoding="utf-8"))
        swept = operators.sweep(graph, 8, axes=2)
        self.assertEqual({tuple(row["mesh"]) for row in swept._rows()}, {(8,), (4, 2), (2, 4)})
        self.assertEqual(operators.plan(graph, options={"mesh": [4, 2], "gap": 0}).objective_us,
                         planned.objective_us)

    def test_the_others_answer_as_the_command_does(self):
        for answer, arguments in (
                (operators.strategies(DATA / "linear.json"),
                 ("strategies", DATA / "linear.json")),
                (operators.paths(DATA / "paths.json", cost="exact"),
                 ("paths", DATA / "paths.json", "--cost", "exact")),
                (operators.autoshard(DATA / "autoshard_mlp.json", devices=8, cost_model="v1"),
                 ("autoshard", DATA / "autoshard_mlp.json", "--devices", 8, "--cost-model", "v1"))):
            self.assertGreater(len(answer._rows()), 0)
            if COMMAND:
                self.assertEqual(answer.data, json_of_command("operators", *arguments))


class Programs(InFolder):
    def test_they_answer_as_the_command_does(self):
        for answer, arguments in (
                (program.reshard(DATA / "reshard.json", compat=True),
                 ("reshard", DATA / "reshard.json", "--compat")),
                (program.apply(DATA / "program.json", full=True),
                 ("apply", DATA / "program.json", "--full")),
                (program.redistribute(DATA / "redistribution.json"),
                 ("redistribute", DATA / "redistribution.json")),
                (program.redistribute(DATA / "redistribution.json", front=True),
                 ("redistribute", DATA / "redistribution.json", "--front")),
                (program.transfer(DATA / "transfer.json", memory="16MiB"),
                 ("transfer", DATA / "transfer.json", "--memory", "16MiB"))):
            self.assertGreater(len(answer._rows()), 0)
            if COMMAND:
                self.assertEqual(answer.data, json_of_command("program", *arguments))

    def test_results_have_names(self):
        path = program.redistribute(DATA / "redistribution.json")
        self.assertTrue(path.is_optimal)
        self.assertGreater(path.cost_us, 0)
        front = program.redistribute(DATA / "redistribution.json", front=True)
        self.assertEqual(front.cost_us, path.cost_us)
        moved = program.transfer(DATA / "transfer.json")
        self.assertLessEqual(moved.lower_bound, moved.busiest)
        moved.report(self.folder / "transfer.html")
        self.assertTrue((self.folder / "transfer.html").exists())

    def test_a_document_may_be_a_dict_and_an_answer_is_saved_and_loaded(self):
        request = json.loads((DATA / "redistribution.json").read_text(encoding="utf-8"))
        path = program.redistribute(request)
        path.save(self.folder / "path.json")
        loaded = program.Redistribution.load(self.folder / "path.json")
        self.assertEqual(loaded.data, path.data)
        self.assertEqual(loaded.cost_us, path.cost_us)
        loaded.report(self.folder / "page.html")
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        self.assertIn('"title":"answer of program redistribute"', page.replace(": ", ":"))
        self.assertIn("cost_us", str(loaded))
        self.assertIn("all-reduce" if "all-reduce" in str(path) else "us", str(path))
        self.assertIn("<pre>", path._repr_html_())


class Accepted(unittest.TestCase):
    class Five:
        def __index__(self):
            return 5

    def test_whatever_counts_as_a_number(self):
        five = self.Five()
        result = shardwright.plan(SMALL, threads=five, seed=five, ranks=five, ranks_per_host=five)
        self.assertEqual(len(result.ranks), 5)
        swept = shardwright.sweep(SMALL, ranks=[five], ranks_per_host=five, work_limit=five)
        self.assertEqual(swept.points[0].ranks, 5)

    def test_what_is_wrong_is_named(self):
        for kind, name, call in (
                (ValueError, "mode", lambda: shardwright.explain(SMALL, mode="bst")),
                (ValueError, "cost", lambda: operators.paths({"a": 1}, cost="least")),
                (TypeError, "devices", lambda: operators.sweep({"a": 1}, "8")),
                (TypeError, "graph", lambda: operators.build(None, "2x2")),
                (TypeError, "instance", lambda: operators.solve(3)),
                (ValueError, "work_limit", lambda: operators.solve({"a": 1}, work_limit=-1)),
                (shardwright.InvalidInputError, "/mesh", lambda: operators.build({"a": 1}, "2y2")),
                (shardwright.InvalidInputError, "/memory",
                 lambda: program.transfer({"a": 1}, memory="lots")),
                (shardwright.InvalidInputError, "nowhere", lambda: program.apply("nowhere.json")),
                (shardwright.InvalidInputError, "/cases", lambda: program.reshard([{"x": 1}])),
                (TypeError, "cancel", lambda: operators.solve({"a": 1}, cancel=3))):
            with self.assertRaisesRegex(kind, name):
                call()

    def test_any_command_can_be_asked_by_its_name(self):
        asked = shardwright.ask("program redistribute",
                                {"redistribution": str(DATA / "redistribution.json")})
        self.assertEqual(asked.data, program.redistribute(DATA / "redistribution.json").data)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "did you mean"):
            shardwright.ask("program redistribut", {})
        with self.assertRaisesRegex(shardwright.InvalidInputError, "/modus"):
            shardwright.ask("plan", {"problem": SMALL, "modus": "best"})

    def test_a_cancelled_call_answers_with_what_there_is(self):
        cancel = shardwright.Cancel()
        cancel.request()
        answer = shardwright.ask("plan", {"problem": SMALL}, cancel=cancel)
        self.assertEqual(answer.data["stopped_by"], "cancelled")

    def test_what_progress_raises_is_raised_again(self):
        def refuse(_):
            raise KeyError("enough")
        with self.assertRaisesRegex(KeyError, "enough"):
            operators.plan(DATA / "traced_mlp.json", "4x2", progress=refuse)


if __name__ == "__main__":
    unittest.main()
