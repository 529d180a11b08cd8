"""The wheel itself, and the package together with pandas, NumPy and other packages."""

import subprocess
import sys
import unittest
from pathlib import Path

import matplotlib
import numpy
import pandas
import tqdm.auto

import shardwright
from test_planning import SAMPLE, SMALL


class Wheel(unittest.TestCase):
    def test_the_installed_package_is_tested_with_its_own_libraries(self):
        folder = Path(shardwright.__file__).parent
        self.assertIn("site-packages", folder.parts)
        self.assertTrue((folder / "py.typed").exists())
        shardwright.plan(SMALL)
        mapped = Path("/proc/self/maps").read_text(encoding="ascii")
        found = {line.split()[-1] for line in mapped.splitlines() if "libtbb" in line}
        self.assertEqual(found, {str(folder / "libtbb-shardwright.so.12")})

    def test_its_version_is_that_of_the_library(self):
        import importlib.metadata
        self.assertEqual(importlib.metadata.version("shardwright"), shardwright.version())

    def test_a_data_frame_of_tables_is_a_problem(self):
        frame = pandas.DataFrame({"name": ["a", "b"], "num_embeddings": [1000, 500], "embedding_dim": [16, 8],
                                  "pooling_factor": [20, None], "weighted": [True, False]})
        result = shardwright.plan(frame, ranks=2, work_limit=100_000)
        self.assertEqual(sorted(table.table for table in result.tables), ["a", "b"])
        self.assertTrue(shardwright.verify(frame, result, ranks=2))
        with self.assertRaisesRegex(shardwright.InvalidInputError, 'unknown key "rows"'):
            shardwright.plan(frame.rename(columns={"num_embeddings": "rows"}), ranks=2)

    def test_users_are_checked_by_mypy(self):
        program = ("import shardwright\n"
                   "result = shardwright.plan({'tables': []})\n"
                   "reveal_type(result.rating)\n"
                   "shardwright.plan({}, threads='2')\n"
                   "shardwright.plan({}, mode='bst')\n"
                   "shardwright.explain({}, rank=5)\n")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "-c", program],
                              capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r'Revealed type is ".*float.*None.*"')
        self.assertIn('incompatible type "str"', done.stdout)
        self.assertIn("Literal['bst']", done.stdout)
        self.assertIn('Unexpected keyword argument "rank"', done.stdout)

    def test_the_package_is_clean_for_mypy(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "pyproject.toml",
                               "shardwright"], cwd="runtime/python", capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = shardwright.plan(SAMPLE)

    def test_pandas_has_every_shard_table_and_rank(self):
        shards = self.result.to_pandas()
        self.assertIsInstance(shards, pandas.DataFrame)
        by_rank = shards.groupby("rank")["hbm"].sum()
        ranks = self.result.to_pandas("ranks").set_index("rank")
        for rank, held in by_rank.items():
            self.assertEqual(ranks.loc[rank, "hbm"], held)
        self.assertEqual(len(self.result.to_pandas("tables")), 26)

    def test_pandas_has_the_rows_of_answers(self):
        swept = shardwright.sweep(SAMPLE, ranks=[8, 16], work_limit=1000).to_pandas()
        self.assertEqual(list(swept["ranks"]), [8, 16])
        explained = shardwright.explain(SAMPLE, self.result, table="cat_9").to_pandas()
        self.assertEqual(sum(explained["standing"] == "chosen"), 1)
        moved = shardwright.program.transfer("samples/data/transfer.json").to_pandas()
        self.assertEqual(moved["sent"].sum(), moved["received"].sum())

    def test_numpy_has_columns(self):
        ranks = self.result.to_numpy()
        self.assertEqual(ranks["total_ms"].max(), self.result.rating)
        self.assertEqual(ranks["hbm"].dtype, numpy.int64)

    def test_problems_may_hold_numpy_numbers(self):
        self.assertTrue(shardwright.plan(SMALL, threads=numpy.int64(2), seed=numpy.uint8(3),
                                         time_limit=numpy.float32(5)).has_plan)
        problem = dict(SMALL, tables=[{"name": "a", "num_embeddings": numpy.int64(1000),
                                       "embedding_dim": numpy.int32(16)}])
        self.assertEqual(shardwright.plan(problem).tables[0].shards[0].size[1], 16)


class Pictures(unittest.TestCase):
    def test_a_plan_is_drawn_with_a_bar_per_rank_and_part(self):
        result = shardwright.plan(SAMPLE)
        axes = result.plot()
        self.assertIsInstance(axes, matplotlib.axes.Axes)
        self.assertEqual(len(axes.patches), 5 * len(result.ranks))
        heights = sum(patch.get_height() for patch in axes.patches)
        self.assertAlmostEqual(heights, sum(load.total_ms for load in result.ranks), places=9)

    def test_a_bar_of_tqdm_is_shown_and_closed(self):
        seen = []

        class Bar(tqdm.auto.tqdm):
            def update(self, n=1):
                seen.append(n)
                return super().update(n)

            def close(self):
                seen.append("closed")
                return super().close()

        original, tqdm.auto.tqdm = tqdm.auto.tqdm, Bar
        try:
            shardwright.plan(SAMPLE, progress=True, work_limit=5_000_000)
        finally:
            tqdm.auto.tqdm = original
        self.assertGreater(len(seen), 1)
        self.assertIn("closed", seen)


if __name__ == "__main__":
    unittest.main()
