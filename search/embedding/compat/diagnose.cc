#include "search/embedding/compat/diagnose.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "search/embedding/compat/partitioners.h"

namespace shardwright::embedding {
namespace {

std::string with_unit(std::int64_t bytes) {
  const double gib = static_cast<double>(bytes) / static_cast<double>(kGibibyte);
  std::string text = std::to_string(gib);
  text.erase(text.find('.') + 4);
  return std::to_string(bytes) + " bytes (" + text + " GiB)";
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string in_words(Storage storage, bool with_ssd) {
  const std::string hbm = with_unit(storage.hbm.value()) + " HBM";
  const std::string ddr = with_unit(storage.ddr.value()) + " DDR";
  if (!with_ssd) return hbm + " and " + ddr;
  return hbm + ", " + ddr + " and " + with_unit(storage.ssd.value()) + " SSD";
}

// The bytes by which a cost exceeds the memory, in the tier where this is most.
struct Shortage {
  std::int64_t bytes = 0;
  MemoryTier tier = MemoryTier::kHbm;

  static Shortage of(Storage needed, Storage available) {
    const MemoryTier tier = scarcest_tier(needed, available);
    return {(needed - available)[tier].value(), tier};
  }
};

// The rank where a shard lacks the fewest bytes, or the most if every rank must take a shard.
struct Closest {
  std::uint32_t rank = 0;
  Shortage shortage;
};

Closest closest_rank(const OptionRow& row, const Topology& available) {
  const bool every = row.partition_by == PartitionBy::kUniform;
  Closest closest;
  for (std::uint32_t rank = 0; rank < available.world_size(); ++rank) {
    const Shortage shortage = Shortage::of(row.max_storage, available.storage()[rank]);
    const bool nearer =
        every ? shortage.bytes > closest.shortage.bytes : shortage.bytes < closest.shortage.bytes;
    if (rank == 0 || nearer) closest = {rank, shortage};
  }
  return closest;
}

class Diagnostician {
 public:
  Diagnostician(const OptionPool& pool, const Topology& available, const Budget& budget)
      : pool_(pool),
        available_(available),
        budget_(budget),
        order_(pool, PartitionerSpec::SortBy::kStorage, false),
        placement_(pool, available) {}

  // Returns what the option's worst shard lacks on an empty machine; nothing if the option fits.
  std::optional<Shortage> shortage_alone(OptionId id) {
    const OptionId proposal[] = {id};
    order_.reset(proposal);
    if (greedy_.partition(proposal, order_, placement_)) return std::nullopt;
    const Shortage worst = closest_rank(pool_.row(id), available_).shortage;
    return worst.bytes <= 0 ? Shortage{1} : worst;
  }

  // Finds the first table that does not fit an empty machine with any option. Returns nothing if
  // there is none or the budget was interrupted.
  std::optional<PlanFailure> table_that_fits_nowhere() {
    for (const auto& table : pool_.tables()) {
      if (fits_whole(table)) continue;
      std::optional<Shortage> least;
      OptionId closest;
      for (const OptionId id : table.options) {
        if (budget_.interrupted()) return std::nullopt;
        const auto shortage = shortage_alone(id);
        if (!shortage) {
          least.reset();
          break;
        }
        if (!least || shortage->bytes < least->bytes) {
          least = shortage;
          closest = id;
        }
      }
      if (least) return describe_table(table, closest, *least);
    }
    return std::nullopt;
  }

  PlanFailure describe_table(const OptionPool::TableOptions& table, OptionId closest,
                             const Shortage& shortage) {
    const ShardingOption& option = pool_.option(closest);
    const OptionRow& row = pool_.row(closest);
    const std::uint32_t rank = closest_rank(row, available_).rank;
    const MemoryTier tier = shortage.tier;
    const std::int64_t left = available_.storage()[rank][tier].value();
    PlanFailure failure;
    failure.reason = FailureReason::kTableFitsNowhere;
    failure.message =
        "Table " + quoted(pool_.problem().table(table.table).name) +
        " fits on no rank with any of its " + std::to_string(table.options.size()) +
        " sharding options, even on an empty machine. The closest, " +
        std::string(to_name(option.sharding_type)) + " with kernel " +
        std::string(to_name(option.compute_kernel)) + ", has a shard of " +
        with_unit(row.max_storage[tier].value()) + " " + std::string(label_of(tier)) +
        "; after reservation rank " + std::to_string(rank) + " has " + with_unit(left) + ": " +
        with_unit(shortage.bytes) +
        " short. Allow sharding types that split the table further "
        "or kernels that keep it in DDR, use ranks with more memory, or lower the reservation.";
    return failure;
  }

  PlanFailure describe_total(Storage needed) const {
    const Storage total = available_.total_storage();
    const Shortage shortage = Shortage::of(needed, total);
    const bool with_ssd = available_.counts_ssd() || needed.ssd > Bytes();
    PlanFailure failure;
    failure.reason = FailureReason::kNotEnoughMemory;
    failure.message =
        std::string(needed.sum() > total.sum() ? "All tables together do not fit"
                                               : "No proposal that was tried fits in total") +
        ": the smallest proposal needs " + in_words(needed, with_ssd) +
        " over all ranks, and after reservation " + std::to_string(available_.world_size()) +
        " ranks have " + in_words(total, with_ssd) + ": " + with_unit(shortage.bytes) + " " +
        std::string(label_of(shortage.tier)) +
        " short. Use more ranks or ranks with more memory, smaller tables, or a "
        "smaller batch.";
    return failure;
  }

  // Describes a failure where all options fit alone and in total, but not together.
  PlanFailure describe_packing(std::span<const OptionId> proposal) {
    order_.reset(proposal);
    PlanFailure failure;
    failure.reason = FailureReason::kDoesNotPack;
    failure.message =
        "Every table fits alone and the memory suffices in total, but no proposal "
        "could be placed rank by rank.";
    if (!greedy_.partition(proposal, order_, placement_))
      failure.message += " " + first_failure(proposal);
    failure.message +=
        " Relax constraints so that large tables can be split, use more ranks or "
        "ranks with more memory, or lower the reservation.";
    return failure;
  }

 private:
  // Returns true if all ranks are equal and can hold the largest shard, so that each shard can have
  // a rank of its own.
  bool has_room_everywhere(const OptionRow& row, const Storage& needed) const {
    if (!available_.uniform() || !needed.fits_in(available_.storage().front())) return false;
    return row.partition_by == PartitionBy::kUniform
               ? row.num_shards == available_.world_size()
               : row.partition_by == PartitionBy::kDevice &&
                     row.num_shards <= available_.world_size();
  }

  // A cheap test that nearly every table passes: the whole table fits on a rank, or every shard of
  // an option has room.
  bool fits_whole(const OptionPool::TableOptions& table) const {
    return std::any_of(table.options.begin(), table.options.end(), [&](OptionId id) {
      const OptionRow& row = pool_.row(id);
      if (has_room_everywhere(row, row.max_storage)) return true;
      const auto holds = [&](const Storage& rank) { return row.max_storage.fits_in(rank); };
      const auto& ranks = available_.storage();
      return row.partition_by == PartitionBy::kDevice && row.num_shards == 1 &&
             std::any_of(ranks.begin(), ranks.end(), holds);
    });
  }

  std::string first_failure(std::span<const OptionId> proposal) const {
    if (greedy_.failed_position() == GroupOrder::kNone) {
      return "In the smallest one the uniform shards (row_wise, data_parallel) alone overfill a "
             "rank.";
    }
    const OptionId id = proposal[greedy_.failed_position()];
    const OptionRow& row = pool_.row(id);
    Bytes most_left;
    Rank rank = 0;
    for (Rank i = 0; i < placement_.num_devices(); ++i) {
      if (placement_.device_of(i).left.hbm > most_left) {
        most_left = placement_.device_of(i).left.hbm;
        rank = i;
      }
    }
    return "In the smallest one table " + quoted(pool_.problem().table(TableId(row.table)).name) +
           " (" + std::string(to_name(row.sharding_type)) + ", shards of up to " +
           with_unit(row.max_storage.hbm.value()) + " HBM) found no place; rank " +
           std::to_string(rank) + " had the most HBM left, " + with_unit(most_left.value()) + ".";
  }

  const OptionPool& pool_;
  const Topology& available_;
  const Budget& budget_;
  GroupOrder order_;
  Placement placement_;
  GreedyPerfPartitioner greedy_;
};

}  // namespace

PlanFailure diagnose(const OptionPool& pool, const Topology& available,
                     std::span<const OptionId> lowest, Storage lowest_storage,
                     const Budget& budget) {
  Diagnostician diagnostician(pool, available, budget);
  const bool total_fits = lowest_storage.fits_in(available.total_storage());
  std::optional<PlanFailure> failure = diagnostician.table_that_fits_nowhere();
  if (!failure && budget.interrupted()) {
    failure = {FailureType::kOther, FailureReason::kStopped,
               "No proposal fits. The command was stopped before it found out why."};
  } else if (!failure) {
    failure = total_fits ? diagnostician.describe_packing(lowest)
                         : diagnostician.describe_total(lowest_storage);
  }
  failure->type = total_fits ? FailureType::kStrictConstraints : FailureType::kInsufficientStorage;
  return *std::move(failure);
}

}  // namespace shardwright::embedding
