"""What graphs compute, and what their rules compute on the ranks of a mesh."""

import random
import unittest

import torch

from shardwright.torch.tracing import trace_joint
from shardwright.torch.tracing.document import trace
from shardwright.torch.tracing.values import flatten_output

from . import mesh as meshes
from .models import cases



def setUpModule():
    torch.set_num_threads(1)  # tensors have a few hundred elements


def arguments_of(joint, model, args, kwargs, seed=0):
    """A tensor for each placeholder, by name of the node."""
    state = {**dict(model.named_parameters(remove_duplicate=False)),
             **dict(model.named_buffers(remove_duplicate=False))}
    inputs = dict(zip(joint.inputs.names, joint.inputs.tensors_of(args, kwargs)))
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for placeholder in joint.placeholders:
        if placeholder.role == "tangent":
            value = placeholder.node.meta["val"]
            found[placeholder.node.name] = torch.randn(value.shape, generator=generator,
                                                       dtype=value.dtype)
        else:
            source = inputs if placeholder.role == "input" else state
            found[placeholder.node.name] = source[placeholder.target].detach().clone()
    return found


def doubled(model, args, kwargs):
    """The same in 64 bits, so that differences are errors and not roundings."""
    def change(leaf):
        return leaf.double() if torch.is_tensor(leaf) and leaf.is_floating_point() else leaf
    return (model.double(), torch.utils._pytree.tree_map(change, args),
            torch.utils._pytree.tree_map(change, kwargs))


class Values(unittest.TestCase):
    def test_outputs_gradients_and_buffers_are_those_of_the_model(self):
        for train in (True, False):
            for name, model, args, kwargs in cases():
                with self.subTest(name, train=train):
                    self.compare(*doubled(model.train(train), args, kwargs))

    def compare(self, model, args, kwargs):
        joint = trace_joint(model, args, kwargs)
        given = arguments_of(joint, model, args, kwargs)
        results = joint.graph_module(*given.values())
        found, names, _ = flatten_output(model(*args, **kwargs))
        parameters = dict(model.named_parameters())
        tangents = {p.target: given[p.node.name] for p in joint.placeholders if p.role == "tangent"}
        gradients = dict(zip(parameters, torch.autograd.grad(
            [value for value, name in zip(found, names) if name in tangents],
            list(parameters.values()), [tangents[name] for name in names if name in tangents],
            allow_unused=True)))
        buffers = dict(model.named_buffers())
        wanted = {"output": dict(zip(names, found)), "gradient": gradients, "mutation": buffers}
        roles = set()
        for output in joint.outputs:
            torch.testing.assert_close(results[output.position], wanted[output.role][output.target],
                                       rtol=1e-9, atol=1e-9, msg=lambda text: f"{output}: {text}")
            roles.add((output.role, output.target))
        for name, gradient in gradients.items():
            self.assertEqual(gradient is not None, ("gradient", name) in roles, name)
        rebuilt = joint.result.rebuild([results[output.position] for output in joint.outputs
                                        if output.role == "output"])
        self.assertEqual(type(rebuilt), type(model(*args, **kwargs)))


class Meshes(unittest.TestCase):
    """Each node of a graph with tuples of entries, on the values that it has in a training step."""

    def check(self, name, model, args, kwargs, shape, most, seed):
        traced = trace(model, args, kwargs)
        rows = {row["name"]: row for row in traced.document["nodes"]}
        given = iter(arguments_of(traced.joint, model, args, kwargs).values())
        chance, values, tried, combined = random.Random(seed), {}, 0, 0
        for node in traced.graph_module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            if node.op != "call_function":
                continue
            local = meshes.replaced(node.args, lambda leaf: values[leaf]
                                    if isinstance(leaf, torch.fx.Node) else leaf)
            named = meshes.replaced(dict(node.kwargs), lambda leaf: values[leaf]
                                    if isinstance(leaf, torch.fx.Node) else leaf)
            values[node] = node.target(*local, **named)
            if node.name not in rows:
                continue
            row = rows[node.name]
            outputs = [None if each is None else whole for each, whole in zip(
                row["outputs"], values[node] if isinstance(values[node], (tuple, list))
                else (values[node],))]
            inputs = [leaf for leaf in torch.utils._pytree.tree_leaves((local, named))
                      if torch.is_tensor(leaf)]
            shapes = [None if each is None else each.shape for each in [*outputs, *inputs]]
            choices = list(meshes.tuples(traced.document["rules"][row["rule"]], shapes, shape))
            self.assertTrue(choices, row)
            for chosen in chance.sample(choices, min(most, len(choices))):
                what = f"{name}: {row['name']} {row['op']} on {shape} with {chosen}"
                found = meshes.run(node.target, local, named, inputs, outputs, chosen, shape, seed)
                if found is None:
                    continue
                tried += 1
                combined += len({id(entry) for entry in chosen}) > 1
                for wanted, result in zip(outputs, found):
                    if wanted is not None and wanted.numel():
                        torch.testing.assert_close(result, wanted, rtol=1e-8, atol=1e-8,
                                                   equal_nan=True, msg=lambda text: f"{what}: {text}")
        return tried, combined

    def test_any_entries_on_the_axes_of_a_mesh_give_the_unsharded_values(self):
        for shape in ((3,), (2, 2), (2, 3)):
            for name, model, args, kwargs in cases(batch=6):
                with self.subTest(name, mesh=shape):
                    tried, combined = self.check(name, *doubled(model, args, kwargs), shape, 4, 11)
                    self.assertGreater(tried, 40)
                    self.assertEqual(combined > 20, len(shape) > 1)

    def test_uneven_batches(self):
        for name, model, args, kwargs in cases(batch=5):
            with self.subTest(name):
                self.check(name, *doubled(model, args, kwargs), (2, 2), 2, 12)


if __name__ == "__main__":
    unittest.main()
