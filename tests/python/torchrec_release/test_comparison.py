"""The comparison finds every kind of difference, on recorded answers that are compared with changed copies."""

import copy
import gzip
import json
import math
import unittest
from pathlib import Path

from command import BAD_INPUT, DONE, NO_PLAN
from comparison import difference

RECORDED = Path(__file__).resolve().parents[2] / "golden" / "embedding" / "1.9.2"


def recorded(name):
    return [json.loads(gzip.decompress((RECORDED / part / f"{name}.json.gz").read_bytes()))
            for part in ("cases", "answers")]


def asked(answer, code=None):
    """Returns `answer` as if the command had said it."""
    if code is None:
        code = NO_PLAN if "error" in answer else DONE
    return (DONE, answer, ""), (code, answer, "")


def bump(values, place):
    values[place] = math.nextafter(values[place], math.inf) if isinstance(values[place], float) else values[place] + 1


def first_shard(answer):
    return answer["search_space"][0]["shards"][0]


def reserved_storage(answer):
    reserved = answer["reserved_topology"]
    return reserved.get("uniform") or reserved["per_rank"][-1]


def last_rated(answer):
    return [p for p in answer["proposals"] if p["ok"]][-1]


CHANGES = {
    "a bit of a cost": lambda a: bump(first_shard(a)["perf"], 2),
    "a bit of input_dist_comms": lambda a: bump(a["search_space"][-1]["shards"][-1], "input_dist_comms"),
    "a byte of HBM": lambda a: bump(first_shard(a), "hbm"),
    "a byte of DDR": lambda a: bump(first_shard(a), "ddr"),
    "a byte of SSD": lambda a: bump(first_shard(a), "ssd"),
    "a row of a shard": lambda a: bump(first_shard(a)["size"], 0),
    "the order of options": lambda a: a["search_space"].reverse(),
    "an option less": lambda a: a["search_space"].pop(),
    "the batch size": lambda a: bump(a["search_space"][0], "batch_size"),
    "a reserved byte": lambda a: bump(reserved_storage(a), 0),
    "a proposal less": lambda a: a["proposals"].pop(),
    "options of a proposal": lambda a: bump(a["proposals"][0]["options"], 0),
    "a bit of a rating": lambda a: bump(last_rated(a), "rating"),
    "ranks of a proposal": lambda a: a["proposals"][0].update(ranks_sha1="0"),
    "the number of plans": lambda a: bump(a, "num_plans"),
    "a bit of the best rating": lambda a: bump(a, "best_rating"),
    "a bit of a rank's time": lambda a: bump(a["plan_perf_by_rank"], -1),
    "a byte on a rank": lambda a: bump(a["plan_hbm_by_rank"], -1),
    "the kernel of a table": lambda a: a["plan"][0].update(compute_kernel="dense_"),
    "a rank of a shard": lambda a: bump(a["plan"][-1]["ranks"], 0),
    "a table less": lambda a: a["plan"].pop(),
}


class Comparison(unittest.TestCase):
    def test_equal_answers_are_equal(self):
        for name in ("pods_1", "ssd-tier_1", "reservations_7", "validators_1"):
            problem, answer = recorded(name)
            with self.subTest(name):
                self.assertIsNone(difference(problem, answer, asked(copy.deepcopy(answer))))

    def test_every_change_is_found(self):
        problem, answer = recorded("pods_1")
        for what, change in CHANGES.items():
            other = copy.deepcopy(answer)
            change(other)
            with self.subTest(what):
                self.assertIsNotNone(difference(problem, answer, asked(other)))

    def test_errors_differ_by_kind_and_exit_code(self):
        problem, answer = recorded("reservations_7")
        other = copy.deepcopy(answer)
        other["error"]["type"] = "strict_constraints"
        self.assertIsNotNone(difference(problem, answer, asked(other)))
        self.assertIsNotNone(difference(problem, answer, asked(answer, BAD_INPUT)))
        refused = {"error": {"type": "refused", "message": "no option"}}
        self.assertIsNone(difference(problem, refused, asked(answer, BAD_INPUT)))
        self.assertIsNotNone(difference(problem, refused, asked(answer)))

    def test_memory_that_nothing_takes_need_not_be_named(self):
        problem, answer = recorded("pods_1")
        other = copy.deepcopy(answer)
        reserved = other["reserved_topology"]
        for storage in reserved.get("per_rank", [reserved.get("uniform")]):
            del storage[2]
        self.assertIsNone(difference(problem, answer, asked(other)))


if __name__ == "__main__":
    unittest.main()
