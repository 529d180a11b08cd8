"""AutoParallel's graph and its rules for one mesh axis as a document of ours, so that both plan the same."""

import operator

import torch
from torch._functorch._aot_autograd.fx_utils import (
    get_param_and_grad_nodes,
    get_plain_input_and_grad_nodes,
    get_plain_output_and_tangent_nodes,
)
from torch.distributed.tensor import Partial, Shard
from torch.utils.flop_counter import flop_registry

REDUCTIONS = {"sum": "P", "avg": "Pavg", "max": "Pmax", "min": "Pmin"}
MATRIX_PRODUCTS = {
    torch.ops.aten.mm.default: [[2, [0, 0], [0, 1], [1, 1]]],
    torch.ops.aten.bmm.default: [[2, [0, 0], [0, 1], [0, 2], [1, 2]]],
}


def document_of(optimizer, nodes=None):
    """Of an optimizer on a mesh with one axis; `nodes` are its nodes in another topological order. Raises ValueError for
    what the models here do not have.
    """
    nodes = nodes or [node for node in optimizer.nodes if node.op != "output"]
    index = {node: number for number, node in enumerate(nodes)}
    described, outputs = _ends(optimizer.graph)
    rules, rows = {}, []
    for node in nodes:
        inputs = optimizer._all_input_nodes(node)
        entries = tuple(dict.fromkeys(placements_of(optimizer, node)))
        row = {"name": node.name, "op": str(node.target), "rule": rules.setdefault(entries, len(rules)),
               "outputs": _outputs(optimizer, node)}
        if node in described:
            role, target = described[node]
            row.update(op="placeholder", role=role, target=target)
        else:
            # An element of a tuple is a node of its own, as in AutoParallel, and takes no time.
            is_element = node.target is operator.getitem
            row.update(inputs=[[index[producer], node.args[1] if is_element else 0] for producer in inputs], phase="forward")
            if is_element or node.target.is_view:
                row["view"] = True
            elif flops := _flops(node, inputs):
                row["flops"] = flops
        rows.append(row)
    return {"format": "shardwright.aten_graph", "version": 1, "model": "AutoParallel's graph",
            "torch": torch.__version__.split("+")[0],
            "rules": [{"strategies": [{"outputs": [words[0] for words in makes], "inputs": [words[0] for words in takes]}
                                      for makes, takes in entries], "source": "torch"} for entries in rules],
            "nodes": rows,
            "outputs": [{"node": index[node], "output": 0, "role": role, "target": target}
                        for node, role, target in outputs]}


def placements_of(optimizer, node):
    """By strategy: the placements of outputs and of inputs, each a word per axis of the mesh; "-" where there is no tensor."""
    inputs = optimizer._all_input_nodes(node)
    axes = optimizer.mesh.ndim
    return [(tuple(_words(spec, axes) for spec in _listed(strategy.output_specs)),
             tuple(_words(spec, axes) for spec in strategy.input_specs) if inputs else ())
            for strategy in optimizer.strats[node].strategies]


def _listed(one_or_several):
    return one_or_several if isinstance(one_or_several, (tuple, list)) else (one_or_several,)


def _outputs(optimizer, node):
    """With the strides that strategies have, by which AutoParallel prices moves; those of the graph may differ."""
    specs = _listed(optimizer.strats[node].strategies[0].output_specs)
    return [None if spec is None else
            {"shape": list(value.shape), "stride": list(spec.tensor_meta.stride), "dtype": str(value.dtype).removeprefix("torch.")}
            for value, spec in zip(_listed(node.meta["val"]), specs)]


def _ends(graph):
    """Placeholders with role and target, and outputs."""
    described, outputs = {}, []
    for found, role in ((get_param_and_grad_nodes(graph), "parameter"), (get_plain_input_and_grad_nodes(graph), "input")):
        for descriptor, (node, gradient) in found.items():
            target = descriptor.target if role == "parameter" else str(descriptor.idx)
            described[node] = (role, target)
            if gradient is not None:
                outputs.append((gradient, "gradient", target))
    for descriptor, (node, tangent) in get_plain_output_and_tangent_nodes(graph).items():
        outputs.insert(0, (node, "output", str(descriptor.idx)))
        if tangent is not None:
            described[tangent] = ("tangent", str(descriptor.idx))
    return described, outputs


def _words(spec, axes):
    return ("-",) * axes if spec is None else tuple(map(_word, spec.placements))


def _word(placement):
    if isinstance(placement, Shard):
        return f"S{placement.dim}"
    return REDUCTIONS[placement.reduce_op] if isinstance(placement, Partial) else "R"


def _flops(node, inputs):
    """As AutoParallel counts: its rule for einsum, torch's for the others."""
    if node.target in MATRIX_PRODUCTS:
        return MATRIX_PRODUCTS[node.target]
    if node.target is torch.ops.aten.einsum.default:
        a, b = (len(each.meta["val"].shape) for each in inputs)
        batch = [[0, dimension] for dimension in range(a)]
        return [[2, *batch, [1, b - 1]]]
    if node.target.overloadpacket in flop_registry:
        raise ValueError(f"no flops are known of {node.target}")
    return None
