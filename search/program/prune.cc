#include "search/program/prune.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shardwright::program {
namespace {

// Operators that Paddle's Resharder keeps on every rank.
constexpr std::array<std::string_view, 3> kReaders{"create_py_reader",
                                                   "create_double_buffer_reader", "read"};

class RankPruning {
 public:
  RankPruning(const Program& program, Rank rank, EditLog& log)
      : program_(program), log_(log), needed_(log.var_capacity(), false) {
    has_rank_.reserve(program.meshes().size());
    for (const ProcessMesh& mesh : program.meshes())
      has_rank_.push_back(mesh.contains(rank));
  }

  void run() {
    // Inner blocks come first, so that control flow whose block becomes empty is removed, too.
    for (std::size_t block = program_.num_blocks(); block-- > 0;)
      prune_block(BlockId(block));
    for (std::size_t i = 0; i < needed_.size(); ++i) {
      const VarId id(i);
      if (!needed_[i] && log_.has(id) && !log_.var(id).is_feed) log_.remove(id);
    }
  }

 private:
  void prune_block(BlockId block) {
    OpId next;
    for (OpId id = log_.block(block).first; id.valid(); id = next) {
      next = log_.next(id);
      if (!stays(log_.op(id))) {
        log_.remove(id);
        continue;
      }
      if (log_.op(id).sub_block.valid()) narrow(id);
      mark_needed(log_.op(id));
    }
  }

  bool stays(const Operation& op) const {
    if (op.sub_block.valid()) return log_.block(op.sub_block).first.valid();
    const bool foreign = op.mesh.valid() && !has_rank_[op.mesh.index()];
    return !foreign || std::find(kReaders.begin(), kReaders.end(), op.type) != kReaders.end();
  }

  void mark_needed(const Operation& op) {
    for (const Argument& argument : op.inputs)
      needed_[argument.var.index()] = true;
    for (const Argument& argument : op.outputs)
      needed_[argument.var.index()] = true;
    if (op.condition.valid()) needed_[op.condition.index()] = true;
  }

  // Reduces the arguments of control flow to what its block still reads and writes.
  void narrow(OpId id) {
    std::unordered_set<VarId> read;
    std::unordered_set<VarId> written;
    const Operation& control = log_.op(id);
    for (OpId inner = log_.block(control.sub_block).first; inner.valid();
         inner = log_.next(inner)) {
      const Operation& op = log_.op(inner);
      for (const Argument& input : op.inputs)
        read.insert(input.var);
      for (const Argument& output : op.outputs)
        written.insert(output.var);
      if (op.condition.valid()) read.insert(op.condition);
    }
    std::vector<const Argument*> order;
    for (const Argument& input : control.inputs) {
      if (read.contains(input.var)) order.push_back(&input);
    }
    std::sort(order.begin(), order.end(), [&](const Argument* a, const Argument* b) {
      const int by_name = log_.var(a->var).name.compare(log_.var(b->var).name);
      return by_name != 0 ? by_name < 0 : a < b;  // pointers into the list of inputs
    });
    std::vector<Argument> inputs;
    inputs.reserve(order.size());
    for (const Argument* input : order)
      inputs.push_back(*input);
    std::vector<Argument> outputs;
    for (const Argument& output : control.outputs) {
      if (written.contains(output.var)) outputs.push_back(output);
    }
    log_.set_arguments(id, std::move(inputs), std::move(outputs));
  }

  const Program& program_;
  EditLog& log_;
  std::vector<bool> has_rank_;  // by mesh
  std::vector<bool> needed_;    // by variable
};

}  // namespace

void prune_rank(const Program& program, Rank rank, EditLog& log) {
  RankPruning(program, rank, log).run();
}

Result<Program> prune_startup(const Program& startup, const Program& main) {
  std::unordered_set<std::string> read;
  for (std::size_t i = 0; i < main.op_capacity(); ++i) {
    if (!main.has(OpId(i))) continue;
    for (const Argument& input : main.op(OpId(i)).inputs)
      read.insert(main.var(input.var).name);
  }
  EditLog log(startup);
  std::vector<bool> kept(startup.var_capacity(), false);
  const auto keep_arguments = [&](const Operation& op) {
    for (const auto* arguments : {&op.inputs, &op.outputs}) {
      for (const Argument& argument : *arguments)
        kept[argument.var.index()] = true;
    }
  };
  const auto is_kept = [&](const Argument& argument) { return kept[argument.var.index()]; };
  const auto needs = [&](const Argument& output) {
    return is_kept(output) || read.contains(startup.var(output.var).name);
  };
  for (std::size_t i = 0; i < startup.op_capacity(); ++i) {
    if (!startup.has(OpId(i)) || startup.block_of(OpId(i)) == BlockId(0)) continue;
    keep_arguments(startup.op(OpId(i)));
  }
  // From the last operator to the first: an operator is needed if a later one needs its output.
  for (OpId id = startup.block(BlockId(0)).last; id.valid(); id = startup.previous(id)) {
    const Operation& op = startup.op(id);
    const bool stays = op.outputs.empty()
                           ? std::all_of(op.inputs.begin(), op.inputs.end(), is_kept)
                           : std::any_of(op.outputs.begin(), op.outputs.end(), needs);
    if (!stays) {
      log.remove(id);
      continue;
    }
    keep_arguments(op);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i] && startup.has(VarId(i))) log.remove(VarId(i));
  }
  return log.commit();
}

}  // namespace shardwright::program
