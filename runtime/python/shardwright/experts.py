"""Experts of a mixture-of-experts model: how many replicas each has, and on which GPUs.

    import numpy, shardwright
    loads = numpy.loadtxt("loads.csv", delimiter=",")  # [layers, experts]
    plan = shardwright.experts.plan(loads, gpus=32, nodes=4, slots=288)
    print(plan, plan.physical_to_logical)

The functions are the commands `shardwright experts ...`. Loads and placements may be arrays of NumPy,
tensors of torch, lists, or files. `rebalance_experts` takes the place of DeepSeek's EPLB, and
`vllm_policy` that of a policy of vLLM.
"""

from __future__ import annotations

import base64
import os
from functools import cached_property
from typing import Any, Literal, Mapping, Sequence, SupportsFloat, SupportsIndex, Union

from .answer import Answer, Cancel, Row, ask_for, member, write
from .arguments import Counts, Document, Fragment, Mode, Size

# An array or tensor of two or three dimensions, or a document.
Numbers = Union[Document, Any]
Over = Literal["mean", "worst"]
Form = Literal["shardwright", "sglang", "vllm-ascend", "tensorrt-llm", "packed"]


def _numpy() -> Any:
    import numpy
    return numpy


def _is_array(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "tolist")


def _array(value: Any) -> Any:
    """A NumPy array of an array or a tensor."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    return _numpy().asarray(value)


def _packed(array: Any, kind: str) -> str:
    """The JSON of an array: base64 takes a tenth of the time of a list."""
    given = _numpy().asarray(array)
    numbers = _numpy().ascontiguousarray(given, dtype=kind)
    if kind == "<i4" and not _numpy().array_equal(numbers, given):
        raise ValueError("must have numbers of experts, below 2^31")
    name = {"<f8": "float64", "<i4": "int32"}[kind]
    text = base64.b64encode(numbers).decode()
    return f'{{"shape": {list(numbers.shape)}, "{name}": "{text}"}}'


def _logical(counts: Any, placement: Any) -> Any:
    """Counts of slots, [..., layers, slots], as counts of experts."""
    numpy = _numpy()
    flat = counts.reshape(-1, *counts.shape[-2:])
    logical = numpy.zeros((*flat.shape[:2], int(placement.max()) + 1))
    window, layer = numpy.ogrid[:flat.shape[0], :flat.shape[1]]
    numpy.add.at(logical, (window[..., None], layer[..., None], placement[None]), flat)
    return logical.reshape(*counts.shape[:-1], -1)


def read_loads(path: str | os.PathLike[str]) -> Any:
    """The loads of a file of NumPy or torch, as an array of NumPy; `plan` and the others call it for
    paths that end in `.npy`, `.npz` or `.pt`.

    An `.npz` or `.pt` has one array; or `loads`; or what SGLang's recorder writes: `logical_count`, or
    `records` with `last_physical_to_logical_map`; or counts of slots, such as vLLM's `expert_load_window`,
    with `physical_to_logical_map`. Windows of zeros were not recorded and are left out.
    """
    if os.fspath(path).endswith(".pt"):
        import torch
        found = torch.load(path, map_location="cpu", weights_only=True)
    else:
        found = _numpy().load(path, allow_pickle=False)
    if hasattr(found, "shape"):
        return _array(found)
    members = {name: found[name] for name in found}
    placement = next((_array(members[name]) for name in ("last_physical_to_logical_map", "physical_to_logical_map")
                      if name in members), None)
    if "records" in members:
        passes: dict[int, Any] = {}
        for record in members["records"]:
            counts = _array(record["global_physical_count"])
            passes[record["forward_pass_id"]] = passes.get(record["forward_pass_id"], 0) + counts
        members = {"expert_load_window": _numpy().stack([passes[key] for key in sorted(passes)])}
    arrays = {name: _array(value) for name, value in members.items()
              if _is_array(value) and name != "physical_to_logical_map"}
    names = [name for name in ("loads", "logical_count", "expert_load_window") if name in arrays] or list(arrays)
    if len(names) != 1:
        raise ValueError(f"{os.fspath(path)} must have one array of loads, not {sorted(arrays) or 'none'}")
    loads = arrays[names[0]]
    if placement is not None and names[0] not in ("loads", "logical_count"):
        loads = _logical(loads, placement)
    return loads[loads.any(axis=(1, 2))] if loads.ndim == 3 and loads.any() else loads


def _documents(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a request, with arrays as JSON."""
    given = dict(members)
    if isinstance(given["loads"], (str, os.PathLike)) and os.fspath(given["loads"]).endswith((".npy", ".npz", ".pt")):
        given["loads"] = read_loads(given["loads"])
    if _is_array(given.get("link_costs")):
        given["link_costs"] = _array(given["link_costs"]).tolist()
    for name in ("loads", "old"):
        value = given.get(name)
        if not _is_array(value):
            continue
        array = _array(value)
        if array.ndim not in (2, 3) or array.size == 0:
            raise ValueError(f"{name} must have two dimensions, layers and "
                             f"{'slots' if name == 'old' else 'experts'}, not shape {array.shape}")
        given[name] = Fragment(_packed(array, "<i4" if name == "old" else "<f8"))
    return given


