"""Plans with measured costs: options carry them, plans are verified against them, gaps are named."""

import copy
import json
import unittest
import warnings
from pathlib import Path

import shardwright

ROOT = Path(__file__).resolve().parents[2]
LOOKUP_NS = 4.0  # of a lookup in the made-up machines below


def model(kernel, *, lookup_ns=LOOKUP_NS, **kind):
    range_of = lambda least, most: {"least": least, "most": most}
    return {"kernel": kernel, "data_type": "FP32", "weighted": False, "pooled": True,
            "optimizer": "" if kernel == "dense" else "exact_row_wise_adagrad", "measurements": 50,
            "measured": {"rows": range_of(1, 1e9), "dim": range_of(4, 256), "bags": range_of(1, 1e9),
                         "lookups": range_of(1, 1e9), "zipf": range_of(0, 1.2)},
            "forward": {"ns": {"call": 5e5, "lookup": lookup_ns}, "error": {"median": 0.05, "p90": 0.2}},
            "backward": {"ns": {"call": 5e5, "lookup": 3 * lookup_ns}, "error": {"median": 0.06, "p90": 0.2}}, **kind}


def machine(**changes):
    return {"machine": {"format": 1, "name": "node", "device": "cpu", "device_name": "A CPU", "memory": 64 << 30,
                        "caches": {"l2": 1 << 20, "l3": 32 << 20}},
            "embedding": {"models": [model("fused"), model("dense")]}, **changes}


PROBLEM = {"batch_size": 100, "tables": [
    {"name": f"t{i}", "num_embeddings": 1000 * (i + 1), "embedding_dim": 64, "pooling_factor": 10 * (i + 1)}
    for i in range(6)]}


