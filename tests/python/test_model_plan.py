"""Plans of traced models from Python. Needs no torch: the graph is a file."""

import json
import re
import tempfile
import unittest
from pathlib import Path

import shardwright
import shardwright.torch

GRAPH = Path("samples/data/traced_mlp.json")

PROVED = ("optimal", "within_gap")


class Plans(unittest.TestCase):
    def test_path_text_bytes_and_dict_give_the_same_plan(self):
        text = GRAPH.read_text(encoding="utf-8")
        plans = [shardwright.torch.plan(graph, (4, 2)).to_json()
                 for graph in (GRAPH, text, text.encode(), json.loads(text))]
        for other in plans[1:]:
            self.assertEqual(other, plans[0])

    def test_a_plan_has_a_row_for_every_node(self):
        graph = json.loads(GRAPH.read_text(encoding="utf-8"))
        plan = shardwright.torch.plan(graph, (4, 2), memory="1GiB")
        self.assertIn(plan.status, PROVED)
        self.assertEqual(plan.mesh_shape, (4, 2))
        self.assertEqual([node.name for node in plan.nodes],
                         [node["name"] for node in graph["nodes"]])
        self.assertEqual(len(plan.outputs), len(graph["outputs"]))
        self.assertAlmostEqual(plan.objective_us, plan.compute_us + plan.redistribute_us)
        self.assertLessEqual(plan.peak_bytes, 2**30)
        first = plan.nodes[0]
        self.assertEqual(plan[first.name], first)
        self.assertEqual(len(first.outputs[0]), 2)
        with self.assertRaises(KeyError):
            plan["nothing"]

    def test_a_saved_plan_is_read_again(self):
        plan = shardwright.torch.plan(GRAPH, (8,))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plan.json")
            plan.save(path)
            again = shardwright.torch.ModelPlan.from_json(path.read_text(encoding="utf-8"))
        self.assertEqual(again, plan)

    def test_placements_are_kept(self):
        graph = json.loads(GRAPH.read_text(encoding="utf-8"))
        target = next(n["target"] for n in graph["nodes"] if n.get("role") == "input")
        plan = shardwright.torch.plan(graph, (4, 2), placements={"inputs": {target: ("S0", "R")}})
        name = next(n["name"] for n in graph["nodes"] if n.get("role") == "input")
        self.assertEqual(plan[name].outputs, (("S0", "R"),))

    def test_models_of_collectives_and_blocks_are_passed_on(self):
        for options in ({"collectives": {"model": "dtensor"}}, {"redistribution": "autoparallel"},
                        {"blocks": "equal"}, {"device": "a100"}, {"optimizer_states": 0},
                        {"backend": "gloo"}):
            self.assertIn(shardwright.torch.plan(GRAPH, (2, 2), **options).status, PROVED)

    def test_what_operators_hide_is_in_the_plan(self):
        exposed = shardwright.torch.plan(GRAPH, (2, 2), memory="1MiB")
        self.assertEqual((exposed.hidden_us, exposed.nodes[-1].hidden_us), (0, ()))
        plan = shardwright.torch.plan(GRAPH, (2, 2), memory="1MiB", overlap={"parameters": 0.9, "gradients": 0.5})
        self.assertIn(plan.status, PROVED)
        self.assertGreater(plan.hidden_us, 0)
        self.assertLess(plan.objective_us, exposed.objective_us)
        self.assertAlmostEqual(plan.objective_us, plan.compute_us + plan.redistribute_us - plan.hidden_us)
        rows = [*plan.nodes, *plan.outputs]
        hidden = [sum(row.hidden_us) if isinstance(row.hidden_us, tuple) else row.hidden_us for row in rows]
        self.assertAlmostEqual(sum(hidden), plan.hidden_us)
        for node in plan.nodes:
            for us, moving in zip(node.hidden_us, node.redistribute_us):
                self.assertLessEqual(us, 0.9 * moving)
        same = shardwright.torch.plan(GRAPH, (2, 2), memory="1MiB", overlap=1)
        answer = shardwright.operators.plan(GRAPH, "2x2", memory="1MiB", overlap=1)
        self.assertEqual(answer.objective_us, same.objective_us)


class Errors(unittest.TestCase):
    def test_too_little_memory_says_how_much_would_do(self):
        with self.assertRaisesRegex(shardwright.InfeasibleError, "needs") as caught:
            shardwright.torch.plan(GRAPH, (4, 2), memory=1000)
        enough = int(re.findall(r"\d+", str(caught.exception))[-1])
        self.assertGreater(enough, 1000)
        self.assertLessEqual(shardwright.torch.plan(GRAPH, (4, 2), memory=enough).peak_bytes, enough)

    def test_wrong_input_names_the_place(self):
        with self.assertRaises(shardwright.InvalidInputError) as caught:
            shardwright.torch.plan({"format": "shardwright.aten_graph"}, (2,))
        self.assertIn("graph", caught.exception.place)
        with self.assertRaises(shardwright.InvalidInputError) as caught:
            shardwright.torch.plan(GRAPH, (2,), device="abacus")
        self.assertEqual(caught.exception.place, "/device")
        with self.assertRaises(shardwright.InvalidInputError) as caught:
            shardwright.torch.plan(GRAPH, (2,), overlap=1.5)
        self.assertIn("/overlap", caught.exception.place)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "backend"):
            shardwright.torch.plan(GRAPH, (2,), backend="mpi")
        with self.assertRaises(TypeError):
            shardwright.torch.plan(7, (2,))
        with self.assertRaises(ValueError):
            shardwright.torch.plan(GRAPH, (2,), memory="much")


if __name__ == "__main__":
    unittest.main()
