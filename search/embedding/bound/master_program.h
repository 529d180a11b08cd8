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

// Minimises the common excess of ranks used over ranks there are, such that the choices of every
// table sum to one and the patterns hold all shards of the choices taken. The relaxation is
// feasible when the excess is 0. Columns are the patterns known so far; a pattern improves the
// program if its value exceeds the dual value of its rank class. Classes for uniform choices have
// no patterns: there are many small shards, which fill a rank well in any mix. Their load and
// memory are rows. So are those of whole ranks, in which patterns and uniform choices take part.
// Thread safety: one thread at a time. Refers to its arguments.
class MasterProgram {
 public:
  MasterProgram(const BoundRows& rows, double target, const Domain& domain,
                const std::vector<EqualTables>& groups,
                const ColumnGenerationParameters& parameters);

  // Returns the number of the column.
  std::size_t add(const RankPattern& pattern);
  bool is_basic(std::size_t column) const { return program_.is_basic(column); }
  // Returns false if no optimum was found.
  bool solve() { return program_.solve(); }
  // Pivots so far, and the pricing steps that one takes as long as.
  std::size_t num_pivots() const { return program_.iterations(); }
  std::uint64_t steps_per_pivot() const;
  // What a solution takes beside its pivots: the basis is factorised.
  std::uint64_t steps_per_solve() const;

  // Of the last solution.
  double excess() const { return program_.objective(); }
  // Rows that the program does not have get 0.
  DualPoint dual_values() const;
  // Without its patterns.
  FractionalPlan plan() const;
  // All columns that are patterns. The program has ended.
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
  // Of a shard in a class for uniform choices.
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
  std::vector<std::size_t> first_whole_row_;  // ... of the others
  std::vector<std::size_t> shard_row_;        // by row of the model
  std::map<std::pair<double, Storage>, std::size_t>
      equal_shards_;                                           // their rows, if they share them
  std::vector<std::size_t> choice_column_;                     // by choice
  std::vector<std::pair<RankPattern, std::size_t>> patterns_;  // with their columns
  // Of a uniform choice: all its shards in one class, or those of every class there if they are on
  // all ranks.
  struct UniformColumn {
    std::uint32_t choice;
    std::uint32_t rank_class;
    std::size_t column;
  };
  std::vector<UniformColumn> uniform_columns_;  // by rising choice of each group
  std::vector<LinearProgram::Entry> entries_;   // scratch
};

}  // namespace shardwright::embedding
