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
    has_groups = torch.distributed.is_initialized()
    try:
        if has_groups:
            mesh.get_all_groups()
    except RuntimeError:
        has_groups = False
    if not has_groups:
        raise errors.InvalidInputError(
            "has no process groups; call torch.distributed.init_process_group(), or start with torchrun, and "
            "make the mesh by init_device_mesh", "device_mesh")
    if mesh.get_coordinate() is None:
        raise errors.InvalidInputError("this rank is not part of it", "device_mesh")


def from_first_rank(mesh: DeviceMesh, make: Callable[[], Any]) -> Any:
    """Returns on all ranks of the mesh what `make` returns on the first rank, or raises its
    exception on all ranks. All ranks must call this.
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
        # The answer has reached the ranks whose coordinates on this and later axes are 0.
        torch.distributed.broadcast_object_list(answer, group=mesh.get_group(axis), group_src=0)
    if error is not None:
        raise error
    if answer[1] is not None:
        kind, message = answer[1]
        raise kind(message)
    return answer[0]


def from_all_ranks(mesh: DeviceMesh, own: Any) -> list[Any]:
    """The `own` of every rank of the mesh. All ranks must call this."""
    found = [own]
    for axis in range(mesh.ndim):
        group = mesh.get_group(axis)
        parts: list[Any] = [None] * group.size()
        torch.distributed.all_gather_object(parts, found, group=group)
        found = [each for part in parts for each in part]
    return found


def plan_on_first_rank(mesh: DeviceMesh, make: Callable[[], ModelPlan]) -> ModelPlan:
    """The plan that `make` returns on the first rank, on all ranks; see `from_first_rank`."""
    return ModelPlan.from_json(from_first_rank(mesh, lambda: make().to_json()))
