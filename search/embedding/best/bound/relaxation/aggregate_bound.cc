#include "search/embedding/best/bound/relaxation/aggregate_bound.h"

#include <algorithm>
#include <limits>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

// What the cheapest choices of all tables use of the ranks of a class.
struct ClassUse {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
};

// The Lagrangian function: the bound at given multipliers, and its subgradient there.
// Thread safety: one thread at a time.
class LagrangianFunction {
 public:
  LagrangianFunction(const BoundRows& rows, double target, const Domain& domain)
      : rows_(rows), classes_(rows.classes()), domain_(domain), target_(target) {
    const ChoiceModel& model = rows.model();
    for (std::size_t table = 0; table < model.num_tables(); ++table) {
      possible_.emplace_back();
      for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
        const std::uint32_t choice = model.first_choice(table) + i;
        if (domain[choice] != 0 && rows.is_possible(choice, target))
          possible_.back().push_back(choice);
      }
    }
  }

  bool every_table_is_possible() const {
    return std::none_of(possible_.begin(), possible_.end(),
                        [](const auto& choices) { return choices.empty(); });
  }

  // Each table takes its cheapest choice; use() then says what they use. O(possible choices).
  double value(const std::vector<CapacityMultipliers>& multipliers, Budget& budget) {
    use_.assign(classes_.size(), {});
    double sum = 0;
    for (const auto& choices : possible_) {
      double least = std::numeric_limits<double>::infinity();
      std::uint32_t cheapest = 0;
      for (const std::uint32_t choice : choices) {
        const double cost = cost_of(choice, multipliers);
        if (cost < least) {
          least = cost;
          cheapest = choice;
        }
      }
      sum += least;
      take(cheapest, multipliers);
      budget.spend(choices.size());
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const RankClass& own = classes_[c];
      sum -= own.size * (multipliers[c].hbm * static_cast<double>(own.room.hbm.value()) +
                         multipliers[c].ddr * static_cast<double>(own.room.ddr.value()));
    }
    return sum;
  }

  const std::vector<ClassUse>& use() const { return use_; }

 private:
  static double cost_of(const BoundRow& row, const CapacityMultipliers& multipliers) {
    return multipliers.load * row.load + multipliers.hbm * static_cast<double>(row.hbm_bytes) +
           multipliers.ddr * static_cast<double>(row.ddr_bytes);
  }

  double cost_of(std::uint32_t choice, const std::vector<CapacityMultipliers>& multipliers) const {
    double sum = 0;
    for (const BoundRow& row : rows_.rows_of(choice))
      sum += row.need * cost_of(row, multipliers[cheapest_class(row, multipliers)]);
    return sum;
  }

  std::uint32_t cheapest_class(const BoundRow& row,
                               const std::vector<CapacityMultipliers>& multipliers) const {
    if (row.in_class) return row.run;
    std::uint32_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t c = 0; c < classes_.size(); ++c) {
      const bool here = rows_.fits(row, c) && row.load < classes_.load_limit(c, target_) &&
                        (domain_[row.choice] >> c & 1) != 0;
      const double cost = here ? cost_of(row, multipliers[c]) : least;
      if (cost < least) {
        least = cost;
        best = c;
      }
    }
    return best;
  }

  void take(std::uint32_t choice, const std::vector<CapacityMultipliers>& multipliers) {
    for (const BoundRow& row : rows_.rows_of(choice)) {
      ClassUse& own = use_[cheapest_class(row, multipliers)];
      own.load += row.need * row.load;
      own.hbm += row.need * static_cast<double>(row.hbm_bytes);
      own.ddr += row.need * static_cast<double>(row.ddr_bytes);
    }
  }

  const BoundRows& rows_;
  const RankClasses& classes_;
  const Domain& domain_;
  double target_;
  std::vector<std::vector<std::uint32_t>> possible_;  // by table
  std::vector<ClassUse> use_;
};

