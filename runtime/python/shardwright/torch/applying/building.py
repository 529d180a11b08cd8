"""From a joint graph and a plan of it to programs: forward, backward, and forward for evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Sequence

from torch.distributed.device_mesh import DeviceMesh
from torch.fx import Node

from ... import errors
from ..model_plan import ModelPlan, NodePlan
from ..tracing.calls import HOLE, input_nodes, output_metas, producer_of
from ..tracing.document import TracedModel
from ..tracing.joint import Placeholder
from .layouts import Layout, layout_of, move_between
from .operators import RandomState, local_call, seeded
from .program import Program, Read, Step, Value, Write, with_last_reads


@dataclass(frozen=True)
class Entering:
    """A placeholder of the graph: the value that it gives, and where it is placed."""

    value: Value
    role: str
    target: str
    layout: Layout


@dataclass(frozen=True)
class Leaving:
    """A result of the graph: the value of a program that has it, placed as the plan says."""

    value: Value
    role: str
    target: str
    layout: Layout
    source: Value  # the value of the graph that it is made of


@dataclass(frozen=True)
class Programs:
    """The plan of one traced graph for this rank. Thread safety: immutable."""

    forward: Program  # keeps outputs, mutations and what the backward program reads
    evaluation: Program  # keeps outputs and mutations
    backward: Program  # keeps gradients
    entering: tuple[Entering, ...]  # parameters, buffers and inputs; then tangents
    leaving: tuple[Leaving, ...]
    saved: frozenset[Value]  # values of the forward program that the backward program reads

    def enter(self, role: str) -> list[Entering]:
        return [each for each in self.entering if each.role == role]

    def leave(self, role: str) -> list[Leaving]:
        return [each for each in self.leaving if each.role == role]


def build(traced: TracedModel, plan: ModelPlan, mesh: DeviceMesh, state: RandomState) -> Programs:
    """Raises InvalidInputError with the node if the plan belongs to another graph or mesh."""
    shape = tuple(mesh.shape)
    if plan.mesh_shape != shape:
        raise errors.InvalidInputError(f"is for the mesh {plan.mesh_shape}, not {shape}", "plan")
    return _Builder(traced, plan, mesh, state).programs()


@dataclass
class _Builder:

    traced: TracedModel
    plan: ModelPlan
    mesh: DeviceMesh
    state: RandomState
    rows: dict[str, NodePlan] = field(default_factory=dict)
    layouts: dict[Value, Layout] = field(default_factory=dict)
    known: dict[Layout, Layout] = field(default_factory=dict)  # layouts by themselves, so that equal ones are one object

    def programs(self) -> Programs:
        self._read_plan()
        joint = self.traced.joint
        entering, leaving = tuple(self._entering()), tuple(self._leaving())
        gradients = [each for each in leaving if each.role == "gradient"]
        results = [each for each in leaving if each.role != "gradient"]
        calls = [node for node in self.traced.nodes.values() if node.op == "call_function"]
        before = [node for node in calls if node not in joint.backward]
        after = _needed([node for node in calls if node in joint.backward],
                        {each.source for each in gradients})
        given = {node.name for node in after} | {
            each.value[0] for each in entering if each.role == "tangent"}
        read = {each.source for each in gradients}.union(*map(_reads, after))
        saved = frozenset(value for value in read if value[0] not in given)
        sources = {each.source for each in results}
        return Programs(forward=self._program(_needed(before, sources | saved), results, saved),
                        evaluation=self._program(_needed(before, sources), results, frozenset()),
                        backward=self._program(after, gradients, frozenset()), entering=entering,
                        leaving=leaving, saved=saved)

    def _read_plan(self) -> None:
        self.rows = {row.name: row for row in self.plan.nodes}
        for name, node in self.traced.nodes.items():
            if name not in self.rows:
                raise errors.InvalidInputError(f"has no node {name}", "plan")
            words_of_outputs, metas = self.rows[name].outputs, output_metas(node)
            if len(words_of_outputs) != len(metas):
                raise errors.InvalidInputError(
                    f"{len(words_of_outputs)} outputs instead of {len(metas)}", f"plan, node {name}")
            for index, (words, meta) in enumerate(zip(words_of_outputs, metas)):
                if meta is not None:
                    layout = layout_of(self.mesh, words, meta)
                    self.layouts[name, index] = self.known.setdefault(layout, layout)

    def _placed(self, value: Value, words: Sequence[str]) -> Layout:
        layout = self.layouts[value].with_words(words)
        return self.known.setdefault(layout, layout)

    def _entering(self) -> Iterable[Entering]:
        joint = self.traced.joint
        constants = [Placeholder(self.traced.nodes[name], "constant", name) for name in joint.constants]
        for each in (*joint.placeholders, *constants):
            value = (each.node.name, 0)
            yield Entering(value, each.role, each.target, self.layouts[value])

    def _leaving(self) -> Iterable[Leaving]:
        planned = {(each.role, each.target): each.placement for each in self.plan.outputs}
        for output in self.traced.joint.outputs:
            node, index = producer_of(output.node)
            words = planned.get((output.role, output.target))
            if words is None:
                raise errors.InvalidInputError(f"has no {output.role} {output.target}", "plan")
            source = (node.name, index)
            layout = self._placed(source, words)
            value = source if layout == self.layouts[source] else (f"{output.role} {output.target}", 0)
            yield Leaving(value, output.role, output.target, layout, source)

    def _program(self, nodes: Sequence[Node], results: Sequence[Leaving],
                 saved: frozenset[Value]) -> Program:
        """Results move as soon as they are computed, because unreduced parts may be larger."""
        made = {node.name for node in nodes}
        moved: dict[str, list[Leaving]] = {}
        for each in results:
            if each.value != each.source:
                moved.setdefault(each.source[0] if each.source[0] in made else "", []).append(each)
        keeps = saved | {each.value for each in results}
        read = keeps.union({each.source for each in results}, *map(_reads, nodes))
        steps = [self._move_step(each) for each in moved.get("", [])]
        for node in nodes:
            steps.append(self._step(node, read))
            steps += [self._move_step(each) for each in moved.get(node.name, [])]
        return Program(tuple(with_last_reads(steps, keeps)))

    def _move_step(self, result: Leaving) -> Step:
        move = move_between(self.layouts[result.source], result.layout)
        return Step(f"{result.role} {result.target}", lambda tensor: tensor, (HOLE,), {},
                    (Read(result.source, move),), (Write(result.value, result.layout.local_shape),),
                    False)

    def _step(self, node: Node, read: frozenset[Value]) -> Step:
        row, values = self.rows[node.name], _reads(node)
        if len(row.inputs) != len(values):
            raise errors.InvalidInputError(f"{len(row.inputs)} inputs instead of {len(values)}",
                                           f"plan, node {node.name}")
        inputs = [self._placed(value, words) for value, words in zip(values, row.inputs)]
        outputs = [self.layouts.get((node.name, index)) for index in range(len(row.outputs))]
        call = seeded(local_call(node, inputs, outputs), node.name, node.target, outputs, self.state)
        writes = [None if layout is None else Write(
            value if (value := (node.name, index)) in read else None, layout.local_shape)
            for index, layout in enumerate(outputs)]
        reads = [Read(value, move_between(self.layouts[value], layout))
                 for value, layout in zip(values, inputs)]
        return Step(node.name, call.function, call.arguments, call.keywords, tuple(reads),
                    tuple(writes), isinstance(node.meta["val"], (tuple, list)))


def _reads(node: Node) -> list[Value]:
    return [(producer.name, index) for producer, index in map(producer_of, input_nodes(node))]


def _needed(nodes: Sequence[Node], results: Iterable[Value]) -> list[Node]:
    """The nodes that the results depend on, in their order."""
    names = {name for name, _ in results}
    found = []
    for node in reversed(nodes):
        if node.name in names:
            found.append(node)
            names.update(name for name, _ in _reads(node))
    return found[::-1]
