// Stabilisation of column generation: dual values are steered towards those of the best bound.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/model/table_groups.h"

namespace shardwright::embedding {

// Dual values: of one shard, by row (of the first tables of groups only), and of a rank, by class.
// Where uniform choices are apart, also what a whole rank is worth, by class without theirs.
struct DualPoint {
  std::vector<double> shards;
  std::vector<double> ranks;
  std::vector<CapacityMultipliers> whole;
};

// The point at which the tables were worth most, compared with what all ranks can hold. The dual
// values of a master program jump from iteration to iteration; pricing between them and the center
// takes half the iterations. The center outlives a question: nodes and targets differ little.
// Source: P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming"
// (1997).
// Thread safety: one thread at a time. Refers to its argument.
class DualCenter {
 public:
  explicit DualCenter(const BoundRows& rows) : rows_(&rows) {}

  // Begins a question. The center remains, but nothing is known of its worth.
  void begin() { ratio_ = 0; }
  // No question had a center yet.
  bool empty() const { return point_.ranks.empty(); }
  // Its worth is known for this question.
  bool is_rated() const { return ratio_ > 0; }

  // Takes the point if the tables are worth more at it: `tables`, all tables; `ranks`, what all
  // ranks can hold; `most`, what one rank of each class can.
  void offer(const DualPoint& point, double tables, double ranks, std::vector<double> most);
  // The center at which a rank of each class has the value of its best pattern, and the mix with
  // `share` of it.
  const DualPoint& point() const { return point_; }
  // Takes over the center of another one for the same rows.
  void set_point(DualPoint point) { point_ = std::move(point); }
  DualPoint mix(const DualPoint& other, double share) const;
  // Ends a question: gives every table of a group the dual values of the first.
  void end(std::span<const EqualTables> groups);

 private:
  const BoundRows* rows_;
  DualPoint point_;  // scaled so that all ranks are worth 1
  double ratio_ = 0;
};

}  // namespace shardwright::embedding
