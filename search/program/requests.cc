#include "search/program/requests.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/interner.h"

namespace shardwright::program {
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

struct WishKey {
  VarId var;
  std::uint32_t epoch;
  MeshId mesh;
  DimsMapping mapping;
  friend bool operator==(const WishKey&, const WishKey&) = default;
};
struct WishHash {
  std::size_t operator()(const WishKey& key) const {
    std::uint64_t hash = hash_mix(key.var.value(), key.epoch);
    hash = hash_mix(hash, key.mesh.value());
    for (const int axis : key.mapping)
      hash = hash_mix(hash, static_cast<std::uint64_t>(axis + 1));
    return static_cast<std::size_t>(hash);
  }
};

class Walker {
 public:
  Walker(const Program& program, std::optional<std::int64_t> batch_size)
      : program_(program), batch_size_(batch_size), epochs_(program.var_capacity(), 0) {
    find_meshes();
  }

  Result<Requests> run() {
    SHARDWRIGHT_RETURN_IF_ERROR(look_at_variables());
    visited_.resize(program_.num_blocks(), false);
    // Blocks that no operator runs stand for themselves.
    for (std::size_t i = 0; i < program_.num_blocks(); ++i) {
      if (!visited_[i]) SHARDWRIGHT_RETURN_IF_ERROR(walk(BlockId(i)));
    }
    return std::move(found_);
  }

 private:
  // An operator that runs a block, and what is written inside.
  struct Enclosing {
    OpId op;
    std::vector<VarId> written;  // sorted
  };

