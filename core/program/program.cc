#include "core/program/program.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

namespace shardwright::program {
namespace {

constexpr std::array<std::string_view, 5> kRoles{"forward", "backward", "optimize", "loss", "dist"};

std::string place(const char* list, std::size_t index) {
  return "/" + std::string(list) + "/" + std::to_string(index);
}

Status check_variable(const ProgramSpec& spec, std::size_t index) {
  const Variable& var = spec.vars[index];
  const std::string where = place("vars", index);
  if (var.block.index() > spec.block_parents.size()) {
    return invalid_input(where + "/block", "there is no such block");
  }
  if (const Status status = check_extents(var.shape); !status.ok()) {
    return invalid_input(where + "/full_shape", status.error().message);
  }
  if (!var.mesh.valid()) return {};
  if (var.mesh.index() >= spec.meshes.size()) {
    return invalid_input(where + "/mesh", "there is no such mesh");
  }
  const DistAttr attr{spec.meshes[var.mesh.index()], var.dims_mapping, var.partial};
  const Status status = check(attr, var.shape.size());
  if (!status.ok()) return invalid_input(where + status.error().where, status.error().message);
  return {};
}

Status check_arguments(const ProgramSpec& spec, const Operation& op,
                       const std::vector<Argument>& arguments, const std::string& where) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    const std::string here = where + "/" + std::to_string(i);
    if (argument.var.index() >= spec.vars.size()) {
      return invalid_input(here + "/var", "there is no such variable");
    }
    if (!op.mesh.valid() || argument.dims_mapping.empty()) continue;
    const DistAttr attr{spec.meshes[op.mesh.index()], argument.dims_mapping, {}};
    const Status status = check(attr, spec.vars[argument.var.index()].shape.size());
    if (!status.ok()) return invalid_input(here + status.error().where, status.error().message);
  }
  return {};
}

Status check_operation(const ProgramSpec& spec, std::size_t index) {
  const auto& [block, op] = spec.ops[index];
  const std::string where = place("ops", index);
  if (block.index() > spec.block_parents.size()) {
    return invalid_input(where + "/block", "there is no such block");
  }
  if (op.mesh.valid() && op.mesh.index() >= spec.meshes.size()) {
    return invalid_input(where + "/mesh", "there is no such mesh");
  }
  if (op.sub_block.valid() &&
      (op.sub_block.index() > spec.block_parents.size() || op.sub_block.index() <= block.index())) {
    return invalid_input(where + "/sub_block", "must be a block after the operator's own");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_arguments(spec, op, op.inputs, where + "/inputs"));
  return check_arguments(spec, op, op.outputs, where + "/outputs");
}

Status check_communication(const Communication& communication) {
  if (communication.next_ring_id < 0) {
    return invalid_input("/next_ring_id", "a ring must not be negative");
  }
  std::unordered_set<std::int64_t> rings;
  for (std::size_t i = 0; i < communication.groups.size(); ++i) {
    const ProcessGroup& group = communication.groups[i];
    const std::string where = place("groups", i);
    std::unordered_set<Rank> members;
    for (const Rank rank : group.ranks.view()) {
      if (rank < 0) return invalid_input(where + "/ranks", "ranks must not be negative");
      if (!members.insert(rank).second) {
        return invalid_input(where + "/ranks", "rank " + std::to_string(rank) + " occurs twice");
      }
    }
    if (members.empty()) return invalid_input(where + "/ranks", "a group has at least one rank");
    if (group.ring_id < 0 || group.ring_id >= communication.next_ring_id) {
      return invalid_input(where + "/ring_id",
                           "ring " + std::to_string(group.ring_id) +
                               " must not be negative, and be below the ring of the next group, " +
                               std::to_string(communication.next_ring_id));
    }
    if (!rings.insert(group.ring_id).second) {
      return invalid_input(where + "/ring_id",
                           "two groups have ring " + std::to_string(group.ring_id));
    }
  }
  return {};
}

