// Lower bounds of plans, by messages between variables about where tensors lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {

// Tree-reweighted message passing as in MessagePassing, with two differences that make it cheap on
// many mesh axes: choices that agree about where a tensor lies share an element of its message, and
// nothing is copied for each edge. Variables that share a leader are one node. Bytes may have prices.
// Memory: two messages per edge, and what every choice costs.
// Source: Kolmogorov, Convergent tree-reweighted message passing for energy minimization, 2006.
// Thread safety: one thread at a time.
class PlacementMessages {
 public:
  // Borrows the model.
  explicit PlacementMessages(const AtenModel& model);

  // `prices` by time point; `limit` is what may be held at each.
  void set_prices(std::span<const double> prices, std::int64_t limit);

  // Passes messages forward and backward, at least twice.
  void sweep(int times);

  // No plan costs less, prices included.
  double bound() const { return bound_; }
  // No plan in which the variable takes the choice costs less, prices included.
  double bound_with(std::uint32_t variable, std::uint32_t choice) const {
    return previous_ + slack_[node_of_[variable]][choice];
  }
  // A choice by variable that follows the messages. It may take what is forbidden.
  std::vector<std::uint32_t> decode() const;

 private:
  // An edge as one of its ends sees it. Groups are choices that agree about the tensor.
  struct Link {
    std::uint32_t other;
    const std::uint32_t* own_group;  // by choice
    const std::uint32_t* other_group;
    std::uint32_t own_groups;
    std::uint32_t other_groups;
    const double* costs;
    bool own_is_row;
    std::size_t to_own;  // where the message to this node begins
    std::size_t to_other;

    double cost(std::uint32_t own, std::uint32_t other_choice) const {
      const std::size_t a = own_group[own];
      const std::size_t b = other_group[other_choice];
      return own_is_row ? costs[a * other_groups + b] : costs[b * own_groups + a];
    }
  };

  void make_nodes();
  void make_links();
  void add_link(const AtenTransfers::Edge& edge);
  double pass(bool forward);
  double send(std::uint32_t node, const Link& link, double share);
  void gather(std::uint32_t node);

  const AtenModel* model_;
  std::vector<std::uint32_t> node_of_;     // by variable
  std::vector<std::vector<double>> own_;   // by node and choice, without prices
  std::vector<std::vector<double>> costs_;  // with prices
  double granted_ = 0;                     // price times limit, over all time points
  std::vector<std::vector<Link>> links_;   // by node, earlier neighbours first
  std::vector<std::uint32_t> earlier_;     // by node
  std::vector<double> messages_;
  std::vector<std::vector<double>> slack_;  // as of the last pass backward
  std::vector<double> gathered_;
  std::vector<double> sent_;  // by group
  double bound_ = 0;
  double previous_ = 0;  // the bound of the sweep before
};

}  // namespace shardwright::operators
