"""Malformed files: every message names the place, and says what is wrong or what to do."""

import json
import unittest

from malformed import ABSENT, PROBLEM, Case, changed, instance, plan, problem, run, sample

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
        (("topology",), {"world_size": 2, "hbm_cap": "80"}, '/topology/hbm_cap: "80" is no size: write a unit, such as GiB'),
        (("topology",), {"world_size": 2, "inter_host_bw": "25GB"},
         '/topology/inter_host_bw: "25GB" is no bandwidth: write a number, a unit and /s, such as 900GB/s'),
        (("topology",), {"world_size": 2, "gpu": "h1000"}, '/topology/gpu: unknown gpu "h1000"; did you mean "h100"?'),
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
        (("overrides",), {"gpu": 999}, '/overrides/gpu: expected the name of a gpu, found the number 999'),
        (("overrides",), {"rank": 2}, '/overrides/rank: unknown key "rank"; did you mean "ranks"?'),
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
    ]),
    ("operators plan samples/data/traced_mlp.json --mesh 2x2 --machine {file}", lambda: None, [
        ((), {"operator_times": [{"op": "x"}]}, '/operator_times/0: the key "inputs" is missing'),
        ((), {"operator_times": []}, 'has no measured times of operators'),
        ((), {"mesh": [2, 2], "memory": 5}, 'this is a file of options, which `shardwright operators plan MODEL'),
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


class Files(Case):
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


if __name__ == "__main__":
    unittest.main()
