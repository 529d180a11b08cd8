// The patterns that column generation found, for later questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/model/table_groups.h"
#include "search/embedding/best/bound/pricing/pricing_problem.h"

namespace shardwright::embedding {

// Patterns that a pool hands to another one.
// Thread safety: a value.
struct KnownPatterns {
  struct Pattern {
    RankPattern pattern;
    std::uint64_t last_used = 0;  // the number of a question
  };
  std::uint64_t question = 0;  // the last one
  std::vector<Pattern> patterns;
};

// Keeps patterns in rows of the first tables of kinds, so that groups of equal tables can use them
// however a node of a tree divides the kind. Of too many patterns, those remain that solutions of
// master programs used last: loading all would take longer than finding some again.
// Thread safety: one thread at a time. Refers to its arguments.
class PatternPool {
 public:
  PatternPool(const BoundRows& rows, std::size_t capacity)
      : rows_(&rows), kinds_(&rows.kinds()), capacity_(capacity) {}

  // Begins a question. Calls `add`, which returns the column of a master program, for every pattern
  // that fits below the target and that the domain of the groups allows.
  void begin(double target, const Domain& domain, const std::vector<EqualTables>& groups,
             const std::function<std::size_t(const RankPattern&)>& add);
  // Adds a pattern of the current question, which is a column of its master program.
  void add(const RankPattern& pattern, std::size_t column);
  // What the next question begins with.
  KnownPatterns known() const;
  // Takes over what another pool of the same rows knows, in the place of its own patterns.
  void learn(const KnownPatterns& other);
  // Ends the question: patterns whose columns are basic were used.
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

}  // namespace shardwright::embedding
