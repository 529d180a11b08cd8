// Bucket elimination of a whole cost instance, for graphs of small width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/buckets.h"

namespace shardwright::operators {

// How the order of elimination is found. An order whose tables fit takes far less work than the
// limit; more work means that the graph is wide.
// Thread safety: a value.
struct TableOrderParameters {
  // The score of a node is the logarithm of the table entries that eliminating it takes, plus, for
  // every edge that it adds, this part of the product of the logarithms of the sizes of its ends.
  double fill_weight = 0.3;
  // Pairs of neighbours that may be looked at: so many, and so many per node.
  std::size_t most_work = 20'000'000;
  std::size_t work_per_node = 200;
};

// The nodes of an instance in an order of elimination, and their edges as tables of the buckets.
// Thread safety: const members may be called from any thread.
class BucketTree {
 public:
  // Returns nothing if the tables would have more than `max_entries` entries before minimisation,
  // or if finding an order takes too much work, or if the budget is interrupted meanwhile.
  static std::optional<BucketTree> make(const CostInstance& instance, double max_entries,
                                        const TableOrderParameters& parameters = {},
                                        const Budget& budget = {});

  const CostInstance& instance() const { return *instance_; }
  const Buckets& buckets() const { return buckets_; }  // variable = node
  // The costs of an edge, laid out as the bucket that sums it has them.
  const double* edge_costs(std::uint32_t edge) const {
    return edge_costs_.data() + first_edge_cost_[edge];
  }
  // Factors of the bucket that are messages, by the bucket that they come from.
  std::span<const std::uint32_t> children(const Buckets::Bucket& bucket) const {
    return std::span(children_).subspan(bucket.first_factor, bucket.num_children);
  }
  // Where the strategies of a node begin in a flat list of node costs.
  std::size_t first_cost(std::uint32_t node) const { return first_cost_[node]; }
  std::size_t num_costs() const { return num_costs_; }

 private:
  void lay_out_edges(const EliminationOrder& order);
  void list_children();

  const CostInstance* instance_ = nullptr;
  Buckets buckets_;
  std::vector<double> edge_costs_;
  std::vector<std::size_t> first_edge_cost_;  // by edge
  std::vector<std::uint32_t> children_;       // factors; a bucket's begin at its first_factor
  std::vector<std::size_t> first_cost_;
  std::size_t num_costs_ = 0;
};

}  // namespace shardwright::operators
