"""The graph as the planner reads it: one JSON document."""

from __future__ import annotations

import contextlib
import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Sequence

import torch
from torch.fx import GraphModule, Node

from ... import errors
from .calls import Meta, call_of, input_nodes, output_metas, producer_of
from .flops import products_of
from .joint import JointGraph, trace_joint
from .origins import line_of, module_of
from .rewriting.recompute import recomputed
from .rules import rule_of
from .rules.entries import PARTIALS, Rule, placeholder_rule
from .rules.views import is_view


class UnknownOperatorWarning(UserWarning):
    """An operator that no rule is known of: every rank computes all of it."""


@dataclass(frozen=True)
class TracedModel:
    """A traced model with the rules of its operators. Thread safety: it is not changed."""

    joint: JointGraph
    document: dict[str, Any]  # of format "shardwright.aten_graph"

    @property
    def graph_module(self) -> GraphModule:
        """Forward and backward in one graph; its nodes' names are those of the document."""
        return self.joint.graph_module

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """From names in the document to nodes of the graph. Nodes of getitem are left out."""
        return {node.name: node for node in _listed(self.joint)}

    def recomputed(self, blocks: Sequence[str]) -> TracedModel:
        """The same step with less memory and more time: the backward computes each block, a path of
        a module such as "layers.3", again from what enters the block, so that its values are not
        kept. Raises InvalidInputError for a path without operators.
        """
        return _Writer(recomputed(self.joint, blocks)).traced() if blocks else self

    def to_json(self) -> str:
        return json.dumps(self.document, separators=(",", ":"))

    def save(self, path: str | Path) -> None:
        """Writes the document to a file. Raises OSError."""
        Path(path).write_text(self.to_json(), encoding="utf-8")


def trace(model: torch.nn.Module, example_inputs: Any = (), example_kwargs: Mapping[str, Any] | None = None,
          *, train: bool = True, fused_attention: bool = False) -> TracedModel:
    """Traces a training step of a model, or with `train=False` its forward alone.

    `example_inputs` is the tuple of positional arguments, one tensor, or a dict of arguments by
    name; `example_kwargs` are more of the latter. Neither weights nor inputs need memory: both may
    be on meta. Shapes, and arguments that are no tensors, hold for the plan. Attention is two products and
    a softmax, whose scores take memory; with `fused_attention` it is one operator where torch has one, as
    on a GPU. What is said at `tracing.joint.trace_joint` holds here.

    Raises InvalidInputError and UnsupportedError, with the line of the model's code where it is
    known. Warns with UnknownOperatorWarning of operators that no rule is known for.
    """
    if not isinstance(example_inputs, (Mapping, torch.Tensor, tuple, list)):
        raise errors.InvalidInputError("must be a tuple, a tensor or a dict", "example_inputs")
    if not isinstance(model, torch.nn.Module):
        raise errors.InvalidInputError("must be a torch.nn.Module", "model")
    args, kwargs = arguments_of(example_inputs, example_kwargs)
    writer = _Writer(trace_joint(model, args, kwargs, train=train, fused_attention=fused_attention))
    traced = writer.traced()
    for op, where in writer.unknown.items():
        warnings.warn(f"{where}: no rule is known for {op}, so every rank computes all of it",
                      UnknownOperatorWarning, stacklevel=2)
    return traced


def arguments_of(inputs: Any, keywords: Mapping[str, Any] | None
                 ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: `inputs` has the positional ones, or is the only one, or, as a dict,
    has some with keywords; `keywords` has the others.
    """
    if isinstance(inputs, Mapping):
        return (), {**inputs, **(keywords or {})}
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), dict(keywords or {})


@contextlib.contextmanager
def _trying_rules() -> Iterator[None]:
    """One thread, since rules are tried on tensors of a few hundred elements, and no warnings,
    since operators may warn of the shapes of pieces.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)


def _listed(joint: JointGraph) -> list[Node]:
    """The nodes of the document: all that hold a tensor, except getitem and the output."""
    return [node for node in joint.graph_module.graph.nodes
            if node.op != "output" and producer_of(node)[0] is node
            and any(meta is not None for meta in output_metas(node))]


