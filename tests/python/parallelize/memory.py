"""Counts the memory of the tensors of this process."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Memory(TorchDispatchMode):
    """Bytes of the storages that operators make inside the block, and of those given before."""

    def __init__(self, tensors):
        super().__init__()
        self.live = {}
        self.bytes = self.peak = 0
        for tensor in tensors:
            self.add(tensor)

    def add(self, tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in self.live:
            self.live[storage._cdata] = storage.nbytes()
            self.bytes += storage.nbytes()
            self.peak = max(self.peak, self.bytes)
            weakref.finalize(storage, self.free, storage._cdata)

    def free(self, key):
        self.bytes -= self.live.pop(key)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if type(tensor) is torch.Tensor:
                self.add(tensor)
        return result


def peak_of_step(call, tensors, steps=3):
    """The least peak of several calls. gloo's threads release the tensors of a collective a little
    late, the more so on a busy machine. `tensors` are held already.
    """
    peaks = []
    for _ in range(steps):
        with Memory(tensors) as memory:
            call()
        peaks.append(memory.peak)
    return min(peaks)
