"""What `parallelize` plans trains as the model does, and is used as a model is."""

import copy
import os
import pickle
import re
import tempfile
import unittest
import warnings

import torch
from torch.distributed.checkpoint.state_dict import (StateDictOptions, get_model_state_dict,
                                                     set_model_state_dict)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from dtensor.groups import in_group
from shardwright.torch import ModelPlan, parallelize, trace

from .models import Transformer, make
from .training import alone, differences, loss_of, step, whole

MESHES = ((4,), (2, 2))
TOLERANCE = 1e-9  # as in test_random_plans.py
# In 32 bits, sums of some hundred terms in another order differ by about 1e-6 of the largest term.
TOLERANCE_32 = 2e-5
# A number of bfloat16 has 8 bits.
TOLERANCE_16 = 2e-2


def sharded_batch(args, shape):
    """Placements that shard every input's batch on every axis; names are those of the traced model."""
    return {"inputs": {name: ["S0"] * len(shape) for name in args}}


def train_planned(name, batch, shape):
    model, args = make(name, batch)
    mesh = init_device_mesh("cpu", shape)
    traced = trace(model, args)
    names = [each.target for each in traced.joint.placeholders if each.role == "input"]
    free = parallelize(model, mesh, args, traced=traced, outputs="full")
    pinned = parallelize(model, mesh, args, traced=traced, outputs="full", placements=sharded_batch(names, shape))
    want = alone(model, args)
    answers = {"free": differences(step(free, args), want, TOLERANCE),
               "pinned": differences(step(pinned, args), want, TOLERANCE)}
    largest = max(free.plan.peak_bytes, 1)
    tight = parallelize(model, mesh, args, traced=traced, outputs="full", memory=int(largest * 0.8))
    answers["tight"] = differences(step(tight, args), want, TOLERANCE)
    assert tight.plan.peak_bytes <= largest * 0.8
    return answers


def train_all():
    return {(name, batch, shape): train_planned(name, batch, shape)
            for name, batch in (("mlp", 8), ("transformer", 8), ("transformer", 5),
                                ("convolutions", 8), ("batch norm", 5), ("tables", 8))
            for shape in MESHES}


def train_in_32_bits():
    model, args = make("transformer", 8)
    model = model.float()
    mesh = init_device_mesh("cpu", (2, 2))
    parallel = parallelize(model, mesh, args, placements=sharded_batch(("ids", "targets"), (2, 2)))
    return differences(step(parallel, args), alone(model, args), TOLERANCE_32)


def train_under_autocast():
    """Products in 16 bits: casts are in the graph, once."""
    model, args = make("transformer", 8)
    model = model.float()
    mesh = init_device_mesh("cpu", (2, 2))
    with torch.autocast("cpu", torch.bfloat16):
        parallel = parallelize(model, mesh, args, outputs="full",
                               placements=sharded_batch(("ids", "targets"), (2, 2)))
        return differences(step(parallel, args), alone(model, args), TOLERANCE_16)


def checkpoint():
    """Names of weights that a full checkpoint does not bring back."""
    model, args = make("transformer", 8)
    parallel = parallelize(model, init_device_mesh("cpu", (2, 2)), args, memory="200KiB")
    assert any(placement.is_shard() for tensor in parallel.parameters()
               for placement in tensor.placements)
    weights = {name: torch.randn_like(tensor) for name, tensor in model.state_dict().items()}
    weights["head.weight"] = weights["tokens.weight"]
    options = StateDictOptions(full_state_dict=True)
    set_model_state_dict(parallel, dict(weights), options=options)
    back = get_model_state_dict(parallel, options=options)
    return [name for name, tensor in weights.items() if not torch.equal(back[name], tensor)]