  // Equal meshes get one id; the mesh of all ranks is not known where it has known parts.
  void find_meshes() {
    const std::vector<ProcessMesh>& meshes = program_.meshes();
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
    for (std::size_t i = 0; i < meshes.size(); ++i) {
      is_known_.push_back(!has_parts || meshes[i].size() < all.size());
    }
    parts_.resize(meshes.size());
    for (std::size_t i = 0; i < meshes.size(); ++i) {
      for (std::size_t j = 0; j < meshes.size(); ++j) {
        if (canonical_[j] != MeshId(j) || !is_known_[j]) continue;
        if (meshes[j].size() < meshes[i].size() && is_subset(meshes[j], meshes[i])) {
          parts_[i].push_back(MeshId(j));
        }
      }
      if (!is_covered(meshes[i], parts_[i])) parts_[i].clear();
    }
  }
  bool is_covered(const ProcessMesh& mesh, const std::vector<MeshId>& parts) const {
    return std::all_of(mesh.ids().begin(), mesh.ids().end(), [&](Rank rank) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](MeshId part) { return program_.mesh(part).contains(rank); });
    });
  }

  Status look_at_variables() {
    found_.shapes.resize(program_.var_capacity());
    for (std::size_t i = 0; i < program_.var_capacity(); ++i) {
      const VarId id(i);
      if (!program_.has(id)) continue;
      ++found_.items_scanned;
      const Variable& var = program_.var(id);
      if (var.name.find('@') != std::string::npos) found_.generated_names.insert(var.name);
      if (var.is_feed && var.lod_level != 0) {
        const auto [known, fresh] = found_.lod_feeds.try_emplace(var.lod_level, id);
        if (!fresh && var.block < program_.var(known->second).block) known->second = id;
      }
      if (var.mesh.valid()) SHARDWRIGHT_RETURN_IF_ERROR(settle_shape(id, var));
    }
    return {};
  }

  // Closes a batch dimension, and says the whole shape of what is known by its share.
  Status settle_shape(VarId id, const Variable& var) {
    const bool is_open = !var.shape.empty() && var.shape[0] == -1;
    if (!is_open && !var.is_local) return {};
    const std::string where = "/vars/" + std::to_string(id.value());
    if (is_open && !batch_size_) {
      return invalid_input(where,
                           "\"" + var.name + "\" has an open batch dimension: give --batch-size");
    }
    const DistAttr attr = program_.placement(id);
    Shape shape = var.shape;
    if (is_open) shape[0] = *batch_size_;
    bool fits = check_extents(shape).ok();
    for (std::size_t dim = 0; fits && dim < shape.size(); ++dim) {
      if (!var.is_local && dim > 0) break;
      shape[dim] *= attr.splits(dim);
      fits = check_extents(shape).ok();
    }
    if (!fits)
      return invalid_input(where, "with this batch size \"" + var.name + "\" is too large");
    found_.shapes[id.index()] = std::move(shape);
    return {};
  }

  Status walk(BlockId block) {
    visited_[block.index()] = true;
    for (OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
      const Operation& op = program_.op(id);
      ++found_.items_scanned;
      if (op.sub_block.valid()) {
        SHARDWRIGHT_RETURN_IF_ERROR(enter(id, op));
        continue;
      }
      if (op.mesh.valid() && !op.is_inserted && !is_special(op)) {
        SHARDWRIGHT_RETURN_IF_ERROR(look_at_inputs(id, op));
        SHARDWRIGHT_RETURN_IF_ERROR(look_at_outputs(id, op));
      }
      for (const Argument& output : op.outputs)
        ++epochs_[output.var.index()];
    }
    return {};
  }

  static bool is_special(const Operation& op) {
    return is_one_of(op.type, kNeverResharded) ||
           (op.is_gradient_clip && is_one_of(op.type, kClipOps));
  }

  Status enter(OpId id, const Operation& op) {
    if (op.condition.valid() && (!is_replicated(program_.var(op.condition).dims_mapping) ||
                                 !program_.var(op.condition).partial.empty())) {
      return invalid_input("/ops/" + std::to_string(id.value()) + "/condition",
                           "the condition of control flow must be replicated");
    }
    Enclosing enclosing{id, {}};
    collect_written(op.sub_block, enclosing.written);
    std::sort(enclosing.written.begin(), enclosing.written.end());
    const auto end = std::unique(enclosing.written.begin(), enclosing.written.end());
    enclosing.written.erase(end, enclosing.written.end());
    // What is written inside is something else there, and again afterwards.
    for (const VarId var : enclosing.written)
      ++epochs_[var.index()];
    enclosing_.push_back(std::move(enclosing));
    const Status status = walk(op.sub_block);
    for (const VarId var : enclosing_.back().written)
      ++epochs_[var.index()];
    enclosing_.pop_back();
    for (const Argument& output : op.outputs)
      ++epochs_[output.var.index()];
    return status;
  }

  void collect_written(BlockId block, std::vector<VarId>& written) const {
    for (OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
      const Operation& op = program_.op(id);
      for (const Argument& output : op.outputs)
        written.push_back(output.var);
      if (op.sub_block.valid()) collect_written(op.sub_block, written);
    }
  }

  // Where operators for a consumer go.
  OpId anchor_of(OpId consumer, VarId var) const {
    OpId anchor = consumer;
    for (std::size_t i = enclosing_.size(); i-- > 0;) {
      const std::vector<VarId>& written = enclosing_[i].written;
      if (std::binary_search(written.begin(), written.end(), var)) break;
      anchor = enclosing_[i].op;
    }
    return anchor;
  }

  // Inputs are visited in the order of their names.
  Status look_at_inputs(OpId id, const Operation& op) {
    order_.clear();
    for (const Argument& input : op.inputs)
      order_.push_back(&input);
    if (order_.size() > 1) {
      std::sort(order_.begin(), order_.end(), [&](const Argument* a, const Argument* b) {
        const int order = program_.var(a->var).name.compare(program_.var(b->var).name);
        return order != 0 ? order < 0 : a < b;  // all in one list
      });
    }
    const Argument* previous = nullptr;
    for (const Argument* input : order_) {
      const bool again = previous != nullptr && previous->var == input->var &&
                         previous->dims_mapping == input->dims_mapping;
      previous = input;
      if (!again) SHARDWRIGHT_RETURN_IF_ERROR(look_at_input(id, op, *input));
    }
    return {};
  }

  Status look_at_input(OpId id, const Operation& op, const Argument& input) {
    const Variable& var = program_.var(input.var);
    if (!var.mesh.valid() || input.dims_mapping.size() != var.shape.size()) return {};
    const MeshId tensor_mesh = canonical_[var.mesh.index()];
    const MeshId op_mesh = canonical_[op.mesh.index()];
    const bool same_mapping = var.dims_mapping == input.dims_mapping && var.partial.empty();
    if (tensor_mesh == op_mesh && same_mapping) return {};  // most
    const bool is_union = !is_known_[tensor_mesh.index()];
    if (is_union && !is_replicated(var.dims_mapping)) {
      return invalid_input("/vars/" + std::to_string(input.var.value()) + "/dims_mapping",
                           "a tensor on a union of meshes must be replicated");
    }
    const std::vector<MeshId>& parts = parts_[op_mesh.index()];
    if (parts.empty() || !is_replicated(input.dims_mapping)) {
      return consider(id, op, input, op_mesh, is_union, true);
    }
    for (const MeshId part : parts) {
      SHARDWRIGHT_RETURN_IF_ERROR(consider(id, op, input, part, is_union, false));
    }
    return {};
  }

  Status consider(OpId id, const Operation& op, const Argument& input, MeshId mesh, bool is_union,
                  bool is_shared) {
    const Variable& var = program_.var(input.var);
    Request request;
    request.source_mesh = canonical_[var.mesh.index()];
    const ProcessMesh& there = program_.mesh(request.source_mesh);
    const ProcessMesh& here = program_.mesh(mesh);
    const bool same_mapping = var.dims_mapping == input.dims_mapping && var.partial.empty();
    if (is_union && is_subset(here, there)) {
      if (same_mapping) return {};
      request.source_mesh = mesh;
    } else if (request.source_mesh != mesh) {
      if (var.is_feed && here.size() == there.size()) return {};
    } else if (same_mapping) {
      return {};
    }
    const Status valid = check(DistAttr{here, input.dims_mapping, {}}, var.shape.size());
    if (!valid.ok()) {
      return invalid_input("/ops/" + std::to_string(id.value()) + "/inputs" + valid.error().where,
                           valid.error().message);
    }
    request.anchor = anchor_of(id, input.var);
    request.consumer = id;
    request.var = input.var;
    const bool gradient = var.name.size() >= 4 && var.name.ends_with("GRAD");
    request.role = op.role == OpRole::kOptimize && gradient ? OpRole::kBackward : op.role;
    const auto index = static_cast<std::uint32_t>(found_.requests.size());
    request.wish = wish_of(input, mesh, is_shared);
    found_.wishes[request.wish].requests.push_back(index);
    found_.requests.push_back(request);
    return {};
  }

  std::uint32_t wish_of(const Argument& input, MeshId mesh, bool is_shared) {
    const auto fresh_index = static_cast<std::uint32_t>(found_.wishes.size());
    const std::uint32_t epoch = epochs_[input.var.index()];
    Wish wish{input.var, epoch, mesh, input.dims_mapping, {}, is_shared, {}};
    if (is_shared) {
      const auto [at, fresh] =
          wish_index_.try_emplace({input.var, epoch, mesh, input.dims_mapping}, fresh_index);
      if (!fresh) return at->second;
    }
    found_.wishes.push_back(std::move(wish));
    return fresh_index;
  }

  Status look_at_outputs(OpId id, const Operation& op) {
    if (is_one_of(op.type, kNoOutputs)) return {};
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const Argument& output = op.outputs[i];
      const Variable& var = program_.var(output.var);
      if (!var.mesh.valid() || output.dims_mapping.size() != var.shape.size()) continue;
      if (var.dims_mapping != output.dims_mapping) {
        return invalid_input(
            "/ops/" + std::to_string(id.value()) + "/outputs/" + std::to_string(i),
            "\"" + var.name + "\" must be placed as its tensor is, by the same mapping");
      }
      if (canonical_[var.mesh.index()] == canonical_[op.mesh.index()]) continue;
      found_.outputs.push_back({id, output.var});
    }
    return {};
  }

  const Program& program_;
  std::optional<std::int64_t> batch_size_;
  std::vector<std::uint32_t> epochs_;
  std::vector<MeshId> canonical_;
  std::vector<bool> visited_;  // by block
  std::vector<bool> is_known_;
  std::vector<std::vector<MeshId>> parts_;  // known meshes that make up a union
  std::vector<Enclosing> enclosing_;
  std::vector<const Argument*> order_;
  std::unordered_map<WishKey, std::uint32_t, WishHash> wish_index_;
  Requests found_;
};

}  // namespace

Result<Requests> find_requests(const Program& program, std::optional<std::int64_t> batch_size) {
  return Walker(program, batch_size).run();
}

}  // namespace shardwright::program
