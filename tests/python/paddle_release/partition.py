"""Paddle's own stages for one rank, up to the Resharder."""

import paddle
from models import BETWEEN, TENSOR
from paddle.distributed.auto_parallel.static import process_group
from paddle.distributed.auto_parallel.static.completion import Completer
from paddle.distributed.auto_parallel.static.dist_context import (
    DistributedContext,
    set_default_distributed_context,
)
from paddle.distributed.auto_parallel.static.partitioner import Partitioner
from paddle.distributed.auto_parallel.static.reshard import Resharder
from paddle.distributed.auto_parallel.static.utils import make_data_unshard
from paddle.static import Program, append_backward, program_guard
from paddle.utils import unique_name


def divide(main, context, dim):
    """Splits the tensors between layers along the tensor axis of their meshes, and all arguments of what makes them."""
    for op in main.global_block().ops:
        if not op.output_arg_names[0].startswith(BETWEEN):
            continue
        attr = context.get_dist_op_for_program(op).dist_attr
        names = attr.process_mesh.dim_names
        if TENSOR not in names:
            continue

        def divided(mapping):
            return [names.index(TENSOR) if place == dim % len(mapping) else axis
                    for place, axis in enumerate(mapping)]

        for name in op.input_arg_names:
            attr.set_input_dims_mapping(name, divided(attr.get_input_dims_mapping(name)))
        for name in op.output_arg_names:
            attr.set_output_dims_mapping(name, divided(attr.get_output_dims_mapping(name)))
            tensor = context.get_dist_tensor_for_program(main.global_block().var(name)).dist_attr
            tensor.dims_mapping = divided(tensor.dims_mapping)


def resharder(model, layers, placement, rank):
    """Returns the Resharder of a rank before it runs. Names, groups and annotations of earlier models are forgotten."""
    unique_name.switch()
    process_group.clear_all_process_groups()
    context = DistributedContext()
    set_default_distributed_context(context)
    main, startup = Program(), Program()
    with program_guard(main, startup):
        loss = model(layers, placement)
    for mesh in context.process_meshes:
        process_group.get_world_process_group().add_ranks(mesh.process_ids)
    Completer(context).complete_forward_annotation(main)
    if placement.divided is not None:
        divide(main, context, placement.divided)
    context._serial_feed_vars = {"inputs": [var for var in main.list_vars() if var.is_data]}
    context.block_state.parse_forward_blocks(main)
    gradients = []
    if placement.trains:
        with program_guard(main, startup):
            gradients = append_backward(loss, distop_context=context.dist_op_context)
        Completer(context).complete_backward_annotation(main)
        context.block_state.parse_backward_blocks(main)
    part, start, gradients = Partitioner(context, rank).partition(main, startup, gradients)
    if placement.trains:
        optimizer = paddle.optimizer.Adam(learning_rate=1e-3)
        with program_guard(part, start):
            optimizer.apply_gradients(gradients)
        context._serial_optimizer = optimizer
        Completer(context).complete_update_annotation(part)
    make_data_unshard(part, start, context)
    return Resharder(part, start, rank, context, gradients)
