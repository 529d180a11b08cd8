#!/usr/bin/env python3
"""Eight processes move the weights of scaled-down mixture-of-experts models and compare every target shard.

    build/release/python/torch/bin/python tests/python/transfer/execute.py --command build/release/runtime/shardwright

The command plans; executor.py executes the plan file with torch.distributed (gloo).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy
import torch
import torch.distributed
import torch.multiprocessing

from executor import Layout, Shards, execute
from mixture import Model, Ranks, transfer

PROCESSES = 8
MODEL = Model(layers=5, dense_layers=1, experts=8, hidden=112, dense_width=288, expert_width=36, vocabulary=250,
              heads=4, query_rank=24, key_rank=16, head_dim=16, rope_dim=8)
HOSTS = {"ranks_per_host": 4, "intra_host_bw": 450000000, "inter_host_bw": 50000000}
# Name, ranks, hosts.
CASES = [
    ("disjoint ranks", Ranks(2, 2, 2, 2, engine_first=4), None),
    ("overlapping ranks", Ranks(2, 3, 2, 2, engine_first=2), None),
    ("equal ranks, two hosts", Ranks(2, 4, 4, 2, engine_first=0), HOSTS),
    ("uneven experts", Ranks(3, 2, 3, 2, engine_first=2), HOSTS),
    ("a tensor per expert", Ranks(2, 4, 2, 4, engine_first=0, stacked=False), HOSTS),
]
WAYS = [  # nested, strided, uneven and balanced cuts
    (["S(0)", "S(0)"], ["R", "S(1)"], "ceil"),
    (["S(0)[1]", "S(0)[0]"], ["S(1)", "S(1)"], "balanced"),
    (["R", "S(1)"], ["S(1)[1]", "S(1)[0]"], "ceil"),
    (["S(1)", "R"], ["R", "R"], "balanced"),
]


def cut_in_all_ways():
    """Tensors of odd sizes whose cuts nest, on meshes whose ranks are in no order."""
    document = {"meshes": {"from": {"shape": [2, 3], "ranks": [5, 0, 3, 1, 7, 2]},
                           "to": {"shape": [3, 2], "ranks": [4, 2, 6, 0, 1, 7]}}, "tensors": []}
    for number, (source, target, rounding) in enumerate(WAYS):
        document["tensors"].append(
            {"name": f"w{number}", "shape": [23, 17], "data_type": "float32",
             "source": {"mesh": "from", "placements": source, "rounding": rounding},
             "target": {"mesh": "to", "placements": target}})
    return document


def replicated(hosts):
    """Target ranks of a host want alike: what enters the host once is passed on there."""
    document = {"meshes": {"trainer": {"shape": [4], "ranks": "0-3"}, "rollout": {"shape": [2, 2], "ranks": "4-7"},
                           "one": {"shape": [1], "ranks": [0]}},
                "tensors": [{"name": f"w{number}", "shape": [211, 173], "data_type": "float32",
                             "source": {"mesh": mesh, "placements": [source]},
                             "target": {"mesh": "rollout", "placements": target}}
                            for number, (mesh, source, target) in enumerate([
                                ("trainer", "S(0)", ["R", "R"]), ("trainer", "S(1)", ["R", "S(0)"]),
                                ("one", "R", ["R", "R"]), ("trainer", "S(0)", ["S(1)", "R"])])]}
    return {**document, "hosts": hosts} if hosts else document


def truth(name, shape, item_bytes):
    """The bytes of a tensor. They depend on its name, so that mixed-up tensors differ."""
    random = numpy.random.default_rng(sum(ord(letter) * (i + 1) for i, letter in enumerate(name)))
    return random.integers(0, 256, [*shape, item_bytes], numpy.uint8)


def fill(plan, side, rank, shards, compare):
    """Fills shards with the truth, or compares them. Returns the number of bytes."""
    total = 0
    for number, group in enumerate(plan["groups"]):
        box = Layout(plan, group[side]).box(group["shape"], rank)
        for name in group["tensors"] if box is not None else []:
            right = truth(name, group["shape"], group["item_bytes"])[tuple(slice(*bounds) for bounds in box)]
            if compare and not numpy.array_equal(shards.arrays[number, name], right):
                raise AssertionError(f"rank {rank} has wrong bytes of {name}")
            if not compare:
                shards.arrays[number, name][...] = right
            total += right.size
    return total


def run_rank(rank, folder, plans):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=PROCESSES, timeout=timedelta(seconds=600))
    for name in plans:
        plan = json.loads((Path(folder) / name).read_text(encoding="utf-8"))
        sources = Shards(plan, "source", rank)
        fill(plan, "source", rank, sources, compare=False)
        targets = execute(plan, rank, sources, torch.distributed)
        total = torch.tensor([fill(plan, "target", rank, targets, compare=True)])
        torch.distributed.all_reduce(total)
        if rank == 0:
            print(f"{name}: {total.item():,} bytes of target shards are right; {plan['moved_bytes']:,} moved in "
                  f"{plan['messages']} messages and {plan['rounds']} rounds; busiest "
                  f"{plan['busiest'] / plan['lower_bound'] - 1:.2%} above the bound", flush=True)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    arguments = parser.parse_args()
    documents = [(name, transfer(MODEL, ranks, hosts)) for name, ranks, hosts in CASES]
    documents.append(("cut in all ways", cut_in_all_ways()))
    documents.append(("replicated", replicated(None)))
    documents.append(("replicated, two hosts", replicated(HOSTS)))
    with tempfile.TemporaryDirectory() as folder:
        for name, document in documents:
            subprocess.run([arguments.command, "program", "transfer", "-", "--memory", "40KB", "--message-bytes", "7KB",
                            "-o", str(Path(folder) / name)],
                           input=json.dumps(document), text=True, check=True)
        torch.multiprocessing.spawn(run_rank, args=(folder, [name for name, _ in documents]), nprocs=PROCESSES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
