#include "runtime/program/rank_operators.h"

#include <map>
#include <utility>
#include <variant>

namespace shardwright {
namespace {

using namespace program;

// Reads the operators of one rank.
// Thread safety: one thread at a time.
class OperatorReader {
 public:
  OperatorReader(const RankedProgram& ranked, const Cluster& cluster)
      : program_(*ranked.program), rank_(ranked.rank), cluster_(cluster) {
    for (const ProcessGroup& group : program_.groups()) {
      const auto ranks = group.ranks.view();
      groups_[group.ring_id].assign(ranks.begin(), ranks.end());
    }
  }

  std::vector<RankOperator> read() {
    std::vector<RankOperator> operators;
    for (std::size_t block = 0; block < program_.num_blocks(); ++block) {
      std::size_t unread = operators.size();
      for (OpId id = program_.block(BlockId(block)).first; id.valid(); id = program_.next(id)) {
        const Operation& op = program_.op(id);
        if (op.is_inserted) {
          operators.push_back(read(op));
          continue;
        }
        for (; unread < operators.size(); ++unread)
          operators[unread].reader = op.type;
      }
    }
    return operators;
  }

 private:
  static std::int64_t number(const Operation& op, std::string_view name) {
    for (const auto& [key, value] : op.attributes) {
      if (key == name && std::holds_alternative<std::int64_t>(value))
        return std::get<std::int64_t>(value);
    }
    return -1;
  }

  std::int64_t bytes_of(const Argument& argument) const {
    const Variable& variable = program_.var(argument.var);
    Shape shape = variable.shape;
    if (variable.is_open()) shape[0] = 1;
    if (!variable.is_local && variable.mesh.valid()) {
      const DistAttr placement = program_.placement(argument.var);
      if (const auto position = placement.mesh.position_of(rank_))
        shape = shape_of(part_at(shape, placement, *position));
    }
    return num_elements(shape) * message_bytes(variable.type);
  }

  RankOperator read(const Operation& op) {
    RankOperator out;
    out.type = op.type;
    const auto group = groups_.find(number(op, "ring_id"));
    const Argument* input = op.inputs.empty() ? nullptr : &op.inputs.front();
    const Argument* output = op.outputs.empty() ? nullptr : &op.outputs.front();
    const Argument* of = input != nullptr ? input : output;
    if (of != nullptr) out.tensor = program_.var(of->var).name;
    const std::int64_t in = input != nullptr ? bytes_of(*input) : 0;
    const std::int64_t result = output != nullptr ? bytes_of(*output) : 0;
    if (group == groups_.end()) {
      out.us = local_us(cluster_, static_cast<double>(std::max(in, result)));
      return out;
    }
    out.group = group->second;
    if (op.type == "send_v2" || op.type == "recv_v2") {
      read_message(op.type == "send_v2", op.type == "send_v2" ? in : result, out);
    } else {
      read_collective(in, result, out);
    }
    return out;
  }

  void read_message(bool is_send, std::int64_t bytes, RankOperator& out) const {
    out.kind = is_send ? RankOperator::Kind::kSend : RankOperator::Kind::kReceive;
    out.pair_bytes = bytes;
    const bool near =
        cluster_.machine_of(out.group.front()) == cluster_.machine_of(out.group.back());
    out.us = send_us(cluster_, near, static_cast<double>(bytes));
  }

  // `in` and `result` are bytes. Every rank counts as sending its part to every other rank. A
  // reduction sends its terms and then its results, so its parts count twice.
  void read_collective(std::int64_t in, std::int64_t result, RankOperator& out) const {
    out.kind = RankOperator::Kind::kCollective;
    const GroupShape shape = group_shape(cluster_, out.group);
    const bool gathers = out.type == "c_allgather" || out.type == "c_concat";
    const bool reduces = out.type.starts_with("c_allreduce");
    const std::int64_t bytes = gathers ? result : in;
    out.pair_bytes = bytes / shape.ranks * (reduces ? 2 : 1);
    const auto whole = static_cast<double>(bytes);
    out.us = gathers   ? all_gather_us(cluster_, shape, whole)
             : reduces ? all_reduce_us(cluster_, shape, whole)
                       : exchange_us(cluster_, shape, whole);
  }

  const Program& program_;
  Rank rank_;
  const Cluster& cluster_;
  std::map<std::int64_t, std::vector<Rank>> groups_;  // by ring_id
};

}  // namespace

std::vector<RankOperator> inserted_operators(const RankedProgram& ranked, const Cluster& cluster) {
  return OperatorReader(ranked, cluster).read();
}

}  // namespace shardwright