// Returns the extent in place of -1: the batch size, or one rank's part of it.
Result<std::int64_t> first_extent(const Variable& var, const std::vector<ProcessMesh>& meshes,
                                  std::int64_t batch_size, const std::string& where) {
  Shape shape = var.shape;
  shape[0] = batch_size;
  if (!check_extents(shape).ok())
    return invalid_input(where, "with this batch size \"" + var.name + "\" is too large");
  if (!var.is_local || !var.mesh.valid()) return batch_size;
  const DistAttr attr{meshes[var.mesh.index()], var.dims_mapping, {}};
  const std::int64_t pieces = attr.splits(0);
  if (batch_size % pieces == 0) return batch_size / pieces;
  return invalid_input(where, "\"" + var.name + "\" is one of " + std::to_string(pieces) +
                                  " equal parts, which a batch of " + std::to_string(batch_size) +
                                  " does not have; give a multiple of " + std::to_string(pieces) +
                                  " (--batch-size)");
}

}  // namespace

std::string_view to_name(OpRole role) { return kRoles[static_cast<std::size_t>(role)]; }
std::span<const std::string_view> op_role_names() { return kRoles; }

DistAttr Program::placement(VarId id) const {
  const Variable& variable = var(id);
  return {mesh(variable.mesh), variable.dims_mapping, variable.partial};
}

Result<Program> Program::with_batch_size(std::int64_t batch_size) const {
  Program closed = *this;
  Vars::Editor vars(vars_);
  for (std::size_t i = 0; i < vars.size(); ++i) {
    if (!has(VarId(i)) || !var(VarId(i)).is_open()) continue;
    Variable written = var(VarId(i));
    SHARDWRIGHT_ASSIGN_OR_RETURN(written.shape[0],
                                 first_extent(written, *meshes_, batch_size, place("vars", i)));
    vars.edit(i).var = std::make_shared<const Variable>(std::move(written));
  }
  closed.vars_ = std::move(vars).finish();
  return closed;
}

Result<Program> Program::make(ProgramSpec spec) {
  for (std::size_t i = 0; i < spec.block_parents.size(); ++i) {
    if (spec.block_parents[i].index() > i) {
      return invalid_input(place("blocks", i + 1), "the parent must be an earlier block");
    }
  }
  for (std::size_t i = 0; i < spec.vars.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_variable(spec, i));
  }
  for (std::size_t i = 0; i < spec.ops.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_operation(spec, i));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_communication(spec.communication));

  std::vector<Block> blocks(spec.block_parents.size() + 1);
  for (std::size_t i = 1; i < blocks.size(); ++i)
    blocks[i].parent = spec.block_parents[i - 1];
  std::vector<std::vector<OpId>> uses(spec.vars.size());
  std::vector<OpSlot> slots(spec.ops.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const OpId id(i);
    slots[i].block = spec.ops[i].first;
    Block& block = blocks[slots[i].block.index()];
    slots[i].previous = block.last;
    if (block.last.valid()) slots[block.last.index()].next = id;
    if (!block.first.valid()) block.first = id;
    block.last = id;
    ++block.num_ops;
    for (const Argument& input : spec.ops[i].second.inputs) {
      std::vector<OpId>& readers = uses[input.var.index()];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
    slots[i].op = std::make_shared<const Operation>(std::move(spec.ops[i].second));
  }
  for (const Variable& var : spec.vars)
    ++blocks[var.block.index()].num_vars;

  Program program;
  program.name_ = std::make_shared<const std::string>(std::move(spec.name));
  program.meshes_ = std::make_shared<const std::vector<ProcessMesh>>(std::move(spec.meshes));
  program.communication_ = std::make_shared<const Communication>(std::move(spec.communication));
  program.blocks_ = Blocks::generate(
      blocks.size(), [&](std::size_t i) { return std::make_shared<const Block>(blocks[i]); });
  Ops::Editor ops{Ops()};
  for (OpSlot& slot : slots)
    ops.push_back(std::move(slot));
  program.ops_ = std::move(ops).finish();
  Vars::Editor vars{Vars()};
  for (std::size_t i = 0; i < spec.vars.size(); ++i) {
    vars.push_back(
        {std::make_shared<const Variable>(std::move(spec.vars[i])), SharedArray<OpId>(uses[i])});
  }
  program.vars_ = std::move(vars).finish();
  return program;
}

}  // namespace shardwright::program
