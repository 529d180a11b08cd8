// The restricted master program of column generation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/pricing_problem.h"
#include "search/linear_program.h"

namespace shardwright::embedding {

// Dual values of a master program. `shards`: of one shard, by BoundRow; set only for the first
// table of each group. `ranks`: of one rank, by class. `whole`: per unit of load and byte of a
// whole rank, by whole_class(); empty unless uniform choices are apart.
struct DualPoint {
  std::vector<double> shards;
  std::vector<double> ranks;
  std::vector<CapacityMultipliers> whole;
};

// The stability center of column generation: of all dual values so far, those with the largest
// ratio of the value of all tables to the largest value that all ranks can hold. The dual values of
// the master program oscillate, and pricing between them and the center halves the number of
// iterations. The center is kept for the next question (see ColumnGeneration), which is usually
// similar.
// Source: P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming"
// (1997).
// Thread safety: one thread at a time. Refers to its argument.
class DualCenter {
 public:
  explicit DualCenter(const BoundRows& rows) : rows_(&rows) {}

  // Begins a question. Keeps the center, but its ratio for this question is unknown.
  void begin() { ratio_ = 0; }
  // Returns true if there is no center yet.
  bool empty() const { return point_.ranks.empty(); }
  // Returns true if the ratio is known for this question.
  bool is_rated() const { return ratio_ > 0; }

  // Makes the point the center if its ratio tables / ranks is larger. `tables`: the value of all
  // tables; `ranks`: the largest value that all ranks can hold; `most`: the largest value that one
  // rank can hold, by class.
  void offer(const DualPoint& point, double tables, double ranks, std::vector<double> most);
  // The center. Its `ranks` are the values of the best patterns of each class.
  const DualPoint& point() const { return point_; }
  // Sets the center to that of another object with the same rows.
  void set_point(DualPoint point) { point_ = std::move(point); }
  DualPoint mix(const DualPoint& other, double share) const;
  // Ends a question. Copies the dual values of each group's first table to all tables of the group.
  void end(std::span<const EqualTables> groups);

 private:
  const BoundRows* rows_;
  DualPoint point_;   // scaled: all ranks together can hold a value of 1
  double ratio_ = 0;  // 0 = unknown
};

// The master program with the patterns known so far. It minimises the excess: the largest fraction
// by which the ranks in use exceed the size of a class. The relaxation is feasible if the excess is
// 0. Columns are choices and patterns. The shares of a table's choices sum to 1, and the patterns
// hold all shards of the choices. A pattern improves the program if its value exceeds the dual
// value of its rank class. Classes for uniform choices have rows for load and memory and no
// patterns, because many small shards fill a rank well in any mix. Rows for whole ranks limit
// patterns and uniform choices together.
// Thread safety: one thread at a time. Refers to its arguments.
class RestrictedMaster {
 public:
  RestrictedMaster(const BoundRows& rows, double target, const Domain& domain,
                   const std::vector<EqualTables>& groups,
                   const ColumnGenerationParameters& parameters);

  // Adds a pattern and returns its column.
  std::size_t add(const RankPattern& pattern);
  bool is_basic(std::size_t column) const { return program_.is_basic(column); }
  // Returns false if no optimum was found.
  bool solve() { return program_.solve(); }
  // Pivots so far, and the work of one pivot in units of a budget.
  std::size_t num_pivots() const { return program_.iterations(); }
  std::uint64_t steps_per_pivot() const;
  // Work of solve() beside its pivots, in units of a budget: the factorisation of the basis.
  std::uint64_t steps_per_solve() const;

  // The excess of the last solution.
  double excess() const { return program_.objective(); }
  // Dual values of the last solution; 0 for rows that the program does not have.
  DualPoint dual_values() const;
  // The last solution as a fractional plan; its `patterns` are empty.
  FractionalPlan plan() const;
  // Moves out all patterns of the program. Must be the last call.
  std::vector<RankPattern> take_patterns();

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::uint32_t> possible_choices(const EqualTables& group) const;
  std::size_t row_of_shard(const BoundRow& shard);
  void merge_equal_rows();
  void add_choice_columns();
  void add_uniform_columns(std::uint32_t choice, std::size_t group_row);
  bool is_apart(std::uint32_t choice) const {
    return rows_.classes().is_apart(rows_.model().choices()[choice]);
  }
  void set_uniform_duals(DualPoint& point) const;
  void add_use(const BoundRow& row, std::uint32_t rank_class);
  bool fits(const BoundRow& row, std::uint32_t rank_class) const;
  // The dual value of a shard in a class for uniform choices.
  double dual_of(const BoundRow& row, std::uint32_t rank_class,
                 const CapacityMultipliers& whole) const;
  double value_of(std::uint32_t choice) const;
  template <class Visit>
  void each_tier_row(std::uint32_t rank_class, const Visit& visit) const;
  void add_whole_rows();
  void add_use_of_whole(double load, const PerTier<double>& bytes, std::uint32_t rank_class);
  CapacityMultipliers whole_duals(std::uint32_t rank_class) const;
  void add_excess_column();
  void deal_out(const EqualTables& group, FractionalPlan& plan) const;

  const BoundRows& rows_;
  double target_;
  const Domain& domain_;
  const std::vector<EqualTables>& groups_;
  const ColumnGenerationParameters& parameters_;
  LinearProgram program_{LinearProgram::Scaling::kNone};
  std::vector<std::size_t> group_row_;        // by group
  std::vector<std::size_t> class_row_;        // by rank class
  std::vector<std::size_t> first_tier_row_;   // by rank class for uniform choices
  std::vector<std::size_t> first_whole_row_;  // by rank class for other choices
  std::vector<std::size_t> shard_row_;        // by BoundRow
  std::map<std::pair<double, Storage>, std::size_t>
      equal_shards_;                                           // rows of equal shards, if shared
  std::vector<std::size_t> choice_column_;                     // by choice
  std::vector<std::pair<RankPattern, std::size_t>> patterns_;  // patterns with their columns
  // A column that puts all shards of a uniform choice on ranks of `rank_class`. If the choice is on
  // all ranks, every shard stays in the class of its rank, and `rank_class` is unused.
  struct UniformColumn {
    std::uint32_t choice;
    std::uint32_t rank_class;
    std::size_t column;
  };
  std::vector<UniformColumn> uniform_columns_;  // group by group, choices ascending
  std::vector<LinearProgram::Entry> entries_;   // scratch
};

}  // namespace shardwright::embedding
