"""Wrong types, closed objects, many threads, many plans: a clear error or the right answer."""

import copy
import gc
import pickle
import threading
import unittest

import shardwright
from test_planning import SAMPLE, SMALL

NOT_PROBLEMS = (None, 3, 2.5, [], object(), True)


class WrongInput(unittest.TestCase):
    def raises(self, kind, text, function, *arguments, **options):
        with self.assertRaisesRegex(kind, text):
            function(*arguments, **options)

    def test_null_and_wrong_types_are_named(self):
        for wrong in NOT_PROBLEMS:
            name = type(wrong).__name__
            for function in (shardwright.plan, shardwright.enumerate_options):
                self.raises(TypeError, name, function, wrong)
            self.raises(TypeError, name, shardwright.Problem, wrong)
            self.raises(TypeError, name, shardwright.SearchSpace, wrong)
            self.raises(TypeError, name, shardwright.verify, SMALL, wrong)
            self.raises(TypeError, name, shardwright.replan, SMALL, wrong)
            self.raises(TypeError, name, shardwright.verify, wrong, "{}")
        for wrong in (None, 3.5, {}):
            self.raises(TypeError, "", shardwright.Problem.from_file, wrong)

    def test_options_out_of_range_are_named(self):
        plan = shardwright.plan
        self.raises(ValueError, "mode", plan, SMALL, mode="fast")
        self.raises(TypeError, "threads", plan, SMALL, threads="2")
        self.raises(ValueError, "threads", plan, SMALL, threads=-1)
        self.raises(ValueError, "threads", plan, SMALL, threads=2**40)
        self.raises(TypeError, "threads", plan, SMALL, threads=True)
        self.raises(ValueError, "time_limit", plan, SMALL, time_limit=float("nan"))
        self.raises(ValueError, "time_limit", plan, SMALL, time_limit=-1)
        self.raises(TypeError, "time_limit", plan, SMALL, time_limit="soon")
        self.raises(ValueError, "work_limit", plan, SMALL, work_limit=2**64)
        self.raises(ValueError, "seed", plan, SMALL, seed=-3)
        self.raises(ValueError, "seed", plan, SMALL, seed=2**64)
        self.raises(TypeError, "progress", plan, SMALL, progress=3)
        self.raises(TypeError, "cancel", plan, SMALL, cancel=object())
        self.raises(TypeError, "search_space", plan, SMALL, search_space={})
        self.raises(TypeError, "migration_weight", shardwright.replan, SMALL, "{}",
                    migration_weight="much")
        self.raises(ValueError, "what", shardwright.plan(SMALL).to_numpy, "columns")

    def test_bad_problems_name_the_place(self):
        self.raises(shardwright.InvalidInputError, "/tables/0/num_embedings", shardwright.plan,
                    {"tables": [{"name": "a", "num_embedings": 3, "embedding_dim": 4}]})
        self.raises(shardwright.InvalidInputError, "line 1", shardwright.plan, "{")
        self.raises(shardwright.InvalidInputError, "no_such_file", shardwright.plan,
                    "no_such_file.json")
        self.raises(TypeError, "JSON", shardwright.plan, {"tables": {1, 2}})
        self.raises(TypeError, "JSON", shardwright.plan, {"tables": [object()]})
        self.raises(shardwright.InvalidInputError, "", shardwright.plan, b"\xff\xfe{")
        self.raises(ValueError, "NUL", shardwright.Problem.from_file, "a\0b")
        self.raises(shardwright.InvalidInputError, "", shardwright.verify, SMALL, "[]")

    def test_a_dict_that_holds_itself_is_refused(self):
        loop = {}
        loop["tables"] = loop
        with self.assertRaises((TypeError, RecursionError)):
            shardwright.plan(loop)

    def test_a_search_space_of_another_problem_is_refused(self):
        other = shardwright.Problem(dict(SMALL, name="other"))
        space = shardwright.enumerate_options(other)
        with self.assertRaises(shardwright.ShardwrightError):
            shardwright.plan(SMALL, search_space=space)


class Closing(unittest.TestCase):
    def test_everything_closed_says_so_and_closing_twice_is_nothing(self):
        problem = shardwright.Problem(SMALL)
        space = shardwright.enumerate_options(problem)
        cancel = shardwright.Cancel()
        result = shardwright.plan(problem, search_space=space, cancel=cancel)
        for item in (problem, space, cancel, result):
            item.close()
            item.close()
            self.assertIsInstance(repr(item), str)
        for use in (lambda: problem.num_ranks, lambda: shardwright.plan(problem),
                    lambda: len(space), space.to_json, cancel.request, result.to_json,
                    lambda: result.tables, lambda: result.ranks,
                    lambda: shardwright.plan(SMALL, cancel=cancel),
                    lambda: shardwright.SearchSpace(problem)):
            with self.assertRaisesRegex(shardwright.InvalidHandleError, "closed"):
                use()

    def test_results_outlive_what_they_were_made_from(self):
        problem = shardwright.Problem(SMALL)
        result = shardwright.plan(problem)
        del problem
        gc.collect()
        self.assertEqual([table.table for table in result.tables], ["a", "b"])

    def test_copies_are_refused(self):
        result = shardwright.plan(SMALL)
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "copied or pickled|cannot pickle"):
                attempt(result._handle)

    def test_closing_while_others_plan_gives_a_plan_or_a_clear_error(self):
        for _ in range(30):
            problem = shardwright.Problem(SMALL)
            outcomes = []

            def use(problem=problem, outcomes=outcomes):
                for _ in range(5):
                    try:
                        outcomes.append(shardwright.plan(problem, mode="compat").has_plan)
                    except shardwright.InvalidHandleError:
                        outcomes.append("closed")

            users = [threading.Thread(target=use) for _ in range(4)]
            closers = [threading.Thread(target=problem.close) for _ in range(3)]
            for thread in users + closers:
                thread.start()
            for thread in users + closers:
                thread.join()
            self.assertEqual(len(outcomes), 20)
            self.assertLessEqual(set(outcomes), {True, "closed"})


class Many(unittest.TestCase):
    def test_eight_threads_plan_at_once_and_agree(self):
        problem = shardwright.Problem.from_file(SAMPLE)
        alone = shardwright.plan(problem, work_limit=3_000_000)
        answers = [None] * 8

        def work(i):
            answers[i] = shardwright.plan(problem, work_limit=3_000_000, threads=1 + i % 2)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            self.assertEqual(answer.rating, alone.rating)
            self.assertEqual(answer.to_dict()["plan"], alone.to_dict()["plan"])

    def test_a_thousand_plans_leave_nothing_behind(self):
        def some(count):
            for _ in range(count):
                result = shardwright.plan(SMALL, mode="compat", progress=lambda p: None)
                result.to_dict()
                _ = result.tables, result.ranks
            gc.collect()
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096

        before = some(200)
        grown = some(1000) - before
        # A problem, a search space and a result take about 20 KiB: a leak of one is 20 MB.
        self.assertLess(grown, 3 << 20)


if __name__ == "__main__":
    unittest.main()
