"""Malformed files and flags: every message names the place, and says what is wrong or what to do."""

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


# (command, document, [(place, value, how the message after the file's name begins)])
FILES = [
    ("plan {file}", lambda: problem(), [
        (("tables", 0, "num_embedings"), 5,
         '/tables/0/num_embedings: unknown key "num_embedings"; did you mean "num_embeddings"?'),
        (("tables", 0, "embedding_dim"), ABSENT, '/tables/0: the key "embedding_dim" is missing'),
        (("tables", 0, "num_embeddings"), "1M",
         '/tables/0/num_embeddings: expected an integer, found the text "1M"; write 1000000'),
        (("tables", 0, "num_embeddings"), -1,
         '/tables/0/num_embeddings: rows of table "a" must be between 1 and 2^50, is -1'),
        (("tables", 0, "embedding_dim"), 0,
         '/tables/0/embedding_dim: columns of table "a" must be between 1 and 2^20, is 0'),
        (("tables", 0, "num_embeddings"), 1e+30,
         '/tables/0/num_embeddings: expected an integer below 2^63, in digits, found the number 1e+30'),
        (("tables", 0, "name"), None, '/tables/0/name: expected a text, found null'),
        (("tables", 0, "data_type"), "fp8", '/tables/0/data_type: unknown data type "fp8"; did you mean "NFP8"?'),
        (("tables", 1, "name"), "a", '/tables/1/name: another table is called "a"; rename one, or give it its own `module`'),
        (("tables",), [], '/tables: the list of tables is empty'),
        (("tables",), {}, '/tables: expected a list of tables, found an object'),
        (("topology",), {"world_size": 2, "hbm_cap": "80GiB"},
         '/topology/hbm_cap: expected an integer, found the text "80GiB"; in bytes that is 85899345920'),
        (("topology", "world_size"), 0,
         '/topology/world_size: must be at least 1 rank; write another number, or give --ranks'),
        (("topology", "compute_device"), "gpu",
         '/topology/compute_device: unknown compute device "gpu"; did you mean "cuda"?'),
        (("constraints",), {"c": {}}, '/constraints/c: no table is named "c"; known: a, b'),
        (("constraints",), {"a": {"sharding_types": ["rowwise"]}},
         '/constraints/a/sharding_types/0: unknown sharding type "rowwise"; did you mean "row_wise"?'),
        (("constraints",), {"a": {"compute_kernels": ["uvm"]}},
         '/constraints/a/compute_kernels/0: unknown compute kernel "uvm"; known: dense, fused, fused_uvm, fused_uv'),
        (("reservation",), {"type": "fix"},
         '/reservation/type: unknown reservation type "fix"; did you mean "fixed"?'),
        (("reservation",), {"type": "fixed", "percentage": 15},
         '/reservation/percentage: must be a fraction between 0 and 1'),
        (("memory_margin",), "5%", '/memory_margin: expected a number, found the text "5%"; write 0.05'),
        (("keep_apart",), [["a", "x"]], '/keep_apart/0/1: no table is named "x"; known: a, b'),
        (("batch_size",), 0, '/batch_size: must be between 1 and 2^40 samples per rank, is 0'),
        (("tables", 0, "pooling_factor"), 1e30, '/tables/0/pooling_factor: must be between 0 and 1e12'),
        (("tables", 0, "features"), [{"name": "f", "pooling_factor": 1e30}],
         '/tables/0/features/0/pooling_factor: must be between 0 and 1e12'),
        (("tables", 0, "features"), ["f", "g", "f"], '/tables/0/features: the feature "f" is named twice'),
        (("tables", 0, "features"), "f",
         '/tables/0/features: expected a list of features, found the text "f"; write a single one in brackets, too'),
        (("tables", 0, "name"), ["a"], '/tables/0/name: expected a text, found a list of 1; write it without brackets'),
        (("tables", 0, "num_embeddings"), "40k",
         '/tables/0/num_embeddings: expected an integer, found the text "40k"; write 40000'),
        (("tables", 0, "num_embeddings"), "400_000",
         '/tables/0/num_embeddings: expected an integer, found the text "400_000"; write 400000'),
        (("tables", 0, "num_embeddings"), "40,000",
         '/tables/0/num_embeddings: expected an integer, found the text "40,000"; write 40000'),
        (("tables", 0, "embedding_dim"), -16,
         '/tables/0/embedding_dim: columns of table "a" must be between 1 and 2^20, is -16'),
        (("tables", 0, "owner"), "me", '/tables/0/owner: unknown key "owner"; known: name, num_embeddings, embedding_dim,'),
        (("tables", 0), "// the first", '/tables/0: expected an object, found the text "// the first"; a comment is a'),
        (("topology", "custom"), {"hbm_cap": []}, '/topology/custom/hbm_cap: the list is empty; leave it out'),
        (("constraints",), {"a": {"sharding_types": []}},
         '/constraints/a/sharding_types: the list is empty; leave it out'),
        (("constraints",), {"a": {"compute_kernels": []}},
         '/constraints/a/compute_kernels: the list is empty; leave it out'),
        (("constraints",), {"a": {"num_poolings": []}}, '/constraints/a/num_poolings: the list is empty; leave it out'),
        (("constraints",), {"a": {"sharding_types": ["row_wise", "table_wise", "row_wise"]}},
         '/constraints/a/sharding_types/2: "row_wise" is named twice'),
        (("constraints",), {"a": {"min_partition": 0}},
         '/constraints/a/min_partition: must be at least 1 column; leave it out for the default'),
        (("memory_margin",), 5,
         '/memory_margin: expected a fraction below 1, such as 0.05, or bytes, at least 1024, found the number 5'),
    ]),
    ("verify {problem} {file}", lambda: plan(), [
        (("plan",), ABSENT, 'the file holds neither a `plan` nor an `error`'),
        (("plan", 0, "ranks"), ["0"],
         '/plan/0/ranks/0: expected an integer, found the text "0"; write it without quotes'),
        (("plan", 0, "sharding_type"), "rw",
         '/plan/0/sharding_type: unknown sharding type "rw"; known: data_parallel, table_wise, column_wise, row_wi'),
        (("best_rating",), "5", '/best_rating: expected a number, found the text "5"; write it without quotes'),
        (("format",), "shardwright.embedding.plan/9",
         '/format: this version reads plans in the format "shardwright.embedding.plan/1" only'),
        (("best_ratting",), 4, '/best_ratting: unknown key "best_ratting"; did you mean "best_rating"?'),
        (("mode",), "exact", '/mode: exact mode is called compat mode now: change it to "compat" here'),
        (("stopped_by",), "me",
         '/stopped_by: unknown reason to stop "me"; known: "", work_limit, time_limit, cancelled'),
        (("certificate", "nodes"), 5, '/certificate/nodes: expected a list of nodes, found the number 5'),
    ]),
    ("replan {problem} {file}", lambda: plan(), [
        (("plan", 1), {"table": "a", "module": "ebc", "sharding_type": "row_wise", "compute_kernel": "fused", "load_factor": None, "ranks": [0, 1], "layout": [[500, 16, 0, 0, 500, 0, 2]], "element_bits": 32, "hbm": 203264, "ddr": 0, "perf": 0.001378904616952341},
         '/plan/1: table "a" is in the plan twice'),
        (("plan",), None, 'the file holds neither a `plan` nor an `error`'),
        (("plan", 0, "sharding_type"), "rw",
         '/plan/0/sharding_type: unknown sharding type "rw"; known: data_parallel, table_wise, column_wise, row_wi'),
        (("plan", 0, "ranks"), [-1], '/plan/0/ranks: must be ranks, not -1'),
    ]),
    ("operators solve {file}", lambda: instance(), [
        (("nodse",), 1, '/nodse: unknown key "nodse"; did you mean "nodes"?'),
        (("nodes",), ABSENT, 'the key "nodes" is missing'),
        (("nodes", 0, "strategies", 0, "compute"), -1, '/nodes/0/strategies/0/compute: a cost is negative'),
        (("nodes", 0, "strategies", 0, "mem"), "1KB",
         '/nodes/0/strategies/0/mem: expected a number, found the text "1KB"; in bytes that is 1000'),
        (("nodes", 0, "strategies"), [], '/nodes/0/strategies: the node has no strategies'),
        (("edges", 0), [0, 1], '/edges/0: expected a list [node, node, cost matrix], found a list of 2'),
        (("edges", 0, 2), 5, '/edges/0/2: expected a matrix of costs, a list of rows, found the number 5'),
        (("edges", 0, 0), 999, '/edges/0/0: there is no node 999; there are 6'),
        (("nodes", 1, "inputs"), ["x"], '/nodes/1/inputs/0: expected an integer, found the text "x"'),
        (("nodes", 1, "inputs"), [99], '/nodes/1/inputs/0: there is no node 99 before this one, which is node 1'),
        (("nodes", 1, "inputs"), [1], '/nodes/1/inputs/0: there is no node 1 before this one, which is node 1'),
        (("edges", 0, 2), [[1]], '/edges/0/2/0: has 1 entries for 14 strategies'),
        (("following",), {"x": 1}, '/following/x: there is no node "x"'),
    ]),
    ("operators build {file} --mesh 2x2", lambda: sample("mlp_graph"), [
        (("nodes", 1, "kind"), "dense", '/nodes/1/kind: unknown operator "dense"; did you mean "linear"?'),
        (("nodes", 1, "kind"), "zzz",
         '/nodes/1/kind: unknown operator "zzz"; known: placeholder, output, get_attr, conv1d, conv2d, conv3d, lin'),
        (("nodes", 1, "kind"), ABSENT, '/nodes/1: the key "kind" is missing'),
        (("nodes", 1, "shape"), [32], '/nodes/1/shape: linear "fc1": the output must be [32, 256], is [32]'),
        (("nodes", 1, "shape"), [32, 0], '/nodes/1/shape/1: an extent must be at least 1, is 0'),
        (("nodes", 1, "shape"), "32x4", '/nodes/1/shape: expected a list of extents, found the text "32x4"'),
        (("nodes", 1, "inputs"), ["x"], '/nodes/1/inputs/0: expected an integer, found the text "x"'),
        (("nodes", 1, "inputs"), [4],
         '/nodes/1/inputs/0: an input must be a node before this one, 4 is not before 1'),
        (("nodes", 1, "inputs"), ABSENT, '/nodes/1: the key "inputs" is missing'),
        (("nodes", 1, "params"), {"weight": [1, 2]},
         '/nodes/1: linear "fc1": an input [32, 64] does not fit a weight [1, 2] of [outputs, inputs]'),
        (("nodes", 1, "params"), ABSENT, '/nodes/1/params: linear "fc1": has no weight'),
        (("nodes", 1, "attrs"), {"biass": True}, '/nodes/1/attrs/biass: unknown key "biass"; did you mean "bias"?'),
        (("nodes", 1, "attrs"), {"bias": "no"}, '/nodes/1/attrs/bias: expected true or false, found the text "no"'),
        (("nodes", 1, "call"), "lambda", '/nodes/1/call: unknown call "lambda"; known: "", module, function, method'),
        (("nodes", 1, "dtype"), "fp32", '/nodes/1/dtype: unknown element type "fp32"; did you mean "float32"?'),
        (("nodes", 2, "name"), "fc1", '/nodes/2/name: "fc1" names two nodes'),
        (("nodes",), [], '/nodes: a graph must have a node'),
        (("nodes", 1, "buffers"), ["zz"], '/nodes/1/buffers/0: "zz" is not among `params`'),
    ]),
    ("operators plan {file} --mesh 2x2", lambda: sample("traced_mlp"), [
        (("format",), "x", '/format: expected "shardwright.aten_graph", found the text "x"'),
        (("version",), 2, '/version: this release reads version 1'),
        (("nodes", 0, "rule"), 999, '/nodes/0/rule: there is no rule 999'),
        (("rules", 0, "strategies", 0, "outputs"), ["X"],
         '/rules/0/strategies/0/outputs/0: expected a placement: R, S with one of the dimensions 0 to 8 such as S0'),
        (("nodes", 0, "outputs", 0, "dtype"), "fp32",
         '/nodes/0/outputs/0/dtype: unknown dtype "fp32"; did you mean "float32"?'),
        (("nodes", 5, "inputs"), [[99, 0]], '/nodes/5/inputs/0: node 99 is not before "primals_6"'),
        (("nodes", 0, "role"), "weight",
         '/nodes/0/role: unknown role "weight"; known: operator, parameter, buffer, input, tangent'),
    ]),
    ("operators plan samples/data/traced_mlp.json --options {file}", lambda: None, [
        ((), {"mesh": [2, 0]}, '/mesh/1: the axis has no device'),
        ((), {"mesh": "2x2"}, '/mesh: expected a list, found the text "2x2"'),
        ((), {"mesh": [2, 2], "memory": "80GiB"},
         '/memory: expected an integer, found the text "80GiB"; in bytes that is 85899345920'),
        ((), {"mesh": [2, 2], "memory": -5}, '/memory: must not be negative'),
        ((), {"mesh": [2, 2], "collectives": {"model": "fast"}},
         '/collectives/model: unknown model "fast"; known: auto, flat, nccl, dtensor, rings, measured'),
        ((), {"mesh": [2, 2], "collectives": {"model": "rings", "links": [{"latency_us": 1, "bandwidth_gb_per_s": 1}]}},
         '/collectives/links: 1 links for a mesh of 2 axes'),
        ((), {"mesh": [2, 2], "placements": {"inputs": {"zz": ["R", "R"]}}},
         '/placements/inputs/zz: unknown input "zz"; known: x'),
        ((), {"mesh": [2, 2], "placements": {"parameters": {"0.weight": ["S"]}}},
         "/placements/parameters/0.weight: expected a list with a placement for each of the mesh's 2 axes, found a"),
        ((), {"mesh": [2, 2], "placements": {"parameters": {"l.0.weight": ["R"]}}},
         "/placements/parameters/l.0.weight: expected a list with a placement for each of the mesh's 2 axes, found a list of 1"),
        ((), {"mesh": [2, 2], "placements": {"inputs": {"x": ["S9", "R"]}}},
         '/placements/inputs/x/0: expected a placement: R, S with one of the dimensions 0 to 8 such as S0, P, Pavg'),
        ((), {"mesh": [2, 2], "placements": {"inputs": {"x": ["-", "R"]}}},
         '/placements/inputs/x/0: expected a placement, such as R or S0, found the text "-"'),
        ((), {"mesh": [2, 2], "placements": {"inputs": {"x": ["S5", "R"]}}},
         '/placements/inputs/x: a tensor of shape [32, 64], with 2 dimensions, cannot be placed as [S5, R] on this '
         'mesh; allowed: [R, R], [R, S0], [R, S1], [S0, R], '),
        ((), {"mesh": [2, 2], "placements": {"inputs": {"x": ["P", "R"]}}},
         '/placements/inputs/x: a tensor of shape [32, 64], with 2 dimensions, cannot be placed as [P, R] on this '
         'mesh; allowed: [R, R], '),
        ((), {"mesh": [2, 2], "collectives": {"model": "measured",
                                              "tables": [{"axis": 0, "collective": "all_reduce", "rows": [[1]]}]}},
         '/collectives/tables/0/rows/0: expected [bytes, microseconds], found a list of 1'),
        ((), {"mesh": [2, 2], "blocks": "same"}, '/blocks: unknown kind of blocks "same"; known: free, equal'),
        ((), {"mesh": [2, 2], "seed": -1}, '/seed: expected a whole number from 0 to 2^64 - 1, found the number -1'),
        ((), {"meshes": [2]}, '/meshes: unknown key "meshes"; did you mean "mesh"?'),
        ((), {"mesh": [2, 2], "operator_times": [{"op": "x"}]}, '/operator_times/0: the key "inputs" is missing'),
    ]),
    ("operators paths {file}", lambda: sample("paths"), [
        ((0, "pairs", 0), ["S0,R", "R,S0,R"], '/0/pairs/0/0: "S0,R": 2 dimensions for a tensor of 3'),
        ((0, "pairs", 0), ["A,R,R", "R,S0,R"],
         '/0/pairs/0/0: "A" is no sharding of a dimension: expected R, or S with mesh axes such as S0 or S01'),
        ((0, "pairs", 0), ["S0,R,R"],
         '/0/pairs/0: expected a pair of a source and a target, such as ["S0,R", "R,R"], found a list of 1'),
        ((0, "pairs"), [], '/0/pairs: expected a list of at least one pair of sharding specs, found an empty list'),
        ((), [], 'expected a list of at least one object with `mesh`, `shape` and `pairs`, found an empty list'),
        ((0, "mesh"), [2, 0], '/0/mesh/1: a mesh axis has at least one device and at most 2^32 - 1'),
        ((0, "alpha"), [1], '/0/alpha: 1 entries for a mesh of 2 axes'),
        ((0, "beta"), [-1, 1], '/0/beta/0: must be a finite number that is not negative'),
        ((0, "pairs", 0), ["S2,R,R", "R,R,R"], '/0/pairs/0/0: "S2,R,R": the mesh has no such axis'),
        ((0, "pairs", 0), ["S0,S0,R", "R,R,R"], '/0/pairs/0/0: "S0,S0,R": a mesh axis shards two dimensions'),
        ((0, "shape"), [3, 3, 3], '/0/pairs/0/0: "S0,R,R": dimension 0 of 3 elements cannot be split over 2 devices'),
        ((0, "pairs"), ABSENT, '/0: the key "pairs" is missing'),
    ]),
    ("operators strategies {file}", lambda: sample("linear"), [
        (("records", 0, "mesh"), "2x2", '/records/0/mesh: expected a list, found the text "2x2"'),
        (("records", 0, "operands", "weigth"), {},
         '/records/0/operands/weigth: unknown role "weigth"; known: input, other, output, bias, running_mean, runn'),
        (("records", 0, "operands", "input", "type"), "TENSOR",
         '/records/0/operands/input/type: unknown operand type "TENSOR"; known: ARG, PARAM, BUFFER, OUTPUT'),
        (("records", 0, "operands", "input", "shape"), [1],
         '/records/0: linear "y": an input [1] does not fit a weight [256, 64] of [outputs, inputs]'),
        (("records", 0, "operands"), ABSENT, '/records/0: the key "operands" is missing'),
        (("records", 0, "id"), ABSENT, '/records/0: the key "id" is missing'),
        (("records",), [], '/records: expected a list of at least one record, found an empty list'),
    ]),
    ("operators autoshard {file} --devices 4", lambda: sample("autoshard_mlp"), [
        (("graph", 0, "kind"), "relu",
         '/graph/0/kind: unknown kind of op "relu"; known: placeholder, elementwise, binary, layernorm, softmax, v'),
        (("graph", 1, "args"), ["zz"], '/graph/1/args/0: "zz" is not the name of an earlier op'),
        (("graph", 0, "shape"), "x", '/graph/0/shape: expected a list, found the text "x"'),
        (("graph", 0, "shape"), [3, 3],
         '/graph/1/shape: matmul of "x" of shape [3, 3] does not give [8, 1024, 4096]: it changes the last extent'),
        (("graph", 2, "shape"), [8, 1024],
         '/graph/2/shape: elementwise of "fc1" of shape [8, 1024, 4096] does not give [8, 1024]: its result has'),
        ((), [], 'expected a graph, or a list of graphs, found an empty list'),
        (("graph",), ABSENT, 'the key "graph" is missing'),
    ]),
    ("program apply {file}", lambda: sample("program"), [
        (("vars", 0, "mesh"), 7, '/vars/0/mesh: there is no mesh 7; there are 2'),
        (("vars", 0, "dims_mapping"), [0], '/vars/0/dims_mapping: has 1 entries for a tensor of 2 dimensions'),
        (("vars", 0, "dims_mapping"), [3, -1], '/vars/0/dims_mapping/0: the mesh has no axis 3'),
        (("ops", 0, "inputs", 0, "var"), "zz", '/ops/0/inputs/0/var: there is no variable "zz"'),
        (("vars", 1, "name"), "x", '/vars/1/name: two variables are called "x"'),
        (("vars", 0, "full_shape"), [16, -8],
         '/vars/0/full_shape/1: an extent cannot be -8; only the first may be -1, for the batch'),
        (("vars", 0, "dtype"), "fp16", '/vars/0/dtype: unknown data type "fp16"; did you mean "float16"?'),
        (("ops", 0, "type"), ABSENT, '/ops/0: the key "type" is missing'),
        (("ops", 0, "type"), "", """/ops/0/type: an operator's type is its name, such as "matmul_v2\""""),
        (("ops",), [], '/ops: the program has no operator'),
        (("ranks",), [], '/ranks: has no rank; leave it out for the programs of all ranks'),
        ((), {"programs": []}, '/programs: the list of programs is empty'),
        ((), {"meshes": [], "vars": [], "ops": []}, '/meshes: a program runs on at least one mesh'),
        (("meshes", 0, "ids"), [0], '/meshes/0/ids: a mesh of this shape has 2 ranks, not 1'),
        (("meshes", 0, "ids"), [0, 0], '/meshes/0/ids: rank 0 occurs twice'),
        (("ranks",), [9], '/ranks/0: no mesh has rank 9'),
        (("vars",), ABSENT, 'the key "vars" is missing'),
        (("ops", 0, "role"), "fwd", '/ops/0/role: unknown role "fwd"; did you mean "forward"?'),
        (("vars", 0, "partial"), {"0": "mean"}, '/vars/0/partial/0: unknown reduction "mean"; did you mean "avg"?'),
        (("opps",), [], '/opps: unknown key "opps"; did you mean "ops"?'),
    ]),
    ("program reshard {file}", lambda: sample("reshard"), [
        ((0, "shape"), [16], '/0/src/dims_mapping: has 2 entries for a tensor of 1 dimension'),
        ((0, "shape"), [0, 8], '/0/shape/0: an extent cannot be 0'),
        ((), [], 'expected a list of at least one case, found an empty list'),
        ((0, "src", "ids"), [0, 1], '/0/src/ids: a mesh of this shape has 4 ranks, not 2'),
        ((0, "src", "dims_mapping"), [0, 0], '/0/src/dims_mapping/1: axis 0 splits two dimensions'),
        ((0, "dtype"), "half", '/0/dtype: unknown data type "half"; did you mean "float16"?'),
        ((0, "dst"), ABSENT, '/0: the key "dst" is missing'),
        ((0, "source"), {}, '/0/source: unknown key "source"; known: shape, dtype, src, dst'),
        ((1, "src", "partial"), {"x": "sum"}, '/1/src/partial/x: "x" is not the number of a mesh axis'),
    ]),
    ("program redistribute {file}", lambda: sample("redistribution"), [
        (("source",), ["P", "S0", "S0"],
         '/source/1: "S0" is no placement; write "R", "S(0)" with the dimension that is sharded, or "P(sum)" with '),
        (("source",), ["R"], '/source: the mesh has 3 axes; write a placement for each, not 1'),
        (("source",), ["R", "R", "S(5)"], '/source/2: the tensor has 2 dimensions and none with the number 5'),
        (("data_type",), "BF16", '/data_type: unknown data type "BF16"; did you mean "bfloat16"?'),
        (("costs", "links"), [], '/costs: the model "rings" needs "links"'),
        (("costs", "model"), "ring", '/costs/model: unknown model "ring"; did you mean "rings"?'),
        (("mesh",), [2, 0, 4], '/mesh/1: the axis has no device'),
        (("mesh",), "2x2x4", '/mesh: expected a list, found the text "2x2x4"'),
        (("memory_bytes",), "1GiB",
         '/memory_bytes: expected an integer, found the text "1GiB"; in bytes that is 1073741824'),
        (("memory_bytes",), -1, '/memory_bytes: must not be negative'),
        (("costs", "links", 0, "bandwidth_gb_per_s"), 0,
         '/costs/links/0/bandwidth_gb_per_s: must be a finite number above 0'),
        (("target",), ABSENT, 'the key "target" is missing'),
        (("source",), "R R R", '/source: expected a list, found the text "R R R"'),
        (("collectives",), -1, '/collectives: must be between 0 and 1000'),
    ]),
    ("program transfer {file}", lambda: sample("transfer"), [
        (("meshes", "stage0", "ranks"), "0..3",
         '/meshes/stage0/ranks: "0..3" is no range of ranks; write "0-63" or "0-7,16-23"'),
        (("meshes", "stage0", "ranks"), "0-2",
         '/meshes/stage0/ranks: a mesh of this shape has 4 ranks, not 3; change the shape or the ranks'),
        (("meshes", "stage0", "ranks"), [0, 0, 1, 2],
         '/meshes/stage0/ranks: rank 0 occurs twice; a rank has one place in a mesh'),
        (("tensors", 0, "source", "mesh"), "stage9",
         '/tensors/0/source/mesh: unknown mesh "stage9"; did you mean "stage0"?'),
        (("tensors", 0, "source", "placements"), ["S(0)", "R"],
         '/tensors/0/source/placements: mesh "stage0" has 1 axes; write a placement for each, not 2'),
        (("tensors", 0, "source", "placements"), ["S(7)"],
         '/tensors/0/source/placements/0: the tensor has 2 dimensions and none with the number 7'),
        (("tensors", 0, "source", "placements"), ["X"],
         '/tensors/0/source/placements/0: "X" is no placement; write "R", "S(0)" with the dimension that is sharde'),
        (("tensors", 0, "data_type"), "BF16",
         '/tensors/0/data_type: unknown data type "BF16"; did you mean "bfloat16"?'),
        (("tensors", 1, "name"), "layers.0.attention.qkv",
         '/tensors/1/name: two tensors are called "layers.0.attention.qkv"; the receiver could not tell them apart'),
        (("tensors", 0, "source"), ABSENT,
         '/tensors/0: "layers.0.attention.qkv" has no source layout; give it one, or leave the tensor out'),
        (("hosts", "intra_host_bw"), 0,
         '/hosts/intra_host_bw: a bandwidth is a positive number of bytes per millisecond'),
        (("hosts", "ranks_per_host"), 0, '/hosts/ranks_per_host: a host has at least one rank'),
        (("meshes",), ABSENT, 'the key "meshes" is missing'),
    ]),
]

