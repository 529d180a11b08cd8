"""What a document has: the contract's invariants, names, counts, errors; and what tracing leaves behind."""

import gc
import json
import sys
import tempfile
import time
import unittest
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed
from torch import nn

import shardwright
import shardwright.torch
from shardwright.torch import UnknownOperatorWarning, trace

from .models import Llama, Mlp, Transformer, cases, ids


def setUpModule():
    torch.set_num_threads(1)


def check(test, document):
    """Raises AssertionError unless the document is what section 1 of the reference says."""
    rules, nodes = document["rules"], document["nodes"]
    test.assertEqual((document["format"], document["version"]), ("shardwright.aten_graph", 1))
    test.assertEqual(len({row["name"] for row in nodes}), len(nodes))
    for index, row in enumerate(nodes):
        shapes = [None if each is None else each["shape"] for each in row["outputs"]]
        sources = []
        for producer, output in row.get("inputs", ()):
            test.assertLess(producer, index, row)
            sources.append(nodes[producer]["outputs"][output]["shape"])
        strategies = rules[row["rule"]]["strategies"]
        test.assertTrue(all(word in "R-" for key in ("outputs", "inputs")
                            for word in strategies[0][key]), row)
        for entry in strategies:
            test.assertEqual(len(entry["outputs"]), len(shapes), row)
            test.assertEqual(len(entry["inputs"]), len(sources), row)
            test.assertGreater(entry.get("divides", 2), 1)
            for word, shape in zip([*entry["outputs"], *entry["inputs"]], [*shapes, *sources]):
                test.assertEqual(word == "-", shape is None)
                if word[0] == "S":
                    test.assertLess(int(word[1:]), len(shape), row)
                else:
                    test.assertIn(word, ("R", "P", "Pavg", "Pmax", "Pmin", "-"))
        for product in row.get("flops", ()):
            for argument, dim in product[1:]:
                shape = sources[argument] if argument >= 0 else shapes[-1 - argument]
                test.assertLess(dim, len(shape), row)
    for output in document["outputs"]:
        test.assertIsNotNone(nodes[output["node"]]["outputs"][output["output"]])
        test.assertIn(output["role"], ("output", "gradient", "mutation"))
    phases = [row["phase"] for row in nodes if row["op"] != "placeholder"]
    test.assertLessEqual(set(phases), {"forward", "backward"})


