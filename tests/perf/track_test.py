"""Result files, history, page and the command line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import support
from tracking import alternate, cli, history, judge, planners, results
from tracking.errors import TrackError

import limits
import scaling


def call(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(list(arguments))
    return code, out.getvalue(), err.getvalue()


class FolderTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def saved(self, name: str, run: results.Results) -> str:
        results.save(run, self.folder / name)
        return str(self.folder / name)


class CompareTest(FolderTest):
    def test_every_kind_of_figure_gets_its_verdict(self) -> None:
        a = support.results(x__explore_s=[1.0, 1.01, 1.02], x__instructions=[1000], x__best_rating=[2.0], x__peak_bytes=[100])
        b = support.results(x__explore_s=[1.5, 1.51, 1.52], x__instructions=[1021], x__best_rating=[2.1], x__peak_bytes=[104])
        verdicts = {each.key[2]: each.verdict for each in judge.judge(a, b)}
        self.assertEqual(verdicts, {"explore_s": "slower", "instructions": "slower", "best_rating": "worse",
                                    "peak_bytes": "same"})

    def test_other_builds_and_machines_are_not_comparable_but_ratings_are(self) -> None:
        a = support.results(x__explore_s=[1.0], x__instructions=[1000], x__best_rating=[2.0])
        b = support.results(x__explore_s=[9.0], x__instructions=[9000], x__best_rating=[2.0])
        b.machine, b.fingerprint = {"processor": "q"}, {"compiler": "d"}
        verdicts = {each.key[2]: each.verdict for each in judge.judge(a, b)}
        self.assertEqual(verdicts, {"explore_s": "not comparable", "instructions": "not comparable", "best_rating": "same"})

    def test_samples_far_apart_are_unstable(self) -> None:
        a = support.results(x__explore_s=[1.0, 1.5, 2.0])
        b = support.results(x__explore_s=[1.2, 1.7, 2.4])
        self.assertEqual(judge.judge(a, b)[0].verdict, "unstable")

    def test_times_of_two_files_are_a_hint_and_counts_decide(self) -> None:
        a = self.saved("a", support.results(x__explore_s=[1.0]))
        b = self.saved("b", support.results(x__explore_s=[2.0]))
        code, out, _ = call("compare", a, b)
        self.assertEqual(code, 0)
        self.assertIn("slower", out)
        a = self.saved("a", support.results(x__instructions=[1000]))
        b = self.saved("b", support.results(x__instructions=[2000]))
        self.assertEqual(call("compare", a, b)[0], 1)
        self.assertEqual(call("compare", a, a)[0], 0)

    def test_bad_input_is_one_sentence_and_two(self) -> None:
        code, _, err = call("compare", str(self.folder / "none"), str(self.folder / "none"))
        self.assertEqual(code, 2)
        self.assertIn("No such file", err)
        (self.folder / "bad").write_text("{}", encoding="utf-8")
        code, _, err = call("compare", str(self.folder / "bad"), str(self.folder / "bad"))
        self.assertEqual(code, 2)
        self.assertIn("not a result file", err)
        code, _, err = call("compare", "--paired", "--pairs", "3", "a", "b")
        self.assertEqual(code, 2)
        self.assertIn("below 6 pairs", err)
        code, _, err = call("compare", "--paired", str(self.folder / "no_build"), "b")
        self.assertEqual(code, 2)
        self.assertIn("neither a build folder nor a command", err)


class FakePlanner:
    """Gives the figures of a list, one run after the other."""

    def __init__(self, values: list[float]) -> None:
        self._values = iter(values)

    def run(self, cases: list[str]) -> planners.Figures:
        return {(cases[0], "explore_s"): next(self._values), (cases[0], "best_rating"): 2.0}


class PlannerTest(FolderTest):
    def test_alternation_drops_the_first_pair_and_judges_the_rest(self) -> None:
        a = FakePlanner([9.0] + support.noisy(1, 10, 1.0, 0.01))
        b = FakePlanner([9.0] + support.noisy(2, 10, 1.3, 0.01))
        verdicts = {each.metric: each.verdict for each in alternate.alternate(a, b, ["x"], 10)}
        self.assertEqual(verdicts, {"explore_s": "slower", "best_rating": "same"})

    def test_somebody_elses_command_is_run_and_read(self) -> None:
        problem = self.folder / "p.json"
        problem.write_text('{"tables": []}', encoding="utf-8")
        script = self.folder / "planner.py"
        script.write_text("import json, sys\njson.load(open(sys.argv[1]))\n"
                          "json.dump({'best_rating': 4.5, 'timing': {'loop_s': 0.25, 'plan_total_s': 0.5}},"
                          " open(sys.argv[2], 'w'))\n", encoding="utf-8")
        out = self.folder / "r.json"
        code, _, err = call("run", "--command", f"{sys.executable} {script} {{problem}} {{out}}", "--case", str(problem),
                            "--repeat", "2", "-o", str(out))
        self.assertEqual(code, 0, err)
        figures = {each.metric: each for each in results.load(out).measurements}
        self.assertEqual(figures["explore_s"].samples, [0.25, 0.25])
        self.assertEqual(figures["total_s"].value, 0.5)
        self.assertEqual((figures["best_rating"].value, figures["best_rating"].unit), (4.5, "rating"))
        self.assertGreater(figures["wall_s"].value or 0, 0)
        self.assertGreater(figures["peak_bytes"].value or 0, 1 << 20)

    def test_a_command_that_fails_or_lacks_its_place_is_an_error(self) -> None:
        with self.assertRaisesRegex(TrackError, "needs {problem}"):
            planners.CommandPlanner("plan it")
        with self.assertRaisesRegex(TrackError, "ended with 1"):
            planners.CommandPlanner("false {problem}").run(["03"])
        with self.assertRaisesRegex(TrackError, "cannot run"):
            planners.CommandPlanner("/no/such/program {problem}").run(["03"])

    def test_cases_are_found_by_number_and_workloads_get_a_topology(self) -> None:
        self.assertEqual(len(json.loads(planners.problem_text("03"))["tables"]), 12)
        topology = json.loads(planners.problem_text("criteo_kaggle@4"))["topology"]
        self.assertEqual((topology["world_size"], topology["local_world_size"]), (4, 4))
        with self.assertRaisesRegex(TrackError, "no golden case"):
            planners.problem_text("no_such_case")


class HistoryTest(FolderTest):
    def test_runs_are_appended_and_never_twice(self) -> None:
        path = self.folder / "history.jsonl"
        first, second = support.results("d1", x__explore_s=[1.0]), support.results("d2", x__explore_s=[2.0])
        history.add(path, first)
        before = path.read_bytes()
        history.add(path, second)
        self.assertTrue(path.read_bytes().startswith(before))
        self.assertEqual(history.load(path), [first, second])
        with self.assertRaisesRegex(TrackError, "already holds"):
            history.add(path, first)

    def test_the_page_needs_nothing_else_and_says_verdicts_in_words(self) -> None:
        path = self.folder / "history.jsonl"
        history.add(path, support.results("d1", x__instructions=[1000], y__explore_s=[1.0]))
        history.add(path, support.results("d2", x__instructions=[2000], y__explore_s=[1.0]))
        out = self.folder / "page.html"
        code, _, err = call("html", "--history", str(path), "-o", str(out), "--title", "<b>")
        self.assertEqual(code, 0, err)
        text = out.read_text(encoding="utf-8")
        self.assertIsNone(re.search(r"https?://|src=|@import|url\(", text))
        self.assertIn('<span class="verdict bad">slower</span>', text)
        self.assertIn("<svg", text)
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertIn("&lt;b&gt;", text)
        self.assertNotIn("<title><b>", text)

    def test_an_empty_history_is_an_error(self) -> None:
        code, _, err = call("html", "--history", str(self.folder / "none"), "-o", str(self.folder / "p"))
        self.assertEqual(code, 2)
        self.assertIn("history add", err)


class ReportTest(unittest.TestCase):
    def test_a_power_law_is_fitted_exactly(self) -> None:
        self.assertAlmostEqual(scaling.fit([(x, 3 * x ** 1.25) for x in (10.0, 20.0, 80.0)]), 1.25)

    def test_a_section_is_replaced_and_nothing_else(self) -> None:
        text = "a\n<!-- measured: where -->\nold\n<!-- end -->\nb\n<!-- measured: limits -->\nkept\n<!-- end -->\n"
        self.assertEqual(limits.splice(text, "where", "new\\1"), text.replace("old", "new\\1"))
        with self.assertRaisesRegex(TrackError, "no markers"):
            limits.splice(text, "scaling", "x")

    def test_the_readme_has_every_section(self) -> None:
        readme = (support.PERF / "README.md").read_text(encoding="utf-8")
        for section in limits.SECTIONS:
            limits.splice(readme, section, "")


if __name__ == "__main__":
    unittest.main()