def use():
    """Facts about a parallel model, by name."""
    model, args = make("transformer", 8)
    mesh = init_device_mesh("cpu", (2, 2))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    parallel = parallelize(model, mesh, args, placements=sharded_batch(("ids", "targets"), (2, 2)))
    result = parallel(*args)
    facts = {
        "loss is plain": type(result["loss"]) is torch.Tensor,
        "logits are sharded": isinstance(result["logits"], DTensor),
        "names": list(parallel.state_dict()) == list(before),
        "tied": parallel.get_parameter("head.weight") is parallel.get_parameter("tokens.weight"),
        "all are DTensors": all(isinstance(tensor, DTensor) for tensor in parallel.parameters()),
        "types": type(parallel.blocks[0].norm1) is torch.nn.LayerNorm,
    }
    result["loss"].backward()
    facts["gradients are placed as parameters"] = all(
        tensor.grad.placements == tensor.placements for tensor in parallel.parameters())
    facts["backward runs once"] = raises(RuntimeError, result["loss"].backward)
    torch.optim.SGD(parallel.parameters(), lr=1.0).step()
    facts["the model is not changed"] = all(
        torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    facts["a call that the model refuses"] = raises(TypeError, lambda: parallel(args[0]))
    facts |= plans_answer(parallel, model, mesh, args)
    facts |= inputs_and_outputs(model, mesh, args)
    facts |= hooks_and_copies(mesh)
    facts |= wrong_use(mesh)
    return facts


def raises(kind, call):
    try:
        call()
    except kind:
        return True
    return False


def plans_answer(parallel, model, mesh, args):
    table = parallel.describe()
    placements = parallel.autoparallel_placements()
    weight = parallel.get_parameter("blocks.0.qkv.weight")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.json")
        parallel.save_plan(path)
        with open(path, encoding="utf-8") as file:
            plan = ModelPlan.from_json(file.read())
    again = parallelize(model, mesh, args, plan=plan)
    return {
        "the table has every block": "blocks.1.qkv" in table and "blocks.0.mlp.2" in table,
        "placements are those of the parameters": placements["blocks.0.qkv.weight"] == weight.placements,
        "inputs are placed as asked": placements["ids"] == (Shard(0), Shard(0)),
        "a saved plan gives the same placements": again.autoparallel_placements() == placements,
        "a plan of another mesh is refused": raises(ValueError, lambda: parallelize(
            model, init_device_mesh("cpu", (4,)), args, plan=plan)),
    }


def inputs_and_outputs(model, mesh, args):
    """DTensors in and out, other batches, evaluation, and inputs that require gradients."""
    parallel = parallelize(model, mesh, args)
    placed = [DTensor.from_local(torch.tensor_split(tensor, 2)[mesh.get_coordinate()[0]], mesh,
                                 (Shard(0), Replicate())) for tensor in args]
    want = model(*args)
    facts = {"DTensors may come in": not differences(
        {"logits": whole(parallel(*placed)["logits"])}, {"logits": want["logits"]}, TOLERANCE)}
    other = [tensor[:3] for tensor in args]
    facts["another batch is planned anew"] = not differences(
        {"logits": whole(parallel(*other)["logits"])}, {"logits": model(*other)["logits"]}, TOLERANCE)
    with torch.no_grad():
        result = parallel.eval()(*args)
    facts["evaluation"] = not result["logits"].requires_grad and not differences(
        {"logits": whole(result["logits"])}, {"logits": want["logits"]}, TOLERANCE)
    mlp, (numbers,) = make("mlp", 8)
    whole_numbers, own = numbers.clone().requires_grad_(), numbers.clone().requires_grad_()
    loss_of(mlp(whole_numbers)).backward()
    loss_of(parallelize(mlp, mesh, (own,), outputs="full")(own)).backward()
    facts["inputs get gradients"] = not differences(
        {"input": own.grad}, {"input": whole_numbers.grad}, TOLERANCE)
    return facts


def hooks_and_copies(mesh):
    """A model with hooks; and what people do to a parallel model."""
    model, (x,) = make("mlp", 8)
    model[0].register_forward_hook(lambda module, inputs, output: output * 3)
    model[2].weight.register_hook(lambda gradient: gradient * 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallel = parallelize(model, mesh, (x,), outputs="full")
        parallel(x)
        parallel.get_submodule("0").register_forward_pre_hook(lambda module, inputs: None)
        parallel(x)
    texts = [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
    few = x[:3]
    facts = {
        "hooks of modules are in every graph": not differences(
            {"all": parallel(x), "few": parallel(few)}, {"all": model(x), "few": model(few)}, TOLERANCE),
        "lost hooks of parameters are named": any(text.startswith("2.weight: ") for text in texts),
        "new hooks of modules are named": any(text.startswith("0: hooks that were added") for text in texts)}
    twin = copy.deepcopy(parallel)
    with torch.no_grad():
        for tensor in twin.parameters():
            tensor.mul_(0.0)
    facts["a copy has its own parameters"] = (not twin(x).any() and bool(parallel(x).any()))
    weights = {name: torch.randn_like(tensor) for name, tensor in model.state_dict().items()}
    parallel.load_state_dict(weights)
    facts["whole weights are loaded"] = all(
        torch.equal(tensor.full_tensor(), weights[name]) for name, tensor in parallel.state_dict().items())
    parallel.get_parameter("0.weight").requires_grad_(False)
    parallel(x).sum().backward()
    frozen = parallel.get_parameter("0.weight").grad is None
    parallel.get_parameter("0.weight").requires_grad_(True)
    parallel(x).sum().backward()
    facts["layers are frozen and unfrozen"] = frozen and parallel.get_parameter("0.weight").grad is not None
    return facts


class Halving(torch.nn.Linear):
    """Changes a parameter in its forward."""

    def forward(self, x):
        with torch.no_grad():
            self.weight.mul_(0.5)
        return super().forward(x)


def wrong_use(mesh):
    model, (x,) = make("mlp", 8)
    parallel = parallelize(model, mesh, (x,))
    no_groups = DeviceMesh("cpu", torch.arange(4), _init_backend=False, _rank=0)
    weight = parallel.get_parameter("2.weight")

    def changed_between():
        loss = parallel(x).sum().full_tensor()
        with torch.no_grad():
            weight.mul_(2.0)
        loss.backward()

    def twice():
        gradient, = torch.autograd.grad(parallel(x).square().sum().full_tensor(), [weight], create_graph=True)
        torch.autograd.grad(gradient.full_tensor().sum(), [weight])

    halving = Halving(8, 4).double()
    return {
        "no process groups": says("device_mesh: .*init_process_group", lambda: parallelize(model, no_groups, x)),
        "parallel already": says("^model: ", lambda: parallelize(parallel, mesh, x)),
        "a trace of another model": says("^traced: is a step of Halving, not a step of Sequential", lambda: parallelize(
            model, mesh, x, traced=trace(halving, x))),
        "parts of a batch": says("^input: .*DTensor", lambda: parallelize(model, mesh, x)(
            x + torch.distributed.get_rank())),
        "a DTensor of another mesh": says("^input: .*another mesh", lambda: parallel(
            distribute_tensor(x, init_device_mesh("cpu", (4,)), [Shard(0)]))),
        "pickled": says("state_dict", lambda: pickle.dumps(parallel)),
        "parameters that changed before the backward": says("^2.weight.*changed in place", changed_between),
        "gradients of gradients": raises(RuntimeError, twice),
        "torch's placements": parallelize(model, mesh, x, placements={"parameters": {
            "0.weight": [Shard(0), Replicate()]}}).get_parameter("0.weight").placements == (Shard(0), Replicate()),
        "parameters changed in the forward": not differences(
            step(parallelize(halving, mesh, x), (x,)), alone(halving, (x,)), TOLERANCE),
    }


def says(pattern, call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - its text is what is tested
        return re.search(pattern, str(error)) is not None
    return False


def init(module):
    for number, tensor in enumerate(module.parameters()):
        tensor.fill_(number / 100)


def from_meta():
    """Parameters that never were whole: what differs from a model with the same numbers."""
    _, args = make("transformer", 8)
    with torch.device("meta"):
        model = Transformer().double()
    mesh = init_device_mesh("cpu", (4,))
    empty = parallelize(model, mesh, args)
    assert raises(ValueError, lambda: empty(*args))  # no memory yet
    parallel = parallelize(model, mesh, args, outputs="full", init=init)
    real = Transformer().double()
    with torch.no_grad():
        init(real)
    tied = parallel.get_parameter("head.weight") is parallel.get_parameter("tokens.weight")
    return differences(step(parallel, args), alone(real, args), TOLERANCE) + ["untied"] * (not tied)


class Planned(unittest.TestCase):
    def test_training_is_the_same_with_free_pinned_and_tight_plans(self):
        for answers in in_group(4, train_all):
            self.assertEqual(len(answers), 12)
            for case, by_kind in answers.items():
                for kind, sentences in by_kind.items():
                    with self.subTest(case=case, kind=kind):
                        self.assertEqual(sentences, [])

    def test_32_bits_differ_by_rounding(self):
        for sentences in in_group(4, train_in_32_bits):
            self.assertEqual(sentences, [])

    def test_autocast_is_planned(self):
        for sentences in in_group(4, train_under_autocast):
            self.assertEqual(sentences, [])

    def test_full_checkpoints_are_loaded_and_saved(self):
        for names in in_group(4, checkpoint):
            self.assertEqual(names, [])

    def test_a_parallel_model_is_used_as_a_model(self):
        for facts in in_group(4, use):
            self.assertGreater(len(facts), 30)
            for fact, holds in facts.items():
                with self.subTest(fact):
                    self.assertTrue(holds)

    def test_parameters_on_meta_get_memory_and_values(self):
        for sentences in in_group(4, from_meta):
            self.assertEqual(sentences, [])


if __name__ == "__main__":
    unittest.main()
