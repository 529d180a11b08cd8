#include "search/program/requests/variable_scan.h"

#include <string>
#include <utility>

namespace shardwright::program {
namespace {

// Scales the shape of one rank's part to that of the whole tensor.
Status complete_shape(const Program& program, VarId id, Shape& completed) {
  const Variable& var = program.var(id);
  const std::string where = "/vars/" + std::to_string(id.value());
  if (var.is_open()) {
    return invalid_input(where, "\"" + var.name +
                                    "\" has an open batch dimension; set the batch size "
                                    "(--batch-size), or write the number");
  }
  if (!var.is_local) return {};
  const DistAttr attr = program.placement(id);
  Shape shape = var.shape;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    shape[dim] *= attr.splits(dim);
    if (const Status fits = check_extents(shape); !fits.ok())
      return invalid_input(where, "\"" + var.name + "\": " + fits.error().message);
  }
  completed = std::move(shape);
  return {};
}

}  // namespace

Status scan_variables(const Program& program, Requests& found) {
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
    SHARDWRIGHT_RETURN_IF_ERROR(complete_shape(program, id, found.shapes[i]));
  }
  return {};
}

}  // namespace shardwright::program
