#include "search/embedding/best/bound/aggregate_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

// What the cheapest choices of all tables take of a class of ranks.
struct Taken {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
};

class Prices {
 public:
  Prices(const BoundRows& rows, double target, const std::vector<Zone>& zones, Budget& budget)
      : rows_(rows), zones_(zones), budget_(budget), target_(target) {
    const ChoiceModel& model = rows.model();
    for (std::size_t table = 0; table < model.num_tables(); ++table) {
      possible_.emplace_back();
      for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
        const std::uint32_t choice = model.first_choice(table) + i;
        if (zones[choice] != 0 && rows.is_possible(choice, target))
          possible_.back().push_back(choice);
      }
    }
  }

  AggregateBound best() {
    AggregateBound best;
    best.prices = even();
    for (const auto& choices : possible_) {
      if (!choices.empty()) continue;
      best.bound = std::numeric_limits<double>::infinity();
      return best;
    }
    constexpr int kMostRounds = 200;
    constexpr double kClose = 1e-7;  // of the bound
    std::vector<RankPrices> prices = best.prices;
    LinearProgram cuts = empty_program();
    for (int round = 0; round < kMostRounds && !budget_.interrupted(); ++round) {
      const double value = price(prices);
      if (value > best.bound) {
        best.bound = value;
        best.prices = prices;
      }
      add_cut(cuts);
      if (!cuts.solve() || cuts.objective() - best.bound <= kClose * cuts.objective()) break;
      prices = from(cuts);
    }
    return best;
  }

 private:
  std::size_t num_classes() const { return rows_.classes().size(); }

  // Load alone counts, everywhere alike.
  std::vector<RankPrices> even() const {
    double ranks = 0;
    for (const RankClass& own : rows_.classes())
      ranks += own.size / own.scale;
    return std::vector<RankPrices>(num_classes(), RankPrices{1 / ranks, 0, 0});
  }

  // The bound that `prices` give; `taken_` is its slope.
  double price(const std::vector<RankPrices>& prices) {
    taken_.assign(num_classes(), {});
    double worth = 0;
    for (const auto& choices : possible_) {
      double least = std::numeric_limits<double>::infinity();
      std::uint32_t cheapest = 0;
      for (const std::uint32_t choice : choices) {
        const double own = paid(choice, prices);
        if (own < least) {
          least = own;
          cheapest = choice;
        }
      }
      worth += least;
      take(cheapest, prices);
      budget_.spend(choices.size());
    }
    for (std::size_t c = 0; c < num_classes(); ++c) {
      const RankClass& own = rows_.classes()[c];
      worth -= own.size * (prices[c].hbm * static_cast<double>(own.room.hbm.value()) +
                           prices[c].ddr * static_cast<double>(own.room.ddr.value()));
    }
    return worth;
  }

  static double paid(const BoundRow& row, const RankPrices& prices) {
    return prices.load * row.load + prices.hbm * static_cast<double>(row.hbm_bytes) +
           prices.ddr * static_cast<double>(row.ddr_bytes);
  }

  // Where a shard of the row is cheapest.
  std::uint32_t cheapest_class(const BoundRow& row, const std::vector<RankPrices>& prices) const {
    if (row.in_class) return row.run;
    std::uint32_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t c = 0; c < num_classes(); ++c) {
      const bool here = rows_.fits(row, c) && row.load < rows_.limit(c, target_) &&
                        (zones_[row.choice] >> c & 1) != 0;
      const double own = here ? paid(row, prices[c]) : least;
      if (own < least) {
        least = own;
        best = c;
      }
    }
    return best;
  }

  double paid(std::uint32_t choice, const std::vector<RankPrices>& prices) const {
    double sum = 0;
    for (const BoundRow& row : rows_.rows_of(choice))
      sum += row.need * paid(row, prices[cheapest_class(row, prices)]);
    return sum;
  }

  void take(std::uint32_t choice, const std::vector<RankPrices>& prices) {
    for (const BoundRow& row : rows_.rows_of(choice)) {
      Taken& own = taken_[cheapest_class(row, prices)];
      own.load += row.need * row.load;
      own.hbm += row.need * static_cast<double>(row.hbm_bytes);
      own.ddr += row.need * static_cast<double>(row.ddr_bytes);
    }
  }

  // The dual of the cutting planes: a column per cut, whose weight is the share of its choices; a
  // row per price. Bytes are counted in units of the target per room, so that prices are alike in
  // size.
  LinearProgram empty_program() const {
    LinearProgram program;
    for (std::size_t c = 0; c < num_classes(); ++c) {
      program.add_row(-LinearProgram::kInfinity, 0);
      program.add_row(-LinearProgram::kInfinity, 0);
      program.add_row(-LinearProgram::kInfinity, 0);
    }
    program.add_row(1, 1);
    std::vector<LinearProgram::Entry> rating;
    for (std::size_t c = 0; c < num_classes(); ++c)
      rating.push_back({3 * c, -(rows_.classes()[c].size / rows_.classes()[c].scale)});
    program.add_column(1, 0, LinearProgram::kInfinity, rating);
    // Room may be exceeded at a price that no useful bound pays.
    for (std::size_t c = 0; c < num_classes(); ++c) {
      for (const std::size_t row : {3 * c + 1, 3 * c + 2}) {
        const LinearProgram::Entry entry{row, -1};
        program.add_column(kMostPrice, 0, LinearProgram::kInfinity, {&entry, 1});
      }
    }
    return program;
  }

  void add_cut(LinearProgram& program) const {
    std::vector<LinearProgram::Entry> entries;
    for (std::size_t c = 0; c < num_classes(); ++c) {
      const RankClass& own = rows_.classes()[c];
      const double hbm = taken_[c].hbm - own.size * static_cast<double>(own.room.hbm.value());
      const double ddr = taken_[c].ddr - own.size * static_cast<double>(own.room.ddr.value());
      entries.push_back({3 * c, taken_[c].load});
      entries.push_back({3 * c + 1, hbm * unit(own.room.hbm)});
      entries.push_back({3 * c + 2, ddr * unit(own.room.ddr)});
    }
    entries.push_back({3 * num_classes(), 1});
    program.add_column(0, 0, LinearProgram::kInfinity, entries);
  }

  std::vector<RankPrices> from(const LinearProgram& program) const {
    std::vector<RankPrices> prices;
    for (std::size_t c = 0; c < num_classes(); ++c) {
      const RankClass& own = rows_.classes()[c];
      const auto price = [&](std::size_t row) { return std::max(0.0, -program.dual(row)); };
      prices.push_back({price(3 * c), price(3 * c + 1) * unit(own.room.hbm),
                        price(3 * c + 2) * unit(own.room.ddr)});
    }
    // A solver's tolerance must not pay for load more than once.
    double paid = 0;
    for (std::size_t c = 0; c < num_classes(); ++c)
      paid += prices[c].load * rows_.classes()[c].size / rows_.classes()[c].scale;
    for (RankPrices& own : prices) {
      if (paid > 1) own = {own.load / paid, own.hbm / paid, own.ddr / paid};
    }
    return prices;
  }

  double unit(Bytes room) const {
    return target_ / static_cast<double>(std::max<std::int64_t>(1, room.value()));
  }

  // Of a rank's whole room, in units of the target.
  static constexpr double kMostPrice = 1e3;

  const BoundRows& rows_;
  const std::vector<Zone>& zones_;
  Budget& budget_;
  double target_;
  std::vector<std::vector<std::uint32_t>> possible_;  // by table
  std::vector<Taken> taken_;
};

}  // namespace

AggregateBound aggregate_bound(const BoundRows& rows, double target, const std::vector<Zone>& zones,
                               Budget& budget) {
  return Prices(rows, target, zones, budget).best();
}

}  // namespace shardwright::embedding
