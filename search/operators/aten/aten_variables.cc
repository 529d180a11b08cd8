#include "search/operators/aten/aten_variables.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/interner.h"
#include "search/operators/aten/role_entries.h"
#include "search/operators/strategies/merge.h"

namespace shardwright::operators {
namespace {

using Words = std::vector<std::int64_t>;

struct WordsHash {
  std::size_t operator()(const Words& words) const {
    std::uint64_t hash = words.size();
    for (const std::int64_t word : words)
      hash = hash_mix(hash, static_cast<std::uint64_t>(word));
    return hash;
  }
};

void append(const AtenTensor& tensor, Words& key) {
  key.push_back(static_cast<std::int64_t>(tensor.type));
  key.push_back(static_cast<std::int64_t>(tensor.shape.size()));
  key.insert(key.end(), tensor.shape.begin(), tensor.shape.end());
  key.insert(key.end(), tensor.stride.begin(), tensor.stride.end());
}

// A key, equal for nodes of one class. `op`: number of the operator; 0 if times are not measured.
// `entries`: number of the entries that the roles leave.
Words key_of(const AtenGraph& graph, const AtenNode& node, std::int64_t op, std::int64_t entries) {
  Words key{op,
            entries,
            static_cast<std::int64_t>(node.rule),
            node.view ? 1 : 0,
            node.is_placeholder() ? 1 : 0,
            static_cast<std::int64_t>(node.inputs.size()),
            static_cast<std::int64_t>(node.outputs.size())};
  for (const TensorRef& ref : node.inputs)
    append(graph.tensor(ref), key);
  for (const std::optional<AtenTensor>& output : node.outputs) {
    key.push_back(output ? 1 : 0);
    if (output) append(*output, key);
  }
  for (const FlopTerm& term : node.flops) {
    key.push_back(term.factor);
    key.push_back(static_cast<std::int64_t>(term.extents.size()));
    for (const FlopTerm::Extent& extent : term.extents) {
      key.push_back(extent.of_output ? 1 : 0);
      key.push_back(extent.tensor);
      key.push_back(extent.dim);
    }
  }
  return key;
}

Words key_of_output(const AtenTensor& tensor, std::int64_t entries) {
  Words key{-1, entries};
  append(tensor, key);
  return key;
}

// The path of a list of modules, and a number in this list.
using Place = std::pair<std::string, std::int64_t>;

std::optional<Place> place_of(std::string_view path) {
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    const bool is_number = !part.empty() && part.size() < 10 &&
                           part.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number && begin > 0) {
      return Place{std::string(path.substr(0, begin - 1)), std::stoll(std::string(part))};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::string_view path_of(const AtenGraph& graph, std::size_t variable) {
  if (variable >= graph.size()) return graph.outputs()[variable - graph.size()].target;
  const AtenNode& node = graph[variable];
  return node.is_placeholder() && node.module.empty() ? node.target : node.module;
}

// By list of modules and number in the list: the variables, ascending.
std::map<std::string, std::map<std::int64_t, std::vector<std::uint32_t>>> blocks_by_module(
    const AtenVariables& variables) {
  std::map<std::string, std::map<std::int64_t, std::vector<std::uint32_t>>> lists;
  for (std::uint32_t v = 0; v < variables.num_consumers(); ++v) {
    if (std::optional<Place> place = place_of(path_of(variables.graph(), v)))
      lists[place->first][place->second].push_back(v);
  }
  return lists;
}

bool equal_classes(const AtenVariables& variables, const std::vector<std::uint32_t>& a,
                   const std::vector<std::uint32_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](std::uint32_t v, std::uint32_t w) {
    return variables.class_of(v) == variables.class_of(w);
  });
}

void share_runs(const AtenVariables& variables, std::vector<std::uint32_t>& leaders) {
  std::vector<std::uint32_t> classes;
  for (std::size_t n = 0; n < variables.graph().size(); ++n)
    classes.push_back(variables.class_of(n));
  for (const NodeAlias& alias : block_aliases(find_repeated_blocks(classes)))
    leaders[alias.node] = alias.of;
}

// The choice of a mover follows from the placements at its producer and its consumer. So movers
// with equal inputs between variables of the same leaders share a leader.
void share_movers(const AtenVariables& variables, std::vector<std::uint32_t>& leaders) {
  std::map<std::array<std::uint32_t, 5>, std::uint32_t> first;
  for (std::uint32_t m = variables.num_consumers(); m < variables.size(); ++m) {
    const TakenTensor& taken = variables.moved()[m - variables.num_consumers()];
    const TensorRef ref = taken_value(variables.graph(), taken);
    leaders[m] = first
                     .try_emplace({leaders[ref.node], ref.output, leaders[taken.consumer],
                                   taken.input, variables.class_of(m)},
                                  m)
                     .first->second;
  }
}

std::string path_of(const AtenGraph& graph, std::uint32_t variable) {
  return variable < graph.size() ? "/nodes/" + std::to_string(variable)
                                 : "/outputs/" + std::to_string(variable - graph.size());
}

Error no_part_of_batch(const AtenGraph& graph, std::uint32_t variable) {
  std::string what = "the output";
  if (variable < graph.size()) {
    what = graph[variable].op;
    if (!graph[variable].line.empty()) what += " (" + graph[variable].line + ")";
  }
  return Error{ErrorCode::kInfeasible,
               what + " cannot run on a part of the batch, as a data axis needs",
               path_of(graph, variable)};
}

}  // namespace

