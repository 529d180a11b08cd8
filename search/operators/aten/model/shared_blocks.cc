#include "search/operators/aten/model/shared_blocks.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "search/operators/build/repeated_blocks.h"

namespace shardwright::operators {
namespace {

// The list of modules and the number within it.
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

// By list of modules, by number: the variables in order.
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

// What a mover does follows from where the producer has its tensor and the consumer takes it:
// movers between variables of the same leaders are alike.
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

}  // namespace

std::vector<std::uint32_t> block_leaders(const AtenVariables& variables) {
  std::vector<std::uint32_t> leaders(variables.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  const auto lists = blocks_by_module(variables);
  if (lists.empty()) share_runs(variables, leaders);
  for (const auto& [name, blocks] : lists) {
    const std::vector<std::uint32_t>& first = blocks.begin()->second;
    // The backward passes the blocks in reverse, so the first variable may be of the last block.
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
