"""The joint graph of a model: forward and backward of one training step, without weights."""

from __future__ import annotations

import contextlib
import copy
import operator
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
import torch.fx
import torch.utils._pytree as pytree
from torch import Tensor
from torch._export.utils import _compiling_state_context
from torch._functorch._aot_autograd import descriptors
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import stateless

from ... import errors
from . import origins
from .rewriting.decompositions import decompositions
from .rewriting.modes import ShardableFunctions, SplitExperts
from .rewriting.sharing import share
from .rewriting.simplify import simplify
from .rewriting.unflatten import unflatten
from .values import InputLayout, OutputLayout, flatten_input, flatten_output

_aten = torch.ops.aten
_PRODUCTS = (_aten.mm.default, _aten.bmm.default, _aten.mv.default, _aten.dot.default, _aten.convolution.default)


@dataclass(frozen=True)
class Placeholder:
    node: Node
    role: str  # parameter, buffer, input or tangent
    target: str  # name of the parameter, buffer or input; of a tangent, the name of its output


@dataclass(frozen=True)
class Output:
    """A value that the graph returns. Outputs that are None have no entry."""

    node: Node
    position: int  # in the tuple that the graph returns
    role: str  # output, gradient, or mutation: the new value of a buffer or input
    target: str  # name of the output; of the parameter, buffer or input otherwise


@dataclass(frozen=True)
class JointGraph:
    """Forward and backward of a model in one graph.

    `graph_module` takes `placeholders` in their order and returns a tuple, of which `outputs` name
    the tensors. It has aten operators only, none of which changes its arguments. Thread safety: it
    is not changed after it is made.
    """

    model: str  # class name
    graph_module: GraphModule
    placeholders: tuple[Placeholder, ...]
    outputs: tuple[Output, ...]
    inputs: InputLayout  # from a call's arguments to placeholders of role "input"
    result: OutputLayout  # from outputs of role "output" to what the model returns
    backward: frozenset[Node]  # all others are forward
    tied: Mapping[str, str]  # name of a parameter or buffer -> the name that stands for it
    constants: Mapping[str, Tensor]  # by name of a get_attr node: tensors that are no buffers


class _Flat(torch.nn.Module):  # type: ignore[misc]
    """The model as a function from tensors to a tuple of tensors. Tied parameters are one input."""

    def __init__(self, model: torch.nn.Module, layout: InputLayout, tied: Mapping[str, str]) -> None:
        super().__init__()
        self.model = model
        self.layout = layout
        self.tied = tied
        self.names: list[str] = []
        self.result: OutputLayout | None = None

    def named_parameters(self, *args: Any, **_: Any) -> Iterator[tuple[str, torch.nn.Parameter]]:
        yield from super().named_parameters(*args, remove_duplicate=True)

    def named_buffers(self, *args: Any, **_: Any) -> Iterator[tuple[str, Tensor]]:
        yield from super().named_buffers(*args, remove_duplicate=True)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        args, kwargs = self.layout.rebuild(tensors)
        same = {name: operator.attrgetter(first)(self.model) for name, first in self.tied.items()}
        with (stateless._reparametrize_module(self.model, same), origins.Lines(),
              ShardableFunctions(), SplitExperts()):
            result = self.model(*args, **kwargs)
        found, self.names, self.result = flatten_output(result)
        seen = {_storage(tensor) for tensor in (*tensors, *self.parameters(), *self.buffers())}
        results = []
        for tensor in found:
            # An output that shares memory would be returned as a view of a base that the model
            # does not return, and the base would have the tangent.
            results.append(tensor.clone() if _storage(tensor) in seen else tensor)
            seen.add(_storage(tensor))
        return tuple(results)


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


@contextlib.contextmanager
def _without_effect(operator: str) -> Iterator[None]:
    """Lets a graph leave out the operator, which returns nothing, and change its order."""
    registered = torch._library.simple_registry.singleton.find(operator).effect
    before = registered.effect
    registered.register(None)
    try:
        yield
    finally:
        registered.register(before)


@contextlib.contextmanager
def tracing_modes(fused_attention: bool = False) -> Iterator[None]:
    """Attention by matrix products, or with `fused_attention` as one operator where torch has one, and no
    other fused kernels of this machine's CPU.

    The operator is that of a CPU, in which a rank has some of the batch, of the heads or of the queries. It
    keeps no scores, as those of GPUs do. There is no other rule for the fast path of nn.MultiheadAttention
    and for oneDNN's LSTM, whose products can be sharded and have costs. torch.compiler.is_exporting() is
    true, so that code can avoid reading values. Torch's own checks of values (of arguments of
    distributions, of inverses and factors of matrices) are left out.
    """
    backends = [*([SDPBackend.FLASH_ATTENTION] if fused_attention else []), SDPBackend.MATH]
    fastpath = torch.backends.mha.get_fastpath_enabled()
    reduced = torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    validated = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    torch.backends.mha.set_fastpath_enabled(False)
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with (sdpa_kernel(backends), torch.backends.mkldnn.flags(enabled=False),
                  _compiling_state_context(), _without_effect("aten::_linalg_check_errors")):
                yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validated)
        torch.backends.mha.set_fastpath_enabled(fastpath)
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(reduced)


