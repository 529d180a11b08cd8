#!/usr/bin/env python3
"""Records the graphs of which AutoParallel made the problems in autoparallel/, with the rules and strategies that it had.

    record_autoparallel.py --autoparallel CHECKOUT [--pulp FOLDER] [--folder FOLDER]

CHECKOUT is a checkout of https://github.com/meta-pytorch/autoparallel at a54c2529; FOLDER has PuLP if the environment has
not. Needs torch 2.13 (a build for CPUs), no GPU and no processes beside this one. Writes autoparallel_graphs/<mesh>.json.gz:

    {"mesh", "graph": a shardwright.aten_graph, "strategies": by node: [[placements of outputs], [of inputs]] by strategy;
     none on three axes}

The model is a block of a transformer of width 1,024 in bfloat16 whose gradients are reduced in float32, with torch's fused
attention, which AutoParallel offers on CPUs replicated only. Nodes are in the order of the problems.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path

import torch
import torch.distributed
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.distributed.tensor import Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

HERE = Path(__file__).resolve().parent
DEVICES = 8
MESHES = {"m8": (8,), "m4x2": (4, 2), "t2x2x2": (2, 2, 2)}
MOST_AXES = 2  # of meshes whose strategies are recorded: AutoParallel takes seven minutes for those of three axes
# In the problems these nodes follow directly on the first one; AutoParallel has since then put them further back.
FOLLOW = {
    "einsum_default": ("view_6", "permute_3"),
    "einsum_default_1": ("view_7", "permute_4"),
    "einsum_default_2": ("view_8", "permute_5"),
    "permute_23": ("view_23", "einsum_default_12", "permute_28", "dtype_cast_9", "alias_default_17"),
    "permute_24": ("view_24", "einsum_default_13", "permute_31", "dtype_cast_10", "alias_default_16"),
    "permute_25": ("view_25", "einsum_default_14", "permute_34", "dtype_cast_11", "alias_default_15"),
}


class Block(nn.Module):
    WIDTH, HEADS, HIDDEN, TOKENS, SAMPLES = 1024, 16, 4096, 256, 8

    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(self.WIDTH, self.WIDTH, bias=False) for _ in range(4))
        self.w1 = nn.Linear(self.WIDTH, self.HIDDEN, bias=False)
        self.w2 = nn.Linear(self.HIDDEN, self.WIDTH, bias=False)

    def attention(self, x):
        heads = [linear(x) for linear in (self.wq, self.wk, self.wv)]
        q, k, v = (each.unflatten(-1, (self.HEADS, -1)).permute(0, 2, 1, 3) for each in heads)
        return self.wo(nn.functional.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3).flatten(-2))

    def forward(self, x):
        x = self.attention(x) + x
        return x + self.w2(torch.relu(self.w1(x)))


def in_order_of_problems(optimizer):
    named = {node.name: node for node in optimizer.nodes if node.op != "output"}
    later = {name for names in FOLLOW.values() for name in names}
    return [named[each] for name in named if name not in later for each in (name, *FOLLOW.get(name, ()))]


def optimizer_on(mesh, batch):
    from autoparallel.api import AutoParallel

    with torch.device("meta"):
        model = Block()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    shape = (batch, Block.TOKENS, Block.WIDTH)
    with AutoParallel(model, lambda: torch.rand(*shape), mesh, policy, repeated_subgraphs=False) as planner:
        pin = (Shard(0),) + (Replicate(),) * (mesh.ndim - 1)
        planner.add_input_constraints([pin])
        planner.add_output_constraints([pin])
        return planner.sharding_optimizer


def recorded(shape):
    from their_graph import document_of, placements_of

    mesh = torch.distributed.device_mesh.init_device_mesh(
        "cpu", shape, mesh_dim_names=tuple(f"axis_{axis}" for axis in range(len(shape))))
    batch = Block.SAMPLES * shape[0]
    on_one_axis = optimizer_on(mesh if mesh.ndim == 1 else mesh["axis_0"], batch)
    found = {"mesh": shape, "graph": document_of(on_one_axis, in_order_of_problems(on_one_axis))}
    if mesh.ndim <= MOST_AXES:
        optimizer = on_one_axis if mesh.ndim == 1 else optimizer_on(mesh, batch)
        found["strategies"] = [placements_of(optimizer, node) for node in in_order_of_problems(optimizer)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--autoparallel", required=True)
    parser.add_argument("--pulp")
    parser.add_argument("--folder", type=Path, default=HERE / "autoparallel_graphs")
    arguments = parser.parse_args()
    sys.path[:0] = [arguments.autoparallel, str(HERE.parents[2] / "perf" / "vs_autoparallel")]
    if arguments.pulp:
        sys.path.insert(0, arguments.pulp)
    torch.cpu.get_device_name = lambda *_: "H100"  # AutoParallel asks for it to estimate times
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=DEVICES)
    for name, shape in MESHES.items():
        text = json.dumps(recorded(shape), separators=(",", ":")).encode()
        with open(arguments.folder / f"{name}.json.gz", "wb") as file:
            file.write(gzip.compress(text, mtime=0))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