# (arguments, how the message begins)
FLAGS = [
    ("plan {problem} --ranks 0", '--ranks: must be a whole number of at least 1, not "0"'),
    ("plan {problem} --ranks two", '--ranks: must be a whole number of at least 1, not "two"'),
    ("plan {problem} --ranks 1000000000000000",
     '--ranks: must be a whole number from 1 to 1099511627776, not "1000000000000000"'),
    ("plan {problem} --hbm 80", '--hbm: "80" is no size: write a unit, such as GiB'),
    ("plan {problem} --hbm '80 Gigs'",
     '--hbm: "80 Gigs" is no size: units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB, such as 80GiB'),
    ("plan {problem} --mode fast", '--mode: unknown mode "fast"; known: compat, best'),
    ("plan {problem} --time-limit -1", '--time-limit: must be a number of seconds, zero or above, not "-1"'),
    ("plan {problem} --device gpu", '--device: unknown compute device "gpu"; did you mean "cuda"?'),
    ("plan {problem} --reuse {problem}",
     '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a plan is needed here, which `shardwright plan` writes'),
    ("plan {problem} --resume {problem}",
     '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a plan is needed here, which `shardwright plan` writes'),
    ("plan {problem} --search-space {problem}",
     '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a search space is needed here, which'),
    ("plan {problem} --ranks 1000000000", '--ranks: must be between 1 and 1048576 ranks, is 1000000000'),
    ("plan {problem} --ranks 40k", '--ranks: must be a whole number of at least 1, not "40k"; write 40000'),
    ("plan {problem} --batch-size 4,096",
     '--batch-size: must be a whole number of at least 1, not "4,096"; write 4096'),
    ("plan {problem} --ranks 4 --ranks-per-host 8",
     '--ranks-per-host: a host of 8 ranks is larger than the machine of 4; give at most 4, or more --ranks'),
    ("plan {problem} --ranks 4 --pod-size 3",
     '--pod-size: a pod of 3 hosts is larger than the machine, which has 1; give at most 1, or say by --ranks-per-h'),
    ("plan {problem} --hbm 0", '--hbm: "0" is no size: must be above zero, such as 80GiB'),
    ("plan {problem} --hbm -1GiB", '--hbm: "-1GiB" is no size: must be above zero, such as 80GiB'),
    ("plan {problem} --hbm 1,5GiB", '--hbm: "1,5GiB" is no size: write a decimal point, such as 1.5GiB'),
    ("plan {problem} --hbm 80G",
     '--hbm: "80G" is no size: units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB, such as 80GiB'),
    ("plan {problem} --hbm 80 GiB", '--hbm: takes one value, and "GiB" follows it; write --hbm 80GiB'),
    ("plan {problem} --ranks 8 16",
     '--ranks: takes one value, and "16" follows it; leave it out, or put a value with spaces in quotes'),
    ("plan {problem} --world-size 8", 'unknown option --world-size; did you mean --ranks?'),
    ("plan {problem} --num-ranks 8", 'unknown option --num-ranks; did you mean --ranks?'),
    ("plan {problem} --gpus 8", 'unknown option --gpus; did you mean --ranks?'),
    ("plan {problem} --json -o {file}",
     '--json: is for standard output, and --output {file} has the JSON already; leave one of them out'),
    ("plan {problem} --checkpoint /nowhere/x.json", '/nowhere/x.json: cannot write: No such file or directory'),
    ("plan {problem} --mode compat --checkpoint {file}",
     '--checkpoint: keeps what best mode has found, and compat mode has nothing to keep; leave it out'),
    ("plan {problem} --mode compat --lanes 4",
     '--lanes: are searches of best mode, and compat mode has one; leave them out'),
    ("plan {problem} --mode compat --resume {plan}",
     '--resume: goes on with a search of best mode, and compat mode decides all anew; leave it out, or use bes'),
    ("plan {problem} --search-space {space} --batch-size 4096",
     '{space}: /search_space/0: the costs are those of 512 samples per rank, and the problem has 4096; give --b'),
    ("explain {problem} --table", '--table: needs a value; see shardwright explain --help'),
    ("diff {plan} {plan} --ranks 8", '--ranks: is for two problems; {plan} is a plan'),
    ("sweep {problem} --ranks 8,4,8", '--ranks: has 8 twice; name each value once'),
    ("sweep {problem} --ranks 8 16", '--ranks: takes one value, and "16" follows it; write --ranks 8,16'),
    ("sweep {problem} --ranks 8-64",
     '--ranks: "8-64" is no range with a step; write 8..64:8 (steps of 8) or 8..64:x2 (doubled)'),
    ("sweep {problem} --ranks 8..64", '--ranks: "8..64" is no range with a step; write 8..64:8 (steps of 8) or 8..64:x2 (doubled)'),
    ("operators plan samples/data/traced_mlp.json --mesh 2x2 --device H1000",
     '--device: unknown device "H1000"; known are H100, '),
    ("plan {problem} --batch-size 1.5", '--batch-size: must be a whole number of at least 1, not "1.5"'),
    ("plan {problem} -o /nowhere/x.json", '/nowhere/x.json: cannot write: No such file or directory'),
    ("plan {problem} --report /nowhere/x.html", '/nowhere/x.html: cannot write: No such file or directory'),
    ("plan {problem} --sync-interval 3",
     '--sync-interval: is about sharding groups; give --sharding-group-size, too'),
    ("plan {problem} --sharding-group-size 3",
     '--sharding-group-size: groups of 3 ranks do not divide 2 ranks on hosts of 2 evenly; sizes that fit: 1,'),
    ("verify {problem}", 'PLAN is required; see shardwright verify --help'),
    ("verify {plan} {problem}", '{plan}: this is a plan, which `shardwright verify PROBLEM PLAN` reads; a problem is needed here, which `shardwright init'),
    ("verify {problem} {problem}", '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a plan is needed here, which `shardwright plan` writes'),
    ("verify {problem} nowhere.json", 'nowhere.json: cannot open: No such file or directory'),
    ("verify {problem} - -", 'The following argument was not expected: -'),
    ("replan {problem}", 'PLAN is required; see shardwright replan --help'),
    ("replan {problem} {problem}", '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a plan is needed here, which `shardwright plan` writes'),
    ("replan {problem} {plan} --migration-weight -1",
     '--migration-weight: must be a number of milliseconds per GiB, zero or above, not "-1"'),
    ("replan {problem} {plan} --migration-weight cheap",
     '--migration-weight: must be a number of milliseconds per GiB, zero or above, not "cheap"'),
    ("replan {problem} {plan} --migration-wieght 1",
     'unknown option --migration-wieght; did you mean --migration-weight?'),
    ("replan {problem} nowhere.json", 'nowhere.json: cannot open: No such file or directory'),
    ("replan {plan} {problem}", '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a plan is needed here, which `shardwright plan` writes'),
    ("replan {problem} {plan} --ranks 0", '--ranks: must be a whole number of at least 1, not "0"'),
    ("sweep {problem} --ranks 8..4",
     '--ranks: "8..4" begins above its end; write 4..8:8 (steps of 8) or 4..8:x2 (doubled)'),
    ("sweep {problem} --ranks 8..64:0",
     '--ranks: "8..64:0" is no range with a step; write 8..64:8 (steps of 8) or 8..64:x2 (doubled)'),
    ("sweep {problem} --ranks a,b",
     '--ranks: must be whole numbers of at least 1, or ranges such as 8..64:8 or 8..64:x2, not "a"'),
    ("sweep {problem} --ranks 8..64:x1",
     '--ranks: "8..64:x1" is no range with a step; write 8..64:8 (steps of 8) or 8..64:x2 (doubled)'),
    ("sweep {problem} --hbm 80", '--hbm: "80" is no size: write a unit, such as GiB'),
    ("sweep {problem} --ranks 4 --hbm '80Gi B'",
     '--hbm: "80Gi B" is no size: units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB'),
    ("sweep {problem} --ranks 4 --price free", '--price: must be a number, above zero, not "free"'),
    ("sweep {problem} --ranks 4 --price 1,2,3", '--price: has 3 prices for 0 sizes of --hbm; give one price, or one for every size'),
    ("sweep {problem} --ranks 4 --csv - --json", '--csv: needs the name of a file; standard output has the JSON'),
    ("sweep {problem} --ranks 0",
     '--ranks: must be whole numbers of at least 1, or ranges such as 8..64:8 or 8..64:x2, not "0"'),
    ("sweep {problem} --ranks 4 --batch-size -1",
     '--batch-size: must be whole numbers of at least 1, or ranges such as 8..64:8 or 8..64:x2, not "-1"'),
    ("sweep {problem} --ranks 99999999999",
     '--ranks: must be between 1 and 1048576 ranks, is 99999999999'),
    ("explain {problem} --table zz", '--table: the problem has no table "zz"; known: a, b'),
    ("explain {problem} {problem}", '{problem}: this is a problem, which `shardwright plan PROBLEM` reads; a plan is needed here, which `shardwright plan` writes'),
    ("explain nowhere.json", 'nowhere.json: cannot open: No such file or directory'),
    ("explain {problem} {plan} --ranks 4",
     '{plan}: the plan was made for 2 ranks, the problem as it is given has 4; give the flags that the plan wa'),
    ("explain {plan}", '{plan}: this is a plan, which `shardwright verify PROBLEM PLAN` reads; a problem is needed here, which `shardwright init'),
    ("diff {problem}", 'PLAN_B is required; see shardwright diff --help'),
    ("diff {problem} {plan}", '{plan}: is a plan, and {problem} is a problem; compare two of a kind'),
    ("diff {plan} nowhere.json", 'nowhere.json: cannot open: No such file or directory'),
    ("diff {problem} {problem} --ranks x", '--ranks: must be a whole number of at least 1, not "x"'),
    ("operators solve {instance} --budget lots",
     '--budget: "lots" is no size: write a number and a unit, such as 80GiB'),
    ("operators solve {instance} --work-limit -1", '--work-limit: must be a whole number of at least 0, not "-1"'),
    ("operators solve {instance} --format x", '--format: unknown word "x"; known: auto, iopddl-contest'),
    ("operators solve samples/data/mlp_graph.json",
     'samples/data/mlp_graph.json: this is an operator graph, which `shardwright operators build GRAPH` reads; a cost'),
    ("operators solve samples/data/traced_mlp.json",
     'samples/data/traced_mlp.json: this is a traced model, which `shardwright operators plan MODEL` reads; a cost'),
    ("operators build samples/data/mlp_graph.json", '--mesh is required; see shardwright operators build --help'),
    ("operators build samples/data/mlp_graph.json --mesh 2y2",
     '--mesh: a mesh is its extents joined by x, such as 2x4, not "2y2"'),
    ("operators build samples/data/mlp_graph.json --mesh 0x2", '--mesh: the axis has no device'),
    ("operators build samples/data/mlp_graph.json --mesh 2x2x2x2x2x2x2x2x2",
     '--mesh: a mesh has at most 8 axes, this one has 9'),
    ("operators plan samples/data/traced_mlp.json", '--mesh: is needed, such as --mesh 4x2'),
    ("operators plan samples/data/traced_mlp.json --mesh 2x2 --memory '1 GB x'",
     '--memory: "1 GB x" is no size: units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB'),
    ("operators plan samples/data/traced_mlp.json --mesh 2x2 --device abacus",
     '--device: unknown device "abacus"; known are H100, B200, A100, A30, A10G, T4, V100, P100, AMD Instinct M'),
    ("operators plan samples/data/traced_mlp.json --mesh 2x2 --optimizer-states -1",
     '--optimizer-states: must be a whole number from 0 to 100, not "-1"'),
    ("operators plan samples/data/mlp_graph.json --mesh 2x2",
     'samples/data/mlp_graph.json: this is an operator graph, which `shardwright operators build GRAPH` reads; a '),
    ("operators sweep samples/data/traced_mlp.json", '--devices is required; see shardwright operators sweep --help'),
    ("operators sweep samples/data/traced_mlp.json --devices 0",
     '--devices: must be a whole number of at least 1, not "0"'),
    ("operators sweep samples/data/traced_mlp.json --devices 7 --axes 0",
     '--axes: must be a whole number from 1 to 8, not "0"'),
    ("operators sweep samples/data/traced_mlp.json --devices 100000000000",
     '--devices: must be between 1 and 2^31'),
    ("operators sweep samples/data/traced_mlp.json --devices 4 --devices 8",
     '--devices: is given more than once; give it once'),
    ("operators build samples/data/mlp_graph.json --mesh 2x2 --mesh 4",
     '--mesh: is given more than once; give it once'),
    ("operators build samples/data/traced_mlp.json --mesh 2147483648x2", '--mesh: more than 2^31 devices'),
    ("operators sweep samples/data/traced_mlp.json --devices x",
     '--devices: must be a whole number of at least 1, not "x"'),
    ("operators paths samples/data/paths.json --cost cheap", '--cost: unknown word "cheap"; known: compat, sum, exact'),
    ("operators autoshard samples/data/autoshard_mlp.json",
     'samples/data/autoshard_mlp.json: /p: the file does not say how many devices there are; give --devices'),
    ("operators autoshard samples/data/autoshard_mlp.json --devices 1000001",
     '--devices: the number of devices must be 1 to 1000000'),
    ("operators autoshard samples/data/autoshard_mlp.json --devices 4 --cost-model v3",
     '--cost-model: unknown word "v3"; known: v1, v2'),
    ("program apply samples/data/program.json --startup samples/data/program.json", '--startup requires --full'),
    ("program apply samples/data/program.json --batch-size 0",
     '--batch-size: must be a whole number of at least 1, not "0"'),
    ("program transfer samples/data/transfer.json --memory 0", '--memory: "0" is no size: must be above zero, such as 80GiB'),
    ("program apply samples/data/program.json --batch-size 8",
     '--batch-size: no variable has a batch dimension, an extent of -1, so the size would change nothing; leave'),
    ("program transfer samples/data/transfer.json --memory 1B",
     '--memory: is too small: a rank has 58720256 bytes to send or receive, which would take 58720256 rounds, and a '
     'plan has at most 65536; give at least 896B'),
    ("program transfer samples/data/transfer.json --memory 895B --message-bytes 895B", '--memory: is too small: '),
    ("program transfer samples/data/transfer.json --message-bytes x",
     '--message-bytes: "x" is no size: write a number and a unit, such as 80GiB'),
    ("init sweep",
     'KIND: no file of the kind "sweep" can be begun with; known: problem, graph, options, paths, program, res'),
    ("init problme", 'KIND: no file of the kind "problme" can be begun with; did you mean "problem"?'),
    ("schema pln", 'KIND: unknown kind of file "pln"; did you mean "plan"?'),
    ("schema zzz",
     'KIND: unknown kind of file "zzz"; known: problem, topology, search-space, plan, explanation, sweep, diff'),
    ("init -o /nowhere/x", '/nowhere/x: cannot write: No such file or directory'),
    ("completion tcsh", 'SHELL: unknown word "tcsh"; known: bash, zsh, fish'),
    ("completion", 'SHELL is required; see shardwright completion --help'),
    ("plam", 'unknown command "plam"; did you mean "plan"?'),
    ("operators",
     'shardwright operators needs a subcommand; known: solve, autoshard, paths, strategies, build, plan, sweep'),
    ("operators slove", 'unknown command "slove"; did you mean "solve"?'),
    ("program aply", 'unknown command "aply"; did you mean "apply"?'),
    ("", 'shardwright needs a subcommand; known: plan, replan, sweep, verify, explain, diff, enumerate, operators,'),
]