class _Writer:
    """Collects the rows of nodes, and the rules that they share."""

    def __init__(self, joint: JointGraph) -> None:
        self.joint = joint
        self.nodes = _listed(joint)
        self.index = {node: position for position, node in enumerate(self.nodes)}
        self.rules: dict[Rule, int] = {}
        self.unknown: dict[str, str] = {}  # operators without a rule, with the first place of each

    def traced(self) -> TracedModel:
        with _trying_rules():
            return TracedModel(self.joint, self.document())

    def document(self) -> dict[str, Any]:
        described = {each.node: (each.role, each.target) for each in self.joint.placeholders}
        described.update({node: ("buffer", node.name) for node in self.nodes if node.op == "get_attr"})
        rows = [self._placeholder(node, *described[node]) if node in described else self._call(node)
                for node in self.nodes]
        made = _reductions(self.rules)
        return {
            "format": "shardwright.aten_graph", "version": 1, "model": self.joint.model,
            "torch": torch.__version__.split("+")[0],
            "rules": [_rule_row(rule, made) for rule in self.rules], "nodes": rows,
            "outputs": [{"node": self.index[node], "output": output, "role": each.role,
                         "target": each.target}
                        for each in self.joint.outputs
                        for node, output in [producer_of(each.node)]]}

    def _rule(self, rule: Rule) -> int:
        return self.rules.setdefault(rule, len(self.rules))

    def _placeholder(self, node: Node, role: str, target: str) -> dict[str, Any]:
        (meta,) = output_metas(node)
        assert meta is not None
        return {"name": node.name, "op": "placeholder", "role": role, "target": target,
                "rule": self._rule(placeholder_rule(meta.shape)), "outputs": [_tensor_row(meta)]}

    def _call(self, node: Node) -> dict[str, Any]:
        if node.op != "call_function":
            raise errors.UnsupportedError(f"a node of kind {node.op}", line_of(node))
        call = call_of(node)
        rule = rule_of(call)
        module, line = module_of(node), line_of(node)
        if rule.source == "fallback":
            self.unknown.setdefault(str(node.target), f"{line or 'model'} in {module or self.joint.model}")
        row: dict[str, Any] = {
            "name": node.name, "op": str(node.target),
            "inputs": [[self.index[producer], output]
                       for producer, output in map(producer_of, input_nodes(node))],
            "rule": self._rule(rule), "outputs": [_tensor_row(meta) for meta in call.outputs]}
        if products := products_of(call):
            row["flops"] = products
        if is_view(call):
            row["view"] = True
        row["phase"] = "backward" if node in self.joint.backward else "forward"
        if module:
            row["module"] = module
        if line:
            row["line"] = line
        return row


def _tensor_row(meta: Meta | None) -> dict[str, Any] | None:
    if meta is None:
        return None
    return {"shape": list(meta.shape), "stride": list(meta.stride),
            "dtype": str(meta.dtype).removeprefix("torch.")}


def _reductions(rules: Iterable[Rule]) -> set[str]:
    """The kinds of partial values that the graph can make, from whole values or from such kinds."""
    made: set[str] = set()
    size = -1
    while size < len(made):
        size = len(made)
        made |= {word for rule in rules for entry in rule.entries for word in entry.outputs
                 if word in PARTIALS and made.issuperset(set(PARTIALS).intersection(entry.inputs))}
    return made


def _rule_row(rule: Rule, reductions: set[str]) -> dict[str, Any]:
    """The rule without entries for kinds of partial values that nothing in the graph makes."""
    return {"strategies": [
        {"outputs": list(entry.outputs), "inputs": list(entry.inputs),
         **({} if entry.divides is None else {"divides": entry.divides}),
         **({"by_part": True} if entry.by_part else {})}
        for entry in rule.entries if reductions.issuperset(set(PARTIALS).intersection(entry.placements))],
        "source": rule.source}
