#include "tests/support/program/program_execution.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/program/inserted_operator.h"
#include "tests/support/program/whole_program.h"

namespace shardwright::test_support {
namespace {

using namespace program;

struct Values {
  Array array;
  DataType type = DataType::kFloat32;
};

// The state of one rank's program.
struct Worker {
  const RankProgram* rank = nullptr;
  std::map<std::uint32_t, Values> memory;
  std::map<std::uint32_t, std::size_t> runs;
  // The current operator of every open block, outermost first, with the iteration of its loop.
  std::vector<std::pair<OpId, int>> stack;

  const Program& program() const { return rank->program; }
  OpId at() const { return stack.empty() ? OpId() : stack.back().first; }
};

class Machine {
 public:
  Machine(const Program& original, const ReshardResult& result)
      : original_(original), whole_(original) {
    for (const RankProgram& rank : result.ranks) {
      Worker& worker = workers_.emplace_back();
      worker.rank = &rank;
      start(worker);
    }
  }

  Execution run() && {
    if (!same_groups()) return std::move(execution_);
    for (bool moved = true; moved && execution_.problem.empty();) {
      moved = false;
      for (Worker& worker : workers_) {
        while (worker.at().valid() && execution_.problem.empty() && advance(worker))
          moved = true;
      }
    }
    for (const Worker& worker : workers_) {
      if (worker.at().valid()) fail(worker, "waits for ever");
    }
    return std::move(execution_);
  }

 private:
  bool same_groups() {
    const std::vector<ProcessGroup>& first = workers_.front().program().groups();
    for (const Worker& worker : workers_) {
      const std::vector<ProcessGroup>& groups = worker.program().groups();
      bool same = groups.size() == first.size();
      for (std::size_t i = 0; same && i < groups.size(); ++i) {
        const auto a = groups[i].ranks.view();
        const auto b = first[i].ranks.view();
        same = std::equal(a.begin(), a.end(), b.begin(), b.end()) &&
               groups[i].ring_id == first[i].ring_id;
      }
      if (!same) fail(worker, "numbers its groups differently");
    }
    return execution_.problem.empty();
  }

  void start(Worker& worker) {
    for (std::size_t i = 0; i < original_.var_capacity(); ++i) {
      const VarId id(i);
      if (!worker.program().has(id) || !original_.var(id).mesh.valid()) continue;
      const DistAttr attr = original_.placement(id);
      const auto position = attr.mesh.position_of(worker.rank->rank);
      if (!position) continue;
      const DataType type = original_.var(id).type;
      worker.memory[id.value()] = {share(whole_.initial(id), attr, *position, type), type};
    }
    worker.stack.emplace_back(worker.program().block(BlockId(0)).first, 0);
    settle(worker);
  }

  // Leaves blocks that have ended, or begins the next iteration of their loop.
  static void settle(Worker& worker) {
    while (!worker.stack.empty() && !worker.stack.back().first.valid()) {
      worker.stack.pop_back();
      if (worker.stack.empty()) return;
      auto& [control, round] = worker.stack.back();
      if (++round < kRounds) {
        enter(worker, control);
      } else {
        control = worker.program().next(control);
        round = 0;
      }
    }
  }
  static void enter(Worker& worker, OpId control) {
    const BlockId block = worker.program().op(control).sub_block;
    worker.stack.emplace_back(worker.program().block(block).first, 0);
  }
  static void step(Worker& worker) {
    auto& at = worker.stack.back().first;
    at = worker.program().next(at);
    settle(worker);
  }

  bool fail(const Worker& worker, const std::string& what) {
    if (!execution_.problem.empty()) return false;
    execution_.problem = "rank " + std::to_string(worker.rank->rank) + " ";
    if (worker.at().valid()) {
      execution_.problem += "at operator " + std::to_string(worker.at().value()) + " (" +
                            worker.program().op(worker.at()).type + ") ";
    }
    execution_.problem += what;
    return false;
  }

