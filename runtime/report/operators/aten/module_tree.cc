#include "runtime/report/operators/aten/module_tree.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace shardwright {
namespace {

using namespace operators;

constexpr std::size_t kMostParts = 32;  // of a path; what follows stays one part

bool is_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What each node takes, with the moves of its inputs and of what leaves the graph from it.
std::vector<ModuleCosts> costs_by_node(const AtenGraph& graph, const AtenPlan& plan,
                                       std::span<const AtenMove> moves) {
  std::vector<ModuleCosts> costs(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].is_placeholder()) continue;
    costs[n].operators = 1;
    (graph[n].backward ? costs[n].backward_us : costs[n].forward_us) = plan.nodes[n].compute_us;
  }
  for (const AtenMove& move : moves) {
    ModuleCosts& own = costs[move.to_output ? graph.outputs()[move.index].value.node : move.index];
    own.move_us += move.us;
    own.sent_bytes += move.sent_bytes;
    ++own.moves;
  }
  return costs;
}

// Builds the tree from the leaves of the graph.
// Thread safety: one thread at a time.
class TreeBuilder {
 public:
  TreeBuilder(const AtenGraph& graph, const AtenPlan& plan, std::span<const AtenMove> moves)
      : graph_(graph), plan_(plan), node_costs_(costs_by_node(graph, plan, moves)) {}