class Documents(unittest.TestCase):
    def test_invariants(self):
        for name, model, args, kwargs in cases():
            for train in (True, False):
                with self.subTest(name, train=train):
                    check(self, trace(model, args, kwargs, train=train).document)

    def test_uneven_and_single_batches(self):
        for batch in (5, 1):
            for name, model, args, kwargs in cases(batch):
                if name != "convolutions" or batch > 1:
                    with self.subTest(name, batch=batch):
                        check(self, trace(model, args, kwargs).document)

    def test_nodes_of_an_mlp(self):
        document = trace(Mlp(), torch.randn(4, 12)).document
        products = [row for row in document["nodes"] if row["op"] == "aten.mm.default"]
        self.assertEqual([row["phase"] for row in products], ["forward"] * 2 + ["backward"] * 3)
        self.assertEqual([row["module"] for row in products[:2]], ["up", "down"])
        self.assertRegex(products[0]["line"], r"^models.py:\d+$")
        self.assertEqual(products[2]["line"], products[1]["line"])
        self.assertEqual(products[0]["flops"], [[2, [0, 0], [0, 1], [1, 1]]])
        rule = document["rules"][products[0]["rule"]]
        self.assertEqual(rule["source"], "torch")
        self.assertIn({"outputs": ["P"], "inputs": ["S1", "S0"]}, rule["strategies"])
        roles = [(row["role"], row["target"]) for row in document["nodes"] if row["op"] == "placeholder"]
        self.assertEqual(roles, [("parameter", name) for name in
                                 ("up.weight", "up.bias", "down.weight", "down.bias")]
                         + [("input", "x"), ("tangent", "0")])
        views = [row for row in document["nodes"] if row.get("view")]
        self.assertTrue(views)

    def test_tokens_and_heads_can_be_sharded(self):
        document = trace(Transformer(), (ids(4, 12, below=24),), {"labels": ids(4, 12, below=24)}).document
        for row in document["nodes"]:
            if row["op"] == "aten.matmul.default":
                entries = document["rules"][row["rule"]]["strategies"]
                self.assertIn("S1", [entry["outputs"][0] for entry in entries], row)
        self.assertFalse([row for row in document["nodes"] if row["op"] == "aten.bmm.default"])

    def test_the_vocabulary_can_be_sharded(self):
        document = trace(Transformer(), (ids(4, 12, below=24),), {"labels": ids(4, 12, below=24)}).document
        self.assertFalse([row for row in document["nodes"] if "softmax" in row["op"] and not row.get("module")])
        seen = 0
        for row in document["nodes"]:
            entries = document["rules"][row["rule"]]["strategies"]
            if [4, 12, 24] in [each["shape"] for each in row["outputs"]]:
                self.assertIn("S2", [entry["outputs"][0] for entry in entries], row)
                seen += row["op"] != "placeholder"
            if row["op"] == "aten.embedding.default":
                self.assertIn({"outputs": ["P"], "inputs": ["S0", "R"]}, entries)
            if row["op"] == "aten.embedding_dense_backward.default":
                self.assertIn({"outputs": ["S0"], "inputs": ["R", "R"]}, entries)
        self.assertGreater(seen, 4)

    def test_products_of_one_pass_read_an_alias(self):
        """Keys and queries read the same activations; backward, products read gradients and activations."""
        class Scores(nn.Module):
            def __init__(self):
                super().__init__()
                self.query, self.key = nn.Linear(16, 16), nn.Linear(16, 16)

            def forward(self, x):
                x = x.relu()
                return self.query(x) * self.key(x)

        nodes = trace(Scores(), torch.randn(8, 4, 16, requires_grad=True)).document["nodes"]
        products = [row for row in nodes if row["op"] in ("aten.matmul.default", "aten.tensordot.default")]
        forward = [row for row in products if row["phase"] == "forward"]
        self.assertEqual(len(forward), 2)
        shared = {row["inputs"][0][0] for row in forward}
        self.assertEqual({nodes[node]["op"] for node in shared}, {"aten.alias.default"})
        self.assertEqual(len(shared), 1)
        read = [producer for row in products for producer, _ in row["inputs"]
                if row["phase"] == "backward" and nodes[producer]["op"] == "aten.alias.default"]
        self.assertEqual(len(read), 6)  # the activations and two gradients, by two products each
        self.assertEqual(len(set(read)), 3)
        self.assertTrue(shared.isdisjoint(read))

    def test_tied_weights_are_one_parameter_with_one_gradient(self):
        traced = trace(Transformer(), (ids(4, 12, below=24),))
        names = [row["target"] for row in traced.document["nodes"] if row.get("role") == "parameter"]
        gradients = [row["target"] for row in traced.document["outputs"] if row["role"] == "gradient"]
        self.assertEqual(names.count("embed.weight") + names.count("head.weight"), 1)
        self.assertEqual(sorted(names), sorted(gradients))
        self.assertEqual(traced.joint.tied, {"head.weight": "embed.weight"})

    def test_equal_blocks_share_rules(self):
        one, two = (trace(Transformer(blocks), (ids(4, 12, below=24),)).document for blocks in (1, 3))
        self.assertLessEqual(len(two["rules"]), len(one["rules"]) + 2)
        self.assertGreater(len(two["nodes"]), 2 * len(one["nodes"]))

    def test_documents_are_equal_and_can_be_saved(self):
        first, second = (trace(Mlp(), (torch.randn(4, 12),)) for _ in range(2))
        self.assertEqual(first.to_json(), second.to_json())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.json"
            first.save(path)
            self.assertEqual(json.loads(path.read_text()), first.document)
        self.assertEqual({row["name"] for row in first.document["nodes"]}, set(first.nodes))

    def test_unknown_operator_is_replicated_with_one_warning(self):
        with torch.library._scoped_library("shardwright_test", "DEF") as library:
            library.define("shuffled(Tensor x) -> Tensor")
            library.impl("shuffled", lambda x: x.flip(0).flatten().roll(1).view_as(x) ** 2,
                         "CompositeExplicitAutograd")

            class Model(Mlp):
                def forward(self, x):
                    hidden = torch.ops.shardwright_test.shuffled(self.up(x).detach())
                    return self.down(torch.ops.shardwright_test.shuffled(hidden))

            with self.assertWarnsRegex(UnknownOperatorWarning, r"^test_graphs.py:\d+ in Model: .*shuffled"):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    document = trace(Model(), (torch.randn(4, 12),)).document
                self.assertEqual(len(caught), 1)
                warnings.warn(caught[0].message)
            rows = [row for row in document["nodes"] if "shuffled" in row["op"]]
            rule = document["rules"][rows[0]["rule"]]
            self.assertEqual(rule, {"strategies": [{"outputs": ["R"], "inputs": ["R"]}],
                                    "source": "fallback"})