def plan(given, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shardwright.plan(PROBLEM, ranks=2, machine=given, **more)


class Machines(unittest.TestCase):
    def test_options_have_measured_times(self):
        space = json.loads(shardwright.ask("enumerate", {"problem": PROBLEM, "ranks": 2,
                                                         "machine": machine()}).to_json())
        found = {(row["table"], row["sharding_type"], row["compute_kernel"]): row["shards"][0]["perf"]
                 for row in space["search_space"]}
        # The batches of both ranks are looked up: 100 samples, 30 lookups each.
        forward, _, backward, _, _ = found["t2", "table_wise", "fused"]
        self.assertAlmostEqual(forward, 2 * 100 * 30 * LOOKUP_NS / 1e6)
        self.assertAlmostEqual(backward, 3 * forward)
        # A replica has the batch of its rank.
        self.assertAlmostEqual(found["t2", "data_parallel", "dense"][0], 100 * 30 * LOOKUP_NS / 1e6)

    def test_plan_is_verified_with_its_machine_alone(self):
        for mode in ("best", "compat"):
            with self.subTest(mode=mode):
                made = plan(machine(), mode=mode)
                self.assertTrue(shardwright.verify(PROBLEM, made, ranks=2, machine=machine()))
                renamed = machine()
                renamed["machine"]["date"] = "2026-11-30"
                self.assertTrue(shardwright.verify(PROBLEM, made, ranks=2, machine=renamed))
                for other in ({}, {"machine": machine(embedding={"models": [model("fused", lookup_ns=5.0),
                                                                            model("dense")]})},
                              {"machine": machine(), "zipf": 1.0}):
                    refused = shardwright.verify(PROBLEM, made, ranks=2, **other)
                    self.assertFalse(refused)
                    self.assertIn("the plan was made for ", refused.violations[0])
                    self.assertRegex(refused.violations[0], "measured costs node|Zipf exponent")

    def test_machine_gives_device_and_memory(self):
        made = json.loads(plan(machine()).to_json())
        self.assertEqual(made["machine"]["device"], "cpu")
        self.assertEqual(made["machine"]["ddr"], 64 << 30)
        self.assertIn("measured", made["verdict"]["estimate"])
        self.assertIn("node x 2", made["verdict"]["estimate"])
        smaller = json.loads(plan(machine(), ddr="32GiB").to_json())
        self.assertEqual(smaller["machine"]["ddr"], 32 << 30)

    def test_gaps_are_named(self):
        def warned(given, problem=PROBLEM, **more):
            answer = shardwright.ask("enumerate", {"problem": problem, "ranks": 2, "machine": given, **more})
            return "\n".join(answer.warnings)

        said = warned(machine())
        self.assertIn("zipf: is not given", said)
        self.assertIn("exact_row_wise_adagrad is assumed", said)
        self.assertIn("was not measured with all_to_all, reduce_scatter, all_gather over 2 ranks inside a host", said)
        self.assertNotIn("outside of what was measured", said)
        self.assertNotIn("zipf: is not given", warned(machine(), zipf=0.5))
        half = copy.deepcopy(PROBLEM)
        half["tables"][0]["data_type"] = "FP16"
        self.assertIn("node was not measured with dense FP16, fused FP16; TorchRec's constants are kept", warned(machine(), half))
        narrow = machine()
        narrow["embedding"]["models"][0]["measured"]["dim"]["most"] = 32
        self.assertIn('shards of 6 of 6 tables are outside of what was measured, such as table "t0" with dim 64 '
                      "(measured: 4 to 32)", warned(narrow))
        links = [{"operation": operation, "scope": "intra_host", "ranks": 2, "latency_us": 20, "knee_bytes": 1000,
                  "us_per_byte_below": 1e-3, "us_per_byte_above": 1e-4, "measured_bytes": {"least": 1, "most": 1e9},
                  "error": {"median": 0.1, "p90": 0.2}}
                 for operation in ("all_to_all", "reduce_scatter", "all_gather", "all_reduce")]
        self.assertNotIn("all_to_all", warned(machine(collectives={"models": links})))

    def test_collectives_take_the_rate_beyond_the_knee(self):
        link = {"operation": "all_to_all", "scope": "intra_host", "ranks": 2, "latency_us": 20, "knee_bytes": 1000,
                "us_per_byte_below": 1e-3, "us_per_byte_above": 1e-4, "measured_bytes": {"least": 1, "most": 1e9},
                "error": {"median": 0.1, "p90": 0.2}}
        space = json.loads(shardwright.ask("enumerate", {
            "problem": PROBLEM, "ranks": 2, "machine": machine(collectives={"models": [link]})}).to_json())
        perf = next(row["shards"][0]["perf"] for row in space["search_space"]
                    if row["sharding_type"] == "table_wise")
        self.assertAlmostEqual(perf[1], 2 * 100 * 64 * 4 * 1e-4 / 1000)  # 51,200 bytes

    def test_other_questions_take_it(self):
        made = plan(machine())
        swept = shardwright.sweep(PROBLEM, ranks=[1, 2], machine=machine())
        self.assertAlmostEqual(swept.points[1].rating, made.rating, delta=0.01 * made.rating)
        self.assertTrue(shardwright.explain(PROBLEM, made, ranks=2, machine=machine()).feasible)
        again = shardwright.replan(PROBLEM, made, ranks=2, machine=machine())
        self.assertAlmostEqual(again.rating, made.rating, delta=0.01 * made.rating)
        log = ROOT / "samples/data/planner.log"
        judged = shardwright.audit(log, machine=machine()).data
        self.assertEqual(judged["measured"]["machine"], "node")
        self.assertLessEqual(judged["all_options"]["rating"], judged["measured"]["rating"])
        self.assertNotEqual(judged["measured"]["rating"], judged["as_run"]["rating"])

    def test_show_and_diff(self):
        shown = shardwright.machine.show(machine()).data
        self.assertEqual([row["kernel"] for row in shown["kernels"]], ["fused", "dense"])
        self.assertEqual(shown["kernels"][0]["forward"]["ns"]["call"], 5e5)
        for shape in shown["kernels"][0]["shapes"]:
            self.assertAlmostEqual(shape["forward_us"], shape["lookups"] * LOOKUP_NS / 1000)
        other = machine(embedding={"models": [model("fused", lookup_ns=2 * LOOKUP_NS)]})
        differences = shardwright.machine.diff(machine(), other).data
        self.assertEqual(len(differences["figures"]), 2 * 2 * len(shown["kernels"][0]["shapes"]))
        for row in differences["figures"]:
            if row["what"].startswith("fused"):
                self.assertAlmostEqual(row["b"], 2 * row["a"])
            else:
                self.assertNotIn("b", row)

    def test_file_without_models_says_what_makes_them(self):
        for given, sentence in (({"machine": machine()["machine"]}, "has no measured embedding kernels"),
                                (machine(embedding={"lookups": {
                                    "columns": ["kernel", "data_type", "weighted", "optimizer", "pooled", "tables",
                                                "rows", "dim", "batch", "pooling", "zipf", "hit_rate", "forward_us",
                                                "backward_us", "spread"],
                                    "rows": [["fused", "FP32", False, "", True, 1, 1, 4, 1, 1, 0, None, 1, 1, 0]]}}),
                                 "`shardwright machine fit` makes them"),
                                ({"tables": []}, "this is a problem")):
            with self.assertRaisesRegex(shardwright.InvalidInputError, sentence):
                plan(given)


if __name__ == "__main__":
    unittest.main()
