"""Cross entropy as it is traced: torch's values and gradients, and which arguments stay torch's own."""

import itertools
import unittest

import torch
import torch.nn.functional as F
from torch import nn

from shardwright.torch.tracing import trace_joint

from .models import ids
from .test_execution import arguments_of

CLASSES = 9


def setUpModule():
    torch.set_num_threads(1)


class Loss(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, logits, target):
        return F.cross_entropy(logits, target, **self.options)


def shapes():
    """Of logits and targets."""
    yield (CLASSES,), ()
    yield (5, CLASSES), (5,)
    yield (4, CLASSES, 3), (4, 3)
    yield (2, CLASSES, 3, 4), (2, 3, 4)


def traced(logits, target, **options):
    """(graph, loss, gradient of the logits): what the graph of the loss computes, and torch's own."""
    joint = trace_joint(Loss(**options), (logits, target))
    given = arguments_of(joint, nn.Module(), (logits, target), {})
    results = {output.role: joint.graph_module(*given.values())[output.position]
               for output in joint.outputs}
    loss = F.cross_entropy(logits, target, **options)
    tangent = next(given[each.node.name] for each in joint.placeholders if each.role == "tangent")
    wanted = {"output": loss, "gradient": torch.autograd.grad(loss, logits, tangent)[0]}
    return joint.graph_module.graph, results, wanted


def operators(graph):
    return {str(node.target) for node in graph.nodes if node.op == "call_function"}


class CrossEntropy(unittest.TestCase):
    def compare(self, logits, target, is_ours, tolerance=1e-10, **options):
        graph, results, wanted = traced(logits, target, **options)
        for role, value in wanted.items():
            self.assertEqual(results[role].dtype, value.dtype)
            torch.testing.assert_close(results[role], value, rtol=tolerance, atol=tolerance,
                                       equal_nan=True, msg=lambda text: f"{role} {options}: {text}")
        self.assertEqual("aten._log_softmax.default" not in operators(graph), is_ours, options)

    @staticmethod
    def arguments(logits_shape, target_shape, dtype=torch.float64, scale=1):
        torch.manual_seed(4)
        logits = (torch.randn(logits_shape, dtype=torch.float64) * scale).to(dtype)
        return logits.requires_grad_(), ids(*target_shape, below=CLASSES)

    def test_values_and_gradients_are_torchs(self):
        for shape, reduction, ignored in itertools.product(shapes(), ("mean", "sum", "none"), (-100, 2)):
            with self.subTest(shape=shape, reduction=reduction, ignored=ignored):
                self.compare(*self.arguments(*shape), True, reduction=reduction, ignore_index=ignored)

    def test_targets_that_are_all_ignored_and_large_logits(self):
        logits, target = self.arguments((5, CLASSES), (5,))
        self.compare(logits, torch.full_like(target, -100), True)
        self.compare(*self.arguments((5, CLASSES), (5,), scale=1e6), True)
        with torch.no_grad():
            logits[0, target[0] - 1] = -torch.inf
        self.compare(logits, target, True)

    def test_16_bits_are_computed_in_32(self):
        for dtype, tolerance in ((torch.bfloat16, 2 ** -7), (torch.float16, 2 ** -10)):
            self.compare(*self.arguments((5, CLASSES), (5,), dtype), True, tolerance)
            with torch.autocast("cpu", torch.bfloat16):
                self.compare(*self.arguments((5, CLASSES), (5,), dtype), True, tolerance)

    def test_other_arguments_stay_torchs(self):
        logits, target = self.arguments((5, CLASSES), (5,))
        self.compare(logits, target, False, weight=torch.rand(CLASSES, dtype=torch.float64))
        self.compare(logits, target, False, label_smoothing=0.1)
        self.compare(logits, torch.rand(5, CLASSES, dtype=torch.float64), False)

    def test_nothing_reads_or_writes_all_classes_more_often_than_torchs_own(self):
        def traffic(graph):
            shape = torch.Size((64, CLASSES))
            return sum(value.meta["val"].shape == shape for node in graph.nodes
                       if node.op == "call_function" for value in (node, *node.all_input_nodes))

        logits, target = self.arguments((64, CLASSES), (64,))
        ours, _, _ = traced(logits, target)
        # Weights change only what is multiplied by the numbers of the chosen classes.
        torchs, _, _ = traced(logits, target, weight=torch.ones(CLASSES, dtype=torch.float64))
        self.assertLessEqual(traffic(ours), traffic(torchs))


if __name__ == "__main__":
    unittest.main()
