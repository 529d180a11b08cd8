"""AutoParallel's problem in the form of the IOPDDL contest: costs are microseconds times 10^9."""

import math
from collections import defaultdict

from torch._functorch._aot_autograd.fx_utils import (
    get_param_and_grad_nodes,
    get_plain_input_and_grad_nodes,
    get_plain_output_and_tangent_nodes,
)

FORBIDDEN = 10 ** 18


def problem_of(optimizer, pin):
    """One variable per node, which must all be free; inputs and outputs lie like `pin`. No memory row."""
    assert not optimizer.cluster_links
    nodes = [node for node in optimizer.nodes if node.op != "output"]
    costs = [_node_costs(optimizer, node) for node in nodes]
    edges = _Edges(nodes, costs)
    for node in nodes:
        for argument, producer in enumerate(optimizer._all_input_nodes(node)):
            edges.add(producer, node, _transitions(optimizer, node, argument))
    _pin(optimizer, nodes, costs, pin)
    for a, b in _pairs(optimizer.graph):
        edges.add(a, b, _equal(_printed(optimizer, a), _printed(optimizer, b)))
    return {"problem": {
        "name": "autoparallel",
        "nodes": {"intervals": [[0, 0]] * len(nodes), "costs": costs, "usages": [[0] * len(row) for row in costs]},
        "edges": edges.document()}}


def _rounded(us):
    return round(us * 1e9) if math.isfinite(us) else FORBIDDEN


def _strategies(optimizer, node):
    return optimizer.strats[node].strategies


def _node_costs(optimizer, node):
    index, inputs = optimizer.node_map[node], optimizer._all_input_nodes(node)
    costs = []
    for out, strategy in enumerate(_strategies(optimizer, node)):
        first = optimizer.decision_vars[index, 0, out, 0]
        own = first.compute_cost * len(strategy.redistribute_cost)
        costs.append(_rounded(own if inputs else own + first.comm_cost))
    return costs


def _transitions(optimizer, node, argument):
    """By strategy of the producer, then of the node."""
    index, producer = optimizer.node_map[node], optimizer._all_input_nodes(node)[argument]
    columns = range(len(_strategies(optimizer, node)))

    def cost(source, out):
        variable = optimizer.decision_vars[index, argument, out, source]
        return _rounded(variable.comm_cost + variable.sharding_transition_cost)

    return [[cost(source, out) for out in columns] for source in range(len(_strategies(optimizer, producer)))]


def _pin(optimizer, nodes, costs, pin):
    graph = optimizer.graph
    for found in (get_plain_input_and_grad_nodes(graph), get_plain_output_and_tangent_nodes(graph)):
        for node, _ in found.values():
            row = costs[nodes.index(node)]
            for out, strategy in enumerate(_strategies(optimizer, node)):
                if strategy.output_specs.placements != pin:
                    row[out] = FORBIDDEN


def _pairs(graph):
    for found in (get_param_and_grad_nodes(graph), get_plain_input_and_grad_nodes(graph),
                  get_plain_output_and_tangent_nodes(graph)):
        yield from ((a, b) for a, b in found.values() if b is not None)


def _printed(optimizer, node):
    return [str(strategy.output_specs) for strategy in _strategies(optimizer, node)]


def _equal(a, b):
    """A strategy of a allows the first one of b with the same placement."""
    return [[0 if one in b and b.index(one) == other else FORBIDDEN for other in range(len(b))] for one in a]


class _Edges:
    """Sums of matrices by pair of nodes."""

    def __init__(self, nodes, costs):
        self.index = {node: number for number, node in enumerate(nodes)}
        self.costs = costs
        self.sums = defaultdict(lambda: None)

    def add(self, a, b, matrix):
        a, b = self.index[a], self.index[b]
        if a > b:
            a, b, matrix = b, a, [list(column) for column in zip(*matrix)]
        before = self.sums[a, b]
        if before is not None:
            matrix = [[min(x + y, FORBIDDEN) for x, y in zip(*rows)] for rows in zip(before, matrix)]
        self.sums[a, b] = matrix

    def document(self):
        return {"nodes": [list(pair) for pair in self.sums],
                "costs": [[cost for row in matrix for cost in row] for matrix in self.sums.values()]}
