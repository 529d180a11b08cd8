// Tables that a proof need not tell apart.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/best/bound/bound_rows.h"

namespace shardwright::embedding {

// Tables with the same choices, costs included, that may be in the same places. The first stands
// for all: what holds of one of its choices holds of the same choice, counted from the table's
// first, of every other.
struct AlikeTables {
  std::uint32_t kind = 0;  // of tables with the same choices, wherever they may be
  std::vector<std::uint32_t> tables;

  std::uint32_t first() const { return tables.front(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(tables.size()); }
};

// Generated models, and models of many features of one form, have thousands of tables of a dozen
// kinds. Thread safety: immutable; const members may be called from any thread.
class TableKinds {
 public:
  // O(runs of all choices) log(tables).
  explicit TableKinds(const ChoiceModel& model);

  // In the order of their first tables. `zones` by choice.
  std::vector<AlikeTables> groups(const std::vector<Zone>& zones) const;

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