@dataclass
class Result:
    score: torch.Tensor
    parts: list
    note: str


class Models(unittest.TestCase):
    def test_dataclass_and_constants_in_the_result(self):
        class Model(Mlp):
            def forward(self, x, times):
                y = super().forward(x) * times
                return Result(y.sum(), [y, {"raw": x}], "done")

        traced = trace(Model(), (torch.randn(4, 12), 3))
        self.assertEqual([output.target for output in traced.joint.outputs if output.role == "output"],
                         ["score", "parts.0", "parts.1.raw"])
        rebuilt = traced.joint.result.rebuild(["a", "b", "c"])
        self.assertEqual(rebuilt, Result("a", ["b", {"raw": "c"}], "done"))

    def test_models_on_meta_and_inputs_with_gradients(self):
        with torch.device("meta"):
            model = Transformer()
        model.embed.weight.requires_grad_(False)
        traced = trace(model, {"ids": torch.empty(4, 12, dtype=torch.int64, device="meta")})
        gradients = {output.target for output in traced.joint.outputs if output.role == "gradient"}
        self.assertNotIn("embed.weight", gradients)
        self.assertEqual(model.embed.weight.device.type, "meta")
        joint = trace(Mlp(), torch.randn(4, 12, requires_grad=True)).joint
        self.assertIn("x", {output.target for output in joint.outputs if output.role == "gradient"})

    def test_a_model_is_not_changed(self):
        model = Transformer()
        before = {name: (id(tensor), tensor._version) for name, tensor in model.state_dict(keep_vars=True).items()}
        threads, compiling = torch.get_num_threads(), torch.compiler.is_exporting()
        trace(model, (ids(4, 12, below=24),))
        after = {name: (id(tensor), tensor._version) for name, tensor in model.state_dict(keep_vars=True).items()}
        self.assertEqual(before, after)
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()))
        self.assertEqual((threads, compiling), (torch.get_num_threads(), torch.compiler.is_exporting()))

    def test_no_process_group_and_no_mesh_is_left_behind(self):
        trace(Mlp(), (torch.randn(4, 12),))
        gc.collect()
        self.assertFalse(torch.distributed.is_initialized())

    def test_llama_8b_on_meta(self):
        with torch.device("meta"):
            model = Llama(blocks=2).bfloat16()
            tokens = torch.empty(8, 4096, dtype=torch.int64)
        started = time.process_time()
        document = trace(model, (tokens, tokens)).document
        self.assertLess(time.process_time() - started, 10)  # 1.3 s on an idle core
        check(self, document)
        with torch.device("meta"):
            whole = trace(Llama().bfloat16(), (tokens, tokens)).document
        self.assertEqual(len(whole["rules"]), len(document["rules"]))
        elements = sum(torch.Size(row["outputs"][0]["shape"]).numel()
                       for row in whole["nodes"] if row.get("role") == "parameter")
        self.assertEqual(elements, 8_030_261_248)


