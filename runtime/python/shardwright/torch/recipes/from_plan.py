"""From the placements of a plan to styles of modules; says what no style can express."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, Iterator, Mapping, Sequence

from ... import errors
from .recipe import Axis, Blocks, Option, Recipe, Style, with_patterns
from .structure import Structure



@dataclass(frozen=True)
class _Edge:
    """A tensor of the forward, read by an operator."""

    source: tuple[int, int]  # the node that makes it, and which of its outputs it is
    reader: int
    taken: str  # the word of the tensor axis


def recipe_of(document: Mapping[str, Any], tied: Mapping[str, str], plan: Mapping[str, Any],
              structure: Structure, *, checkpointed: Sequence[str] = (), sequence: bool = True) -> Recipe:
    """The program that does what an expressible plan says.

    `document` is the traced graph that was planned, `plan` the answer, `tied` the parameters that are
    others, `checkpointed` the blocks that the graph computes again. Without `sequence` no tensor stays
    divided along the sequence between modules. Raises UnsupportedError with the module that has no style,
    and InfeasibleError for an answer without a plan.
    """
    if "nodes" not in plan:
        raise errors.InfeasibleError(plan.get("reason", "no placements keep to the roles"), "plan")
    roles = list(plan.get("roles") or ["tensor"] * len(plan["mesh"]["shape"]))
    if "free" in roles:
        raise errors.UnsupportedError("places tensors freely; plan with roles or `expressible`", "plan")
    axes = [Axis(role, size, role) for role, size in zip(roles, plan["mesh"]["shape"])]
    styles: dict[str, Style] = {}
    loss_parallel = False
    if "tensor" in roles:
        found = _Styles(document, plan, structure, tied, roles.index("tensor"), sequence)
        styles, loss_parallel = found.styles(), found.loss_parallel
    lists = tuple(_with_choices(each, plan, checkpointed) for each in structure.lists)
    touched = {path for path, style in styles.items() if style.kind in ("ColwiseParallel", "RowwiseParallel")}
    return Recipe(type(structure.model).__name__, tuple(_with_shards(axes)), with_patterns(styles, lists),
                  dict(_ties(tied, touched)), lists, loss_parallel,
                  dict(_shard_dims(document, plan, axes)))


def _with_shards(axes: Sequence[Axis]) -> Iterator[Axis]:
    """With an axis of one device where fully_shard only replicates, since its mesh needs one."""
    for axis in axes:
        yield axis
        if axis.role == "replicate" and not any(each.role == "shard" for each in axes):
            yield Axis("shard", 1, "shard")


def _with_choices(blocks: Blocks, plan: Mapping[str, Any], checkpointed: Sequence[str]) -> Blocks:
    prefix = blocks.path + "."
    again = any(row["gathered"] == "both" for row in plan.get("parameters", ()) if row["name"].startswith(prefix))
    gathers = any(row["gathered"] != "never" for row in plan.get("parameters", ()) if row["name"].startswith(prefix))
    count = sum(path.startswith(prefix) for path in checkpointed)
    return replace(blocks, checkpointed=count, reshard=again or not gathers)


def _ties(tied: Mapping[str, str], touched: set[str]) -> Iterator[tuple[str, str]]:
    """Parameters that are one, where a style has made several of it."""
    groups: dict[str, list[str]] = {}
    for name, first in tied.items():
        groups.setdefault(first, [first]).append(name)
    for names in groups.values():
        kept = next((name for name in names if name.rpartition(".")[0] in touched), None)
        if kept is not None:
            yield from ((name, kept) for name in names if name != kept)


def _shard_dims(document: Mapping[str, Any], plan: Mapping[str, Any], axes: Sequence[Axis]
                ) -> Iterator[tuple[str, int]]:
    """Parameters whose dimension 0 fully_shard cannot cut evenly, and the dimension that the plan cuts."""
    planned = {row["name"]: row["outputs"][0] for row in plan["nodes"]}
    for row in document["nodes"]:
        if row.get("role") != "parameter":
            continue
        extents = list(row["outputs"][0]["shape"])
        for axis, word in zip(axes, planned[row["name"]]):
            if axis.role == "tensor" and word.startswith("S"):
                extents[int(word[1:])] //= axis.size
        for axis, word in zip(axes, planned[row["name"]]):
            if axis.role == "shard" and word.startswith("S") and word != "S0" and extents[0] % axis.size:
                yield row["target"], int(word[1:])


class _Styles:
    """Collects the styles of a plan's tensor axis."""

    def __init__(self, document: Mapping[str, Any], plan: Mapping[str, Any], structure: Structure,
                 tied: Mapping[str, str], axis: int, sequence: bool) -> None:
        self.nodes = document["nodes"]
        self.structure = structure
        self.axis = axis
        self.sequence = sequence
        self.loss_parallel = False
        self.planned = {row["name"]: row for row in plan["nodes"]}
        self.logits = {(each["node"], each["output"]) for each in document["outputs"] if each["role"] == "output"}
        self.weights = self._weights(tied)  # words of parameters by module
        self.edges = list(self._edges())
        self.made: dict[str, list[tuple[int, int]]] = defaultdict(list)  # by module: what leaves it
        self.found: dict[str, Style] = {}
        self.layouts: dict[tuple[int, int], str] = {}  # of a tensor between modules
        self.taken_by_styles: set[tuple[int, int]] = set()  # results that only modules with styles take

    def word(self, words: Sequence[str], shape: Sequence[int]) -> str:
        """The word of the tensor axis. Without `sequence`, R where the sequence is divided."""
        word = words[self.axis] if words else "R"
        is_sequence = len(shape) == 3 and word == "S1"
        return "R" if is_sequence and not self.sequence else word

    def shape(self, tensor: tuple[int, int]) -> Sequence[int]:
        shape: Sequence[int] = self.nodes[tensor[0]]["outputs"][tensor[1]]["shape"]
        return shape

    def _weights(self, tied: Mapping[str, str]) -> dict[str, dict[str, str]]:
        words = {row["target"]: self.planned[row["name"]]["outputs"][0][self.axis]
                 for row in self.nodes if row.get("role") == "parameter"}
        words.update({name: words[other] for name, other in tied.items() if other in words})
        found: dict[str, dict[str, str]] = defaultdict(dict)
        several = {*tied, *tied.values()}
        for target, word in words.items():
            module, _, name = target.rpartition(".")
            if target in several and module not in self.structure.calls:
                continue  # a name of what other modules use
            found[module][name] = word
        return found

    def _edges(self) -> Iterator[_Edge]:
        """Those that are neither inside one module with parameters nor of weights."""
        constant = [row.get("role") == "parameter" for row in self.nodes]
        for index, row in enumerate(self.nodes):
            if row["op"] == "placeholder" or row.get("phase") == "backward":
                continue
            constant[index] = bool(row["inputs"]) and all(constant[node] for node, _ in row["inputs"])
            if row["op"] == "aten.alias.default":
                continue
            for position, (node, output) in enumerate(row["inputs"]):
                source = self._resolved(node, output)
                if not constant[source[0]] and (not self.leaf(index) or self.leaf(index) != self.leaf(source[0])):
                    taken = self.planned[row["name"]]["inputs"][position]
                    yield _Edge(source, index, self.word(taken, self.shape(source)))

    def _resolved(self, node: int, output: int) -> tuple[int, int]:
        while self.nodes[node]["op"] == "aten.alias.default":
            node, output = self.nodes[node]["inputs"][0]
        return node, output

    def module(self, node: int) -> str:
        return str(self.nodes[node].get("module", ""))

    def leaf(self, node: int) -> str:
        """The module with parameters, and without such modules in it, that has the operator; or ""."""
        path = self.module(node)
        while path and path not in self.weights:
            path = path.rpartition(".")[0]
        inner = any(other.startswith(path + ".") for other in self.weights) if path else True
        return "" if inner else path

    def styles(self) -> dict[str, Style]:
        by_leaf: dict[str, list[_Edge]] = defaultdict(list)
        for edge in self.edges:
            if leaf := self.leaf(edge.reader):
                by_leaf[leaf].append(edge)
        kinds = {path: self._kind(path, by_leaf[path]) for path in self.weights}
        self._choose_layouts(kinds)
        for edge in self.edges:
            if edge.source not in self.layouts:
                self.layouts[edge.source] = self._own_layout(edge.source)
        self._convert_at_borders(kinds)
        self._prepare_inputs(kinds, by_leaf)
        order = {path: number for number, (path, _) in enumerate(self.structure.model.named_modules())}
        return dict(sorted(self.found.items(), key=lambda entry: order[entry[0]]))

    def _kind(self, path: str, edges: Sequence[_Edge]) -> str:
        """"colwise", "rowwise", "sequence S1", or "" for a module that all ranks call alike."""
        weights = self.weights[path]
        cut = weights.get("weight", "R")
        kind = self.structure.kind(path)
        others = {name: word for name, word in weights.items() if word != "R" and name != "weight"}
        if cut == "R" and not others:
            taken = {edge.taken for edge in edges if len(self.shape(edge.source)) > 1}
            if taken <= {"R"}:
                return ""
            if len(taken) == 1 and (word := taken.pop()).startswith("S") and not any(
                    int(word[1:]) == len(self.shape(edge.source)) - 1 for edge in edges if edge.taken == word):
                return f"sequence {word}"
            raise errors.UnsupportedError(f"takes {', '.join(sorted({edge.taken for edge in edges}))} with whole "
                                          "weights, which no style of torch does", path)
        if not kind:
            raise errors.UnsupportedError("has divided parameters, and torch's tensor parallelism divides those of "
                                          "nn.Linear and nn.Embedding that are called as modules", path)
        colwise = cut == ("S0" if kind == "linear" else "S1")
        if any(word != "S0" or not colwise for word in others.values()):
            raise errors.UnsupportedError(f"divides {', '.join(others)} otherwise than its weight", path)
        return "colwise" if colwise else "rowwise"

    def _own_layout(self, tensor: tuple[int, int]) -> str:
        """Of what code outside modules with parameters computes."""
        row = self.nodes[tensor[0]]
        return self.word(self.planned[row["name"]]["outputs"][tensor[1]], self.shape(tensor))

    def _choose_layouts(self, kinds: Mapping[str, str]) -> None:
        """How the result of every module with parameters lies between modules."""
        readers: dict[tuple[int, int], list[_Edge]] = defaultdict(list)
        for edge in self.edges:
            if self.leaf(edge.source[0]):
                readers[edge.source].append(edge)
        chosen: dict[str, set[str]] = defaultdict(set)
        for source, edges in readers.items():
            path = self.leaf(source[0])
            self.made[path].append(source)
            chosen[path].add(self._layout_of_result(path, kinds[path], source, edges, kinds))
            if all(kinds.get(self.leaf(edge.reader)) for edge in edges):
                self.taken_by_styles.add(source)
        for path, words in chosen.items():
            if len(words) > 1:
                raise errors.UnsupportedError(f"is called several times with results {', '.join(sorted(words))}", path)
            word = words.pop()
            self.layouts.update({source: word for source in self.made[path]})
            self._style_of_result(path, kinds[path], word)

    def _layout_of_result(self, path: str, kind: str, source: tuple[int, int], edges: Sequence[_Edge],
                          kinds: Mapping[str, str]) -> str:
        last = f"S{len(self.shape(source)) - 1}"
        if kind.startswith("sequence"):
            return kind.split()[1]
        if not kind:
            return "R"
        firm = {edge.taken for edge in edges if not kinds.get(self.leaf(edge.reader), "")}
        soft = {edge.taken for edge in edges} - firm
        for words in (firm, soft):
            if len(words) == 1 and "P" not in words:
                word = words.pop()
                if word != last or kind == "colwise" or words is firm:
                    return word
        if kind == "colwise" and firm <= {"R", last} and last in firm:
            raise errors.UnsupportedError("its result is used both whole and divided", path)
        if "P" in firm:
            raise errors.UnsupportedError("its partial sums are used before they are added up", path)
        return "R"

    def _style_of_result(self, path: str, kind: str, word: str) -> None:
        if not kind:
            return
        if kind.startswith("sequence"):
            # Modules with styles take a DTensor, of which code around them sees the whole sequence.
            is_local = not self.taken_by_styles.issuperset(self.made[path])
            self.found[path] = Style("SequenceParallel", {
                **({} if word == "S1" else {"sequence_dim": int(word[1:])}),
                **({"use_local_output": True} if is_local else {})})
            return
        is_last = word == f"S{len(self.shape(self.made[path][0])) - 1}"
        # Torch's default is an input divided in its last dimension, for tables as well.
        options: dict[str, Option] = {"input_layouts": "R"} if (
            kind == "rowwise" and self.structure.kind(path) == "embedding") else {}
        if not is_last if kind == "colwise" else word != "R":
            options["output_layouts"] = "S-1" if is_last else word
        if is_last and self.logits & set(self.made[path]):
            options["use_local_output"] = False
            self.loss_parallel = True
        elif self.structure.kind(path) == "embedding" and word.startswith("S") and not is_last:
            options["use_local_output"] = False  # code between here and the blocks asks for its shape
        self.found[path] = Style("ColwiseParallel" if kind == "colwise" else "RowwiseParallel", options)

    def _loss(self) -> set[int]:
        """What is computed from divided logits, by loss_parallel."""
        found = {node for path, style in self.found.items() if style.options.get("use_local_output") is False
                 for node, _ in self.made[path] if (node, 0) in self.logits} if self.loss_parallel else set()
        for index, row in enumerate(self.nodes):
            if row.get("phase") == "forward" and any(node in found for node, _ in row["inputs"]):
                found.add(index)
        return found

    def _border(self, edge: _Edge) -> str:
        """The outermost module that is called with the tensor, or ""."""
        path, maker = "", self.module(edge.source[0])
        for part in self.module(edge.reader).split("."):
            path = f"{path}.{part}" if path else part
            if path in self.structure.calls and not f"{maker}.".startswith(f"{path}."):
                return path
        return ""

    def _slot(self, border: str, source: tuple[int, int]) -> int | str | None:
        """Which argument of the module the tensor is: the only one, or that of a module inside."""
        given = self.structure.calls[border].arguments
        if len(given) == 1:
            return next(iter(given))
        for edge in self.edges:
            leaf = self.leaf(edge.reader)
            if edge.source == source and leaf.startswith(border + ".") and leaf in self.structure.calls:
                for identity in self.structure.calls[leaf].arguments.values():
                    if (slot := self.structure.slot_of(border, identity)) is not None:
                        return slot
        return None

    def _convert_at_borders(self, kinds: Mapping[str, str]) -> None:
        """Where code outside modules with parameters takes a tensor in another layout."""
        self.inside: dict[tuple[str, tuple[int, int]], str] = {}  # layouts of tensors inside converting modules
        loss = self._loss()
        whole = {source for path in self.made for source in self.made[path] if path in self.found
                 and self.found[path].options.get("use_local_output") is False and source not in self.logits}
        for edge in self.edges:
            row = self.nodes[edge.reader]
            leaf = self.leaf(edge.reader)
            is_firm = not kinds.get(leaf, "") or kinds[leaf].startswith("sequence")
            differs = is_firm and self.layouts[edge.source] != edge.taken and self.shape(edge.source)
            if edge.reader in loss or not (differs or edge.source in whole) or row["op"] == "aten.alias.default":
                continue
            border = self._border(edge)
            if self.inside.get((border, edge.source)) == edge.taken:
                continue
            slot = self._slot(border, edge.source) if border else None
            if slot is None or "P" in (edge.taken, self.layouts[edge.source]):
                raise errors.UnsupportedError(
                    f"a tensor moves from {self.layouts[edge.source]} to {edge.taken} inside it ({row['op']}, "
                    f"{row.get('line', '')})", self.module(edge.reader) or "model")
            self._prepare(border, slot, self.layouts[edge.source], edge.taken, local=True)
            self.inside[border, edge.source] = edge.taken

    def _prepare(self, path: str, slot: int | str, before: str, after: str, *, local: bool) -> None:
        if path in self.found:
            raise errors.UnsupportedError("needs two styles", path)
        options: dict[str, Any] = {}
        if isinstance(slot, str):
            options = {"input_kwarg_layouts": {slot: before}, "desired_input_kwarg_layouts": {slot: after}}
        else:
            def placed(word: str) -> str | tuple[str | None, ...]:
                count = self.structure.calls[path].positional
                return word if count == 1 else tuple(word if at == slot else None for at in range(count))

            options = {"input_layouts": placed(before), "desired_input_layouts": placed(after)}
        if local:
            options["use_local_output"] = True
        self.found[path] = Style("PrepareModuleInput", options)

    def _arrives(self, edge: _Edge) -> str:
        """The layout of a tensor where a module with parameters takes it."""
        path = self.module(edge.reader)
        while path:
            if (path, edge.source) in self.inside:
                return self.inside[path, edge.source]
            path = path.rpartition(".")[0]
        return self.layouts[edge.source]

    def _prepare_inputs(self, kinds: Mapping[str, str], by_leaf: Mapping[str, Sequence[_Edge]]) -> None:
        """Modules that divide columns take whole rows: one module in common gathers them for all."""
        groups: dict[tuple[int, int], list[_Edge]] = defaultdict(list)
        for path, kind in kinds.items():
            for edge in by_leaf[path]:
                if kind == "colwise" and self.structure.kind(path) == "linear":
                    groups[edge.source].append(edge)
                elif kind == "rowwise" and self.structure.kind(path) == "linear":
                    word = self._arrives(edge)
                    if word != f"S{len(self.shape(edge.source)) - 1}":
                        self._with_input(path, word)
        for source, edges in groups.items():
            left = {self.leaf(edge.reader): edge for edge in edges}
            while left:
                path, edge = next(iter(left.items()))
                word, border = self._arrives(edge), self._common_border(source, edge, kinds)
                together = [each for each in left if border and each.startswith(border + ".")]
                if len(together) > 1:
                    slot = self._slot(border, source)
                    assert slot is not None
                    self._prepare(border, slot, word, "R", local=False)
                elif word != "R":
                    self._with_input(path, word)
                for each in together or [path]:
                    left.pop(each)

    def _with_input(self, path: str, word: str) -> None:
        style = self.found[path]
        self.found[path] = Style(style.kind, {"input_layouts": word, **style.options})

    def _common_border(self, source: tuple[int, int], edge: _Edge, kinds: Mapping[str, str]) -> str:
        """The outermost module around the reader all of whose readers of the tensor divide columns."""
        leaf = self.leaf(edge.reader)
        first = self._border(edge)
        path = ""
        for part in leaf.split(".")[:-1]:
            path = f"{path}.{part}" if path else part
            if (not path.startswith(first) or path not in self.structure.calls or path in self.found
                    or self._slot(path, source) is None):
                continue
            readers = [each for each in self.edges
                       if each.source == source and f"{self.module(each.reader)}.".startswith(path + ".")]
            if all(kinds.get(self.leaf(each.reader)) == "colwise" for each in readers):
                return path
        return ""
