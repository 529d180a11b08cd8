"""Measured costs of this machine: lookups, collectives, what plans make of them, and plans that are replayed."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

import torch

import shardwright
from shardwright.torch.timing import Flush, Timed, timed
from shardwright.torchrec import lookups, measure, replay, replay_page

CPU = torch.device("cpu")
GRID = measure.Grid(tables=(1, 2, 4), rows=(300, 30_000), dims=(8, 16, 64), batch=(128, 1024), pooling=(1.0, 20.0),
                    zipfs=(0.0, 1.05), most_elements=1 << 20)
KINDS = [lookups.Kind()]
PROBLEM = {"name": "small", "batch_size": 64, "zipf": 0.8,
           "topology": {"world_size": 2, "local_world_size": 2, "compute_device": "cpu"},
           "tables": [{"name": "ads", "num_embeddings": 20_000, "embedding_dim": 64, "pooling_factor": 10},
                      {"name": "users", "num_embeddings": 5_000, "embedding_dim": 32, "zipf": 0.0},
                      {"name": "pages", "num_embeddings": 9_000, "embedding_dim": 16,
                       "features": [{"name": "a", "pooling_factor": 3}, {"name": "b", "pooling_factor": 5}]},
                      {"name": "days", "num_embeddings": 400, "embedding_dim": 16, "weighted": True}],
           "constraints": {"ads": {"sharding_types": ["column_wise"], "min_partition": 32},
                           "users": {"sharding_types": ["data_parallel"]},
                           "pages": {"sharding_types": ["table_wise"]}, "days": {"sharding_types": ["table_wise"]}}}


def file_in(folder, name, document=None):
    path = Path(folder) / name
    if document is not None:
        path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def quietly(function, *arguments):
    """The status, the output and the errors of a command's `main`."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
        return function(*arguments), out.getvalue(), errors.getvalue()


class Lookups(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)

    def test_rows_are_drawn_with_the_popularity_of_their_rank(self):
        for exponent, share in ((0.0, 0.01), (0.8, 0.286), (1.0, 0.501), (1.2, 0.716)):  # of the first 1 % of 10,000 ranks
            drawn = lookups.zipf_rows(10_000, 200_000, exponent, torch.Generator().manual_seed(1))
            self.assertGreaterEqual(int(drawn.min()), 0)
            self.assertLess(int(drawn.max()), 10_000)
            counts = torch.bincount(drawn, minlength=10_000).sort(descending=True).values
            # Sorting by counts favours the drawn sample; for uniform rows that is 1.6 % instead of 1 %.
            self.assertAlmostEqual(float(counts[:100].sum()) / 200_000, share, delta=0.01)

    def test_every_kernel_that_trains_runs_forward_and_backward(self):
        flush = Flush(CPU)
        for kind in measure.kinds_for(CPU):
            call = lookups.Call(kind, [lookups.Lookup(1_000, 16, 500, 1.05, features=2)] * 2, 64, CPU)
            times = call.measure(flush, warmup=0, runs=3)
            self.assertGreater(times.forward.us, 0)
            self.assertEqual(times.backward is None, kind.kernel == "quant")
        self.assertEqual({kind.kernel for kind in measure.kinds_for(CPU)}, {"fused", "dense", "quant"})

    def test_a_step_updates_the_rows_that_it_reads(self):
        call = lookups.Call(lookups.Kind(), [lookups.Lookup(50, 8, 64)], 16, CPU)
        before = call._module.split_embedding_weights()[0].clone()
        call.measure(Flush(CPU), warmup=0, runs=3)
        changed = (call._module.split_embedding_weights()[0] != before).any(dim=1)
        read = torch.cat([batch[0] for batch in call._batches]).unique()
        self.assertEqual(changed.nonzero().flatten().tolist(), read.tolist())

    def test_times_are_medians_with_their_spread(self):
        self.assertEqual(timed([1.0, 2.0, 10.0]), Timed(2.0, (6.0 - 1.5) / 2 / 2.0))