def trace_joint(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None,
                *, train: bool = True, fused_attention: bool = False) -> JointGraph:
    """Traces one call of the model, and with `train` the gradients of its parameters and inputs.

    Parameters and inputs may be on any device, also on meta: only shapes, strides and dtypes are
    read, and no memory is used for them. Arguments that are no tensors are constants of the graph.
    A copy without weights is traced, in the model's training or evaluation mode. Parameters and
    inputs get a gradient if they require one. Attention is traced as `tracing_modes` says.

    Raises UnsupportedError with the model's line if its code needs values of tensors (`item()`,
    shapes that depend on data), calls `backward` or names devices, and InvalidInputError if there
    is no tensor to trace, or nothing to train. Other exceptions of the model's code get a note.
    """
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
    copy = without_weights(model, fake_mode)
    names = frozenset(name for name, _ in [*copy.named_parameters(remove_duplicate=False),
                                           *copy.named_buffers(remove_duplicate=False)])
    tensors, layout = flatten_input(model.forward, args, kwargs or {}, names)
    if not tensors and not names:
        raise errors.InvalidInputError("neither the model nor the inputs have tensors", "model")
    fakes = [_fake(tensor, fake_mode) for tensor in tensors]
    tied = _tied(copy)
    flat = _Flat(copy, layout, tied)
    origins.annotate_modules(copy)
    with contextlib.ExitStack() as stack:
        stack.enter_context(tracing_modes(fused_attention))
        stack.enter_context(torch.enable_grad() if train else torch.no_grad())
        stack.enter_context(origins.explained())
        joint = aot_export_joint_with_descriptors(stack, flat, tuple(fakes),
                                                  decompositions=decompositions())
    graph_module = joint.graph_module
    # The traced function takes (primals, tangents). The graph shall take its placeholders.
    graph_module.graph.set_codegen(torch.fx.graph.CodeGen())
    output = next(iter(reversed(graph_module.graph.nodes)))
    output.args = (tuple(output.args[0]),)
    _check(graph_module.graph)
    _without_tangents_of_mutations(graph_module.graph)
    simplify(graph_module)
    unflatten(graph_module)
    simplify(graph_module)
    placeholders, outputs = _described(graph_module, layout, flat.names)
    if train and not any(output.role == "gradient" for output in outputs):
        raise errors.InvalidInputError(
            "no output depends on a parameter or input that requires a gradient; trace with train=False",
            "model")
    assert flat.result is not None
    backward = _backward(graph_module, placeholders)
    backward |= share(graph_module, backward)
    graph_module.recompile()
    return JointGraph(
        type(model).__name__, graph_module, placeholders, outputs, layout, flat.result, backward, tied,
        {node.name: getattr(graph_module, node.target) for node in graph_module.graph.nodes
         if node.op == "get_attr"})


def _check(graph: Graph) -> None:
    """Raises UnsupportedError for sparse tensors, and InvalidInputError for products of different types,
    which tensors without values let pass.
    """
    for node in graph.nodes:
        place = origins.line_of(node) or origins.module_of(node) or "model"
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, Tensor) and value.layout is not torch.strided:
                raise errors.UnsupportedError(f"{node.target} makes a sparse tensor, which cannot be sharded: use "
                                              "dense ones (sparse=False)", place)
        if node.target in _PRODUCTS:
            kinds = [str(source.meta["val"].dtype) for source in node.all_input_nodes]
            if len(set(kinds)) > 1:
                raise errors.InvalidInputError(f"{node.target} of {' and '.join(kinds)}: give inputs of the "
                                               "parameters' type (x.to(dtype)), or use torch.autocast", place)


def _without_tangents_of_mutations(graph: Graph) -> None:
    """Nothing depends on the new value of a parameter that the model writes, so its gradient is 0.
    """
    for node in list(graph.nodes):
        desc = node.meta.get("desc")
        if node.op == "placeholder" and isinstance(desc, descriptors.TangentAOTInput) and isinstance(
                desc.output, descriptors.InputMutationAOTOutput):
            value = node.meta["val"]
            with graph.inserting_after(next(each for each in reversed(graph.nodes) if each.op == "placeholder")):
                zeros = graph.call_function(_aten.full.default, (list(value.shape), 0),
                                            {"dtype": value.dtype, "device": value.device, "pin_memory": False})
            zeros.meta = {"val": value, "partitioner_tag": "is_backward"}
            node.replace_all_uses_with(zeros)
            graph.erase_node(node)


