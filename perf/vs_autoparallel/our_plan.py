#!/usr/bin/env python3
"""Traces and plans the model once with shardwright and prints the figures as JSON. compare runs this in a process of its own."""

import argparse
import json
import sys

import torch
from measured import Used
from transformer import input_shape, model, pinned

import shardwright.torch


def planned(graph, arguments, pins):
    return shardwright.torch.plan(
        graph, arguments.mesh, redistribution=arguments.redistribution, blocks=arguments.repeated, threads=1,
        placements={"inputs": pins["input"], "outputs": pins["output"]})


def pins_of(document, mesh):
    ends = document["nodes"] + document["outputs"]
    return {role: {end["target"]: pinned(mesh) for end in ends if end.get("role") == role} for role in ("input", "output")}


def transitions(document, plan):
    """The tensors that are moved, as AutoParallel counts them: one microsecond each."""
    nodes, rows = plan.nodes, document["nodes"]
    moved = sum(nodes[producer].outputs[output] != placement for row, node in zip(rows, nodes)
                for (producer, output), placement in zip(row.get("inputs", ()), node.inputs))
    return moved + sum(nodes[end["node"]].outputs[end["output"]] != chosen.placement
                       for end, chosen in zip(document["outputs"], plan.outputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mesh", type=int, nargs="+", required=True)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--repeated", choices=("equal", "free"), default="free")
    parser.add_argument("--redistribution", choices=("shortest", "autoparallel"), default="autoparallel")
    parser.add_argument("--document", help="plan this graph and trace none")
    parser.add_argument("--save", help="write the traced graph to this file")
    arguments = parser.parse_args()
    trace = shardwright.torch.trace  # imports what it needs
    begin = Used.now()
    if arguments.document:
        with open(arguments.document, encoding="utf-8") as file:
            document = json.load(file)
        graph = document
    else:
        with torch.device("meta"):
            tokens = torch.empty(input_shape(arguments.mesh))
        graph = trace(model(arguments.blocks), (tokens,))
        document = graph.document
    traced = Used.now()
    plan = planned(graph, arguments, pins_of(document, arguments.mesh))
    end = Used.now()
    if arguments.save:
        graph.save(arguments.save)
    print(json.dumps({"trace": traced.since(begin), "plan": end.since(traced), "total": end.since(begin),
                      "peak_bytes": end.peak_bytes - begin.peak_bytes, "plan_bytes": end.peak_bytes - traced.peak_bytes,
                      "objective_us": plan.objective_us, "compute_us": plan.compute_us, "status": plan.status,
                      "transitions": transitions(document, plan), "nodes": len(plan.nodes)}))


if __name__ == "__main__":
    sys.exit(main())
