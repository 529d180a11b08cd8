// Column generation, which decides whether a fractional mix of rank patterns can hold all tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/pricing_problem.h"
#include "search/embedding/bound/restricted_master.h"

namespace shardwright::embedding {

// The patterns of a pool, as passed to another pool.
// Thread safety: a value.
struct KnownPatterns {
  struct Pattern {
    RankPattern pattern;
    std::uint64_t last_used = 0;  // number of the last question that used the pattern
  };
  std::uint64_t question = 0;  // number of the last question
  std::vector<Pattern> patterns;
};

// Keeps patterns for later questions of a ColumnGeneration. Patterns are stored in rows of the
// first table of each kind, so that they serve groups of equal tables however a node divides the
// kind. If there are more patterns than the capacity, keeps those that were basic in the newest
// questions.
// Thread safety: one thread at a time. Refers to its arguments.
class PatternPool {
 public:
  PatternPool(const BoundRows& rows, std::size_t capacity)
      : rows_(&rows), kinds_(&rows.kinds()), capacity_(capacity) {}

  // Begins a question. For every pattern that fits below the target and that the domain allows,
  // calls `add`, which returns the pattern's column in the master program.
  void begin(double target, const Domain& domain, const std::vector<EqualTables>& groups,
             const std::function<std::size_t(const RankPattern&)>& add);
  // Adds a pattern that the current question found. `column`: its number in the master program.
  void add(const RankPattern& pattern, std::size_t column);
  // Returns the patterns that the next question begins with.
  KnownPatterns known() const;
  // Replaces all patterns by those of another pool of the same rows.
  void learn(const KnownPatterns& other);
  // Ends the question. Patterns whose columns are basic count as used by the question.
  void end(const std::function<bool(std::size_t)>& is_basic);

 private:
  static constexpr std::size_t kNoColumn = ~std::size_t{0};

  struct Known : KnownPatterns::Pattern {
    std::size_t column = kNoColumn;
  };

  static void forget_unused(std::vector<Known>& known, std::size_t capacity);
  RankPattern by_kind(const RankPattern& pattern) const;
  std::optional<RankPattern> by_group(const RankPattern& pattern, double target,
                                      const Domain& domain,
                                      const std::vector<EqualTables>& groups) const;

  const BoundRows* rows_;
  const TableKinds* kinds_;
  std::size_t capacity_;
  std::uint64_t question_ = 0;
  std::vector<Known> known_;
  std::vector<std::vector<std::size_t>> groups_of_kind_;  // of the current question
};

struct RelaxationAnswer {
  enum class Kind : std::uint8_t {
    kInfeasible,  // no plan rates below the target; `leaf` is the proof
    kFeasible,    // a fractional plan rates below the target, see `plan`
    kUnknown,     // not decided: the work ran out or the solver is too imprecise
  };
  Kind kind = Kind::kUnknown;
  BoundNode leaf;
  // The solution of the master program. Unless the kind is kFeasible, it needs more ranks than
  // there are. Empty if the linear program was not solved.
  FractionalPlan plan;
};

// State that later questions reuse.
// Thread safety: a value.
struct PricingKnowledge {
  KnownPatterns patterns;
  DualPoint center;
  std::vector<std::uint8_t> was_easy;  // by rank class, see PricingProblem::was_easy()
};

// The Dantzig-Wolfe relaxation of a node. A pattern is a set of shards that one rank can hold below
// the target. A question asks, for a target and a domain, whether a fractional mix of patterns can
// hold all tables. The RestrictedMaster program mixes patterns, and PricingProblem finds improving
// patterns. Later questions reuse patterns and the DualCenter.
// Source: Dantzig, Wolfe, "Decomposition Principle for Linear Programs" (1960); Gilmore, Gomory, "A
// Linear Programming Approach to the Cutting-Stock Problem" (1961).
// Thread safety: one thread at a time. Refers to its arguments.
class ColumnGeneration {
 public:
  ColumnGeneration(const BoundRows& rows, const BoundParameters& parameters);

  // Number of shard rows of a master program in which all tables of a kind have the same domain.
  std::size_t max_rows() const;

  PricingKnowledge known() const;
  // Takes over the state of another object. Precondition: the same rows, and no active question.
  void learn(const PricingKnowledge& other);

  // Begins a question that may take `work` units. Precondition: every table has a choice in the
  // domain.
  void begin(double target, const Domain& domain, std::uint64_t work);
  // The groups of equal tables of the last question.
  const std::vector<EqualTables>& groups() const { return question_.groups; }
  bool is_active() const { return master_ != nullptr; }
  void abandon() { master_.reset(); }
  // One iteration: solves the master program and adds columns. Returns the answer once there is
  // one. Precondition: is_active().
  std::optional<RelaxationAnswer> iterate(Budget& budget);

 private:
  // The current question.
  struct Question {
    double target = 0;
    std::uint64_t work_left = 0;
    Domain domain;
    std::vector<EqualTables> groups;
  };

  void add_single_shards(const EqualTables& group);
  bool is_excluded_at_center(Budget& budget);
  bool add_columns(Budget& budget, RelaxationAnswer& answer);
  bool price(DualPoint point, bool exact, Budget& budget);
  double value_of_tables() const;
  double value_of_ranks() const;
  double value_of_whole_ranks() const;
  double value_of_whole_rank(std::uint32_t rank_class) const;
  std::span<const double> duals_in(std::uint32_t rank_class);
  bool proves_infeasible() const;
  BoundNode make_leaf() const;
  RelaxationAnswer end(RelaxationAnswer answer);

  const BoundRows* rows_;
  const BoundParameters& parameters_;
  std::vector<PricingProblem> pricing_;  // by rank class
  PatternPool pool_;
  Question question_;
  std::unique_ptr<RestrictedMaster> master_;
  DualCenter center_;
  bool is_new_ = false;                 // true before the first iteration of a question
  DualPoint point_;                     // the dual values of the last pricing
  std::vector<PricingAnswer> answers_;  // of the last pricing, by rank class
  std::vector<double> duals_;           // scratch
};

}  // namespace shardwright::embedding
