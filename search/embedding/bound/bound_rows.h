// What relaxations see of the model: groups of equal tables, and rows of equal shards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/embedding/bound/rank_classes.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// A group of tables with equal choices, costs and domains. The first table stands for all tables:
// what holds for its n-th choice holds for the n-th choice of every table of the group.
struct EqualTables {
  std::uint32_t kind = 0;  // of TableKinds; groups of one kind differ in their domains
  std::vector<std::uint32_t> tables;

  std::uint32_t first() const { return tables.front(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tables.size()); }
};

// The kinds of tables: tables of one kind have equal choices and costs. Large models may have
// thousands of tables of a dozen kinds. Linear programs have rows per group of a kind, not per
// table.
// Thread safety: immutable; const members may be called from any thread.
class TableKinds {
 public:
  // O(runs of all choices x log tables).
  explicit TableKinds(const ChoiceModel& model);

  // The groups under a domain, in the order of their first tables. O(choices), if tables of one
  // kind have few different domains.
  std::vector<EqualTables> groups(const Domain& domain) const;
  // The work of groups(), in units of a budget.
  static std::uint64_t steps_to_group(const Domain& domain) { return domain.size() / 4; }

  std::uint32_t kind_of(std::size_t table) const { return kind_of_[table]; }
  // The first table of a kind.
  std::uint32_t first_of(std::uint32_t kind) const { return first_of_[kind]; }
  std::size_t size() const { return first_of_.size(); }

 private:
  const ChoiceModel* model_;
  std::vector<std::uint32_t> kind_of_;   // by table
  std::vector<std::uint32_t> first_of_;  // by kind
};

// A column of the master program: the shards on one rank of a class, as pairs (BoundRow index,
// count) in ascending order. A table has shards of at most one choice in a pattern. A row of a
// group's first table stands for all tables of the group.
// Thread safety: a value.
struct RankPattern {
  std::uint32_t rank_class = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shards;
  double load = 0;
};

// Equal shards of one choice: `need` shards, of which one rank may hold at most `max_per_rank`. If
// the choice has a shard on every rank, the row has its shards in one rank class.
struct BoundRow {
  std::uint32_t choice = 0;
  std::uint32_t run = 0;  // of equal shards in the layout; the rank class, if `in_class`
  bool in_class = false;
  std::uint32_t need = 0;
  std::uint32_t max_per_rank = 0;
  double load = 0;
  Storage storage = {};
  PerTier<double> bytes = {};  // `storage` as numbers, for pricing
};

// A solution of a relaxation: shares[choice], and shards[row][rank class], the number of shards.
struct FractionalPlan {
  std::vector<double> shares;
  std::vector<std::vector<double>> shards;
  std::vector<RankPattern> patterns;  // all columns of the linear program that are patterns
};

// Returns for every table the choice with the largest share. Precondition: the plan is not empty.
std::vector<std::uint32_t> largest_shares(const ChoiceModel& model, const FractionalPlan& plan);

// All rows, choice after choice. Shards of a row may differ, between ranks of a class or between
// hosts of a choice that fills hosts. The row then has the cost of its cheapest shard, which keeps
// bounds valid but may weaken them.
// Thread safety: const members may be called from any thread.
class BoundRows {
 public:
  // Precondition: RankClasses::can_separate_hosts() if `separate_hosts`.
  BoundRows(const ChoiceModel& model, bool separate_hosts)
      : BoundRows(model, RankClasses(model, separate_hosts)) {}
  BoundRows(const ChoiceModel& model, RankClasses classes);

  // As RankClasses::set_uniform_use(). Precondition: no other thread reads the rows.
  void set_uniform_use(std::span<const UniformUse> use, double target) {
    classes_.set_uniform_use(use, target);
  }

  const ChoiceModel& model() const { return *model_; }
  const RankClasses& classes() const { return classes_; }
  const TableKinds& kinds() const { return kinds_; }
  std::span<const BoundRow> rows() const { return rows_; }
  std::uint32_t first_row(std::uint32_t choice) const { return first_row_[choice]; }
  std::span<const BoundRow> rows_of(std::uint32_t choice) const {
    return std::span(rows_).subspan(first_row_[choice],
                                    first_row_[choice + 1] - first_row_[choice]);
  }
  // Returns true if an empty rank of the class has enough memory for a shard of the row.
  bool fits(const BoundRow& row, std::uint32_t rank_class) const {
    const Storage& room = classes_[rank_class].room;
    return (!row.in_class || row.run == rank_class) && row.storage.fits_in(room);
  }
  // Returns false if no plan that rates below `target` can take the choice.
  bool is_possible(std::uint32_t choice, double target) const;
  // The places between which a branch can divide the domain of a choice: the hosts if one host
  // holds all its shards, the rank classes if it has a single shard. Empty for other choices.
  std::span<const ClassSet> places(std::uint32_t index) const;

 private:
  // Consecutive ranks of one class: from the `end` of the segment before to `end`, exclusive.
  struct Segment {
    std::uint32_t rank_class = 0;
    Rank end = 0;
  };

  void add_rows(std::uint32_t index);
  void add_row_per_class(std::uint32_t index);

  const ChoiceModel* model_;
  RankClasses classes_;
  TableKinds kinds_;
  std::vector<Segment> segments_;
  std::vector<BoundRow> rows_;
  std::vector<std::uint32_t> first_row_;
};

// The domain with every choice that is_possible() below the target, in all its classes.
Domain root_domain(const BoundRows& rows, double target);

}  // namespace shardwright::embedding
