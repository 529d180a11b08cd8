#include "search/program/requests.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/interner.h"

namespace shardwright::program {

void ControlFlow::enter(OpId op) {
  Enclosing enclosing{op, {}};
  std::vector<VarId>& written = enclosing.written;
  collect_written(program_.op(op).sub_block, written);
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  for (const VarId var : written)
    write(var);
  enclosing_.push_back(std::move(enclosing));
}

void ControlFlow::leave() {
  for (const VarId var : enclosing_.back().written)
    write(var);
  enclosing_.pop_back();
}

void ControlFlow::collect_written(BlockId block, std::vector<VarId>& written) const {
  for (OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
    const Operation& op = program_.op(id);
    for (const Argument& output : op.outputs)
      written.push_back(output.var);
    if (op.sub_block.valid()) collect_written(op.sub_block, written);
  }
}

OpId ControlFlow::anchor_of(OpId consumer, VarId var) const {
  OpId anchor = consumer;
  for (std::size_t i = enclosing_.size(); i-- > 0;) {
    const std::vector<VarId>& written = enclosing_[i].written;
    if (std::binary_search(written.begin(), written.end(), var)) break;
    anchor = enclosing_[i].op;
  }
  return anchor;
}

MeshRelations::MeshRelations(const Program& program) {
  const std::vector<ProcessMesh>& meshes = program.meshes();
  std::vector<Rank> all;
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    std::size_t first = 0;
    while (!(meshes[first] == meshes[i]))
      ++first;
    canonical_.emplace_back(first);
    all.insert(all.end(), meshes[i].ids().begin(), meshes[i].ids().end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const bool has_parts = std::any_of(meshes.begin(), meshes.end(), [&](const ProcessMesh& mesh) {
    return mesh.size() < all.size();
  });
  for (const ProcessMesh& mesh : meshes)
    is_union_.push_back(has_parts && mesh.size() == all.size());
  parts_.resize(meshes.size());
  for (std::size_t i = 0; i < meshes.size(); ++i)
    find_parts(program, i);
}

void MeshRelations::find_parts(const Program& program, std::size_t mesh) {
  const std::vector<ProcessMesh>& meshes = program.meshes();
  std::vector<MeshId>& parts = parts_[mesh];
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    if (canonical_[i] != MeshId(i) || is_union_[i]) continue;
    if (meshes[i].size() < meshes[mesh].size() && is_subset(meshes[i], meshes[mesh])) {
      parts.emplace_back(i);
    }
  }
  const std::vector<Rank>& ranks = meshes[mesh].ids();
  const bool is_covered = std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](MeshId part) { return program.mesh(part).contains(rank); });
  });
  if (!is_covered) parts.clear();
}