# What is done, with a warning: (command, document, how the warning begins)
WARNED = [
    ("program transfer samples/data/transfer.json --memory 1KiB", lambda: None,
     '--memory: 57,344 rounds, each with the latency of a message, which the times leave out; 14KiB would take '
     'about 4,096'),
    ("program transfer samples/data/transfer.json --message-bytes 1KiB", lambda: None,
     '--message-bytes: 229,376 messages shorter than a packet of a network; give at least 4096B'),
    ("operators sweep samples/data/traced_mlp.json --devices 4 --options {file}", lambda: {"mesh": [2, 2]},
     '{file}: /mesh: is not used: a sweep tries every mesh of --devices; leave it out, or use `operators plan`'),
    ("program apply {file}", lambda: {**sample("program"), "ops": sample("program")["ops"][::-1]},
     '/ops/0/inputs/0: reads "y" before operator 1 writes it; list operators in the order in which they run, or '),
]
WARNED += [
    ("program apply {file}", lambda: changed(sample("program"), ("vars", 0, "full_shape"), [0, 8]),
     '/vars/0: an extent of 0 leaves "x" no elements, and nothing is sent of it; a batch dimension is written as -1'),
    ("operators build {file} --mesh 2x2", lambda: changed(sample("mlp_graph"), ("nodes", 5), ABSENT),
     '/nodes: no node is of the kind "output", so that results may stay in any sharding at no cost; add one whose'),
]
# What is asked without a warning beside them.
NOT_WARNED = [
    ("program transfer samples/data/transfer.json --memory 14KiB", lambda: None),
    ("program transfer samples/data/transfer.json --message-bytes 4KiB", lambda: None),
    ("operators sweep samples/data/traced_mlp.json --devices 4 --options {file}", lambda: {"device": "A100"}),
    ("program apply {file}", lambda: sample("program")),
    ("operators build {file} --mesh 2x2", lambda: sample("mlp_graph")),
]

