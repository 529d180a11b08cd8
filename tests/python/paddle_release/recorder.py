"""A case as program files, and the answer of Paddle's Resharder."""

import dataclasses
import time

import exporter
from models import MODELS, Placement
from paddle.framework import Block
from partition import resharder


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    layers: int
    placement: Placement
    rank: int

    def __str__(self):
        stages = " then ".join(f"{data}x{tensor}" for data, tensor in self.placement.stages)
        divided = "" if self.placement.divided is None else f", dimension {self.placement.divided} divided"
        return f"{self.model} of {self.layers} layers on {stages}{divided}, rank {self.rank}"


class Counted:
    """Counts the calls of a function while it replaces it in its owner."""

    def __init__(self, owner, name):
        self.calls, self.owner, self.name, self.function = 0, owner, name, getattr(owner, name)

    def __enter__(self):
        def counting(*arguments, **options):
            self.calls += 1
            return self.function(*arguments, **options)
        setattr(self.owner, self.name, counting)
        return self

    def __exit__(self, *_):
        setattr(self.owner, self.name, self.function)


@dataclasses.dataclass
class Record:
    program: dict
    startup: dict
    answer: dict
    seconds: float  # of Resharder.reshard
    synchronisations: int


def record(case):
    """Resharding changes a program, so it is exported before."""
    peer = resharder(MODELS[case.model], case.layers, case.placement, case.rank)
    main, startup = peer.auto_parallel_main_prog, peer.auto_parallel_startup_prog
    program = exporter.document(str(case), main, peer.dist_context, case.rank)
    initial = exporter.startup_document(str(case), startup, program["meshes"])
    with Counted(peer, "parse_op_desc") as planner, Counted(Block, "_sync_with_cpp") as sync:
        began = time.perf_counter()
        peer.reshard()
        seconds = time.perf_counter() - began
    return Record(program, initial, exporter.answer(main, startup, planner.calls), seconds, sync.calls)