namespace {

constexpr std::array<std::string_view, 2> kNeverResharded{"check_finite_and_unscale",
                                                          "update_loss_scaling"};
constexpr std::array<std::string_view, 5> kClipOps{"sum", "sqrt", "fill_constant",
                                                   "elementwise_max", "elementwise_div"};
constexpr std::array<std::string_view, 7> kNoOutputs{"create_py_reader",
                                                     "create_double_buffer_reader",
                                                     "read",
                                                     "write_to_array",
                                                     "read_from_array",
                                                     "nop",
                                                     "depend"};

template <std::size_t Size>
bool is_one_of(std::string_view type, const std::array<std::string_view, Size>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_replicated(const DimsMapping& mapping) {
  return std::all_of(mapping.begin(), mapping.end(), [](int axis) { return axis == -1; });
}

struct DemandKey {
  VarId var;
  std::uint32_t epoch;
  MeshId mesh;
  DimsMapping mapping;
  friend bool operator==(const DemandKey&, const DemandKey&) = default;
};
struct DemandHash {
  std::size_t operator()(const DemandKey& key) const {
    std::uint64_t hash = hash_mix(key.var.value(), key.epoch);
    hash = hash_mix(hash, key.mesh.value());
    for (const std::int64_t axis : key.mapping)
      hash = hash_mix(hash, static_cast<std::uint64_t>(axis + 1));
    return static_cast<std::size_t>(hash);
  }
};

bool is_special(const Operation& op) {
  return is_one_of(op.type, kNeverResharded) ||
         (op.is_gradient_clip && is_one_of(op.type, kClipOps));
}

// Thread safety: one thread at a time.
class RequestWalk {
 public:
  RequestWalk(const Program& program, bool compat)
      : program_(program), compat_(compat), meshes_(program), flow_(program) {}

  Result<Requests> run() {
    SHARDWRIGHT_RETURN_IF_ERROR(scan_variables(program_, found_));
    visited_.resize(program_.num_blocks(), false);
    // Also walks blocks that no operator runs.
    for (std::size_t i = 0; i < program_.num_blocks(); ++i) {
      if (!visited_[i]) SHARDWRIGHT_RETURN_IF_ERROR(walk(BlockId(i)));
    }
    return std::move(found_);
  }

 private:
  Status walk(BlockId block) {
    visited_[block.index()] = true;
    for (OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
      const Operation& op = program_.op(id);
      ++found_.items_scanned;
      if (op.sub_block.valid()) {
        SHARDWRIGHT_RETURN_IF_ERROR(walk_inside(id, op));
      } else if (op.mesh.valid() && !op.is_inserted && !is_special(op)) {
        SHARDWRIGHT_RETURN_IF_ERROR(look_at_inputs(id, op));
        SHARDWRIGHT_RETURN_IF_ERROR(look_at_outputs(id, op));
      }
      for (const Argument& output : op.outputs)
        flow_.write(output.var);
    }
    return {};
  }

  Status walk_inside(OpId id, const Operation& op) {
    if (op.condition.valid() && !is_whole(program_.var(op.condition))) {
      return invalid_input("/ops/" + std::to_string(id.value()) + "/condition",
                           "the condition of control flow must be replicated");
    }
    flow_.enter(id);
    Status status = walk(op.sub_block);
    flow_.leave();
    return status;
  }

  DimsMapping settled(MeshId mesh, const DimsMapping& mapping) const {
    return program::settled(program_, compat_, mesh, mapping);
  }
  bool is_partial(const Variable& var) const {
    if (var.partial.empty() || compat_ || !var.mesh.valid()) return !var.partial.empty();
    return !effective_partial(program_.mesh(var.mesh), var.partial).empty();
  }
  bool is_whole(const Variable& var) const {
    const DimsMapping mapping =
        var.mesh.valid() ? settled(var.mesh, var.dims_mapping) : var.dims_mapping;
    return is_replicated(mapping) && !is_partial(var);
  }
  bool is_as_wanted(const Variable& var, const DimsMapping& wanted) const {
    return !is_partial(var) && settled(var.mesh, var.dims_mapping) == wanted;
  }

  bool stays(const Variable& var) const {
    return compat_ && var.shape.empty() && var.partial.empty();
  }

  // Visits inputs in the order of their names, as Paddle's Resharder does; inputs with equal names
  // keep the order of the list.
  Status look_at_inputs(OpId id, const Operation& op) {
    order_.clear();
    for (const Argument& input : op.inputs)
      order_.push_back(&input);
    if (order_.size() > 1) {
      std::sort(order_.begin(), order_.end(), [&](const Argument* a, const Argument* b) {
        const int order = program_.var(a->var).name.compare(program_.var(b->var).name);
        return order != 0 ? order < 0 : a < b;
      });
    }
    const Argument* previous = nullptr;
    for (const Argument* input : order_) {
      const bool again =
          previous != nullptr && previous->var == input->var &&
          settled(op.mesh, previous->dims_mapping) == settled(op.mesh, input->dims_mapping);
      previous = input;
      if (!again) SHARDWRIGHT_RETURN_IF_ERROR(look_at_input(id, op, *input));
    }
    return {};
  }

  Status look_at_input(OpId id, const Operation& op, const Argument& input) {
    const Variable& var = program_.var(input.var);
    if (!var.mesh.valid() || input.dims_mapping.size() != var.shape.size()) return {};
    if (stays(var)) return {};
    const MeshId tensor_mesh = meshes_.canonical(var.mesh);
    const MeshId op_mesh = meshes_.canonical(op.mesh);
    const DimsMapping wanted = settled(op_mesh, input.dims_mapping);
    if (tensor_mesh == op_mesh && is_as_wanted(var, wanted)) return {};
    const bool is_union = meshes_.is_union(tensor_mesh);
    if (is_union && !is_replicated(settled(var.mesh, var.dims_mapping))) {
      return invalid_input("/vars/" + std::to_string(input.var.value()) + "/dims_mapping",
                           "a tensor on a union of meshes must be replicated");
    }
    const std::vector<MeshId>& parts = meshes_.parts(op_mesh);
    if (parts.empty() || !is_replicated(wanted)) {
      return consider(id, op, input.var, wanted, op_mesh, is_union, true);
    }
    for (const MeshId part : parts) {
      SHARDWRIGHT_RETURN_IF_ERROR(consider(id, op, input.var, wanted, part, is_union, false));
    }
    return {};
  }

  Status consider(OpId id, const Operation& op, VarId tensor, const DimsMapping& wanted,
                  MeshId mesh, bool is_union, bool is_shared) {
    const Variable& var = program_.var(tensor);
    Request request;
    request.source_mesh = meshes_.canonical(var.mesh);
    const ProcessMesh& there = program_.mesh(request.source_mesh);
    const ProcessMesh& here = program_.mesh(mesh);
    const bool same_mapping = is_as_wanted(var, wanted);
    if (is_union && is_subset(here, there)) {
      if (same_mapping) return {};
      request.source_mesh = mesh;
    } else if (request.source_mesh != mesh) {
      if (var.is_feed && here.size() == there.size()) return {};
    } else if (same_mapping) {
      return {};
    }
    const Status valid = check(DistAttr{here, wanted, {}}, var.shape.size());
    if (!valid.ok()) {
      return invalid_input("/ops/" + std::to_string(id.value()) + "/inputs" + valid.error().where,
                           valid.error().message);
    }
    request.anchor = flow_.anchor_of(id, tensor);
    request.consumer = id;
    request.var = tensor;
    const bool gradient = var.name.size() >= 4 && var.name.ends_with("GRAD");
    request.role = op.role == OpRole::kOptimize && gradient ? OpRole::kBackward : op.role;
    const auto index = static_cast<std::uint32_t>(found_.requests.size());
    request.demand = demand_of(tensor, wanted, mesh, is_shared);
    found_.demands[request.demand].requests.push_back(index);
    found_.requests.push_back(request);
    return {};
  }

  std::uint32_t demand_of(VarId var, const DimsMapping& mapping, MeshId mesh, bool is_shared) {
    const auto fresh_index = static_cast<std::uint32_t>(found_.demands.size());
    const std::uint32_t epoch = flow_.epoch(var);
    Demand demand{var, epoch, mesh, mapping, {}, is_shared, {}};
    if (is_shared) {
      const auto [at, fresh] = demand_index_.try_emplace({var, epoch, mesh, mapping}, fresh_index);
      if (!fresh) return at->second;
    }
    found_.demands.push_back(std::move(demand));
    return fresh_index;
  }

  Status look_at_outputs(OpId id, const Operation& op) {
    if (is_one_of(op.type, kNoOutputs)) return {};
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const Argument& output = op.outputs[i];
      const Variable& var = program_.var(output.var);
      if (!var.mesh.valid() || output.dims_mapping.size() != var.shape.size()) continue;
      if (stays(var)) continue;
      if (var.dims_mapping != output.dims_mapping) {
        return invalid_input(
            "/ops/" + std::to_string(id.value()) + "/outputs/" + std::to_string(i),
            "the mapping of output \"" + var.name + "\" must be that of its tensor");
      }
      if (meshes_.canonical(var.mesh) == meshes_.canonical(op.mesh)) continue;
      found_.outputs.push_back({id, output.var});
    }
    return {};
  }

  const Program& program_;
  bool compat_;
  MeshRelations meshes_;
  ControlFlow flow_;
  std::vector<bool> visited_;           // by block
  std::vector<const Argument*> order_;  // scratch
  std::unordered_map<DemandKey, std::uint32_t, DemandHash> demand_index_;
  Requests found_;
};

}  // namespace

Result<Requests> find_requests(const Program& program, bool compat) {
  return RequestWalk(program, compat).run();
}

namespace {

// Sets `completed` to the shape of the whole tensor, from the shape of one rank's part.
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
