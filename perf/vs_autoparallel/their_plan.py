#!/usr/bin/env python3
"""Plans the model once with AutoParallel and prints the figures as JSON. compare runs this in a process of its own.

AutoParallel and PuLP must be importable. The tensors are fake and lie on CPUs; the times are those of H100s in nodes of eight.
"""

import argparse
import functools
import json
import sys

import torch
import torch.distributed
from measured import Used
from torch.distributed.tensor import Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformer import input_shape, model

torch.cpu.get_device_name = lambda *_: "H100"  # AutoParallel asks for it to estimate times

import autoparallel.api
import pulp
from autoparallel.cost_models.nccl_cost_model import h100_topo_config
from autoparallel.optimize_sharding import ShardingOptimizer
from their_graph import document_of

import shardwright.autoparallel

DEVICES_PER_NODE = 8


class Stages:
    """CPU seconds of functions of a module or a class that are replaced by ones that are timed."""

    def __init__(self, owner, *names):
        self.cpu = {}
        for name in names:
            setattr(owner, name, self._timed(name, getattr(owner, name)))

    def _timed(self, name, function):
        def timed(*arguments, **options):
            before = Used.now()
            try:
                return function(*arguments, **options)
            finally:
                self.cpu[name] = Used.now().since(before)
        return timed


def planned(arguments, mesh):
    stages = Stages(autoparallel.api, "build_joint_graph", "ShardingOptimizer")
    nodes = mesh.size() // DEVICES_PER_NODE
    batch, tokens, width = arguments.shape or input_shape(arguments.mesh)
    pin = (Shard(0),) + (Replicate(),) * (mesh.ndim - 1)
    begin = Used.now()
    with autoparallel.api.AutoParallel(
            model(arguments.blocks), lambda: torch.rand(batch, tokens, width), mesh,
            cost_model=h100_topo_config(num_nodes=nodes, gpus_per_node=DEVICES_PER_NODE) if nodes else None,
            repeated_subgraphs=arguments.repeated == "equal") as planner:
        planner.add_input_constraints([pin])
        planner.add_output_constraints([pin])
        optimizer = planner.sharding_optimizer
        if arguments.document:
            write(arguments.document, document_of(optimizer))
            return {}
        built = Used.now()
        figures = {"trace": stages.cpu["build_joint_graph"], "build": stages.cpu["ShardingOptimizer"],
                   "peak_bytes": built.peak_bytes - begin.peak_bytes,
                   "nodes": len(optimizer.nodes), "variables": len(optimizer.pulp_variables),
                   "constraints": len(optimizer.prob.constraints)}
        print(json.dumps(figures), flush=True)  # if the solver ends this process, that much is known
        figures.update(solved(optimizer, built, begin))
        return figures


def solved(optimizer, built, begin):
    stages = Stages(ShardingOptimizer, "_solve")
    try:
        solution = optimizer.get_solution()
    except RuntimeError:  # it takes no plan from a solver that was stopped
        solution = None
    end = Used.now()
    found = solution and optimizer.prob.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    figures = {"solve": end.since(built), "program": stages.cpu["_solve"], "total": end.since(begin),
               "peak_bytes": end.peak_bytes - begin.peak_bytes,
               "proved": optimizer.prob.sol_status == pulp.LpSolutionOptimal}
    if found:
        cost = optimizer._compute_solution_cost(optimizer._to_concrete_solution(solution))
        figures.update(objective_us=pulp.value(optimizer.prob.objective), transitions=int(cost["transition"]))
    with shardwright.autoparallel.Solver(threads=1) as solver:
        optimizer.resolve()
    figures["ours"] = {"program": stages.cpu["_solve"], "objective_us": solver.result.objective, "status": solver.result.status}
    return figures


def write(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mesh", type=int, nargs="+", required=True)
    parser.add_argument("--shape", type=int, nargs=3, help="of the input; by default the mesh's")
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--repeated", choices=("equal", "free"), default="equal")
    parser.add_argument("--document", help="write graph and rules as ours instead; the mesh must have one axis")
    parser.add_argument("--limit", type=int, help="seconds for CBC")
    arguments = parser.parse_args()
    pulp.PULP_CBC_CMD = functools.partial(pulp.PULP_CBC_CMD, timeLimit=arguments.limit)
    shape = tuple(arguments.mesh)
    devices = 1
    for size in shape:
        devices *= size
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=devices)
    mesh = torch.distributed.device_mesh.init_device_mesh(
        "cpu", shape, mesh_dim_names=tuple(f"axis_{axis}" for axis in range(len(shape))))
    print(json.dumps(planned(arguments, mesh)))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