Result<AtenVariables> AtenVariables::make(const AtenGraph& graph, const Machine& machine,
                                          const Times& times, std::span<const TakenTensor> moved,
                                          Executor& executor) {
  const redistribution::MeshShape& mesh = machine.mesh;
  const ComputeDevice& device = times.device;
  AtenVariables variables(graph, machine);
  std::unordered_map<Words, std::uint32_t, WordsHash> numbers;
  std::vector<std::uint32_t> first;  // by class: its first variable
  const auto classify = [&](Words key) {
    const auto [at, is_new] =
        numbers.emplace(std::move(key), static_cast<std::uint32_t>(first.size()));
    if (is_new) first.push_back(static_cast<std::uint32_t>(variables.class_.size()));
    variables.class_.push_back(at->second);
  };
  const RoleEntries entries(graph, mesh, variables.roles_);
  if (entries.emptied()) return no_part_of_batch(graph, *entries.emptied());
  std::unordered_map<std::string_view, std::int64_t> ops;
  for (const AtenNode& node : graph.nodes()) {
    const auto number = static_cast<std::int64_t>(ops.size());
    classify(key_of(graph, node, device.measured ? ops.emplace(node.op, number).first->second : 0,
                    entries.number_of(variables.size())));
  }
  for (const AtenOutput& output : graph.outputs())
    classify(key_of_output(graph.tensor(output.value), entries.number_of(variables.size())));

  std::vector<std::optional<Result<StrategyClass>>> made(first.size());
  executor.parallel_for(first.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      made[c] =
          first[c] < graph.size()
              ? make_strategies(graph, graph[first[c]], mesh, device, entries.of(first[c]))
              : make_output_strategies(graph.tensor(graph.outputs()[first[c] - graph.size()].value),
                                       mesh, entries.of(first[c]));
    }
  });
  for (std::size_t c = 0; c < made.size(); ++c) {
    const std::string where = path_of(graph, first[c]);
    if (!made[c]->ok()) return Error{made[c]->error().code, made[c]->error().message, where};
    if ((*made[c])->size() == 0) {
      return Error{ErrorCode::kInfeasible,
                   machine.roles.empty()
                       ? "no strategy of its rule leaves every device of the mesh with elements"
                       : "no strategy of its rule keeps to the roles of the mesh's axes",
                   where};
    }
    variables.classes_.push_back(*std::move(*made[c]));
  }
  variables.add_movers(moved, times);
  return variables;
}

void AtenVariables::add_movers(std::span<const TakenTensor> moved, const Times& times) {
  // Class and output of the producer, class and input of the consumer, if it hides moving.
  std::map<std::array<std::uint32_t, 5>, std::uint32_t> numbers;
  for (const TakenTensor& taken : moved) {
    const TensorRef ref = taken_value(*graph_, taken);
    const bool is_hidden = times.overlap.of(taken).by == Hiding::By::kConsumer;
    const std::array<std::uint32_t, 5> key{class_[ref.node], ref.output, class_[taken.consumer],
                                           taken.input, is_hidden ? 1U : 0U};
    const std::optional<PlacementColumn>& source = classes_[key[0]].outputs[ref.output];
    const std::optional<PlacementColumn>& target = classes_[key[2]].inputs[taken.input];
    if (!source || !target) continue;
    const auto [at, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(classes_.size()));
    if (is_new) {
      classes_.push_back(make_mover_strategies(graph_->tensor(ref), *source, *target, machine_.mesh,
                                               machine_.backend,
                                               is_hidden ? &times.transitions : nullptr));
    }
    class_.push_back(at->second);
    moved_.push_back(taken);
  }
}

std::optional<std::uint32_t> AtenVariables::mover_of(const TakenTensor& taken) const {
  const auto found = std::lower_bound(moved_.begin(), moved_.end(), taken);
  if (found == moved_.end() || *found != taken) return std::nullopt;
  return num_consumers() + static_cast<std::uint32_t>(found - moved_.begin());
}

std::string AtenVariables::name(std::uint32_t variable) const {
  if (variable < graph_->size()) return (*graph_)[variable].name;
  if (variable < num_consumers()) return graph_->outputs()[variable - graph_->size()].target;
  const TakenTensor& taken = moved_[variable - num_consumers()];
  return name(taken_value(*graph_, taken).node) + " for " + name(taken.consumer);
}

std::vector<std::uint32_t> block_leaders(const AtenVariables& variables) {
  std::vector<std::uint32_t> leaders(variables.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  const auto lists = blocks_by_module(variables);
  if (lists.empty()) share_runs(variables, leaders);
  for (const auto& [name, blocks] : lists) {
    const std::vector<std::uint32_t>& first = blocks.begin()->second;
    // The backward pass visits blocks in reverse, so the last block may have the earliest variable.
    std::vector<std::uint32_t> earliest = first;
    for (const auto& [number, block] : blocks) {
      if (!equal_classes(variables, first, block)) continue;
      for (std::size_t i = 0; i < block.size(); ++i)
        earliest[i] = std::min(earliest[i], block[i]);
    }
    for (const auto& [number, block] : blocks) {
      if (!equal_classes(variables, first, block)) continue;
      for (std::size_t i = 0; i < block.size(); ++i)
        leaders[block[i]] = earliest[i];
    }
  }
  share_movers(variables, leaders);
  return leaders;
}

}  // namespace shardwright::operators
