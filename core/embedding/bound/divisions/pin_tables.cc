#include "core/embedding/bound/divisions/pin_tables.h"

#include <algorithm>
#include <cstdint>

#include "core/embedding/bound/node/common_use.h"
#include "core/embedding/bound/options/bound_options.h"

namespace shardwright::embedding {
namespace {

// Pins one table after the other.
// Thread safety: one thread at a time. Refers to its argument.
class TablePins {
 public:
  TablePins(OpenOptions& options, std::uint64_t& work_left)
      : options_(options),
        work_left_(work_left),
        next_class_(options.pinned().size()),
        common_(options) {
    for (const std::size_t table : options.pinned())
      add_shards(table);
  }

  std::optional<std::string> pin(TableId id) {
    const std::size_t table = id.index();
    if (table >= options_.num_tables() || options_.of_table(table).empty())
      return "a node pins a table that has no option";
    if (next_class_ >= options_.classes().size()) return "a node pins a table to no class";
    // Before anything is pinned, every class may still be exchanged with every other one.
    const std::uint32_t unpinned =
        options_.classes().all() & ~((std::uint32_t{1} << next_class_) - 1);
    for (const OpenOption& domain : options_.of_table(table)) {
      if ((domain.classes & unpinned) != unpinned || !has_as_many_shards(domain.option))
        return "a node pins a table that need not have its shards on all ranks of the class";
      const std::vector<RankUse> shards = shards_of(domain.option);
      if (!spend(shards.size() * (shards.size() + shards_.size())))
        return std::string(kProofTooLong);
      if (!are_alone(shards)) return "a node pins shards that fit on one rank";
    }
    add_shards(table);
    options_.pin(table);
    ++next_class_;
    return std::nullopt;
  }

 private:
  bool has_as_many_shards(OptionId id) const {
    const ShardingOption& option = options_.space().option(id);
    return !is_on_all_ranks(option, options_.topology()) &&
           option.num_shards() == options_.classes().num_ranks(next_class_);
  }

  std::vector<RankUse> shards_of(OptionId id) const {
    std::vector<RankUse> shards;
    for (const RunUse& run : options_.runs(id)) {
      // Two stand for all: each pair of shards is a pair of these.
      shards.insert(shards.end(), std::min<std::size_t>(run.count, 2), run.use);
    }
    return shards;
  }

  void add_shards(std::size_t table) {
    for (const OpenOption& domain : options_.of_table(table)) {
      const std::vector<RankUse> own = shards_of(domain.option);
      shards_.insert(shards_.end(), own.begin(), own.end());
    }
  }

  // Beside what every unpinned rank holds.
  bool exclude_each_other(const RankUse& a, const RankUse& b) const {
    return !options_.classes().fits(sum_of(sum_of(a, b), common_.on(next_class_)), next_class_);
  }

  bool spend(std::uint64_t pairs) {
    if (pairs > work_left_) return false;
    work_left_ -= pairs;
    return true;
  }

  bool are_alone(const std::vector<RankUse>& own) const {
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t j = i + 1; j < own.size(); ++j) {
        if (!exclude_each_other(own[i], own[j])) return false;
      }
      for (const RankUse& other : shards_) {
        if (!exclude_each_other(own[i], other)) return false;
      }
    }
    return true;
  }

  OpenOptions& options_;
  std::uint64_t& work_left_;
  std::size_t next_class_;
  CommonUse common_;
  std::vector<RankUse> shards_;  // of the pinned tables
};

}  // namespace

std::optional<std::string> pin_tables(OpenOptions& options, const std::vector<TableId>& tables,
                                      std::uint64_t& work_left) {
  if (!options.classes().are_alike()) return "a node pins tables although ranks differ";
  TablePins pins(options, work_left);
  for (const TableId table : tables) {
    if (auto wrong = pins.pin(table)) return wrong;
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
