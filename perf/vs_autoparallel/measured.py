"""CPU seconds and memory of this process and its children."""

import resource
from dataclasses import dataclass


@dataclass(frozen=True)
class Used:
    cpu: float  # of this process
    children_cpu: float
    peak_bytes: int  # of this process

    @classmethod
    def now(cls):
        own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return cls(own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime,
                   own.ru_maxrss * 1024)

    def since(self, before):
        """CPU seconds of this process and its children since then."""
        return self.cpu - before.cpu + self.children_cpu - before.children_cpu
