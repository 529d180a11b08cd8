// The entries of rules that the roles of mesh axes leave to the operators of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/aten/axis_roles.h"

namespace shardwright::operators {

// Along a data axis, an entry is left out if some input cannot get its placement there, or if some
// output can reach no consumer. This is repeated until nothing changes, which mostly leaves one
// entry: that of the batch. No plan that keeps to the roles is lost, since an axis does not depend
// on the others. Along a tensor axis only placeholders lose entries, so that repeated blocks keep
// equal classes. Thread safety: const members may be called from any thread.
class RoleEntries {
 public:
  // O(axes x entries x passes); a few passes suffice.
  RoleEntries(const AtenGraph& graph, const redistribution::MeshShape& mesh,
              const RoleRules& rules);

  // By axis, for a node or an output of the graph: the entries, ascending. Entry 0 of an output
  // replicates, entry d + 1 shards dimension d. No lists: all entries along all axes.
  std::span<const std::vector<std::uint32_t>> of(std::size_t variable) const {
    return lists_[number_[variable]];
  }
  // Returns the first variable without an entry along some data axis: there is no plan then.
  std::optional<std::uint32_t> emptied() const { return emptied_; }
  // Variables with the same number have equal lists.
  std::uint32_t number_of(std::size_t variable) const { return number_[variable]; }

 private:
  std::vector<std::vector<std::vector<std::uint32_t>>> lists_;  // by number, then by axis
  std::vector<std::uint32_t> number_;                           // by variable
  std::optional<std::uint32_t> emptied_;
};

}  // namespace shardwright::operators
