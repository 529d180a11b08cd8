#include "search/embedding/best/bound/coarse/coarse_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/best/bound/relaxation/lagrangian_function.h"

namespace shardwright::embedding {
namespace {

using Runs = std::vector<ChoiceRun>;

void keep_least(ChoiceRun& run, const ChoiceRun& other) {
  run.load = std::min(run.load, other.load);
  run.storage = least_of(run.storage, other.storage);
}

// One run of the smallest shard where ranks of a choice all have one.
Runs runs_of(const ChoiceModel& model, const Choice& choice) {
  const std::span<const ChoiceRun> own = model.runs(choice);
  if (choice.reach == Reach::kDevice || choice.reach == Reach::kHost)
    return {own.begin(), own.end()};
  std::optional<ChoiceRun> least;
  for (const ChoiceRun& run : own) {
    if (run.count == 0) continue;
    if (!least) least = run;
    keep_least(*least, run);
  }
  least->count = choice.num_shards;
  return {*least};
}

// Numbers values such that those of one number differ by less than a part of themselves. What is
// next to nothing beside what a table has on average is nothing.
// Thread safety: a value.
class Scale {
 public:
  // `all`: what all ranks have. `tables`: that share it.
  Scale(double all, std::size_t tables, double least_part)
      : least_(std::max(all, 1e-300) / static_cast<double>(tables) * least_part) {}

  std::int64_t cell(double value, std::uint32_t num_shards, double step) const {
    const double part = value * num_shards / least_;
    return part < 1 ? 0 : 1 + static_cast<std::int64_t>(std::log(part) / std::log1p(step));
  }

 private:
  double least_;
};

// Thread safety: one thread at a time. Refers to its arguments.
class Coarsening {
 public:
  Coarsening(const BoundRows& rows, const Domain& domain, double target,
             const std::vector<CapacityMultipliers>& multipliers, double step, double dear_step)
      : model_(rows.model()),
        costs_(rows, target, domain),
        multipliers_(multipliers),
        step_(step),
        dear_step_(dear_step),
        load_(all_load(rows, target), model_.num_tables(), step),
        runs_(domain.size()),
        cells_(domain.size()) {
    for (const MemoryTier tier : kMemoryTiers)
      memory_.emplace_back(all_room(tier), model_.num_tables(), step);
  }

  ChoiceModel coarsened() {
    for (std::size_t group = 0; group < costs_.groups().size(); ++group)
      add(group);
    for (std::size_t choice = 0; choice < runs_.size(); ++choice) {
      for (std::size_t run = 0; run < runs_[choice].size(); ++run)
        keep_least(runs_[choice][run], least_of_[cells_[choice][run]]);
    }
    return model_.relaxed(runs_);
  }

 private:
  static double all_load(const BoundRows& rows, double target) {
    double sum = 0;
    for (const RankClass& own : rows.classes().all())
      sum += own.size * target / own.time_scale;
    return sum;
  }

  double all_room(MemoryTier tier) const {
    double sum = 0;
    for (const Storage& room : model_.room())
      sum += static_cast<double>(std::max(room[tier], Bytes()).value());
    return sum;
  }

  // By which part of itself a shard's use of the tier, or else its load, may become less. What has
  // no price is not what is scarce.
  double step_of(std::optional<MemoryTier> tier, int exponent) const {
    const bool has_price = std::any_of(
        multipliers_.begin(), multipliers_.end(),
        [&](const CapacityMultipliers& own) { return (tier ? own[*tier] : own.load) > 0; });
    return has_price ? std::ldexp(1.0, exponent) : dear_step_;
  }

  // By which part of itself a choice may become cheaper, as a power of two.
  int exponent_of(std::uint32_t choice, double least) const {
    const double cost = costs_.cost_of(choice, multipliers_);
    const double dear = cost > 0 ? dear_step_ * (cost - least) / cost : 0;
    return std::ilogb(std::max(step_, dear));
  }

  // Puts the shards of all choices of equal tables in their cells.
  void add(std::size_t group) {
    const EqualTables& equal = costs_.groups()[group];
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t choice : costs_.possible(group))
      least = std::min(least, costs_.cost_of(choice, multipliers_));
    for (const std::uint32_t choice : costs_.possible(group)) {
      const Runs runs = runs_of(model_, model_.choices()[choice]);
      std::vector<std::size_t> cells;
      for (const ChoiceRun& run : runs)
        cells.push_back(cell_of(choice, run, exponent_of(choice, least)));
      for (const std::uint32_t table : equal.tables) {
        const std::uint32_t own =
            model_.first_choice(table) + choice - model_.first_choice(equal.first());
        runs_[own] = runs;
        cells_[own] = cells;
      }
    }
  }

  // Of a shard: cells of choices that may become cheaper by different parts differ, too.
  std::size_t cell_of(std::uint32_t choice, const ChoiceRun& run, int exponent) {
    const std::uint32_t shards = model_.choices()[choice].num_shards;
    std::vector<std::int64_t> cell{exponent,
                                   load_.cell(run.load, shards, step_of(std::nullopt, exponent))};
    for (const MemoryTier tier : kMemoryTiers) {
      const auto bytes = static_cast<double>(run.storage[tier].value());
      cell.push_back(
          memory_[static_cast<std::size_t>(tier)].cell(bytes, shards, step_of(tier, exponent)));
    }
    const auto [found, is_new] = number_of_.try_emplace(std::move(cell), least_of_.size());
    if (is_new) least_of_.push_back(run);
    keep_least(least_of_[found->second], run);
    return found->second;
  }

  const ChoiceModel& model_;
  LagrangianFunction costs_;
  const std::vector<CapacityMultipliers>& multipliers_;
  double step_;
  double dear_step_;
  Scale load_;
  std::vector<Scale> memory_;                    // by tier
  std::vector<Runs> runs_;                       // by choice; empty if it is not in the domain
  std::vector<std::vector<std::size_t>> cells_;  // by choice and run
  std::map<std::vector<std::int64_t>, std::size_t> number_of_;
  std::vector<ChoiceRun> least_of_;  // by cell
};

}  // namespace

ChoiceModel coarse_model(const BoundRows& rows, const Domain& domain, double target,
                         const std::vector<CapacityMultipliers>& multipliers, double step,
                         double dear_step) {
  return Coarsening(rows, domain, target, multipliers, step, dear_step).coarsened();
}

}  // namespace shardwright::embedding
