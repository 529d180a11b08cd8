// The most valuable shards that one rank can hold: the pricing problem of pattern bounds.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/bound_rows.h"
#include "search/embedding/best/bound/table_groups.h"

namespace shardwright::embedding {

// Shards on one rank of a class: (row, count), of every table rows of one choice at most. Rows of
// the first table of a group count for all tables of it.
struct RankPattern {
  std::uint32_t rank_class = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shards;
  double load = 0;
};

struct RankFill {
  double most = 0;   // no pattern is worth more
  double worth = 0;  // of `pattern`; equal to `most` but for rounding, unless the search was cut
  RankPattern pattern;
  RankPrices prices;  // of load and memory that bound the search well
};

// Fills a rank of one class up to a target load. Labels of what may be held are extended group of
// tables by group, where they are many for two parts of the groups, and joined; prices from the
// Lagrangian relaxation of load and memory end those that cannot win.
// Thread safety: one thread at a time.
class RankFiller {
 public:
  RankFiller(const BoundRows& rows, std::uint32_t rank_class) : rows_(&rows), class_(rank_class) {}

  // For the load that a rank which rates `target` has. `worth` by row, of the first tables of the
  // groups alone; `zones`, where it may be, by choice. A pattern worth no more than `at_least` is
  // of no interest: the best one may then be missed, and `most` is at least that.
  RankFill best(std::span<const double> worth, double target, const std::vector<Zone>& zones,
                std::span<const AlikeTables> groups, double at_least, bool exact, Budget& budget);

 private:
  // Shards of one choice on the rank: up to two rows of it.
  struct Way {
    double worth = 0;
    double load = 0;
    double hbm = 0;
    double ddr = 0;
    std::uint32_t row = 0;
    std::uint32_t count = 0;
    std::uint32_t other_row = 0;
    std::uint32_t other_count = 0;
  };
  // Each of `times` tables may be held in one of `count` ways.
  struct Table {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t times = 1;
    double best_gain = 0;  // of one, at the best prices
    Way most;              // of load and memory, by any way
  };
  struct Label {
    double load = 0;
    double hbm = 0;
    double ddr = 0;
    double worth = 0;
    std::uint32_t taken = 0;  // index into taken_; 0 = nothing
    std::uint32_t used = 0;   // tables of the group at hand
  };
  struct Taken {
    std::uint32_t before = 0;
    std::uint32_t way = 0;
  };
  // Prices, and what is left to gain by them: the room, and the best way of every table to come.
  struct Relaxation {
    RankPrices prices;
    std::vector<double> best_gain;  // by group, of all its tables
    double whole = 0;
    double rest = 0;
    double ahead = 0;  // of one more table of the group at hand
  };

  template <class Held>
  static double gain(const Held& held, const RankPrices& prices) {
    return held.worth - prices.load * held.load - prices.hbm * held.hbm - prices.ddr * held.ddr;
  }

  enum class Found : std::uint8_t { kGood, kBest, kTooMany };
  Found find(double at_least, bool exact);
  void coarsen();
  void collect(std::span<const double> worth, const std::vector<Zone>& zones,
               std::span<const AlikeTables> groups);
  void add_ways(std::uint32_t choice, std::span<const double> worth);
  void drop_dominated_ways(std::size_t first);
  void choose_prices();
  double best_load_price(RankPrices& prices);
  double best_price(double RankPrices::*price, double Way::*size, RankPrices prices);
  double relaxed(const RankPrices& prices, Way* slack) const;
  void order_tables();
  void add_relaxation(const RankPrices& prices);
  void fill_greedily();
  bool search_all();
  std::vector<std::uint32_t> all_tables() const;
  std::size_t search(std::span<const std::uint32_t> tables, std::size_t most, std::size_t beam);
  void begin_search();
  void raise_floor(const Table& table);
  void look_ahead(const Table& table, std::uint32_t way);
  bool extend(std::uint32_t table, std::size_t beam);
  void add_way(std::uint32_t way, std::uint32_t times);
  void drop_dominated(std::uint32_t few);
  bool is_below_stairs(const Label& label) const;
  void add_stair(const Label& label);
  std::uint32_t plenty(const Table& table) const;
  void keep_beam(std::size_t beam);
  void join(std::vector<Label>& others);
  Label leveled(const Label& label) const;
  bool can_win(const Label& label, std::uint32_t more) const;
  bool fits(double load, double hbm, double ddr) const {
    return load <= target_ && hbm <= hbm_room_ && ddr <= ddr_room_;
  }
  RankPattern pattern() const;

  static constexpr std::size_t kBeam = 64;
  static constexpr std::size_t kJoined = 1'000;
  static constexpr std::size_t kMostLabels = 20'000;
  static constexpr double kParts = 1 << 15;  // of a rank, where labels are too many

  const BoundRows* rows_;
  std::uint32_t class_;
  double target_ = 0;  // of load
  double hbm_room_ = 0;
  double ddr_room_ = 0;
  RankPrices prices_;
  std::vector<Way> ways_;
  std::vector<Table> tables_;
  std::vector<Label> labels_;
  std::vector<Label> next_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> kept_;
  // HBM and the most worth that a kept label has with no more, both rising.
  std::vector<std::pair<double, double>> best_by_memory_;
  std::vector<Taken> taken_;
  std::vector<Relaxation> relaxations_;  // the one with the best prices first
  Way floor_;  // load and memory below which nothing matters: whatever is to come fits
  Label best_;
  std::uint32_t best_other_ = 0;  // what else the best one has taken
  bool easy_ = true;              // so was the last full search
  double threshold_ = 0;          // labels that cannot be worth more end
  std::uint64_t steps_ = 0;
};

}  // namespace shardwright::embedding