// The dual of the cutting-plane program: a column per cut, whose weight is the share of that cut's
// choices in a fractional plan, and a row per multiplier. Bytes are scaled to the target per room,
// so that all multipliers are of one magnitude.
// Thread safety: one thread at a time.
class CutProgram {
 public:
  CutProgram(const RankClasses& classes, double target, double max_multiplier)
      : classes_(classes), target_(target) {
    for (std::size_t row = 0; row < 3 * classes.size(); ++row)
      program_.add_row(-LinearProgram::kInfinity, 0);
    program_.add_row(1, 1);
    std::vector<LinearProgram::Entry> rating;
    for (std::size_t c = 0; c < classes.size(); ++c)
      rating.push_back({3 * c, -(classes[c].size / classes[c].time_scale)});
    program_.add_column(1, 0, LinearProgram::kInfinity, rating);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (const std::size_t row : {3 * c + 1, 3 * c + 2}) {
        const LinearProgram::Entry entry{row, -1};
        program_.add_column(max_multiplier, 0, LinearProgram::kInfinity, {&entry, 1});
      }
    }
  }

  void add_cut(const std::vector<ClassUse>& use) {
    std::vector<LinearProgram::Entry> entries;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const RankClass& own = classes_[c];
      const double hbm = use[c].hbm - own.size * static_cast<double>(own.room.hbm.value());
      const double ddr = use[c].ddr - own.size * static_cast<double>(own.room.ddr.value());
      entries.push_back({3 * c, use[c].load});
      entries.push_back({3 * c + 1, hbm * unit(own.room.hbm)});
      entries.push_back({3 * c + 2, ddr * unit(own.room.ddr)});
    }
    entries.push_back({3 * classes_.size(), 1});
    program_.add_column(0, 0, LinearProgram::kInfinity, entries);
  }

  bool solve() { return program_.solve(); }
  // No multipliers give a bound above this.
  double max_bound() const { return program_.objective(); }

  std::vector<CapacityMultipliers> multipliers() const {
    std::vector<CapacityMultipliers> multipliers;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const RankClass& own = classes_[c];
      const auto dual = [&](std::size_t row) { return std::max(0.0, -program_.dual(row)); };
      multipliers.push_back({dual(3 * c), dual(3 * c + 1) * unit(own.room.hbm),
                             dual(3 * c + 2) * unit(own.room.ddr)});
    }
    // The multipliers of load may sum to 1 at most; the solver keeps to that within a tolerance.
    double sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      sum += multipliers[c].load * classes_[c].size / classes_[c].time_scale;
    for (CapacityMultipliers& own : multipliers) {
      if (sum > 1) own = {own.load / sum, own.hbm / sum, own.ddr / sum};
    }
    return multipliers;
  }

 private:
  double unit(Bytes room) const {
    return target_ / static_cast<double>(std::max<std::int64_t>(1, room.value()));
  }

  const RankClasses& classes_;
  double target_;
  LinearProgram program_;
};

// Only load counts, equally on all ranks.
std::vector<CapacityMultipliers> even_multipliers(const RankClasses& classes) {
  double ranks = 0;
  for (const RankClass& own : classes.all())
    ranks += own.size / own.time_scale;
  return std::vector<CapacityMultipliers>(classes.size(), CapacityMultipliers{1 / ranks, 0, 0});
}

}  // namespace

AggregateBound aggregate_bound(const BoundRows& rows, double target, const Domain& domain,
                               const AggregateParameters& parameters, Budget& budget) {
  LagrangianFunction function(rows, target, domain);
  AggregateBound best;
  best.multipliers = even_multipliers(rows.classes());
  if (!function.every_table_is_possible()) {
    best.bound = std::numeric_limits<double>::infinity();
    return best;
  }
  std::vector<CapacityMultipliers> multipliers = best.multipliers;
  CutProgram cuts(rows.classes(), target, parameters.max_multiplier);
  for (std::uint32_t round = 0; round < parameters.max_rounds && !budget.interrupted(); ++round) {
    const double value = function.value(multipliers, budget);
    if (value > best.bound) {
      best.bound = value;
      best.multipliers = multipliers;
    }
    cuts.add_cut(function.use());
    if (!cuts.solve() || cuts.max_bound() - best.bound <= parameters.gap * cuts.max_bound()) break;
    multipliers = cuts.multipliers();
  }
  return best;
}

}  // namespace shardwright::embedding
