"""TorchRec's topology for the library."""

from __future__ import annotations

from typing import Any

from torchrec.distributed.planner.types import Topology

# The device affects only the estimators, and costs are given here.
_DEVICES = {"cpu": "cpu", "cuda": "cuda", "mtia": "mtia", "tpu": "cuda"}


class Unsupported(Exception):
    """The library does not support what the text names, but TorchRec's own search does."""


class Unrecognised(Exception):
    """The library cannot estimate what the text names as TorchRec does, so TorchRec enumerates."""


def topology_json(topology: Topology, with_ssd: bool) -> dict[str, Any]:
    """Ranks, hosts and memory in the form of problem files, which is all that a search with given
    costs needs. Raises Unsupported.
    """
    if topology.compute_device not in _DEVICES:
        raise Unsupported(f"the device {topology.compute_device}")
    hbm = [device.storage.hbm for device in topology.devices]
    custom = {"ddr_cap": [device.storage.ddr for device in topology.devices]}
    if not any(hbm) and not any(custom["ddr_cap"]):
        raise Unsupported("a machine without memory")
    device = _DEVICES[topology.compute_device] if any(hbm) else "cpu"
    if device != "cpu":
        custom["hbm_cap"] = hbm
    if with_ssd:
        custom["ssd_cap"] = [device.storage.ssd for device in topology.devices]
    pod = getattr(topology, "_pod_size", None)  # TorchRec has it since 1.9
    return {"world_size": topology.world_size, "local_world_size": topology.local_world_size,
            **({"pod_size": pod} if pod else {}), "compute_device": device, "custom": custom}
