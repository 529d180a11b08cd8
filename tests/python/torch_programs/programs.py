"""Programs for models of the transformers package, and what three steps of training under them give."""

import contextlib
import copy
import functools
import warnings

import torch
import torch.distributed
from parallelize import hugging_face
from parallelize.training import differences, whole
from torch.distributed.tensor.parallel import loss_parallel

from shardwright import operators
from shardwright.torch import trace
from shardwright.torch.recipes import from_plan, fsdp2, known, structure
from shardwright.torch.recipes.held import predicted
from shardwright.torch.recipes.trial import Saved, bytes_of
from shardwright.torch.tracing.rewriting.recompute import repeated_blocks

NAMES = ("llama", "qwen3", "gpt2", "bert", "t5", "vit", "mixtral", "mamba", "gemma3", "whisper")
STEPS = 3


@functools.lru_cache(maxsize=None)
def traced_model(name):
    """(model, arguments, traced graph, structure)."""
    model, arguments = hugging_face.make(name)
    traced = trace(model, arguments, fused_attention=True)
    return model, arguments, traced, structure.structure_of(model, (), arguments)


class Case:
    """A model with its program for a mesh."""

    def __init__(self, name, mesh, roles, divided=False, checkpointed=False, share=None):
        """With `share`, the plan has that part of the memory that the fastest one needs."""
        self.name, self.key = name, (name, mesh, roles, divided, checkpointed, share)
        self.model, self.arguments, traced, known_of = traced_model(name)
        blocks = repeated_blocks(self.model) if checkpointed else ()
        traced = traced.recomputed(blocks)
        self.plan = _plan(traced, known_of, mesh, roles, divided)
        if share is not None:
            self.plan = _plan(traced, known_of, mesh, roles, divided, int(share * self.plan["peak_bytes"]))
        self.recipe = from_plan.recipe_of(traced.document, traced.joint.tied, self.plan, known_of,
                                          checkpointed=blocks)
        self.text = fsdp2.program_of(self.recipe)
        self.predicted = predicted(traced.document, self.plan)


def _plan(traced, known_of, mesh, roles, divided, memory=None):
    """With `divided`, the parameters that Megatron divides are divided on the tensor axis."""
    parameters = {}
    tensor = [role == "tensor" for role in roles]
    if any(tensor):
        words = known.tensor_parallel(traced.document, known_of, traced.joint.tied) if divided else {}
        names = [row["target"] for row in traced.document["nodes"] if row.get("role") == "parameter"]
        whole_ones = known_of.whole_parameters()
        pinned = names if divided else [name for name in names if name in whole_ones]
        parameters = {name: [words.get(name, "R") if is_tensor else "*" for is_tensor in tensor] for name in pinned}
    options = {"mesh": list(mesh), "roles": list(roles), "backend": "gloo", "placements": {"parameters": parameters}}
    return operators.plan(traced.document, memory=memory, options=options).data


def alone(name):
    """Loss and gradients of every step, in this process."""
    model, arguments, _, _ = traced_model(name)
    return _train(copy.deepcopy(model), arguments, False, lambda loss: loss)[0]


def _train(model, arguments, parallel_loss, mean):
    """(losses and gradients of every step, bytes of parameters, gradients, optimizer states, saved tensors)."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=0.001)
    steps = []
    for _ in range(STEPS):
        saved = Saved([*model.parameters(), *model.buffers(), *arguments.values()])
        with loss_parallel() if parallel_loss else contextlib.nullcontext():
            with saved.watching(model):
                loss = model(**arguments).loss
            activations = saved.bytes(model.parameters())
            loss.backward()
        found = {f"gradient of {_plain(name)}": whole(tensor.grad).clone()
                 for name, tensor in model.named_parameters() if tensor.grad is not None}
        steps.append({"loss": mean(whole(loss.detach())), **found})
        optimizer.step()
        held = [bytes_of(iter(model.parameters())), bytes_of(each.grad for each in model.parameters()),
                bytes_of(tensor for state in optimizer.state.values() for name, tensor in state.items()
                         if name != "step"), activations]
        optimizer.zero_grad()
    return steps, held


def _plain(name):
    return name.replace("_checkpoint_wrapped_module.", "")


def train(case, wanted):
    """In every process of a group: what differs, as sentences, and the bytes held."""
    warnings.simplefilter("ignore")
    program = {}
    exec(compile(case.text, case.name, "exec"), program)
    mesh = program["make_mesh"]("cpu")
    model = program["parallelize"](copy.deepcopy(case.model), mesh)
    data = [axis.name for axis in case.recipe.data_axes]
    part, parts = 0, case.recipe.replicas
    for axis in case.recipe.data_axes:
        part = part * axis.size + mesh[axis.name].get_local_rank()

    def mean(loss):
        total = loss.clone()
        for name in data:
            torch.distributed.all_reduce(total, group=mesh[name].get_group())
        return total / parts

    rows = {key: tensor[part * len(tensor) // parts:(part + 1) * len(tensor) // parts]
            for key, tensor in case.arguments.items()}
    steps, held = _train(model, rows, case.recipe.loss_parallel, mean)
    sentences = [f"step {number}: {sentence}" for number, (mine, theirs) in enumerate(zip(steps, wanted))
                 for sentence in differences(mine, theirs, 5e-5)]
    return sentences, held


def train_all(cases, wanted):
    answers = {}
    for case in cases:
        try:
            answers[case.key] = train(case, wanted[case.name])
        except Exception as error:  # noqa: BLE001 - reported with its model
            answers[case.key] = ([f"{type(error).__name__}: {error}"], None)
    return answers