class Measuring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.machine = file_in(cls.folder.name, "machine.json", {"operator_times": []})
        # The number of shapes ends the measurements, not the time, which says little where other tests run.
        with mock.patch.object(measure, "_PATIENCE", 1):
            cls.document = measure.measure(cls.machine, device="cpu", time_limit=300, parts=["lookups"], kinds=KINDS,
                                           grid=GRID, runs=3)

    def planned(self, **machine):
        answer = shardwright.plan(PROBLEM, mode="best", work_limit=1_000_000, **machine)
        return json.loads(answer.to_json())

    def test_the_file_has_measurements_fits_and_what_it_had_before(self):
        kept = json.loads(Path(self.machine).read_text(encoding="utf-8"))
        self.assertEqual(kept, self.document)
        self.assertIn("operator_times", kept)
        table = kept["embedding"]["lookups"]
        self.assertEqual(sorted(table["columns"]), sorted(measure.LOOKUP_COLUMNS))
        self.assertGreaterEqual(len(table["rows"]), 2 * measure._FIRST_SHAPES)  # its kind is measured twice in a turn
        self.assertEqual(kept["machine"]["device"], "cpu")

    def test_the_fit_describes_shapes_that_it_did_not_see(self):
        # On a quiet machine the median is under 10 %. Here shapes are few and tiny, so that Python takes much of the
        # time, and other tests run beside this one.
        for name in ("forward", "backward"):
            self.assertLess(self.document["embedding"]["models"][0][name]["error"]["median"], 0.5)

    def test_plans_take_the_measured_costs(self):
        costs = self.planned(machine=self.machine)
        self.assertNotEqual(costs["best_rating"], self.planned()["best_rating"])
        self.assertTrue(shardwright.verify(PROBLEM, costs, machine=self.machine))

    def test_a_replayed_plan_shows_predicted_beside_measured(self):
        plan = file_in(self.folder.name, "plan.json", self.planned(machine=self.machine))
        problem = file_in(self.folder.name, "problem.json", PROBLEM)
        answer, page = (file_in(self.folder.name, name) for name in ("replay.json", "replay.html"))
        status, out, errors = quietly(replay.main, [problem, plan, "--machine", self.machine, "--device", "cpu", "--runs",
                                                    "3", "-o", answer, "--html", page])
        self.assertEqual(status, 0, errors)
        self.assertIn("was not measured with", errors)  # the other kernels
        self.assertIn("correlation of order", out)
        found = json.loads(Path(answer).read_text(encoding="utf-8"))
        self.assertEqual([row["rank"] for row in found["ranks"]], [0, 1])
        # Half of the columns of `ads`, copies of `users`, and whole tables.
        self.assertEqual(sorted(row["table"] for row in found["tables"]), ["ads", "ads", "days", "pages", "users", "users"])
        for row in found["ranks"] + found["tables"]:
            self.assertGreater(row["measured_ms"], 0)
            self.assertGreater(row["predicted_ms"], 0)
        self.assertEqual(found["errors"]["tables"]["count"], 6)
        self.assertEqual(Path(page).read_text(encoding="utf-8"), replay_page.page(found))

    def test_one_rank_is_replayed_with_a_share_of_the_rows(self):
        found = replay.replay(PROBLEM, self.planned(), ranks=[1], scale_rows=0.1, device="cpu", runs=3)
        self.assertEqual([row["rank"] for row in found["ranks"]], [1])
        self.assertTrue(found["tables"])
        sizes = {"ads": [2_000, 32], "users": [500, 32], "pages": [900, 16], "days": [40, 16]}
        for row in found["tables"]:
            self.assertEqual((row["rank"], row["size"]), (1, sizes[row["table"]]))

    def test_what_cannot_be_replayed_is_refused(self):
        plan = self.planned()
        with self.assertRaisesRegex(shardwright.InvalidInputError, "no rank 7"):
            replay.replay(PROBLEM, plan, ranks=[7], device="cpu")
        other = {**PROBLEM, "tables": [{**table, "name": table["name"] + "s"} for table in PROBLEM["tables"]],
                 "constraints": {}}
        with self.assertRaisesRegex(shardwright.InvalidInputError, "has no option"):
            replay.replay(other, plan, device="cpu")
        with mock.patch.object(replay, "memory_bytes", return_value=1000), self.assertRaisesRegex(
                shardwright.InvalidInputError, "scale_rows"):
            replay.replay(PROBLEM, plan, device="cpu")
        adam = lookups.Kind(optimizer="adam")
        self.assertFalse(adam.runs_on(CPU))
        shard = replay.Shard("t", "m", "table_wise", 0, adam, lookups.Lookup(10, 4, 10), 1, 0.0, 0.0)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "fused FP32 adam does not run on cpu"):
            replay.run_call([shard], CPU, lambda: None, replay.call_times(None), 1)

    def test_a_file_of_another_machine_is_not_mixed(self):
        other = {**self.document, "machine": {**self.document["machine"], "device_name": "another"}}
        path = file_in(self.folder.name, "other.json", other)
        status, _, errors = quietly(measure.main, ["-o", path, "--device", "cpu", "--time-limit", "1"])
        self.assertEqual(status, 2)
        self.assertIn("not of", errors)

    def test_a_noisy_machine_says_so(self):
        uncertain = lookups.CallTimes(Timed(100.0, 0.5), Timed(100.0, 0.5), None)
        with mock.patch.object(lookups.Call, "measure", return_value=uncertain):
            measuring = measure.Lookups(KINDS, CPU, GRID)
            measuring._measure(measuring._progress, 2, float("inf"))
            with self.assertWarnsRegex(measure.NoisyMachineWarning, "50%"):
                self.assertEqual(measure._noise(measuring), 0.5)

    def test_measuring_ends_when_the_fit_no_longer_improves(self):
        error = {"median": 0.1, "p90": 0.2}
        model = {"kernel": "fused", "data_type": "FP32", "weighted": False, "pooled": True,
                 "optimizer": lookups.ROW_WISE_ADAGRAD, "forward": {"error": error}, "backward": {"error": error}}
        certain = lookups.CallTimes(Timed(100.0, 0.01), Timed(100.0, 0.01), None)
        with mock.patch.object(lookups.Call, "measure", return_value=certain):
            measuring = measure.Lookups(KINDS, CPU, GRID)
            measuring.run(float("inf"), lambda rows: {"embedding": {"models": [model]}})
        shapes = measure._FIRST_SHAPES + measure._PATIENCE * measure._ROUND_SHAPES
        self.assertEqual(len(measuring.rows), 2 * shapes)  # the first kind is measured twice in a turn


class Collectives(unittest.TestCase):
    def test_two_processes_measure_all_operations(self):
        with tempfile.TemporaryDirectory() as folder:
            path = file_in(folder, "machine.json")
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m",
                 "shardwright.torchrec.measure", "-o", path, "--device", "cpu", "--parts", "collectives"],
                capture_output=True, text=True, check=False, timeout=300, stdin=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(Path(path).read_text(encoding="utf-8"))["collectives"]
        rows = [dict(zip(found["measurements"]["columns"], row)) for row in found["measurements"]["rows"]]
        left_out = {line.split()[0] for line in done.stderr.splitlines() if "was left out" in line}
        self.assertEqual({row["operation"] for row in rows} | left_out,
                         {"all_to_all", "reduce_scatter", "all_gather", "all_reduce"})
        self.assertEqual({(row["scope"], row["ranks"]) for row in rows}, {("intra_host", 2)})
        times = {row["bytes"]: row["us"] for row in rows if row["operation"] == "all_to_all"}
        self.assertGreater(times[1 << 26], times[1 << 10])  # 64 MiB take longer than 1 KiB
        self.assertTrue(found["models"])


if __name__ == "__main__":
    unittest.main()
