"""Measured times of operators are what the planner takes."""

import json
import tempfile
import unittest
import warnings
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import torch
from torch import nn

import shardwright
from shardwright.torch import UnmeasuredOperatorWarning, measure, measure_operators, plan, trace
from tracing.models import ids

MESH = (2, 2)


class Model(nn.Module):
    """Products, a norm, indices and a loss."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 16)

    def forward(self, tokens):
        return nn.functional.cross_entropy(self.head(self.norm(self.table(tokens))).flatten(0, 1),
                                           tokens.flatten())


def example():
    """What the command line measures."""
    return Model(), (torch.zeros(8, 4, dtype=torch.int64),)


def traced():
    return trace(Model(), (ids(8, 4, below=16),))


def keys(rows):
    return {(row["op"], tuple(map(tuple, row["inputs"])), row["dtype"]) for row in rows}


class Measuring(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        warnings.simplefilter("error", UnmeasuredOperatorWarning)
        self.addCleanup(warnings.resetwarnings)

    def test_every_operator_of_any_plan_has_its_measured_time(self):
        graph = traced()
        rows = measure_operators(graph, MESH, warmup=0, runs=1)
        self.assertEqual(len(keys(rows)), len(rows))
        # A time for each place in the list, so that a plan says which row it took.
        for place, row in enumerate(rows):
            self.assertGreater(row["us"], 0)
            row["us"] = 1000 + place
        known = {1000 + place: row["op"] for place, row in enumerate(rows)}
        nodes = {node["name"]: node for node in graph.document["nodes"]}
        for placements in ({}, {"inputs": {"tokens": ["S0", "R"]}}, {"inputs": {"tokens": ["R", "R"]}}):
            planned = plan(graph, MESH, placements=placements, operator_times=rows)
            measured = [node for node in planned.nodes
                        if nodes[node.name].get("inputs") and not nodes[node.name].get("view")]
            self.assertGreater(len(measured), 10)
            for node in measured:
                self.assertEqual(known.get(node.compute_us), nodes[node.name]["op"], node)

    def test_a_plan_alone_has_fewer_rows_with_its_own_shapes(self):
        graph = traced()
        planned = plan(graph, MESH)
        rows = measure_operators(graph, MESH, plan=planned, warmup=0, runs=1)
        everything = measure_operators(graph, MESH, warmup=0, runs=1)
        self.assertLess(keys(rows), keys(everything))
        times = {row["us"] for row in rows}
        again = plan(graph, MESH, operator_times=rows, placements={
            "parameters": {each.target: planned[each.node.name].outputs[0]
                           for each in graph.joint.placeholders if each.role == "parameter"}})
        self.assertTrue(times & {node.compute_us for node in again.nodes})

    def test_a_file_keeps_times_and_is_an_options_file(self):
        graph = traced()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "times.json")
            first = measure_operators(graph, (2,), file=path, warmup=0, runs=1)
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(kept, {"operator_times": first})
            kept["operator_times"][0]["us"] = 12345.0
            path.write_text(json.dumps(kept), encoding="utf-8")
            second = measure_operators(graph, MESH, file=path, warmup=0, runs=1)
            self.assertEqual(second[0]["us"], 12345.0)
            self.assertEqual(second[:len(first)], kept["operator_times"])
            self.assertGreater(len(second), len(first))
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["operator_times"], second)

    def test_shapes_are_those_of_one_device(self):
        graph = trace(nn.Linear(8, 4, bias=False), (torch.randn(12, 8),))
        rows = measure_operators(graph, (4,), warmup=0, runs=1)
        forward = {(tuple(a), tuple(b)) for row in rows if row["op"] == "aten.mm.default"
                   for a, b in [row["inputs"]]}
        self.assertTrue({((12, 8), (8, 4)), ((3, 8), (8, 4)), ((12, 2), (2, 4)), ((12, 8), (8, 1))}
                        <= forward, forward)

    def test_bad_requests_are_refused(self):
        graph = traced()
        with self.assertRaisesRegex(shardwright.InvalidInputError, "mesh"):
            measure_operators(graph, (2,), plan=plan(graph, MESH))
        with self.assertRaisesRegex(shardwright.InvalidInputError, "at least 1"):
            measure_operators(graph, (2,), runs=0)
        other = plan(trace(nn.Linear(8, 4), (torch.randn(12, 8),)), MESH)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "no node"):
            measure_operators(graph, MESH, plan=other)

    def test_the_command_line_measures_what_the_function_does_and_keeps_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "times.json"
            call = ["test_measuring:example", "--mesh", "2x2", "-o", str(path), "--warmup", "0",
                    "--runs", "1", "--device", "cpu"]
            with redirect_stdout(StringIO()) as out:
                self.assertEqual(measure.main(call), 0)
            rows = json.loads(path.read_text(encoding="utf-8"))["operator_times"]
            self.assertEqual(keys(rows), keys(measure_operators(traced(), MESH, warmup=0, runs=1)))
            self.assertIn(str(len(rows)), out.getvalue())
            with redirect_stdout(StringIO()):
                self.assertEqual(measure.main(call), 0)
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["operator_times"], rows)

    def test_the_command_line_says_what_is_wrong(self):
        for wrong, what in ((["nowhere:example", "--mesh", "2"], "nowhere"),
                            (["test_measuring:nothing", "--mesh", "2"], "nothing"),
                            (["test_measuring", "--mesh", "2"], "MODULE:FUNCTION"),
                            (["test_measuring:traced", "--mesh", "2"], "must return a model"),
                            (["test_measuring:example", "--mesh", "2y2"], "2y2"),
                            (["test_measuring:example", "--mesh", "2", "--plan", "none.json"],
                             "none.json")):
            with self.subTest(wrong=wrong), redirect_stderr(StringIO()) as error:
                self.assertEqual(measure.main([*wrong, "-o", "/dev/null"]), 2)
                self.assertIn(what, error.getvalue())


if __name__ == "__main__":
    unittest.main()
