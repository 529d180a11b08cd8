// Lower bounds of plans, by messages between variables about the placements of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {

// Sets least[column] to the minimum, over the given rows, of sent[row] + the entry of `costs` in
// this row and column; infinite without rows. Gives the same bits on every machine. Does not
// allocate. O(rows x columns).
void least_rows(const std::vector<float>& sent, const std::vector<std::uint32_t>& rows,
                const float* costs, std::vector<float>& least);
void least_rows(const std::vector<double>& sent, const std::vector<std::uint32_t>& rows,
                const double* costs, std::vector<double>& least);

// Tree-reweighted message passing as in MessagePassing, with two differences that make it cheap on
// many mesh axes. Choices with the same placement of a tensor share an element of its message, and
// equal edges share a table. Variables that share a leader are one node, and equal edges between
// two nodes are one link. Bytes may have prices. Tables are in single precision, since reading them
// takes most of the time. All values are rounded down, so bounds remain lower bounds. Memory: two
// messages per link, and the costs of all choices. Source: Kolmogorov, Convergent tree-reweighted
// message passing for energy minimization, 2006. Thread safety: one thread at a time.
class TrwsRelaxation {
 public:
  // Borrows the model. `leaders`: by variable, the variable itself or an earlier one of its class.
  TrwsRelaxation(const AtenModel& model, std::span<const std::uint32_t> leaders);
  // For the same model with other leaders. Starts from the messages of `other`: the messages of a
  // link are divided equally among its edges. If blocks repeat, an `other` with all blocks merged
  // to one converges faster, and its messages are nearly right for all blocks.
  TrwsRelaxation(const TrwsRelaxation& other, std::span<const std::uint32_t> leaders);

  // `prices`: by time point. `limit`: the bytes that may be held at each time point.
  void set_prices(std::span<const double> prices, std::int64_t limit);

  // Passes messages forward and backward `times` times, but at least twice.
  void sweep(int times);
  // Hurried sweeps. With sweep(), nodes send the share of their costs with which the bound never
  // falls. In a hurry they send more. The bound then rises several times as fast but converges to a
  // lower value, and bounds of choices are invalid until the next sweep(). `haste` from 0 to 1: 0 =
  // as sweep(), 1 = nodes send all.
  void hurry(int times, double haste);

  // Excludes the choices whose bound is above `cost`. Afterwards, bounds hold only for plans that
  // cost at most `cost`, and the time of sweeps is proportional to the number of remaining choices.
  void exclude_above(double cost);

  // A lower bound of the priced cost of all plans.
  double bound() const { return bound_; }
  // A lower bound of the priced cost of all plans in which the variable takes the choice.
  double bound_with(std::uint32_t variable, std::uint32_t choice) const {
    return previous_ + slack_[node_of_[variable]][choice];
  }
  // The least bound_with() of all variables and choices.
  double least_bound_with() const { return previous_; }
  // Returns a choice by variable, made greedily from the messages; it may be forbidden.
  std::vector<std::uint32_t> decode() const;

 private:
  // The costs between the groups of open choices. Open choices are neither forbidden nor excluded.
  struct Part {
    std::vector<std::uint32_t> row_of;   // by own group: row of `costs`
    std::vector<std::uint32_t> columns;  // by column of `costs`: group of the other node
    std::vector<float> costs;
  };
  // An edge seen from one of its ends. A group is a set of choices with the same row or column.
  struct Link {
    std::uint32_t other;
    const std::uint32_t* own_group;  // by choice
    const std::uint32_t* other_group;
    std::uint32_t own_groups;
    std::uint32_t other_groups;
    const float* costs;  // by own group, then by the other node's group
    double edges;        // number of edges that the link stands for
    std::size_t to_own;  // index where the message to this node begins
    std::size_t to_other;
    const Part* part;  // costs between open choices; null: use all costs

    double cost(std::uint32_t own, std::uint32_t other_choice) const {
      return edges *
             static_cast<double>(
                 costs[std::size_t{own_group[own]} * other_groups + other_group[other_choice]]);
    }
  };
  struct Table;
  // Where the messages of an edge of the model begin. An edge within a node has no messages.
  struct EdgePlace {
    std::size_t to_first = 0;
    std::size_t to_second = 0;
    double edges = 0;
  };

  void start_from(const TrwsRelaxation& other);
  void make_nodes(std::span<const std::uint32_t> leaders);
  void make_links();
  void add_links(std::uint32_t first, std::uint32_t second, std::uint32_t number,
                 const EdgePlace& place);
  void open_allowed();
  std::vector<char> open_groups(std::uint32_t node, const std::uint32_t* group_of,
                                std::uint32_t groups) const;
  static std::shared_ptr<const Part> part_of(const Link& link, const std::vector<char>& rows,
                                             const std::vector<char>& columns);
  double pass(bool forward, double haste);
  double send(std::uint32_t node, const Link& link, double share);
  void gather(std::uint32_t node);

  const AtenModel* model_;
  std::shared_ptr<const std::vector<Table>> tables_;  // by transfer
  std::vector<std::uint32_t> node_of_;                // by variable
  std::vector<std::vector<double>> own_;              // by node and choice, without prices
  std::vector<std::vector<double>> costs_;            // the same with prices
  double granted_ = 0;                                // price times limit, over all time points
  std::vector<std::vector<Link>> links_;              // by node, earlier neighbours first
  std::vector<EdgePlace> places_;                     // by edge of the model
  std::vector<std::uint32_t> earlier_;                // by node
  std::vector<std::vector<std::uint32_t>> open_;      // by node: the allowed choices
  std::vector<std::shared_ptr<const Part>> parts_;    // owns the parts of all links
  std::vector<double> messages_;
  std::vector<std::vector<double>> slack_;  // from the last backward pass
  std::vector<double> gathered_;            // by open choice
  std::vector<double> grouped_;             // by own group
  std::vector<float> sent_;                 // by row of the costs
  std::vector<std::uint32_t> sending_;      // rows with a finite value
  std::vector<float> least_;                // by column
  std::vector<double> received_;            // by column
  double bound_ = 0;
  double previous_ = 0;  // bound of the sweep before the last
};

}  // namespace shardwright::operators