class ExpertPlan(Answer):
    """The answer of `plan`: replicas and GPUs of the experts of every layer."""

    objective: float = member(
        "objective", "The sum over layers of the busiest GPU, and what moves cost.", float)
    moved: int = member("moved", "Slots whose expert was not on their GPU before.", int)
    proven_optimal: bool = member("proven_optimal", "True if no placement is better.", bool)

    @cached_property
    def physical_to_logical(self) -> Any:
        """The expert of every slot: [layers, slots], GPU after GPU. A NumPy array."""
        found = self.data["physical_to_logical"]
        if not isinstance(found, dict):
            return _numpy().array(found, dtype="int64")
        numbers = _numpy().frombuffer(base64.b64decode(found["int32"]), dtype="<i4")
        return numbers.reshape(found["shape"]).astype("int64")

    @cached_property
    def replica_count(self) -> Any:
        """[layers, experts]. A NumPy array."""
        return replicas(self.physical_to_logical)

    @cached_property
    def max_load(self) -> Any:
        """The busiest GPU of every layer. A NumPy array."""
        return _numpy().array(self.data["max_load"])

    @cached_property
    def lower_bound(self) -> Any:
        """No placement of the layer has a smaller `max_load`. A NumPy array."""
        return _numpy().array(self.data["lower_bound"])

    @property
    def front(self) -> list[tuple[int, float]]:
        """Moves and the time that they reach, with an old placement."""
        return [(int(moves), float(time)) for moves, time in self.data.get("front", ())]

    @property
    def logical_to_physical(self) -> Any:
        """The slots of every expert: [layers, experts, most replicas], filled up with -1."""
        return slots_of_experts(self.physical_to_logical, self.replica_count)

    def _rows(self) -> list[Row]:
        names = ("max_load", "mean_load", "lower_bound", "bound_rules")
        return [{"layer": layer, **dict(zip(names, row))}
                for layer, row in enumerate(zip(*(self.data[name] for name in names)))]


class ExpertVerification(Answer):
    """The answer of `verify`. Its outcome is "violation" if something does not hold."""

    verified: bool = member("verified", "True if every claim of the plan holds.", bool)


class ExpertSweep(Answer):
    """The answer of `sweep`: what numbers of GPUs and slots reach."""

    _shows_rows = True

    def _rows(self) -> list[Row]:
        return list(self.data["points"])


class ExpertExplanation(Answer):
    """The answer of `explain`: what limits each layer."""

    _shows_rows = True

    def _rows(self) -> list[Row]:
        return list(self.data["layers"])


def plan(loads: Numbers, *, gpus: SupportsIndex | None = None, nodes: SupportsIndex | None = None,
         slots: SupportsIndex | None = None, groups: SupportsIndex | None = None,
         over: Over | None = None, threads: SupportsIndex = 0, old: Numbers | None = None,
         link_costs: Numbers | None = None, migration_weight: SupportsFloat | None = None,
         max_moves: SupportsIndex | None = None, mode: Mode | None = None, form: Form | None = None,
         time_limit: SupportsFloat | None = None, effort: SupportsIndex = 1,
         cancel: Cancel | None = None) -> ExpertPlan:
    """Plans how many replicas every expert has, and on which GPUs.

    `loads` has the tokens by layer and expert, or by window, layer and expert; `over` then says
    whether the mean or the worst window counts. `old` is the placement in use: a move must save
    `migration_weight`, or there are at most `max_moves`. With mode "compat", decides as EPLB does;
    with `effort`, mode "best" works so many times as much. With `link_costs` from GPU to GPU or node to
    node, tokens times cost are least among equally fast placements that are tried.
    `form` is the form that `save` writes; "packed" has only the placement, and is read fastest. A GPU has slots / gpus consecutive slots.
    """
    return ask_for(ExpertPlan, "experts plan", _documents(locals()))


def verify(loads: Numbers, plan: Document, *, gpus: SupportsIndex | None = None,
           nodes: SupportsIndex | None = None, slots: SupportsIndex | None = None,
           groups: SupportsIndex | None = None, over: Over | None = None,
           threads: SupportsIndex = 0, old: Numbers | None = None,
           link_costs: Numbers | None = None) -> ExpertVerification:
    """Recomputes loads, replicas, groups, bounds, moves and link costs of a plan."""
    return ask_for(ExpertVerification, "experts verify", _documents(locals()))


