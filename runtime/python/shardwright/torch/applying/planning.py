"""The plan of a traced model, equal on all ranks: one rank plans, the others get its plan."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.distributed
from torch.distributed.device_mesh import DeviceMesh

from ... import errors
from ..model_plan import ModelPlan


def check_mesh(mesh: DeviceMesh) -> None:
    """Raises InvalidInputError if it is no mesh, has no processes, or this rank is not part of it."""
    if not isinstance(mesh, DeviceMesh):
        raise errors.InvalidInputError(
            "must be torch's DeviceMesh, such as init_device_mesh(\"cuda\", (4, 2)), "
            f"not {type(mesh).__name__}", "device_mesh")
    if not torch.distributed.is_initialized() or not _has_groups(mesh):
        raise errors.InvalidInputError(
            "has no process groups; call torch.distributed.init_process_group(), or start with torchrun, and "
            "make the mesh by init_device_mesh", "device_mesh")
    if mesh.get_coordinate() is None:
        raise errors.InvalidInputError("this rank is not part of it", "device_mesh")


def _has_groups(mesh: DeviceMesh) -> bool:
    try:
        mesh.get_all_groups()
    except RuntimeError:
        return False
    return True


def from_first_rank(mesh: DeviceMesh, make: Callable[[], Any]) -> Any:
    """What `make` returns on the first rank of the mesh, on all of its ranks; which must all call
    this. An exception on that rank is raised on all.
    """
    answer: list[Any] = [None, None]
    error: BaseException | None = None
    if not any(mesh.get_coordinate() or []):
        try:
            answer[0] = make()
        except Exception as raised:  # noqa: BLE001 - raised below, on every rank
            error = raised
            answer[1] = (type(raised), str(raised))
    for axis in range(mesh.ndim):
        # Of the groups along an axis, those have the answer already whose later coordinates are 0.
        torch.distributed.broadcast_object_list(answer, group=mesh.get_group(axis), group_src=0)
    if error is not None:
        raise error
    if answer[1] is not None:
        kind, message = answer[1]
        raise kind(message)
    return answer[0]


def from_all_ranks(mesh: DeviceMesh, own: Any) -> list[Any]:
    """What each rank of the mesh has, on all of its ranks; which must all call this."""
    found = [own]
    for axis in range(mesh.ndim):
        group = mesh.get_group(axis)
        parts: list[Any] = [None] * group.size()
        torch.distributed.all_gather_object(parts, found, group=group)
        found = [each for part in parts for each in part]
    return found


def plan_on_first_rank(mesh: DeviceMesh, make: Callable[[], ModelPlan]) -> ModelPlan:
    """What is said at `from_first_rank` holds."""
    return ModelPlan.from_json(from_first_rank(mesh, lambda: make().to_json()))


def choice_of_first_rank(mesh: DeviceMesh, make: Callable[[], tuple[tuple[str, ...], ModelPlan]]
                         ) -> tuple[tuple[str, ...], ModelPlan]:
    """Blocks, and the plan of the graph in which they are computed again."""
    def sent() -> tuple[tuple[str, ...], str]:
        blocks, plan = make()
        return blocks, plan.to_json()

    blocks, text = from_first_rank(mesh, sent)
    return blocks, ModelPlan.from_json(text)


def seed_of_first_rank(mesh: DeviceMesh) -> int:
    """The seed that the first rank's random numbers began with."""
    return int(from_first_rank(mesh, torch.initial_seed))
