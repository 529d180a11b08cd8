"""Rules by themselves: wrong entries are found, views of all kinds are followed."""

import itertools
import random
import unittest

import torch
from torch.utils import flop_counter

from shardwright.torch.tracing.calls import Call, Meta, meta_of
from shardwright.torch.tracing.rules.entries import Entry
from shardwright.torch.tracing.flops import products_of
from shardwright.torch.tracing.rules.registry import torch_entries
from shardwright.torch.tracing.rules import rule_of
from shardwright.torch.tracing.rules.validation import validated
from shardwright.torch.tracing.rules.views import reshape_pairs

from . import mesh as meshes

aten = torch.ops.aten


def setUpModule():
    torch.set_num_threads(1)


def called(op, *args, **kwargs):
    """The Call of an operator on tensors, and its outputs."""
    def plain(leaf):
        return meta_of(leaf) if torch.is_tensor(leaf) else leaf
    result = op(*args, **kwargs)
    results = result if isinstance(result, (tuple, list)) else (result,)
    return Call(op, meshes.replaced(args, plain),
                tuple((name, meshes.replaced(value, plain)) for name, value in kwargs.items()),
                tuple(map(meta_of, results))), list(results)


def numbers(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.5


class Validation(unittest.TestCase):
    def kept(self, op, args, *entries, trusted=True):
        call, _ = called(op, *args)
        return validated(call, [Entry(*entry) for entry in entries], trusted)

    def test_wrong_entries_are_dropped(self):
        mm = (numbers(64, 32), numbers(32, 48))
        right = Entry(("P",), ("S1", "S0"))
        self.assertEqual(self.kept(aten.mm.default, mm, (("S0",), ("S1", "S0")), (("P",), ("S1", "S0")),
                                   (("R",), ("S1", "S0")), (("S0",), ("R", "S1")), (("P",), ("P", "P"))),
                         [right])
        self.assertEqual(self.kept(aten.gelu.default, (numbers(8, 6),), (("P",), ("P",))), [])
        self.assertEqual(self.kept(aten._softmax.default, (numbers(8, 6), 1, False), (("S1",), ("S1",))), [])

    def test_shapes_too_large_to_run_are_made_small(self):
        with torch.device("meta"):
            args = (torch.empty(1 << 20, 1 << 14), torch.empty(1 << 14, 1 << 15))
            call, _ = called(aten.mm.default, *args)
        found = validated(call, [Entry(("S0",), ("S0", "R")), Entry(("S1",), ("S0", "R"))], True)
        self.assertEqual(found, [Entry(("S0",), ("S0", "R"))])

    def test_averages_hold_for_equal_pieces_only(self):
        self.assertEqual(self.kept(aten.mean.dim, (numbers(12, 5), [0]), (("Pavg",), ("S0",))),
                         [Entry(("Pavg",), ("S0",), 12)])
        self.assertEqual(self.kept(aten.amax.default, (numbers(12, 5), [0]), (("Pmax",), ("S0",)),
                                   (("Pmin",), ("S0",))), [Entry(("Pmax",), ("S0",))])

    def test_random_operators_keep_what_torch_says(self):
        call, _ = called(aten.native_dropout.default, numbers(8, 6), 0.5, True)
        rule = rule_of(call)
        self.assertIn(Entry(("S0", "S0"), ("S0",)), rule.entries)
        self.assertFalse([entry for entry in rule.entries if "P" in entry.placements])

    def test_masked_and_strided_placements_of_torch_are_left_out(self):
        call, _ = called(aten.embedding.default, numbers(20, 6), torch.randint(0, 20, (4, 5)))
        self.assertNotIn("S0", [entry.inputs[0] for entry in torch_entries(call)])
        self.assertTrue(all(len(entry.inputs) == 2 for entry in torch_entries(call)))

    def test_an_operator_without_a_rule_gets_what_holds(self):
        call, _ = called(aten.lerp.Tensor, numbers(6, 8), numbers(6, 8), numbers(8))
        for op, args in ((aten.copy.default, (numbers(6, 8), numbers(6, 8))),
                         (aten.floor_divide.default, (numbers(6, 8), 3))):
            call, _ = called(op, *args)
            if torch_entries(call) is None:
                self.assertEqual(rule_of(call).source, "own")
            self.assertIn(("S1",), [entry.outputs for entry in rule_of(call).entries])


class Convolutions(unittest.TestCase):
    def outputs(self, groups, bias=None):
        call, _ = called(aten.convolution.default, numbers(6, 8, 9, 9), numbers(12, 8 // groups, 3, 3),
                         bias, [1, 1], [1, 1], [1, 1], False, [0, 0], groups)
        return {entry.inputs: (entry.outputs, entry.divides) for entry in rule_of(call).entries}

    def test_channels(self):
        found = self.outputs(1)
        self.assertEqual(found["S1", "S1"], (("P",), None))
        self.assertEqual(found["R", "S0"], (("S1",), None))
        self.assertEqual(found["S0", "R"], (("S0",), None))
        self.assertEqual(self.outputs(4)["S1", "S0"], (("S1",), 4))
        self.assertNotIn(("S1", "S1", "R"), self.outputs(1, numbers(12)))
        self.assertFalse([inputs for inputs in self.outputs(1) if inputs[0] in ("S2", "S3")])

    def spatial(self, height, width, kernel, stride, padding=(0, 0), dilation=(1, 1), groups=1):
        """What is allowed on height and width: {("S2", "R"): divides}, forward; and whether the backward agrees."""
        x, weight, bias = numbers(6, 4, height, width), numbers(12, 4 // groups, *kernel), numbers(12)
        rest = (list(stride), list(padding), list(dilation), False, [0, 0], groups)
        call, (result,) = called(aten.convolution.default, x, weight, bias, *rest)
        forward = {entry.inputs[0]: entry for entry in rule_of(call).entries if entry.inputs[0] in ("S2", "S3")}
        call, _ = called(aten.convolution_backward.default, result, x, weight, [12], *rest, [True, True, True])
        backward = {entry.inputs[0]: entry for entry in rule_of(call).entries if entry.inputs[0] in ("S2", "S3")}
        for word, entry in forward.items():
            self.assertEqual((entry.outputs, entry.inputs), ((word,), (word, "R", "R")))
            self.assertEqual((backward[word].outputs, backward[word].inputs), ((word, "P", "P"), (word, word, "R")))
            self.assertEqual(backward[word].divides, entry.divides)
        self.assertEqual(backward.keys(), forward.keys())
        return {word: entry.divides for word, entry in forward.items()}

    def test_height_and_width_are_cut_between_windows_that_are_apart(self):
        self.assertEqual(self.spatial(9, 7, (1, 1), (1, 1)), {"S2": None, "S3": None})
        self.assertEqual(self.spatial(9, 7, (1, 1), (1, 1), groups=2), {"S2": None, "S3": None})
        self.assertEqual(self.spatial(16, 24, (4, 4), (4, 4)), {"S2": 4, "S3": 6})  # patches
        self.assertEqual(self.spatial(224, 224, (16, 16), (16, 16)), {"S2": 14, "S3": 14})
        self.assertEqual(self.spatial(56, 56, (1, 1), (2, 2)), {"S2": 28, "S3": 28})
        self.assertEqual(self.spatial(16, 9, (2, 3), (4, 1)), {"S2": 4})  # windows along the width overlap
        self.assertEqual(self.spatial(12, 12, (3, 3), (4, 4), dilation=(1, 2)), {"S2": 3})
        self.assertEqual(self.spatial(13, 12, (1, 1), (2, 2)), {"S3": 6})  # a row is left over
        self.assertEqual(self.spatial(12, 12, (3, 3), (1, 1), padding=(1, 1)), {})
        self.assertEqual(self.spatial(12, 12, (1, 1), (1, 1), padding=(1, 1)), {})


class Positions(unittest.TestCase):
    """Operators with indices that count in a dimension which is cut."""

    @staticmethod
    def calls():
        ids = torch.randint(0, 13, (4, 6), generator=torch.Generator().manual_seed(2))
        column = ids[:, :1]
        yield aten.embedding.default, (numbers(13, 6), ids, 3)
        for padding, by_frequency in ((-1, False), (0, False), (12, False), (5, True)):
            yield aten.embedding_dense_backward.default, (numbers(4, 6, 8), ids, 13, padding, by_frequency)
        yield aten.gather.default, (numbers(4, 13), 1, column)
        yield aten.gather.default, (numbers(13, 6), -2, ids)
        yield aten.scatter_add.default, (numbers(4, 13), -1, column, numbers(4, 1))
        yield aten.scatter_add.default, (numbers(13, 6), 0, ids, numbers(4, 6))
        yield aten.index_select.default, (numbers(4, 13), -1, ids.flatten())
        yield aten.index_add.default, (numbers(4, 13), 1, ids.flatten(), numbers(4, 24))
        yield aten.index_put.default, (numbers(4, 13), [None, ids.flatten()], numbers(4, 24), True)
        yield aten.index_put.default, (numbers(13, 6), [ids], numbers(4, 6, 6), True)

    def test_every_dimension_can_be_cut(self):
        found = [[(entry.outputs, entry.inputs, entry.divides) for entry in rule_of(called(op, *args)[0]).entries]
                 for op, args in self.calls()]
        lookup, *gradients = found[:5]
        self.assertIn((("P",), ("S0", "R"), None), lookup)
        self.assertIn((("S2",), ("S1", "R"), None), lookup)
        for entries in gradients:
            self.assertIn((("S0",), ("R", "R"), None), entries)
        self.assertIn((("P",), ("S1", "S1"), None), gradients[0])
        self.assertNotIn((("P",), ("S1", "S1"), None), gradients[-1])
        self.assertIn((("P",), ("S1", "R"), None), found[5])
        self.assertIn((("P",), ("S0", "R"), None), found[6])
        self.assertIn((("S1",), ("S1", "R", "R"), None), found[7])
        self.assertIn((("S0",), ("S0", "R", "R"), None), found[8])
        self.assertIn((("P",), ("S1", "R"), None), found[9])
        self.assertIn((("S1",), ("R", "S0"), None), found[9])
        self.assertIn((("S1",), ("S1", "R", "R"), None), found[10])
        for entries in found[10:12]:
            self.assertIn((("P",), ("P", "S0", "S1"), None), entries)
        for dim in (0, 1):
            self.assertIn((("P",), ("P", f"S{dim}", f"S{dim}"), None), found[12])

    def test_all_entries_on_meshes(self):
        tried = 0
        for op, args in self.calls():
            call, outputs = called(op, *args)
            rule = meshes.rule_of(call)
            inputs = [leaf for leaf in torch.utils._pytree.tree_leaves(args) if torch.is_tensor(leaf)]
            for shape in ((2,), (4,), (2, 2), (3, 2)):
                for chosen in meshes.tuples(rule, [each.shape for each in [*outputs, *inputs]], shape):
                    found = meshes.run(op, args, {}, inputs, outputs, chosen, shape, 3)
                    if found is not None:
                        torch.testing.assert_close(
                            found[0], outputs[0], msg=lambda text: f"{call} {chosen} on {shape}: {text}")
                        tried += 1
        self.assertGreater(tried, 300)


class FusedAttention(unittest.TestCase):
    """The operator of a CPU, and its gradient."""

    @staticmethod
    def calls(is_causal=False):
        forward = aten._scaled_dot_product_flash_attention_for_cpu.default
        backward = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
        given = [numbers(4, 2, 6, 8) for _ in range(3)]
        mask = None if is_causal else numbers(4, 1, 6, 6)
        keywords = {"attn_mask": mask}
        result = forward(*given, 0.0, is_causal, **keywords)
        yield forward, (*given, 0.0, is_causal), keywords
        yield backward, (numbers(4, 2, 6, 8), *given, *result, 0.0, is_causal), keywords

    def test_batch_heads_and_queries_can_be_cut(self):
        for is_causal in (False, True):
            for op, args, keywords in self.calls(is_causal):
                found = {entry.outputs[0] for entry in rule_of(called(op, *args, **keywords)[0]).entries}
                self.assertLessEqual({"S0", "S1"}, found)
                self.assertEqual("S2" in found, not is_causal)

    def test_all_entries_on_meshes(self):
        tried = 0
        for op, args, keywords in itertools.chain(self.calls(), self.calls(True)):
            call, outputs = called(op, *args, **keywords)
            inputs = [leaf for leaf in torch.utils._pytree.tree_leaves((args, keywords)) if torch.is_tensor(leaf)]
            for shape in ((2,), (3,), (2, 2)):
                shapes = [each.shape for each in [*outputs, *inputs]]
                for chosen in meshes.tuples(meshes.rule_of(call), shapes, shape):
                    found = meshes.run(op, args, keywords, inputs, outputs, chosen, shape, 3)
                    for result, wanted in zip(found or (), outputs):
                        torch.testing.assert_close(
                            result, wanted, msg=lambda text: f"{call} {chosen} on {shape}: {text}")
                        tried += 1
        self.assertGreater(tried, 40)


class Experts(unittest.TestCase):
    """Products of groups of rows, each group with the matrix of an expert."""

    @staticmethod
    def calls():
        """Four experts with 5, 0, 12 and 7 rows."""
        ends = torch.tensor([5, 5, 17, 24], dtype=torch.int32)
        rows, more, matrices = numbers(24, 32), numbers(24, 64), numbers(4, 32, 64)
        narrow = [tensor.float() for tensor in (rows, more, matrices)]
        yield aten._grouped_mm.default, (narrow[0], narrow[2], ends), [("P",), ("S1",), ("P",)]
        yield aten._grouped_mm.default, (narrow[0].t(), narrow[1], ends), [("S0",), ("S1",), ("S2",)]
        try:
            import transformers.integrations.moe  # noqa: F401 - registers operators
        except ImportError:
            return
        own = torch.ops.transformers
        yield own.grouped_mm_fallback.default, (rows, matrices, ends), [("P",), ("S1",), ("P",)]
        yield (own.grouped_mm_fallback_backward.default, (rows, matrices, ends, more),
               [("P", "S0"), ("P", "S2"), ("S1", "S1")])

    def test_experts_rows_and_columns_can_be_cut(self):
        for op, args, wanted in self.calls():
            with self.subTest(op):
                found = [entry.outputs for entry in rule_of(called(op, *args)[0]).entries]
                for outputs in wanted:
                    self.assertIn(outputs, found)

    def test_all_entries_on_meshes(self):
        tried = 0
        for op, args, _ in self.calls():
            call, outputs = called(op, *args)
            rule = meshes.rule_of(call)
            for shape in ((2,), (3,), (4,), (2, 2)):
                for chosen in meshes.tuples(rule, [each.shape for each in [*outputs, *args]], shape):
                    found = meshes.run(op, args, {}, args, outputs, chosen, shape, 3)
                    for result, wanted in zip(found or (), outputs):
                        torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4, msg=lambda text: (
                            f"{call} {chosen} on {shape}: {text}"))
                        tried += 1
        self.assertGreater(tried, 100)

    def test_ranks_share_the_flops_of_the_experts(self):
        for op, args, _ in self.calls():
            call, outputs = called(op, *args)
            times = 2 if len(args) == 4 else 1
            self.assertEqual(Flops.total(call, outputs), times * 2 * 24 * 32 * 64, op)


class Views(unittest.TestCase):
    def test_pairs(self):
        self.assertEqual(reshape_pairs((4, 6, 5), (24, 5)), [(0, 0, 4), (2, 1, None)])
        self.assertEqual(reshape_pairs((24, 5), (4, 6, 5)), [(0, 0, 4), (1, 2, None)])
        self.assertEqual(reshape_pairs((1, 6, 1), (6,)), [(1, 0, None)])
        self.assertEqual(reshape_pairs((6, 4), (8, 3)), [(0, 0, 2)])
        self.assertEqual(reshape_pairs((3, 4), (4, 3)), [])
        self.assertEqual(reshape_pairs((), (1,)), [])
        self.assertEqual(reshape_pairs((0, 3), (0,)), [])

    def cases(self, chance):
        for _ in range(25):
            factors = [chance.choice((1, 2, 3, 4, 6)) for _ in range(chance.randint(1, 5))]
            yield aten.view.default, (numbers(*self.grouped(factors, chance)),
                                      self.grouped(factors, chance))
        for _ in range(6):
            rank = chance.randint(1, 4)
            shape = [chance.choice((1, 2, 4, 6)) for _ in range(rank)]
            x, dim = numbers(*shape), chance.randrange(rank)
            yield aten.permute.default, (x, chance.sample(range(rank), rank))
            yield aten.transpose.int, (x, dim, chance.randrange(rank))
            yield aten.unsqueeze.default, (x, dim)
            yield aten.squeeze.dim, (x, dim)
            yield aten.select.int, (x, dim, 0)
            yield aten.slice.Tensor, (x, dim, 0, chance.choice((1, shape[dim], 1 << 60)))
            yield aten.expand.default, (x, [chance.choice((1, 5)), *(extent if extent > 1 else
                                                                     chance.choice((1, 4)) for extent in shape)])
            yield aten.split.Tensor, (x, max(1, shape[dim] // 2), dim)
            yield aten.cat.default, ([x, x], dim)
            yield aten.stack.default, ([x, x], dim)
            yield aten.unbind.int, (x, dim)

    @staticmethod
    def grouped(factors, chance):
        shape, product = [], 1
        for factor in factors:
            product *= factor
            if chance.random() < 0.5:
                shape.append(product)
                product = 1
        return [*shape, product]

    def test_random_views_on_meshes(self):
        chance, tried, divided = random.Random(5), 0, 0
        for op, args in self.cases(chance):
            call, outputs = called(op, *args)
            rule = {"strategies": [
                {"outputs": entry.outputs, "inputs": entry.inputs,
                 **({} if entry.divides is None else {"divides": entry.divides})}
                for entry in rule_of(call).entries
                if not {"Pavg", "Pmax", "Pmin"}.intersection(entry.placements)]}
            inputs = [leaf for leaf in torch.utils._pytree.tree_leaves(args) if torch.is_tensor(leaf)]
            for shape in ((2,), (3,), (2, 2), (3, 2)):
                for chosen in meshes.tuples(rule, [each.shape for each in [*outputs, *inputs]], shape):
                    found = meshes.run(op, args, {}, inputs, outputs, chosen, shape, 3)
                    for whole, result in zip(outputs, found or ()):
                        torch.testing.assert_close(
                            result, whole, msg=lambda text: f"{call} {chosen} on {shape}: {text}")
                        tried += 1
                        divided += any("divides" in entry for entry in chosen)
        self.assertGreater(tried, 1000)
        self.assertGreater(divided, 30)


class Flops(unittest.TestCase):
    """Products of local extents against torch's own counter, on whole tensors."""

    @staticmethod
    def total(call, outputs):
        total = 0
        for factor, *extents in products_of(call):
            for argument, dim in extents:
                factor *= (call.inputs[argument] if argument >= 0 else outputs[-1 - argument]).shape[dim]
            total += factor
        return total

    def check(self, op, *args):
        with flop_counter.FlopCounterMode(display=False) as counter:
            call, outputs = called(op, *args)
        self.assertEqual(self.total(call, outputs), counter.get_total_flops(), op)
        self.assertGreater(counter.get_total_flops(), 0)

    def test_products(self):
        self.check(aten.mm.default, numbers(3, 4), numbers(4, 5))
        self.check(aten.addmm.default, numbers(5), numbers(3, 4), numbers(4, 5))
        self.check(aten.bmm.default, numbers(2, 3, 4), numbers(2, 4, 5))
        self.check(aten.baddbmm.default, numbers(2, 3, 5), numbers(2, 3, 4), numbers(2, 4, 5))

    def test_convolutions(self):
        for groups, transposed in itertools.product((1, 2), (False, True)):
            weight = numbers(4, 6 // groups, 3, 3) if transposed else numbers(6, 4 // groups, 3, 3)
            rest = ([2, 2], [1, 1], [1, 1], transposed, [0, 0], groups)
            x = numbers(2, 4, 9, 9)
            self.check(aten.convolution.default, x, weight, None, *rest)
            gradient = aten.convolution.default(x, weight, None, *rest)
            for mask in ([True, True, False], [False, True, False]) if groups == 1 else ():
                self.check(aten.convolution_backward.default, gradient, x, weight, None, *rest, mask)

    def test_attention(self):
        query, key, value = numbers(2, 3, 6, 8).float(), numbers(2, 3, 10, 8).float(), numbers(2, 3, 10, 8).float()
        shapes = [tuple(each.shape) for each in (query, key, value)]
        call, (output, logsumexp) = called(aten._scaled_dot_product_flash_attention_for_cpu.default,
                                           query, key, value)
        self.assertEqual(self.total(call, [output, logsumexp]), flop_counter.sdpa_flop_count(*shapes))
        call, outputs = called(aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
                               output, query, key, value, output, logsumexp, 0.0, False)
        self.assertEqual(self.total(call, outputs),
                         flop_counter.sdpa_backward_flop_count(tuple(output.shape), *shapes))

    def test_products_of_more_dimensions(self):
        call, _ = called(aten.matmul.default, numbers(2, 3, 4, 5), numbers(2, 3, 5, 6))
        self.assertEqual(products_of(call), [[2, [0, 0], [0, 1], [0, 2], [0, 3], [1, 3]]])
        call, _ = called(aten.tensordot.default, numbers(2, 3, 4), numbers(2, 3, 5), [0, 1], [0, 1])
        self.assertEqual(products_of(call), [[2, [0, 0], [0, 1], [0, 2], [1, 2]]])
        self.assertEqual(products_of(called(aten.add.Tensor, numbers(2), numbers(2))[0]), [])


class Calls(unittest.TestCase):
    def test_equal_calls_share_a_rule(self):
        first, second = (called(aten.mm.default, numbers(3, 4), numbers(4, 5))[0] for _ in range(2))
        self.assertIs(rule_of(first), rule_of(second))
        self.assertEqual(first.inputs, (Meta((3, 4), (4, 1), torch.float64), Meta((4, 5), (5, 1), torch.float64)))
        self.assertEqual(called(aten._softmax.default, numbers(3, 4), 1, False)[0].argument("dim"), 1)


if __name__ == "__main__":
    unittest.main()
