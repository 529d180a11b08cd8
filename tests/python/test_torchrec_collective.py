"""collective_plan: all ranks search, and get the best plan of all."""

import gc
import logging
import sys
import tempfile
import unittest

import torch
import torch.distributed
from torchrec_cases import Case, Model, bag_module, bags
from test_torchrec_plans import described

from shardwright.torchrec import EmbeddingShardingPlanner
from shardwright.torchrec import search as torchrec_search

WORK = 20_000_000


def case_of(name):
    if name == "full":  # nothing fits
        return Case(Model(ebc=bag_module(bags(6, 3))), {"world_size": 4, "hbm_cap": 1 << 20,
                                                        "ddr_cap": 1 << 20})
    options = {"callback": {"callbacks": [refuse]}, "interrupt": {"callbacks": [interrupt]}}
    return Case(Model(ebc=bag_module(bags(20, 7))), {"world_size": 8, "local_world_size": 4},
                options=options.get(name, {}))


def refuse(_):
    raise Refused("this plan")


def interrupt(_):
    raise KeyboardInterrupt("as by Ctrl-C")


class Refused(Exception):
    def __init__(self, what):
        super().__init__(what)
        self.reason = lambda: "a member that pickle cannot write"


def planned(name, mode, group=None, seed=0):
    """The plan as text, or the error, how this rank took part, its rating and its bound."""
    case = case_of(name)
    planner = case.planner(EmbeddingShardingPlanner, mode=mode, work_limit=WORK, seed=seed,
                           threads=-1 if name == "threads" else 0)
    taking_part = []
    run = torchrec_search.plan

    def watched(*arguments, **options):
        taking_part.append(options.get("exchange") is not None)
        return run(*arguments, **options)

    torchrec_search.plan = watched
    try:
        if group is None:
            plan = planner.plan(case.module, case.sharders)
        else:
            plan = planner.collective_plan(case.module, case.sharders, group)
        answer = described(plan)
    except BaseException as error:  # noqa: B036 - compared between ranks
        answer = f"{type(error).__name__}: {error}"
    finally:
        torchrec_search.plan = run
    found = planner.result
    return answer, taking_part, *((None, None) if found is None else (found.rating, found.lower_bound))


CASES = [("usual", "best"), ("usual", "compat"), ("full", "best"), ("threads", "best"),
         ("callback", "best"), ("interrupt", "best")]


def take_part(rank, world_size, folder):
    logging.disable(logging.ERROR)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=world_size)
    group = torch.distributed.GroupMember.WORLD
    gc.disable()
    before = sys.getrefcount(group)
    answers = [planned(*own, group) for own in CASES]
    torch.save((answers, sys.getrefcount(group) - before), f"{folder}/{rank}.pt")
    del group  # Gloo's threads end with the last reference
    torch.distributed.destroy_process_group()


class CollectivePlan(unittest.TestCase):
    def test_all_ranks_get_the_best_plan_of_their_seeds(self):
        alone = [[planned(*own, seed=seed) for seed in range(3)] for own in CASES]
        for world_size in (2, 3):
            with tempfile.TemporaryDirectory() as folder:
                torch.multiprocessing.spawn(take_part, (world_size, folder), nprocs=world_size)
                stored = [torch.load(f"{folder}/{rank}.pt", weights_only=False)
                          for rank in range(world_size)]
            found = [answers for answers, _ in stored]
            with self.subTest(f"{world_size} ranks, references to the group that plans leave"):
                self.assertEqual([held for _, held in stored], [0] * world_size)
            for number, (name, mode) in enumerate(CASES):
                with self.subTest(f"{world_size} ranks, {name}, {mode}"):
                    best = min(alone[number][:world_size],
                               key=lambda own: own[2] if own[2] is not None else 0)
                    for rank in range(world_size):
                        self.assertEqual(found[rank][number][0],
                                         elsewhere(best[0]) if rank else best[0])
                    _, taking_part, rating, bound = found[0][number]
                    self.assertEqual(taking_part, [mode == "best"])
                    self.assertEqual(rating, best[2])
                    self.assertEqual(bound, alone[number][0][3])

    def test_without_a_process_group_it_says_what_to_do(self):
        case = case_of("usual")
        with self.assertRaisesRegex(ValueError, "init_process_group"):
            case.planner(EmbeddingShardingPlanner).collective_plan(case.module, case.sharders)


def elsewhere(answer):
    """What ranks other than 0 raise for errors that only rank 0 can have."""
    only_there = str(answer).startswith(("Refused", "KeyboardInterrupt"))
    return f"RuntimeError: {answer}" if only_there else answer


if __name__ == "__main__":
    unittest.main()
