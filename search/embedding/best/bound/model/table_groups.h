// Groups of tables that the relaxation treats as equal.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/best/bound/model/rank_classes.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Tables with equal choices and costs and with the same domain. The first one stands for all: what
// holds for its n-th choice holds for the n-th choice of every other.
struct EqualTables {
  std::uint32_t kind = 0;  // of its tables; groups of one kind differ in their domains
  std::vector<std::uint32_t> tables;

  std::uint32_t first() const { return tables.front(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tables.size()); }
};

// Tables of one kind have equal choices and costs. Generated models, and models with many features
// of one form, have thousands of tables of a dozen kinds; the linear programs have one row per kind
// and not one per table.
// Thread safety: immutable; const members may be called from any thread.
class TableKinds {
 public:
  // O(runs of all choices x log tables).
  explicit TableKinds(const ChoiceModel& model);

  // The groups under a domain, in the order of their first tables. O(choices), as long as the
  // domains of a kind's tables are few.
  std::vector<EqualTables> groups(const Domain& domain) const;
  // What that takes of a budget.
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

}  // namespace shardwright::embedding