def _described(graph_module: GraphModule, layout: InputLayout, names: Sequence[str]
               ) -> tuple[tuple[Placeholder, ...], tuple[Output, ...]]:
    kinds: dict[Any, tuple[str, Callable[[Any], str]]] = {
        descriptors.ParamAOTInput: ("parameter", lambda desc: desc.target.removeprefix("model.")),
        descriptors.BufferAOTInput: ("buffer", lambda desc: desc.target.removeprefix("model.")),
        descriptors.PlainAOTInput: ("input", lambda desc: layout.names[desc.idx - first_input]),
        descriptors.TangentAOTInput: ("tangent", lambda desc: described(desc.output)[1]),
        descriptors.PlainAOTOutput: ("output", lambda desc: names[desc.idx]),
        descriptors.GradAOTOutput: ("gradient", lambda desc: described(desc.grad_of)[1]),
        descriptors.InputMutationAOTOutput:
            ("mutation", lambda desc: described(desc.mutated_input)[1])}

    def described(desc: Any) -> tuple[str, str]:
        """Role and target."""
        for kind, (role, target_of) in kinds.items():
            if isinstance(desc, kind):
                return role, target_of(desc)
        raise errors.UnsupportedError(
            f"an input or output of a kind that is not known: {desc.expr()}", "model")

    nodes = list(graph_module.graph.nodes)
    descs = [(node, node.meta["desc"]) for node in nodes if node.op == "placeholder"]
    plain = [desc.idx for _, desc in descs if isinstance(desc, descriptors.PlainAOTInput)]
    first_input = min(plain, default=0)
    placeholders = tuple(Placeholder(node, *described(desc)) for node, desc in descs)
    outputs = tuple(
        Output(node, position, *described(desc))
        for position, (node, desc) in enumerate(zip(nodes[-1].args[0], nodes[-1].meta["desc"]))
        if isinstance(node, Node))
    return placeholders, outputs


def _backward(graph_module: GraphModule, placeholders: Sequence[Placeholder]) -> frozenset[Node]:
    """The nodes that autograd ran, and all that depend on them or on a tangent."""
    found = {placeholder.node for placeholder in placeholders if placeholder.role == "tangent"}
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and (
                node.meta.get("partitioner_tag") == "is_backward"
                or any(source in found for source in node.all_input_nodes)):
            found.add(node)
    return frozenset(found)


def _tied(model: torch.nn.Module) -> dict[str, str]:
    first: dict[int, str] = {}
    names = {name: first.setdefault(id(tensor), name)
             for name, tensor in [*model.named_parameters(remove_duplicate=False),
                                  *model.named_buffers(remove_duplicate=False)]}
    return {name: canonical for name, canonical in names.items() if canonical != name}


def _fake(tensor: Tensor, mode: FakeTensorMode) -> Tensor:
    """A tensor of the same shape, strides and dtype that takes no memory, as if on the CPU.

    Raises UnsupportedError for a sparse tensor.
    """
    if tensor.layout is not torch.strided:
        raise errors.UnsupportedError(f"a tensor of layout {tensor.layout} cannot be sharded", "inputs")
    with mode:
        made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
    return made.requires_grad_(tensor.requires_grad)


def without_weights(model: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """Copies the modules; parameters and buffers become fakes, and ties between them stay.

    Tensors that are plain attributes stay themselves on a CPU, since code may read their values,
    and become fakes elsewhere. Raises UnsupportedError if a module cannot be copied, and
    InvalidInputError for a parameter that has no shape yet.
    """
    memo: dict[int, Any] = {}
    for path, module in model.named_modules():
        if any(torch.nn.parameter.is_lazy(tensor) for tensor in
               [*module._parameters.values(), *module._buffers.values()]):
            raise errors.InvalidInputError("has parameters without shapes; call the model once before", path or "model")
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in memo:
                memo[id(parameter)] = torch.nn.Parameter(_fake(parameter, mode),
                                                         requires_grad=parameter.requires_grad)
        memo.update({id(buffer): _fake(buffer, mode) for buffer in module._buffers.values()
                     if buffer is not None and id(buffer) not in memo})
    for module in model.modules():
        for value in vars(module).values():
            if isinstance(value, Tensor) and id(value) not in memo:
                memo[id(value)] = value if value.device.type == "cpu" else _fake(value, mode)
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:
        raise errors.UnsupportedError(f"the model cannot be copied: {error}", "model") from error