class Errors(unittest.TestCase):
    def refused(self, error, text, model, *args, **options):
        with self.assertRaisesRegex(error, text):
            trace(model, *args, **options)

    def test_code_that_reads_values(self):
        class Branch(Mlp):
            def forward(self, x):
                return x if self.up(x).sum() > 0 else super().forward(x)

        class Rows(Mlp):
            def forward(self, x):
                return self.up(x)[x[:, 0] > 0]

        class Outside(Mlp):
            def forward(self, x):
                return super().forward(x).detach().numpy().sum()  # values leave torch

        for model, remedy in ((Branch(), "torch.where.*is_exporting"), (Rows(), "mask"), (Outside(), "before the call")):
            self.refused(shardwright.UnsupportedError, r"^test_graphs.py:\d+: .*(value|numpy).*" + remedy, model,
                         torch.randn(4, 12))

    def test_code_that_no_graph_has(self):
        class Trains(Mlp):
            def forward(self, x):
                super().forward(x).sum().backward()
                return x

        class Elsewhere(Mlp):
            def forward(self, x):
                return super().forward(x) + torch.zeros(12, device="cuda")

        x, table = torch.randn(4, 12), nn.Embedding(9, 4, sparse=True)
        self.refused(shardwright.UnsupportedError, r"^test_graphs.py:\d+: .*backward\(\)", Trains(), x)
        self.refused(shardwright.UnsupportedError, r"^test_graphs.py:\d+: .*device=x.device", Elsewhere(), x)
        self.refused(shardwright.UnsupportedError, "^0: .*sparse=False", nn.Sequential(table), ids(4, below=9))
        self.refused(shardwright.UnsupportedError, "^0: .*torch.jit",
                     nn.Sequential(torch.jit.script(nn.Linear(12, 3))), x)
        self.refused(shardwright.InvalidInputError, "^1: .*shapes.*call the model",
                     nn.Sequential(nn.ReLU(), nn.LazyLinear(3)), x)
        self.refused(shardwright.InvalidInputError, r"^models.py:\d+: .*float64 and torch.float32", Mlp(), x.double())

    def test_a_scalar_is_no_operator_without_a_rule(self):
        class Written(Mlp):
            def forward(self, x):
                places = torch.zeros(3, 3)
                places[0, 0] = 2
                return super().forward(x).sum() * places.sum()

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            trace(Written(), torch.randn(4, 12))

    def test_nothing_to_trace_or_to_train(self):
        self.refused(shardwright.InvalidInputError, "^model: neither", nn.Identity(), (3,))
        self.refused(shardwright.InvalidInputError, "^model: .*train=False", nn.Identity(), torch.ones(3))
        self.refused(shardwright.InvalidInputError, "^example_inputs: ", Mlp(), 3)
        self.refused(shardwright.InvalidInputError, "^model: ", lambda x: x, torch.ones(3))
        trace(nn.Linear(3, 3), torch.ones(2, 3), train=False)

    def test_errors_of_the_model_itself(self):
        class Wrong(Mlp):
            def forward(self, x):
                return super().forward(x).missing

        with self.assertLogs("torch._subclasses.fake_tensor", "ERROR"):
            self.refused(RuntimeError, "reduction dim", Mlp(), torch.randn(4, 13))
        with self.assertRaises(AttributeError) as caught:
            trace(Wrong(), torch.randn(4, 12))
        if sys.version_info >= (3, 11):
            self.assertRegex(caught.exception.__notes__[0], r"^test_graphs.py:\d+: .*is_exporting")


if __name__ == "__main__":
    unittest.main()
