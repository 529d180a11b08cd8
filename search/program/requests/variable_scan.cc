#include "search/program/requests/variable_scan.h"

#include <string>
#include <utility>

namespace shardwright::program {
namespace {

// Fills in the batch size, and scales the shape of one rank's part to that of the whole tensor.
Status complete_shape(const Program& program, VarId id, std::optional<std::int64_t> batch_size,
                      Shape& completed) {
  const Variable& var = program.var(id);
  const bool is_open = !var.shape.empty() && var.shape[0] == -1;
  if (!is_open && !var.is_local) return {};
  const std::string where = "/vars/" + std::to_string(id.value());
  if (is_open && !batch_size) {
    return invalid_input(
        where,
        "\"" + var.name + "\" has an open batch dimension; set the batch size (--batch-size)");
  }
  const DistAttr attr = program.placement(id);
  Shape shape = var.shape;
  if (is_open) shape[0] = *batch_size;
  bool fits = check_extents(shape).ok();
  for (std::size_t dim = 0; fits && dim < shape.size(); ++dim) {
    if (!var.is_local && dim > 0) break;
    shape[dim] *= attr.splits(dim);
    fits = check_extents(shape).ok();
  }
  if (!fits) {
    return invalid_input(where, "with this batch size \"" + var.name + "\" is too large");
  }
  completed = std::move(shape);
  return {};
}

}  // namespace

Status scan_variables(const Program& program, std::optional<std::int64_t> batch_size,
                      Requests& found) {
  found.shapes.resize(program.var_capacity());
  for (std::size_t i = 0; i < program.var_capacity(); ++i) {
    const VarId id(i);
    if (!program.has(id)) continue;
    ++found.items_scanned;
    const Variable& var = program.var(id);
    if (var.name.find('@') != std::string::npos) found.generated_names.insert(var.name);
    if (var.is_feed && var.lod_level != 0) {
      const auto [known, fresh] = found.lod_feeds.try_emplace(var.lod_level, id);
      if (!fresh && var.block < program.var(known->second).block) known->second = id;
    }
    if (!var.mesh.valid()) continue;
    SHARDWRIGHT_RETURN_IF_ERROR(complete_shape(program, id, batch_size, found.shapes[i]));
  }
  return {};
}

}  // namespace shardwright::program
