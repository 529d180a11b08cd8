"""Runs the command on files and flags that are not quite right."""

import copy
import json
import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = os.environ["SHARDWRIGHT_COMMAND"]
ABSENT = object()

PROBLEM = {"tables": [{"name": "a", "num_embeddings": 1000, "embedding_dim": 16},
                      {"name": "b", "num_embeddings": 500, "embedding_dim": 8}],
           "topology": {"world_size": 2}}
MACHINE = {
    "machine": {"format": 1, "name": "node", "device": "cpu", "memory": 1 << 34, "caches": {"l2": 1 << 20}},
    "embedding": {"models": [{
        "kernel": "fused", "data_type": "FP32", "weighted": False, "pooled": True, "optimizer": "exact_sgd",
        "measurements": 20, "measured": {size: {"least": 1, "most": 1e9}
                                         for size in ("rows", "dim", "bags", "lookups", "zipf")},
        "forward": {"ns": {"lookup": 2}, "error": {"median": 0.1, "p90": 0.2}}}]},
    "operator_times": [{"op": "aten.mm.default", "inputs": [[4, 8], [8, 8]], "dtype": "float32", "us": 3.5}]}


def run(line, **names):
    words = [word.format(**names) for word in shlex.split(line)]
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def sample(name):
    return json.loads(Path(f"samples/data/{name}.json").read_text(encoding="utf-8"))


def problem():
    return PROBLEM


def answer(line, **names):
    return json.loads(run(line + " --json", **names).stdout)


def plan():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(json.dumps(PROBLEM), encoding="utf-8")
        return answer("plan {problem}", problem=path)


def instance():
    return answer("operators build samples/data/mlp_graph.json --mesh 2x2")


def changed(document, place, value):
    if not place:
        return value
    result = copy.deepcopy(document)
    below = result
    for step in place[:-1]:
        below = below[step]
    if value is ABSENT:
        del below[place[-1]]
    else:
        below[place[-1]] = value
    return result


class Case(unittest.TestCase):
    """Has files of several kinds, and `file` to be written."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.file = Path(folder.name) / "in.json"
        cls.names = {"file": cls.file, "problem": Path(folder.name) / "problem.json",
                     "plan": Path(folder.name) / "plan.json", "instance": Path(folder.name) / "instance.json",
                     "space": Path(folder.name) / "space.json"}
        for name, document in (("problem", PROBLEM), ("plan", plan()), ("instance", instance())):
            cls.names[name].write_text(json.dumps(document), encoding="utf-8")
        run("enumerate {problem} -o {space}", **cls.names)

    def check(self, line, expected):
        done = run(line, **self.names)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        message = done.stderr.removeprefix("shardwright: ")
        self.assertEqual(message[:len(expected)], expected)
        self.assertEqual(message.count("\n"), 1)

    def check_file(self, line, text, expected):
        self.file.write_text(text, encoding="utf-8")
        separator = "" if expected.startswith("\n") else f"{self.file}: "
        self.check(line, separator + expected)