  // Returns false if the rank has to wait for another rank, or has failed.
  bool advance(Worker& worker) {
    const OpId id = worker.at();
    const Operation& op = worker.program().op(id);
    if (op.sub_block.valid()) {
      enter(worker, id);
      settle(worker);
      return true;
    }
    if (op.is_inserted) return inserted(worker, op);
    if (op.mesh.valid() && original_.mesh(op.mesh).contains(worker.rank->rank)) {
      if (!original(worker, id, op)) return false;
    }
    step(worker);
    return true;
  }

  bool original(Worker& worker, OpId id, const Operation& op) {
    const Run* const run = whole_.run(id, worker.runs[id.value()]++);
    if (run == nullptr) return fail(worker, "runs too often");
    ++execution_.operators;
    const Operation& before = original_.op(id);
    for (std::size_t i = 0; i < before.inputs.size(); ++i) {
      if (!check_input(worker, op, before.inputs[i], op.inputs[i].var, run->inputs[i])) {
        return false;
      }
    }
    const ProcessMesh& mesh = original_.mesh(op.mesh);
    const std::size_t position = *mesh.position_of(worker.rank->rank);
    for (std::size_t j = 0; j < op.outputs.size(); ++j) {
      const Variable& var = original_.var(op.outputs[j].var);
      DistAttr attr{mesh, op.outputs[j].dims_mapping, {}};
      if (var.mesh.valid() && original_.mesh(var.mesh) == mesh) attr.partial = var.partial;
      worker.memory[op.outputs[j].var.value()] = {share(run->outputs[j], attr, position, var.type),
                                                  var.type};
    }
    return true;
  }

  bool check_input(const Worker& worker, const Operation& op, const Argument& wanted, VarId read,
                   const Array& whole) {
    const Variable& var = original_.var(wanted.var);
    if (wanted.dims_mapping.size() != var.shape.size()) return true;
    if (var.is_feed && var.mesh != op.mesh) return true;  // a feed is available on every rank
    if (!worker.program().has(read)) return fail(worker, "reads a removed variable");
    const auto found = worker.memory.find(read.value());
    if (found == worker.memory.end()) return fail(worker, "reads nothing of " + var.name);
    ++execution_.inputs;
    // The rank may hold the tensor as on the operator's mesh, or as on a smaller mesh.
    for (const ProcessMesh& mesh : original_.meshes()) {
      const bool own = mesh == original_.mesh(op.mesh);
      if (!own && mesh.size() >= original_.mesh(op.mesh).size()) continue;
      const auto position = mesh.position_of(worker.rank->rank);
      const DistAttr attr{mesh, wanted.dims_mapping, {}};
      if (!position || !check(attr, var.shape.size()).ok()) continue;
      const Array expected = share(whole, attr, *position, var.type);
      const Values& have = found->second;
      if (have.array.shape == expected.shape && have.array.values == expected.values) {
        return have.type == var.type || fail(worker, "reads " + var.name + " as another type");
      }
    }
    return fail(worker, "reads wrong data for " + var.name);
  }

  bool inserted(Worker& worker, const Operation& op) {
    if (op.type == "recv_v2") return false;  // the sending rank also executes the receive
    for (const Argument& input : op.inputs) {
      if (worker.program().var(input.var).is_feed) continue;  // a feed is available on every rank
      if (!worker.memory.contains(input.var.value())) {
        return fail(worker, "works on nothing: " + worker.program().var(input.var).name);
      }
    }
    if (op.type == "send_v2") return send(worker, op);
    if (op.type.starts_with("c_") || op.type == "alltoall") return meet(worker, op);
    std::vector<Array> in;
    for (const Argument& input : op.inputs) {
      const auto known = worker.memory.find(input.var.value());
      if (known != worker.memory.end()) in.push_back(known->second.array);
    }
    std::string problem;
    std::vector<Array> results = computed(op, in, problem);
    if (!problem.empty()) return fail(worker, problem);
    keep(worker, op, std::move(results));
    step(worker);
    return true;
  }