# How a file of another kind is refused: (command, kind that it reads, kind that it reads, too)
KINDS_READ = [
    ("operators solve {file}", "instance"), ("operators build {file} --mesh 2x2", "graph", "traced"),
    ("operators plan {file} --mesh 2x2", "traced"), ("operators sweep {file} --devices 4", "traced"),
    ("operators plan samples/data/traced_mlp.json --options {file}", "options"),
    ("operators paths {file}", "paths"), ("operators strategies {file}", "strategies"),
    ("operators autoshard {file} --devices 4", "autoshard"), ("program apply {file}", "program"),
    ("program reshard {file}", "reshard"), ("program redistribute {file}", "redistribution"),
    ("program transfer {file}", "transfer"),
]
KINDS = {
    "problem": problem, "plan": lambda: plan(), "instance": lambda: instance(), "graph": lambda: sample("mlp_graph"),
    "traced": lambda: sample("traced_mlp"), "options": lambda: {"mesh": [2, 2], "memory": 10**9},
    "paths": lambda: sample("paths"), "strategies": lambda: sample("linear"),
    "autoshard": lambda: sample("autoshard_mlp"), "program": lambda: sample("program"),
    "reshard": lambda: sample("reshard"), "redistribution": lambda: sample("redistribution"),
    "transfer": lambda: sample("transfer"),
}

