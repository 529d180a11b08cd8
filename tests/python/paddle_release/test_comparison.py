"""The command answers a recorded case as Paddle did, and the comparison finds every kind of difference."""

import copy
import gzip
import json
import os
import unittest
from pathlib import Path

from command import Command
from comparison import difference

RECORDED = Path(__file__).resolve().parent / "recorded.json.gz"


def inserted(ours, kind):
    return next(op for op in ours["ranks"][0]["program"]["ops"] if op.get("is_inserted") and op["type"] == kind)


def bump(values, key):
    values[key] += 1


CHANGES = {
    "an operator less": lambda a: a["ranks"][0]["ops"].pop(),
    "the order of operators": lambda a: a["ranks"][0]["ops"].reverse(),
    "an input of an operator": lambda a: a["ranks"][0]["ops"][0][1].append("other"),
    "an operator that is not marked": lambda a: inserted(a, "assign").pop("is_inserted"),
    "a role": lambda a: inserted(a, "send_v2").update(role="optimize"),
    "an input of recv_v2": lambda a: inserted(a, "recv_v2")["inputs"].append({"var": "other", "arg": 0}),
    "a slot": lambda a: bump(inserted(a, "concat")["inputs"][1], "arg"),
    "a ring": lambda a: bump(inserted(a, "c_allgather")["attributes"], "ring_id"),
    "a peer": lambda a: bump(inserted(a, "send_v2")["attributes"], "peer"),
    "a received shape": lambda a: bump(inserted(a, "recv_v2")["attributes"]["out_shape"], 0),
    "an attribute less": lambda a: inserted(a, "split")["attributes"].pop("num"),
    "an attribute more": lambda a: inserted(a, "assign").update(attributes={"axis": 0}),
    "a type": lambda a: [var.update(dtype="float16") for var in a["ranks"][0]["program"]["vars"]],
    "a variable less": lambda a: a["ranks"][0]["program"]["vars"].pop(),
    "a startup operator less": lambda a: a["ranks"][0]["startup"]["ops"].pop(),
    "a startup variable less": lambda a: a["ranks"][0]["startup"]["vars"].pop(),
    "the ring of a group": lambda a: bump(a["groups"][0], "ring_id"),
    "the ranks of a group": lambda a: a["groups"][-1]["ranks"].reverse(),
    "the kind of a group": lambda a: a["groups"][-1].update(point_to_point=False),
    "a group less": lambda a: a["groups"].pop(),
    "a planner call more": lambda a: bump(a["ranks"][0]["counters"], "planner_calls"),
    "an insertion more": lambda a: bump(a["ranks"][0]["counters"], "inserted_ops"),
}


class Comparison(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
        cls.theirs = recorded["answer"]
        cls.ours, _ = Command(os.environ["SHARDWRIGHT_COMMAND"]).ask(recorded["program"], recorded["startup"])

    def test_the_command_answers_as_paddle(self):
        self.assertIsNone(difference(self.theirs, self.ours))

    def test_every_change_is_found(self):
        for what, change in CHANGES.items():
            other = copy.deepcopy(self.ours)
            change(other)
            with self.subTest(what):
                self.assertIsNotNone(difference(self.theirs, other))


if __name__ == "__main__":
    unittest.main()
