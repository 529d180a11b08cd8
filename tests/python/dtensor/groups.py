"""Groups of processes, and what their collectives send."""

import logging
import tempfile
import traceback
import warnings

import torch
import torch.distributed
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode


def _take_part(rank, processes, folder, function, arguments):
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=processes)
    try:
        answer = function(*arguments)
    except Exception:  # noqa: BLE001 - raised in the process that waits
        traceback.print_exc()
        raise
    torch.save(answer, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


def in_group(processes, function, *arguments):
    """Calls the function in every process of a gloo group; returns the answers by rank."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(
            _take_part, (processes, folder, function, arguments), nprocs=processes,
            start_method="fork")
        return [torch.load(f"{folder}/{rank}.pt", weights_only=False)
                for rank in range(processes)]


class Sent(TorchDispatchMode):
    """Counts the collectives of torch and the bytes that this process sends in them."""

    def __init__(self):
        super().__init__()
        self.collectives = 0
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented  # DTensor runs first; what it does to local tensors comes here
        result = function(*args, **(kwargs or {}))
        name = str(function)
        if "c10d_functional" in name and "wait_tensor" not in name and "wrap_tensor" not in name:
            self._count(name, args[0], result, list(args[1:]))
        return result

    def _count(self, name, given, result, others):
        if "all_gather" in name:
            devices = result.numel() // given.numel() if given.numel() else 1
            self.bytes += given.nbytes * (devices - 1)
        elif "reduce_scatter" in name:
            self.bytes += given.nbytes - result.nbytes
        elif "all_reduce" in name:
            devices = torch.distributed.distributed_c10d._resolve_process_group(others[-1]).size()
            self.bytes += -(-2 * (devices - 1) * given.numel() // devices) * given.itemsize
        else:
            raise AssertionError(f"{name} is not known")
        self.collectives += 1