# Commands that read a problem, beside `plan`.
ON_PROBLEMS = ["enumerate {file}", "explain {file}", "sweep {file}", "verify {file} {plan}", "replan {file} {plan}",
               "diff {file} {problem}"]

# What is no JSON of the right form: the text, and the message after the file's name.
TEXTS = [
    ("", "the input is empty"),
    (" \n", "the input is empty"),
    ("tables:\n  - x\n", "line 1, column 1: not valid JSON: expected '{' (other formats, such as YAML, have to be rewritten"),
    ('{"a": 1,}', "line 1, column 9: not valid JSON: expected a key after ','; take the comma away, found '}'"),
    ('[1,]', "line 1, column 4: not valid JSON: expected a value after ','; take the comma away, found ']'"),
    ('{"a": 1', "line 1, column 8: not valid JSON: expected ',' or '}', found the end of the text"),
    ('{"a" 1}', "line 1, column 6: not valid JSON: expected ':' after a key, found '1'"),
    ('{"a": NaN}', "line 1, column 7: not valid JSON: JSON has no NaN, found 'N'"),
    ('{"a": True}', "line 1, column 7: not valid JSON: write true for True, found 'T'"),
    ("{'a': 1}", "line 1, column 2: not valid JSON: expected a text in quotes, found '''; JSON has double quotes only"),
    ('// tables\n{"a": 1}',
     "line 1, column 1: not valid JSON: expected a value, found '/'; JSON has no comments, but a member of an"),
    ('{"a": 1 /* one */}',
     "line 1, column 9: not valid JSON: expected ',' or '}', found '/'; JSON has no comments, but a member of an"),
    ('{"a": 40k}',
     "line 1, column 9: not valid JSON: expected ',' or '}', found 'k'; write a number in digits only, such as"),
    ('{"a": 400_000}',
     "line 1, column 10: not valid JSON: expected ',' or '}', found '_'; write a number in digits only, such as"),
    ('{"a": 40,000}',
     "line 1, column 10: not valid JSON: expected a text in quotes, found '0'; a number has no commas"),
    ('{"a": 1, "a": 2}', "/a: the key \"a\" occurs twice"),
    ('{"a": 01}', "line 1, column 7: not valid JSON: a number begins with 0, found '0'"),
    ('{"a": FP16}', "line 1, column 7: not valid JSON: a text needs quotes: \"FP16\", found 'F'"),
]


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


