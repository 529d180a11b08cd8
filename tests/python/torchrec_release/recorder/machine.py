"""The topology of a problem as TorchRec's `Topology`."""

import torch
from torchrec.distributed.planner import Topology
from torchrec.distributed.planner.types import CustomTopologyData

# Keys of `topology` that are also arguments of `Topology`.
ARGUMENTS = ("local_world_size", "pod_size", "hbm_cap", "ddr_cap", "ssd_cap", "intra_host_bw",
             "inter_host_bw", "hbm_mem_bw", "ddr_mem_bw", "ssd_mem_bw", "hbm_to_ddr_mem_bw",
             "bwd_compute_multiplier", "weighted_feature_bwd_compute_multiplier",
             "uneven_sharding_perf_multiplier")


# PyTorch knows no TPU without a package of its own. The planner needs nothing but the name.
torch.utils.rename_privateuse1_backend("tpu")


def topology(problem):
    """Returns the machine. Memory in bytes per rank, bandwidths in bytes per millisecond."""
    machine = problem["topology"]
    arguments = {key: machine[key] for key in ARGUMENTS if key in machine}
    if "custom" in machine:
        arguments["custom_topology_data"] = CustomTopologyData(machine["custom"],
                                                               machine["world_size"])
    return Topology(world_size=machine["world_size"],
                    compute_device=machine.get("compute_device", "cuda"), **arguments)
