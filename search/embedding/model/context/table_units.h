// Tables that placement rules keep together and that therefore move together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// The smallest place that must hold all shards of a table.
enum class Bond : std::uint8_t { kNone, kHost, kRank };

// A unit is the union of overlapping groups of tables that are kept together on one host or rank. A
// part is the union of those that are kept on one rank. Groups that every plan obeys, because there
// is only one host or rank, are ignored.
// Thread safety: immutable; const members may be called from any thread.
class TableUnits {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Unit {
    std::vector<std::uint32_t> tables;  // as the model numbers them, ascending
    bool one_rank = false;              // all tables share a rank; otherwise a host
  };

  explicit TableUnits(const ChoiceModel& model);

  std::span<const Unit> units() const { return units_; }
  // kNone if the table is in no unit (or part).
  std::uint32_t unit_of(std::size_t table) const { return unit_.empty() ? kNone : unit_[table]; }
  std::uint32_t part_of(std::size_t table) const { return part_.empty() ? kNone : part_[table]; }
  Bond bond(std::size_t table) const {
    if (unit_of(table) == kNone) return Bond::kNone;
    return part_of(table) == kNone ? Bond::kHost : Bond::kRank;
  }
  // Tables of the largest unit.
  std::size_t largest() const { return largest_; }

 private:
  std::vector<Unit> units_;
  std::vector<std::uint32_t> unit_;  // by table; empty where there is no unit
  std::vector<std::uint32_t> part_;  // a table of the part, the same for all
  std::size_t largest_ = 0;
};

}  // namespace shardwright::embedding