def explain(loads: Numbers, *, gpus: SupportsIndex | None = None,
            nodes: SupportsIndex | None = None, slots: SupportsIndex | None = None,
            groups: SupportsIndex | None = None, over: Over | None = None,
            threads: SupportsIndex = 0, layer: SupportsIndex | None = None,
            time_limit: SupportsFloat | None = None, cancel: Cancel | None = None) -> ExpertExplanation:
    """Says of every layer, or of one, what limits it."""
    return ask_for(ExpertExplanation, "experts explain", _documents(locals()))


def sweep(loads: Numbers, *, gpus: Counts | str | None = None, nodes: SupportsIndex | None = None,
          slots: Counts | str | None = None, groups: SupportsIndex | None = None,
          over: Over | None = None, threads: SupportsIndex = 0, slot_bytes: Size | None = None,
          time_limit: SupportsFloat | None = None, cancel: Cancel | None = None) -> ExpertSweep:
    """Plans for several numbers of GPUs and slots. `slot_bytes` is the memory of a slot in all
    layers.
    """
    return ask_for(ExpertSweep, "experts sweep", _documents(locals()))


def replicas(physical_to_logical: Any) -> Any:
    """The number of replicas of every expert: [layers, experts]."""
    numpy = _numpy()
    layers, experts = len(physical_to_logical), int(physical_to_logical.max()) + 1
    places = physical_to_logical + numpy.arange(layers)[:, None] * experts
    return numpy.bincount(places.ravel(), minlength=layers * experts).reshape(layers, experts)


def slots_of_experts(physical_to_logical: Any, replica_count: Any) -> Any:
    """The slots of every expert in ascending order, filled up with -1: [layers, experts, most]."""
    numpy = _numpy()
    layers, slots = physical_to_logical.shape
    experts = replica_count.shape[1]
    found = numpy.full((layers, experts, int(replica_count.max())), -1, dtype="int64")
    order = numpy.argsort(physical_to_logical, axis=1, kind="stable")
    ends = numpy.cumsum(replica_count, axis=1)
    expert = numpy.take_along_axis(physical_to_logical, order, axis=1)
    number = numpy.arange(slots) - numpy.take_along_axis(ends - replica_count, expert, axis=1)
    found[numpy.arange(layers)[:, None], expert, number] = order
    return found


def rebalance_experts(weight: Any, num_replicas: int, num_groups: int, num_nodes: int,
                      num_gpus: int, *, mode: Mode = "compat", **options: Any) -> tuple[Any, Any, Any]:
    """DeepSeek's EPLB, with its arguments and results: the expert of every slot, the slots of every
    expert, the replicas of every expert. With mode "best", better placements; `options` are further
    arguments of `plan`. Tensors give tensors.
    """
    found = plan(weight, gpus=num_gpus, nodes=num_nodes, slots=num_replicas, groups=num_groups,
                 mode=mode, form="packed", **options)
    results = (found.physical_to_logical, found.logical_to_physical, found.replica_count)
    if not hasattr(weight, "detach"):
        return results
    import torch
    return tuple(torch.from_numpy(result) for result in results)


def vllm_policy(base: type, **options: Any) -> type:
    """A subclass of vLLM's `AbstractEplbPolicy` that plans with `plan`. `options` are further
    arguments of `plan`, such as `migration_weight`.

        from vllm.distributed.eplb.policy import AbstractEplbPolicy
        Policy = shardwright.experts.vllm_policy(AbstractEplbPolicy)
    """
    class ShardwrightPolicy(base):  # type: ignore[misc]
        """Plans with shardwright, from the placement in use if there is one."""

        @classmethod
        def rebalance_experts(cls, weight: Any, num_replicas: int, num_groups: int, num_nodes: int,
                              num_ranks: int, old_global_expert_indices: Any = None) -> Any:
            old = old_global_expert_indices
            if old is not None and ((_array(old) < 0).any() or _array(old).shape[-1] != num_replicas):
                old = None  # there were other ranks before
            if options.get("mode") == "compat":
                old = None  # EPLB ignores what is placed
            members = {**options, "old": old}
            if old is None:
                members.pop("migration_weight", None)
                members.pop("max_moves", None)
            result = plan(weight, gpus=num_ranks, nodes=num_nodes, slots=num_replicas,
                          groups=num_groups, form="packed", **members).physical_to_logical
            if not hasattr(weight, "detach"):
                return result
            import torch
            return torch.from_numpy(result)

    return ShardwrightPolicy


def save_for(engine: Form, path: str | os.PathLike[str], loads: Numbers, **options: Any) -> None:
    """Writes a placement as an engine reads it. `options` are those of `plan`."""
    write(path, plan(loads, form=engine, **options).to_json())


__all__: Sequence[str] = ["ExpertExplanation", "ExpertPlan", "ExpertSweep", "ExpertVerification",
                          "explain", "plan", "read_loads", "rebalance_experts", "replicas", "save_for", "slots_of_experts",
                          "sweep", "verify", "vllm_policy"]
