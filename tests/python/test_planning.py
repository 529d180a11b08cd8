"""Planning from Python: every form of input and output."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shardwright

SAMPLE = Path("samples/data/mlperf_dlrm_dcnv2.json")
HARDER = {"ranks": 16, "ranks_per_host": 8, "hbm": "80GiB"}  # than one host: seconds for the sample
SMALL = {
    "name": "small",
    "topology": {"world_size": 2, "compute_device": "cuda", "hbm_cap": 8 << 30},
    "tables": [{"name": "a", "num_embeddings": 100_000, "embedding_dim": 64},
               {"name": "b", "num_embeddings": 5_000, "embedding_dim": 128}],
}


class WaysIn(unittest.TestCase):
    def test_dict_text_bytes_file_and_gzip_give_the_same_plan(self):
        text = json.dumps(SMALL)
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = Path(folder, "p.json"), Path(folder, "p.json.gz")
            plain.write_text(text, encoding="utf-8")
            packed.write_bytes(gzip.compress(text.encode()))
            plans = [shardwright.plan(problem).to_dict()["plan"]
                     for problem in (SMALL, text, text.encode(), plain, str(packed),
                                     shardwright.Problem(SMALL))]
        self.assertEqual(len(plans[0]), 2)
        for other in plans[1:]:
            self.assertEqual(other, plans[0])

    def test_a_problem_knows_its_sizes(self):
        problem = shardwright.Problem(SMALL)
        self.assertEqual(problem.table_names, ("a", "b"))
        self.assertEqual((problem.num_ranks, problem.ranks_per_host), (2, 2))
        self.assertEqual(problem.batch_size, 512)

    def test_compat_and_best_mode(self):
        compat = shardwright.plan(SAMPLE, mode="compat")
        best = shardwright.plan(SAMPLE)
        self.assertEqual((compat.mode, best.mode), ("compat", "best"))
        self.assertLessEqual(best.rating, compat.rating)
        self.assertIsNone(compat.lower_bound)
        self.assertLessEqual(best.lower_bound, best.rating)

    def test_best_mode_chooses_the_sizes_of_caches(self):
        cached = {"compute_kernels": ["fused_uvm_caching"], "cache_params": {"load_factor": 0.1}}
        small = {**SMALL, "constraints": {"a": cached}}
        before = shardwright.plan(small)
        cached["cache_params"]["load_factors"] = [0.3, 0.6]
        after = shardwright.plan(small)
        self.assertLess(after.rating, before.rating)
        chosen = {table.table: table for table in after.tables}
        self.assertEqual(chosen["a"].load_factor, 0.6)
        self.assertEqual(chosen["a"].option, shardwright.plan(small, threads=1).tables[
            [table.table for table in after.tables].index("a")].option)
        self.assertTrue(shardwright.verify(small, after))
        with self.assertRaises(shardwright.ShardwrightError):
            shardwright.plan(small, mode="compat")

    def test_costs_of_somebody_else(self):
        problem = shardwright.Problem(SMALL)
        with shardwright.enumerate_options(problem) as options:
            cheap = options.to_dict()
        for option in cheap["search_space"]:
            for shard in option["shards"]:
                shard["perf"] = [1.0, 0, 0, 0, 0]
        space = shardwright.SearchSpace(problem, cheap)
        self.assertEqual(len(space), len(cheap["search_space"]))
        result = shardwright.plan(problem, search_space=space)
        self.assertEqual(result.rating, 1.0)


class WaysOut(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = shardwright.plan(SAMPLE)
        cls.answer = cls.result.to_dict()

    def test_tables_are_those_of_the_json_answer(self):
        self.assertEqual(len(self.result.tables), 26)
        for table, entry in zip(self.result.tables, self.answer["plan"]):
            self.assertEqual((table.table, table.sharding_type, table.compute_kernel),
                             (entry["table"], entry["sharding_type"], entry["compute_kernel"]))
            self.assertEqual(list(table.ranks), entry["ranks"])

    def test_ranks_are_those_of_the_json_answer_and_sums_of_the_shards(self):
        self.assertEqual([load.total_ms for load in self.result.ranks],
                         self.answer["plan_perf_by_rank"])
        self.assertEqual([load.hbm for load in self.result.ranks], self.answer["plan_hbm_by_rank"])
        self.assertEqual(max(load.total_ms for load in self.result.ranks), self.result.rating)
        held = [0] * len(self.result.ranks)
        for table in self.result.tables:
            for shard in table.shards:
                held[shard.rank] += shard.hbm
        self.assertEqual(held, self.answer["plan_hbm_by_rank"])

    def test_a_saved_plan_verifies_and_a_changed_one_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plan.json")
            self.result.save(path)
            text = path.read_text(encoding="utf-8")
        checked = shardwright.verify(SAMPLE, text)
        self.assertTrue(checked)
        self.assertGreater(checked.claims, 26)
        self.assertEqual([claim.split(":")[0] for claim in checked.repeated],
                         [found["where"] for found in checked.data["repeated"]])
        changed = json.loads(text)
        changed["best_rating"] /= 2
        found = shardwright.verify(SAMPLE, changed)
        self.assertFalse(found)
        self.assertIn("rating", " ".join(found.violations))

    def test_planning_again_from_a_plan_keeps_it(self):
        again = shardwright.replan(SAMPLE, self.result, migration_weight=1.0)
        self.assertEqual([table.ranks for table in again.tables],
                         [table.ranks for table in self.result.tables])
        self.assertTrue(shardwright.verify(SAMPLE, again, old_plan=self.result))
        unknown = shardwright.verify(SAMPLE, again)
        self.assertFalse(unknown)
        self.assertIn("not verified", " ".join(unknown.violations))

    def test_tables_on_ssd_show_what_they_take(self):
        problem = dict(SMALL, topology={"world_size": 1, "ssd_cap": 10 ** 9},
                       reservation={"type": "none"})
        problem["constraints"] = {table["name"]: {"compute_kernels": ["key_value"],
                                                  "sharding_types": ["table_wise"]}
                                  for table in problem["tables"]}
        result = shardwright.plan(problem)
        self.assertTrue(result.has_plan)
        for table in result.tables:
            self.assertGreater(table.ssd, 0)
            self.assertEqual(table.ssd, sum(shard.ssd for shard in table.shards))
        self.assertEqual(result.ranks[0].ssd, sum(table.ssd for table in result.tables))
        self.assertEqual(result.ranks[0].available_ssd, 10 ** 9)
        self.assertEqual(result.to_dict()["plan_ssd_by_rank"], [result.ranks[0].ssd])
        without = shardwright.plan(SMALL)
        self.assertEqual({load.ssd for load in without.ranks}, {0})

    def test_no_plan_is_an_answer_that_says_why(self):
        tight = dict(SMALL, topology={"world_size": 1, "compute_device": "cuda", "hbm_cap": 1000,
                                      "ddr_cap": 1000}, reservation={"type": "none"})
        result = shardwright.plan(tight)
        self.assertFalse(result.has_plan)
        self.assertIsNone(result.rating)
        self.assertIn('"a"', result.failure.message)
        self.assertEqual(result.failure.reason, "table_fits_nowhere")
        with self.assertRaises(shardwright.NoPlanError):
            _ = result.tables
        self.assertIn("No plan", result._repr_html_())

    def test_html_names_the_tables_and_escapes_them(self):
        named = dict(SMALL, tables=[{"name": "<a&b>", "num_embeddings": 10, "embedding_dim": 8}])
        text = shardwright.plan(named)._repr_html_()
        self.assertIn("&lt;a&amp;b&gt;", text)
        self.assertNotIn("<a&b>", text)


class Following(unittest.TestCase):
    def test_progress_rises_and_ends_with_the_plan(self):
        seen = []
        shardwright.plan(SAMPLE, work_limit=5_000_000, progress=seen.append)
        self.assertGreater(len(seen), 1)
        self.assertEqual([p.work_steps for p in seen], sorted(p.work_steps for p in seen))

    def test_what_progress_raises_ends_the_planning(self):
        class Enough(Exception):
            pass

        def raise_it(_):
            raise Enough("enough")

        with self.assertRaisesRegex(Enough, "enough"):
            shardwright.plan(SAMPLE, progress=raise_it)

    def test_cancel_from_another_thread_gives_the_best_so_far(self):
        cancel = shardwright.Cancel()
        start = time.perf_counter()
        timer = threading.Timer(0.2, cancel.request)
        timer.start()
        result = shardwright.plan(SAMPLE, time_limit=60, cancel=cancel,
                                  work_limit=10**12)
        timer.join()
        self.assertLess(time.perf_counter() - start, 30)
        self.assertTrue(result.stopped_by == "cancelled" or result.proven_optimal)

    def test_a_time_limit_is_kept(self):
        start = time.perf_counter()
        result = shardwright.plan(SAMPLE, **HARDER, time_limit=0.5)
        self.assertLess(time.perf_counter() - start, 20)
        self.assertTrue(result.has_plan)

    def test_control_c_ends_a_long_search(self):
        program = (
            "import os, shardwright, signal, sys, threading\n"
            "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n"
            "    shardwright.plan(sys.argv[1], search_space=None, work_limit=10**15)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted')\n")
        hard = {"topology": {"world_size": 64, "local_world_size": 8, "compute_device": "cuda",
                             "hbm_cap": 40 << 30},
                "tables": [{"name": f"t{i}", "num_embeddings": 1000 + 79 * i * i,
                            "embedding_dim": (16, 64, 128, 256)[i % 4]} for i in range(400)]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "hard.json")
            path.write_text(json.dumps(hard), encoding="utf-8")
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", program, str(path)], timeout=100,
                                  capture_output=True, text=True, check=False, env=os.environ)
        self.assertEqual(done.stdout.strip(), "interrupted", done.stderr)
        self.assertLess(time.perf_counter() - start, 60)
        self.assertNotEqual(done.returncode, -signal.SIGINT)

    def test_other_threads_run_while_one_plans(self):
        ticks, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                ticks[0] += 1
                time.sleep(0.001)

        counter = threading.Thread(target=count)
        counter.start()
        try:
            shardwright.plan(SAMPLE, **HARDER, work_limit=20_000_000)
        finally:
            stop.set()
            counter.join()
        self.assertGreater(ticks[0], 5)


if __name__ == "__main__":
    unittest.main()


class SeveralProcesses(unittest.TestCase):
    """Threads stand for processes: they share nothing but messages."""

    class Board:
        def __init__(self, processes):
            self.messages = [b""] * processes
            self.barrier = threading.Barrier(processes)

        def exchanges(self):
            return [SeveralProcesses.Exchange(self, process)
                    for process in range(len(self.messages))]

    class Exchange:
        def __init__(self, board, process):
            self.board, self.process, self.processes = board, process, len(board.messages)

        def all_gather(self, message):
            self.board.messages[self.process] = message
            self.board.barrier.wait(60)
            found = list(self.board.messages)
            self.board.barrier.wait(60)
            return found

    def test_all_have_the_best_plan_of_their_seeds(self):
        limits = {"work_limit": 2_000_000, "threads": 1, "lanes": 8}
        alone = [shardwright.plan(SAMPLE, seed=5 + process, **limits) for process in range(3)]
        for processes in (1, 2, 3):
            exchanges = self.Board(processes).exchanges()
            with ThreadPoolExecutor(processes) as pool:
                plans = list(pool.map(lambda own: shardwright.plan(
                    SAMPLE, seed=5, exchange=own, **limits), exchanges))
            best = min(alone[:processes], key=lambda own: own.rating)
            for own, single in zip(plans, alone):
                self.assertEqual(own.rating, best.rating)
                self.assertEqual([table.ranks for table in own.tables],
                                 [table.ranks for table in best.tables])
                self.assertEqual(own.lower_bound, single.lower_bound)
                self.assertTrue(shardwright.verify(SAMPLE, own))

    def test_lanes_decide_what_is_found(self):
        limits = {"work_limit": 2_000_000, "threads": 1}
        few, many = (shardwright.plan(SAMPLE, lanes=lanes, **limits).to_dict()["work"]["work_steps"]
                     for lanes in (3, 8))
        self.assertNotEqual(few, many)
        with self.assertRaises(ValueError):
            shardwright.plan(SAMPLE, lanes=2)

    def test_a_process_that_is_refused_keeps_nobody_waiting(self):
        exchanges = self.Board(2).exchanges()

        def plan(own):
            wrong = {"threads": -1} if own.process else {"threads": 1}
            return shardwright.plan(SAMPLE, work_limit=1_000_000, exchange=own, **wrong)

        with ThreadPoolExecutor(2) as pool:
            first, second = (pool.submit(plan, own) for own in exchanges)
            self.assertTrue(first.result().has_plan)
            with self.assertRaises(ValueError):
                second.result()

    def test_an_exchange_that_loses_messages_is_an_error(self):
        class Deaf:
            process, processes = 0, 2

            def all_gather(self, message):
                return [message]

        with self.assertRaisesRegex(ValueError, "1 messages of 2"):
            shardwright.plan(SAMPLE, exchange=Deaf())

    def test_what_an_exchange_raises_ends_the_planning(self):
        class Broken:
            process, processes = 0, 2

            def all_gather(self, message):
                raise ConnectionError("the other process is gone")

        with self.assertRaisesRegex(ConnectionError, "gone"):
            shardwright.plan(SAMPLE, exchange=Broken())

    def test_a_number_of_the_process_that_cannot_be_is_refused(self):
        class Wrong:
            process, processes = 2, 2

            def all_gather(self, message):
                return [message, message]

        with self.assertRaisesRegex(shardwright.InvalidInputError, "process"):
            shardwright.plan(SAMPLE, exchange=Wrong())
