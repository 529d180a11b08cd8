#include "runtime/program/traffic.h"

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "search/program/tensor/cost_model.h"

namespace shardwright {
namespace {

using program::Cluster;
using program::GroupShape;
using program::Operation;
using program::Program;
using program::Rank;

// The groups of a program by ring.
using Rings = std::unordered_map<std::int64_t, const program::ProcessGroup*>;

Rings rings_of(const program::Communication& communication) {
  Rings rings;
  for (const program::ProcessGroup& group : communication.groups)
    rings.emplace(group.ring_id, &group);
  return rings;
}

std::optional<std::int64_t> ring_of(const Operation& op) {
  for (const auto& [name, value] : op.attributes) {
    const auto* const ring = std::get_if<std::int64_t>(&value);
    if (name == "ring_id" && ring != nullptr) return *ring;
  }
  return std::nullopt;
}

// Adds up the operators of one rank.
class Counter {
 public:
  Counter(const program::RankProgram& rank, const Rings& rings, std::int64_t batch_size,
          const Cluster& cluster)
      : rank_(&rank), rings_(&rings), batch_size_(batch_size), cluster_(&cluster) {}

  RankTraffic count() {
    const Program& program = rank_->program;
    for (std::size_t b = 0; b < program.num_blocks(); ++b) {
      for (program::OpId id = program.block(program::BlockId(b)).first; id.valid();
           id = program.next(id)) {
        if (program.op(id).is_inserted) add(program.op(id));
      }
    }
    return traffic_;
  }

 private:
  // Bytes of the part of a variable that this rank holds.
  double bytes_of(program::VarId id) const {
    const program::Variable& var = rank_->program.var(id);
    double bytes = static_cast<double>(program::message_bytes(var.type));
    for (std::size_t dim = 0; dim < var.shape.size(); ++dim) {
      const bool is_batch = var.shape[dim] < 0;  // of each rank
      double extent = static_cast<double>(is_batch ? batch_size_ : var.shape[dim]);
      if (var.mesh.valid() && !var.is_local && !is_batch) {
        const int axis = var.dims_mapping[dim];
        const program::ProcessMesh& mesh = rank_->program.meshes()[var.mesh.index()];
        if (axis >= 0)
          extent /= static_cast<double>(mesh.axis_size(static_cast<std::size_t>(axis)));
      }
      bytes *= extent;
    }
    return bytes;
  }

  void add(const Operation& op) {
    const std::optional<std::int64_t> ring = ring_of(op);
    const auto found = ring ? rings_->find(*ring) : rings_->end();
    if (found == rings_->end()) return;
    const std::span<const Rank> ranks = found->second->ranks.view();
    const GroupShape group =
        program::group_shape(*cluster_, std::vector<Rank>(ranks.begin(), ranks.end()));
    if (op.type == "send_v2" && !op.inputs.empty()) {
      add_message(bytes_of(op.inputs.front().var), group, traffic_.sent_bytes);
    } else if (op.type == "recv_v2" && !op.outputs.empty()) {
      add_message(bytes_of(op.outputs.front().var), group, traffic_.received_bytes);
    } else if (!op.inputs.empty() && !op.outputs.empty()) {
      add_collective(op, group);
    }
  }

  void add_message(double bytes, GroupShape group, std::int64_t& total) {
    total += static_cast<std::int64_t>(bytes);
    traffic_.us += program::send_us(*cluster_, group.machines <= 1, bytes);
  }

  void add_collective(const Operation& op, GroupShape group) {
    const double read = bytes_of(op.inputs.front().var);
    const double written = bytes_of(op.outputs.front().var);
    const auto others = static_cast<double>(group.ranks - 1) / static_cast<double>(group.ranks);
    const std::string_view type = op.type;
    double moved = 0;
    if (type == "c_allgather" || type == "c_concat") {
      moved = written * others;
      traffic_.us += program::all_gather_us(*cluster_, group, written);
    } else if (type.starts_with("c_allreduce")) {
      moved = 2 * read * others;
      traffic_.us += program::all_reduce_us(*cluster_, group, read);
    } else {
      moved = read * others;
      traffic_.us += program::exchange_us(*cluster_, group, read);
    }
    traffic_.sent_bytes += static_cast<std::int64_t>(moved);
    traffic_.received_bytes += static_cast<std::int64_t>(moved);
  }

  const program::RankProgram* rank_;
  const Rings* rings_;
  std::int64_t batch_size_;
  const Cluster* cluster_;
  RankTraffic traffic_;
};

}  // namespace

std::vector<RankTraffic> traffic_of(const program::ReshardResult& result, const Cluster& cluster) {
  std::vector<RankTraffic> traffic;
  const program::Communication* known = nullptr;
  Rings rings;
  for (const program::RankProgram& rank : result.ranks) {
    // Ranks share their groups.
    if (&rank.program.communication() != known) {
      known = &rank.program.communication();
      rings = rings_of(*known);
    }
    traffic.push_back(Counter(rank, rings, result.batch_size.value_or(0), cluster).count());
  }
  return traffic;
}

}  // namespace shardwright
