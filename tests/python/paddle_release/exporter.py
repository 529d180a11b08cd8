"""Programs of Paddle as program files, and what its Resharder made of them."""

import paddle
from paddle.distributed.auto_parallel.static import process_group
from paddle.distributed.collective import _new_ring_id
from paddle.framework import Parameter, core

# Attributes that any operator may have, and that say nothing of the resharding. Roles are exported apart.
EVERYWHERE = {"op_callstack", "op_device", "op_namescope", "op_role", "op_role_var", "with_quant_attr", "use_mkldnn",
              "mkldnn_data_type"}
RESHARD_SCOPE = "/auto_parallel/reshard"
CLIP_SCOPE = "/gradient_clip"
# By bit of an operator's role, the first that is set; an operator without any is a forward one.
ROLES = ((2, "optimize"), (1, "backward"), (256, "loss"), (8, "dist"))
TYPES = {getattr(paddle, name): name for name in
         ("float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool")}


def role_of(op):
    role = op.attr("op_role")
    return next((name for bit, name in ROLES if role & bit), "forward")


def scope_of(op):
    return op.attr("op_namescope") if op.has_attr("op_namescope") else ""


class Meshes:
    """The meshes of a program, those that its context knows first."""

    def __init__(self, known):
        self.list = []
        for mesh in known:
            self.index(mesh)

    def index(self, mesh):
        entry = {"shape": list(mesh.shape), "ids": list(mesh.process_ids)}
        if entry not in self.list:
            self.list.append(entry)
        return self.list.index(entry)


def variable(var, block, context, meshes):
    entry = {"name": var.name, "local_shape": list(var.shape), "dtype": TYPES[var.dtype]}
    tensor = context.get_dist_tensor_for_program(var)
    if tensor is not None:
        entry.update(mesh=meshes.index(tensor.dist_attr.process_mesh),
                     dims_mapping=list(tensor.dist_attr.dims_mapping))
    facts = {"block": block.idx, "lod_level": var.lod_level, "is_feed": bool(var.is_data),
             "is_parameter": isinstance(var, Parameter)}
    return {**entry, **{key: value for key, value in facts.items() if value}}


def arguments(names, mapping_of):
    return [{"var": name, "arg": place, **({"dims_mapping": list(mapping_of(name))} if mapping_of else {})}
            for place, name in enumerate(names)]


def operator(number, op, block, context, meshes):
    entry = {"id": number, "type": op.type, "role": role_of(op)}
    known = context.get_dist_op_for_program(op)
    attr = known.dist_attr if known is not None else None
    if attr is not None:
        entry["mesh"] = meshes.index(attr.process_mesh)
    entry["inputs"] = arguments(op.input_arg_names, attr and attr.get_input_dims_mapping)
    entry["outputs"] = arguments(op.output_arg_names, attr and attr.get_output_dims_mapping)
    if block.idx:
        entry["block"] = block.idx
    if scope_of(op).startswith(CLIP_SCOPE):
        entry["is_gradient_clip"] = True
    return entry


def groups():
    """All groups but that of the whole world, which no operator of a resharding uses."""
    return [{"ranks": list(group.ranks), "ring_id": ring,
             **({"point_to_point": True} if group.group_type == "p2p" else {})}
            for ring, group in process_group._g_process_group_map.items() if ring != 0]


def next_ring_id():
    """What Paddle's new_process_group would number the next one."""
    return _new_ring_id() + len(process_group._g_process_group_map) + 1


def document(name, program, context, rank):
    """A program before its resharding, for `program apply`."""
    meshes = Meshes(context.process_meshes)
    variables = [variable(var, block, context, meshes) for block in program.blocks for var in block.vars.values()]
    ops = [op for block in program.blocks for op in block.ops]
    entries = [operator(number, op, op.block, context, meshes) for number, op in enumerate(ops)]
    blocks = [{"parent": block.parent_idx} for block in program.blocks[1:]]
    return {"name": name, "ranks": [rank], "meshes": meshes.list, "groups": groups(), "next_ring_id": next_ring_id(),
            "recv_has_input": False, **({"blocks": blocks} if blocks else {}), "vars": variables, "ops": entries}


def startup_document(name, program, meshes):
    """A startup program. Its operators run on every rank, and its variables need no placement."""
    block = program.global_block()
    variables = [{"name": var.name, "local_shape": list(var.shape), "dtype": TYPES[var.dtype]}
                 for var in block.vars.values()]
    ops = [{"id": number, "type": op.type, "inputs": arguments(op.input_arg_names, None),
            "outputs": arguments(op.output_arg_names, None)} for number, op in enumerate(block.ops)]
    return {"name": name, "meshes": meshes, "vars": variables, "ops": ops}


def listing(program):
    return [[op.type, list(op.input_arg_names), list(op.output_arg_names)]
            for block in program.blocks for op in block.ops]


def attributes(op):
    """Types of elements are numbers in Paddle, and names in program files."""
    return {name: TYPES[core.VarDesc.VarType(op.attr(name))] if name.endswith("dtype") else op.attr(name)
            for name in op.attr_names if name not in EVERYWHERE}


def inserted(program):
    """The operators that the Resharder inserted, with their roles, slots and attributes."""
    return [{"type": op.type, "role": role_of(op),
             "inputs": {slot: op.input(slot) for slot in op.input_names if op.input(slot)},
             "outputs": {slot: op.output(slot) for slot in op.output_names if op.output(slot)},
             "attributes": attributes(op)}
            for block in program.blocks for op in block.ops if scope_of(op).startswith(RESHARD_SCOPE)]


def answer(main, startup, planner_calls):
    """What the Resharder made of a program, which must be the last one that it saw."""
    return {"ops": listing(main), "vars": sorted(var.name for var in main.list_vars()), "inserted": inserted(main),
            "startup_ops": listing(startup), "startup_vars": sorted(var.name for var in startup.list_vars()),
            "groups": groups(), "planner_calls": planner_calls}