  static void keep(Worker& worker, const Operation& op, std::vector<Array> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const VarId var = op.outputs[i].var;
      worker.memory[var.value()] = {std::move(results[i]), worker.program().var(var).type};
    }
  }

  Worker* worker_of(Rank rank) {
    for (Worker& worker : workers_) {
      if (worker.rank->rank == rank) return &worker;
    }
    return nullptr;
  }
  std::vector<Rank> group_of(const Worker& worker, const Operation& op) const {
    const std::vector<ProcessGroup>& groups = worker.program().groups();
    const std::int64_t ring_id = number_attribute(op, "ring_id");
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const ProcessGroup& known) {
      return known.ring_id == ring_id;
    });
    if (group == groups.end()) return {};
    const auto ranks = group->ranks.view();
    return {ranks.begin(), ranks.end()};
  }

  bool send(Worker& worker, const Operation& op) {
    const std::vector<Rank> group = group_of(worker, op);
    if (group.size() != 2 || group[0] != worker.rank->rank || group[0] == group[1]) {
      return fail(worker, "sends in another's name");
    }
    Worker* const to = worker_of(group[1]);
    if (to == nullptr) return fail(worker, "sends to nobody");
    if (!to->at().valid()) return false;
    const Operation& other = to->program().op(to->at());
    if (other.type != "recv_v2" ||
        number_attribute(other, "ring_id") != number_attribute(op, "ring_id"))
      return false;
    const Values& sent = worker.memory.at(op.inputs[0].var.value());
    const Variable& into = to->program().var(other.outputs[0].var);
    if (sent.type == DataType::kBool) return fail(worker, "sends booleans");
    if (sent.type != into.type) return fail(*to, "receives another type");
    const auto out_shape = list_attribute(other, "out_shape");
    if (!std::equal(out_shape.begin(), out_shape.end(), sent.array.shape.begin(),
                    sent.array.shape.end())) {
      return fail(*to, "receives another shape");
    }
    to->memory[other.outputs[0].var.value()] = sent;
    ++execution_.messages;
    step(*to);
    step(worker);
    return true;
  }

  bool meet(Worker& worker, const Operation& op) {
    const std::vector<Rank> group = group_of(worker, op);
    if (std::find(group.begin(), group.end(), worker.rank->rank) == group.end()) {
      return fail(worker, "names a group that it is not in");
    }
    std::vector<Worker*> members;
    std::vector<Array> in;
    for (const Rank rank : group) {
      Worker* const member = worker_of(rank);
      if (member == nullptr || !member->at().valid()) return false;
      const Operation& theirs = member->program().op(member->at());
      if (theirs.type != op.type ||
          number_attribute(theirs, "ring_id") != number_attribute(op, "ring_id"))
        return false;
      const auto values = member->memory.find(theirs.inputs[0].var.value());
      if (values == member->memory.end()) return fail(*member, "shares nothing");
      if (values->second.type == DataType::kBool) return fail(*member, "shares booleans");
      in.push_back(values->second.array);
      if (in.back().shape != in.front().shape) return fail(*member, "shares another shape");
      members.push_back(member);
    }
    ++execution_.collectives;
    for (std::size_t i = 0; i < members.size(); ++i) {
      keep(*members[i], members[i]->program().op(members[i]->at()),
           {collected(op, in, static_cast<std::int64_t>(i))});
    }
    for (Worker* const member : members)
      step(*member);
    return true;
  }

  const Program& original_;
  Whole whole_;
  std::vector<Worker> workers_;
  Execution execution_;
};

}  // namespace

Execution execute(const Program& original, const ReshardResult& result) {
  return Machine(original, result).run();
}

}  // namespace shardwright::test_support