  ReportedModule build() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (!graph_[n].is_placeholder()) draft_of(graph_[n].module).operators.push_back(n);
    }
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_[n].is_placeholder()) innermost(graph_[n]).tensors.push_back(n);
    }
    return finished(root_, 0);
  }

 private:
  struct Draft {
    std::string name;  // in the module around it
    std::vector<std::uint32_t> tensors;
    std::vector<std::uint32_t> operators;
    std::vector<Draft> modules;
    std::map<std::string, std::size_t, std::less<>> places;  // in modules
  };

  // Takes the first part of a path off.
  static std::string_view next_part(std::string_view& path, std::size_t depth) {
    const std::size_t dot = depth + 1 < kMostParts ? path.find('.') : std::string_view::npos;
    const std::string_view part = path.substr(0, dot);
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    return part;
  }

  Draft& draft_of(std::string_view path) {
    Draft* at = &root_;
    for (std::size_t depth = 0; !path.empty(); ++depth) {
      const std::string_view part = next_part(path, depth);
      const auto [place, is_new] = at->places.emplace(part, at->modules.size());
      if (is_new) at->modules.emplace_back().name = part;
      at = &at->modules[place->second];
    }
    return *at;
  }

  Draft& innermost(const AtenNode& node) {
    Draft* at = &root_;
    if (node.role != AtenRole::kParameter && node.role != AtenRole::kBuffer) return *at;
    std::string_view path = node.target;
    for (std::size_t depth = 0; !path.empty(); ++depth) {
      const auto place = at->places.find(next_part(path, depth));
      if (place == at->places.end()) break;
      at = &at->modules[place->second];
    }
    return *at;
  }

  ReportedModule finished(Draft& draft, std::size_t path_length) {
    ReportedModule module;
    module.name = std::move(draft.name);
    module.path_length = path_length;
    module.tensors = std::move(draft.tensors);
    module.operators = std::move(draft.operators);
    for (const std::uint32_t n : module.tensors) {
      if (graph_[n].role == AtenRole::kParameter || graph_[n].role == AtenRole::kBuffer) {
        module.costs.parameter_bytes +=
            local_bytes(*graph_[n].outputs[0], plan_.mesh,
                        plan_.nodes[n].outputs[0].value_or(redistribution::Placement()));
      }
      module.costs += node_costs_[n];
    }
    for (const std::uint32_t n : module.operators)
      module.costs += node_costs_[n];
    const std::size_t begin = path_length + (path_length > 0 ? 1 : 0);
    for (Draft& inner : draft.modules)
      module.modules.push_back(finished(inner, begin + inner.name.size()));
    for (const ReportedModule& inner : module.modules)
      module.costs += inner.costs;
    join_equal(module.modules);
    return join_single(std::move(module));
  }

  // Siblings of equal costs are compared in full.
  void join_equal(std::vector<ReportedModule>& modules) const {
    std::vector<ReportedModule> joined;
    std::map<ModuleCosts, std::vector<std::size_t>> by_costs;
    for (ReportedModule& module : modules) {
      const bool has_number = is_number(module.name);
      if (has_number) {
        std::vector<std::size_t>& places = by_costs[module.costs];
        const auto equal = std::find_if(places.begin(), places.end(), [&](std::size_t place) {
          return are_alike(joined[place], module);
        });
        const auto number = static_cast<std::uint32_t>(std::stoul(module.name));
        if (equal != places.end()) {
          joined[*equal].numbers.push_back(number);
          continue;
        }
        places.push_back(joined.size());
        module.numbers = {number};
      }
      joined.push_back(std::move(module));
    }
    for (ReportedModule& module : joined) {
      std::sort(module.numbers.begin(), module.numbers.end());
      if (module.numbers.size() == 1) module.numbers.clear();
    }
    modules = std::move(joined);
  }

  // But for their own names.
  bool are_alike(const ReportedModule& a, const ReportedModule& b) const {
    const auto all = [](const auto& left, const auto& right, const auto& equal) {
      return std::equal(left.begin(), left.end(), right.begin(), right.end(), equal);
    };
    return all(a.tensors, b.tensors,
               [&](std::uint32_t m, std::uint32_t n) {
                 return own_name(a, m) == own_name(b, n) && nodes_are_alike(m, n);
               }) &&
           all(a.operators, b.operators,
               [&](std::uint32_t m, std::uint32_t n) { return nodes_are_alike(m, n); }) &&
           all(a.modules, b.modules, [&](const ReportedModule& m, const ReportedModule& n) {
             return m.name == n.name && m.numbers == n.numbers && are_alike(m, n);
           });
  }

  std::string_view own_name(const ReportedModule& module, std::uint32_t tensor) const {
    return std::string_view(graph_[tensor].target).substr(module.path_length);
  }

  bool nodes_are_alike(std::uint32_t m, std::uint32_t n) const {
    const AtenNode &a = graph_[m], &b = graph_[n];
    const AtenNodePlan &p = plan_.nodes[m], &q = plan_.nodes[n];
    return a.op == b.op && a.role == b.role && a.outputs == b.outputs && a.backward == b.backward &&
           p.outputs == q.outputs && p.inputs == q.inputs && p.compute_us == q.compute_us &&
           node_costs_[m] == node_costs_[n];
  }

  static ReportedModule join_single(ReportedModule module) {
    const bool is_single = module.modules.size() == 1 && module.tensors.empty() &&
                           module.operators.empty() && module.numbers.empty();
    if (!is_single || module.name.empty() || !module.modules.front().numbers.empty()) return module;
    if (is_number(module.name)) return module;  // it may be equal to others
    ReportedModule inner = std::move(module.modules.front());
    inner.name = module.name + "." + inner.name;
    return inner;
  }

  const AtenGraph& graph_;
  const AtenPlan& plan_;
  std::vector<ModuleCosts> node_costs_;
  Draft root_;
};

}  // namespace

ModuleCosts& ModuleCosts::operator+=(const ModuleCosts& other) {
  operators += other.operators;
  forward_us += other.forward_us;
  backward_us += other.backward_us;
  move_us += other.move_us;
  moves += other.moves;
  sent_bytes += other.sent_bytes;
  parameter_bytes += other.parameter_bytes;
  return *this;
}

ReportedModule make_module_tree(const AtenGraph& graph, const AtenPlan& plan,
                                std::span<const AtenMove> moves) {
  return TreeBuilder(graph, plan, moves).build();
}

}  // namespace shardwright