class Malformed(unittest.TestCase):
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

    def test_one_change_of_a_file(self):
        for line, document, changes in FILES:
            base = document()
            for place, value, expected in changes:
                with self.subTest(line=line, place=place, value=value):
                    self.check_file(line, json.dumps(changed(base, place, value)), expected)

    def test_problems_are_refused_alike_by_all_commands(self):
        changes = next(changes for line, _, changes in FILES if line == "plan {file}")
        for line in ON_PROBLEMS:
            for place, value, expected in changes:
                # The kind of a document without tables is a guess, and `sweep` and `diff` make another one.
                if place in (("tables",), ("topology", "world_size")) or "explain" in line and place == ("keep_apart",):
                    continue
                with self.subTest(line=line, place=place, value=value):
                    self.check_file(line, json.dumps(changed(PROBLEM, place, value)), expected)

    def test_texts_that_are_no_json(self):
        for line in [line for line, _, _ in FILES] + ON_PROBLEMS:
            for text, expected in TEXTS:
                with self.subTest(line=line, text=text):
                    self.check_file(line, text, expected)
            with self.subTest(line=line):
                self.file.unlink()
                self.check(line, f"{self.file}: cannot open: No such file or directory")

    def test_files_of_another_kind_are_told_by_their_kind(self):
        documents = {kind: read() for kind, read in KINDS.items()}
        for line, *kinds in KINDS_READ:
            for kind, document in documents.items():
                if kind in kinds:
                    continue
                with self.subTest(line=line, kind=kind):
                    self.file.write_text(json.dumps(document), encoding="utf-8")
                    done = run(line, **self.names)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"^shardwright: \S+: this is an? .*, which .*; an? .* is needed here")

    def test_what_is_likely_a_mistake_is_warned_of(self):
        for line, document, expected in WARNED:
            with self.subTest(line=line):
                self.file.write_text(json.dumps(document()), encoding="utf-8")
                done = run(line, **self.names)
                self.assertEqual(done.returncode, 0, done.stderr)
                warning = done.stderr.removeprefix("shardwright: warning: ")
                expected = expected.replace("{file}", str(self.file))
                self.assertEqual(warning[:len(expected)], expected)
                self.assertEqual(warning.count("\n"), 1)
        for line, document in NOT_WARNED:
            with self.subTest(line=line):
                self.file.write_text(json.dumps(document()), encoding="utf-8")
                done = run(line, **self.names)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_flags(self):
        for line, expected in FLAGS:
            with self.subTest(line=line):
                for name, path in self.names.items():
                    expected = expected.replace(f"{{{name}}}", str(path))
                self.check(line, expected)

    def test_files_of_another_kind_are_told_by_their_kind(self):
        kinds = {"a plan": plan(), "a problem": PROBLEM, "a certificate": plan()["certificate"],
                 "a list of tables": PROBLEM["tables"], "a machine": PROBLEM["topology"],
                 "a search space": answer("enumerate {problem}", **self.names),
                 "a sweep": answer("sweep {problem} --ranks 2", **self.names),
                 "an explanation": answer("explain {problem} {plan}", **self.names),
                 "a verification": answer("verify {problem} {plan}", **self.names),
                 "a comparison": answer("diff {plan} {plan}", **self.names),
                 "a JSON Schema": json.loads(run("schema problem").stdout),
                 "a cost instance": instance(), "an operator graph": sample("mlp_graph"),
                 "a traced model": sample("traced_mlp"), "a list of resharding paths": sample("paths"),
                 "a list of single operators": sample("linear"), "a graph for autoshard": sample("autoshard_mlp"),
                 "a program": sample("program"), "a list of resharding cases": sample("reshard"),
                 "a redistribution": sample("redistribution"), "a transfer": sample("transfer"),
                 "an answer of `program transfer`": answer("program transfer samples/data/transfer.json")}
        for line, wanted in (("plan {file}", "a problem"), ("enumerate {file}", "a problem"),
                             ("sweep {file} --ranks 2", "a problem"), ("verify {file} {plan}", "a problem"),
                             ("verify {problem} {file}", "a plan"), ("replan {problem} {file}", "a plan"),
                             ("explain {problem} {file}", "a plan"), ("diff {plan} {file}", "a plan"),
                             ("plan {problem} --reuse {file}", "a plan"), ("plan {problem} --resume {file}", "a plan"),
                             ("plan {problem} --search-space {file}", "a search space")):
            for kind, document in kinds.items():
                if kind == wanted or (kind, line) == ("a problem", "diff {plan} {file}"):
                    continue
                with self.subTest(line=line, kind=kind):
                    self.file.write_text(json.dumps(document), encoding="utf-8")
                    done = run(line, **self.names)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"{self.file}: this is {kind}, which ", done.stderr)
                    self.assertIn(f"; {wanted} is needed here, which `shardwright ", done.stderr)

    def test_what_is_probably_not_meant_is_said(self):
        uneven = {"topology": {"world_size": 12, "local_world_size": 8}}
        for change, flags, expected in (
                (uneven, "", "/topology/local_world_size: 12 ranks make 1 whole host of 8 ranks; as in TorchRec, 4 "),
                ({}, "--ranks 12 --ranks-per-host 8", "--ranks-per-host: 12 ranks make 1 whole host of 8 ranks; "),
                ({"topology": {"world_size": 2, "intra_host_bw": 600}}, "",
                 "/topology/intra_host_bw: bandwidths are bytes per millisecond, so this is 0.0006 GB/s; 600 GB/s would be 600000000"),
                ({"topology": {"world_size": 2, "ddr_cap": 81920}}, "",
                 "/topology/ddr_cap: sizes are bytes, so a rank has 81920 bytes, less than 1 MiB; 80 GiB would be "),
                ({"topology": {"world_size": 2, "hbm_cap": 40}}, "",
                 "/topology/hbm_cap: sizes are bytes, so a rank has 40 bytes, less than 1 MiB; 40 GiB would be 429496729"),
                ({"keep_apart": [["a"]]}, "", "/keep_apart/0: a group of one table says nothing; name two or more"),
                ({"constraints": {"a": {"min_partition": 1000}}}, "",
                 "/constraints/a/min_partition: 1000 is above the 16 columns of the table, so that these are never "),
                ({"constraints": {"a": {"pooling_factors": [1, 2, 3]}}}, "",
                 '/constraints/a/pooling_factors: table "a" has 1 under `features`, and 3 factors; as in TorchRec, '),
                ({}, "--search-space {space} --torchrec a48cef79",
                 "{space}: /torchrec: the costs are those of TorchRec 1.9.2, and the problem has a48cef79; give ")):
            with self.subTest(change=change, flags=flags):
                self.file.write_text(json.dumps({**PROBLEM, **change}), encoding="utf-8")
                done = run(f"plan {{file}} --work-limit 1000 {flags}", **self.names)
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.assertIn(expected.format(**self.names) if "{" in expected else expected, done.stderr)

    def test_ranks_on_no_host_are_counted(self):
        done = run("plan {problem} --ranks 12 --ranks-per-host 8 --work-limit 1000", **self.names)
        self.assertIn("2 tables on 12 ranks (1 host of 8, 4 ranks on none, cuda)", done.stdout)

    def test_a_plan_made_with_other_flags_says_which(self):
        for flags in ("--batch-size 4096", "--torchrec a48cef79", "--ranks 4 --ranks-per-host 2",
                      "--ranks 4 --ranks-per-host 2 --batch-size 64 --hbm 8GiB"):
            with self.subTest(flags=flags):
                run(f"plan {{problem}} {flags} -o {{file}}", **self.names)
                done = run("verify {problem} {file}", **self.names)
                self.assertEqual(done.returncode, 5, done.stderr)
                said = done.stdout.split("give the flags that the plan was made with: ")[1].split("\n")[0]
                again = run(f"verify {{problem}} {{file}} {said}", **self.names)
                self.assertEqual(again.returncode, 0, f"{said}: {again.stdout}")
                self.assertIn("give the flags that the plan was made with:",
                              run("explain {problem} {file} --work-limit 1000", **self.names).stderr)

    def test_texts_in_another_coding(self):
        for text in (json.dumps(PROBLEM).encode("utf-16"), json.dumps(PROBLEM).encode("utf-16-be")):
            self.file.write_bytes(text)
            done = run("plan {file}", **self.names)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, "UTF-16|NUL byte")

    def test_cells_of_csv(self):
        for cell, expected in (("nan", 'found the text "nan"; write a number in digits'),
                               ("40k", 'found the text "40k"; write 40000'),
                               ("many", 'found the text "many"')):
            with self.subTest(cell=cell):
                self.check_file("plan {file} --ranks 2", f"name,num_embeddings,embedding_dim\na,{cell},16\n",
                                f"line 2, column 2 (num_embeddings): expected an integer, {expected}\n")
        self.check_file("plan {file}", "name,num_embeddings,embedding_dim\na,100,16\n",
                        "the problem does not say how many ranks there are; give --ranks, or `topology`")


class Help(unittest.TestCase):
    """Every page of the help has an example of its own, and all run, one after the other, from one folder."""

    def pages(self, words=()):
        text = run(" ".join([*words, "--help"])).stdout
        yield words, text
        below = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        for line in below.splitlines():
            if line.startswith("  ") and line[2] != " ":
                yield from self.pages((*words, line.split()[0]))

    def test_examples_run(self):
        with tempfile.TemporaryDirectory() as folder:
            large = {**PROBLEM, "tables": [{"name": "ads", "num_embeddings": 10**12, "embedding_dim": 128}]}
            own = {**PROBLEM, "tables": [{"name": "ads", "num_embeddings": 10**5, "embedding_dim": 64}, *PROBLEM["tables"]]}
            for name, document in (("my_tables", own), ("new_tables", PROBLEM), ("too_large", large)):
                (Path(folder) / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
            (Path(folder) / "samples").symlink_to(Path("samples").resolve())
            places = os.pathsep.join([str(Path(COMMAND).resolve().parent), os.environ["PATH"]])
            seen = 0
            for words, text in self.pages():
                with self.subTest(page=words):
                    self.assertEqual(text.count("Example:\n"), 1)
                    example = text.partition("Example:\n")[2].partition("\n\n")[0]
                    self.assertIn(" ".join(["shardwright", *words]), example)
                    for line in example.replace("| man -l -", "| cat").splitlines():
                        done = subprocess.run(["bash", "-c", line.strip()], capture_output=True, text=True, check=False,
                                              cwd=folder, env={**os.environ, "PATH": places})
                        self.assertEqual(done.returncode, 3 if "too_large" in line else 0, f"{line}: {done.stderr}")
                        seen += 1
            self.assertGreater(seen, 25)


if __name__ == "__main__":
    unittest.main()
