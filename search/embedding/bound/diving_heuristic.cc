#include "search/embedding/bound/diving_heuristic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace shardwright::embedding {
namespace {

// A number counts as whole if it is this close to an integer.
constexpr double kWhole = 1e-6;

std::uint32_t whole_part(double value) {
  return static_cast<std::uint32_t>(std::max(0.0, std::floor(value + kWhole)));
}

// All tables count as placed if those without a place need less than this fraction of a rank.
constexpr double kPlaced = 1e-6;

}  // namespace

WholePatterns DivingHeuristic::run(Budget& budget, std::uint64_t seed) {
  program_.begin(seed);
  const bool is_found = program_.solve_with_new_patterns(budget) &&
                        (demand_.ranks_of_host == 1 || fix_parts(budget)) && fix_patterns(budget) &&
                        fix_choices(budget);
  return is_found ? found() : WholePatterns{};
}

bool DivingHeuristic::fix_parts(Budget& budget) {
  const double ranks_of_host = demand_.ranks_of_host;
  std::vector<std::uint32_t> fixed_hosts(program_.parts().size(), 0);
  for (bool is_first = true;; is_first = false) {
    if (!is_first && !program_.solve_with_new_patterns(budget)) return false;
    const std::vector<double> ranks = program_.ranks_of_parts();
    std::size_t next = 0;
    double most = 0;
    bool fixed = false;
    for (std::size_t p = 0; p < fixed_hosts.size(); ++p) {
      const double hosts = ranks[p] / ranks_of_host;
      const std::uint32_t whole = whole_part(hosts);
      fixed |= whole > fixed_hosts[p];
      fixed_hosts[p] = std::max(fixed_hosts[p], whole);
      if (hosts - fixed_hosts[p] > most) {
        most = hosts - fixed_hosts[p];
        next = p;
      }
    }
    const bool is_whole = most <= kWhole;
    if (is_whole) leave_other_hosts_empty(fixed_hosts);
    if (!fixed && !is_whole) ++fixed_hosts[next];
    for (std::size_t p = 0; p < fixed_hosts.size(); ++p)
      program_.fix_part(p, fixed_hosts[p] * demand_.ranks_of_host, is_whole);
    if (is_whole) return program_.solve_with_new_patterns(budget);
  }
}

// Gives all other hosts to the empty host part, which is the first part of every class.
void DivingHeuristic::leave_other_hosts_empty(std::vector<std::uint32_t>& hosts) const {
  for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) {
    std::uint32_t left = demand_.classes[c].count / demand_.ranks_of_host;
    std::size_t empty = hosts.size();
    for (std::size_t p = 0; p < hosts.size(); ++p) {
      if (program_.parts()[p].rank_class != c) continue;
      empty = std::min(empty, p);
      left -= hosts[p];
    }
    hosts[empty] += left;
  }
}

bool DivingHeuristic::fix_patterns(Budget& budget) {
  while (!fix_next(pattern_columns())) {
    if (!program_.solve_with_new_patterns(budget)) return false;
  }
  return program_.solve(budget);
}

bool DivingHeuristic::fix_choices(Budget& budget) {
  while (!fix_next(choice_columns())) {
    if (!program_.solve(budget)) return false;
  }
  return program_.solve(budget);
}

std::vector<DivingHeuristic::Whole> DivingHeuristic::pattern_columns() const {
  std::vector<Whole> columns;
  for (const DivingLp::Pattern& pattern : program_.patterns())
    columns.push_back({pattern.column, pattern.shards != program_.parts()[pattern.part].host_part});
  return columns;
}

std::vector<DivingHeuristic::Whole> DivingHeuristic::choice_columns() const {
  std::vector<Whole> columns;
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    for (std::size_t i = 0; i < demand_.tables[t].choices.size(); ++i)
      columns.push_back({program_.choice_column(t, i), true});
  }
  return columns;
}

// Fixes the columns whose values are whole, or else rounds up the column that is nearest to its
// next whole number. Returns true if all values were whole.
bool DivingHeuristic::fix_next(const std::vector<Whole>& columns) {
  std::vector<std::uint32_t> numbers;
  std::size_t next = 0;
  double most = 0;
  bool fixed = false;
  for (const Whole& own : columns) {
    const double value = program_.value(own.column);
    const std::uint32_t before = program_.fixed(own.column);
    numbers.push_back(std::max(before, whole_part(value)));
    fixed |= numbers.back() > before;
    if (own.is_open && value - numbers.back() > most) {
      most = value - numbers.back();
      next = numbers.size() - 1;
    }
  }
  const bool is_whole = most <= kWhole;
  if (!fixed && !is_whole) ++numbers[next];
  for (std::size_t i = 0; i < columns.size(); ++i)
    program_.fix(columns[i].column, numbers[i], is_whole);
  return is_whole;
}

WholePatterns DivingHeuristic::found() const {
  WholePatterns found;
  for (std::size_t p = 0; p < program_.parts().size(); ++p) {
    const DivingLp::Part& part = program_.parts()[p];
    for (const DivingLp::Pattern& pattern : program_.patterns()) {
      const std::uint32_t ranks = program_.fixed(pattern.column);
      if (pattern.part == p && ranks > 0)
        found.patterns.push_back({part.rank_class, part.host_part, pattern.shards, ranks});
    }
  }
  for (std::size_t t = 0; t < demand_.tables.size(); ++t) {
    std::vector<std::uint32_t>& counts = found.tables.emplace_back();
    for (std::size_t i = 0; i < demand_.tables[t].choices.size(); ++i)
      counts.push_back(program_.fixed(program_.choice_column(t, i)));
  }
  found.unplaced = program_.unplaced();
  return found;
}

class PatternRounding::Rounding {
 public:
  Rounding(const BoundRows& rows, const Domain& domain, const std::vector<EqualTables>& groups,
           const FractionalPlan& plan, double target, const BoundParameters& parameters,
           std::uint64_t work_before)
      : rows_(rows),
        domain_(domain),
        model_(rows.model()),
        target_(target),
        parameters_(parameters),
        made_(model_.num_tables()) {
    made_.choice = largest_shares(model_, plan);
    for (const EqualTables& group : groups)
      add_tables(group);
    const std::size_t classes =
        rows.classes().uniform_apart() ? rows.classes().num_apart() : rows.classes().size();
    for (std::size_t c = 0; c < classes; ++c)
      demand_.classes.push_back({rows.classes()[c].size, {}});
    demand_.ranks_of_host = fills_hosts_ ? model_.local_world_size() : 1;
    const RoundingParameters& rounding = parameters.rounding;
    most_work_ = std::max(rounding.most_work, work_before / RoundingParameters::kPartsOfWork);
    begin_dives(plan.patterns);
  }

  // Runs one dive with the next seed. Returns true after the last dive.
  bool dive(Budget& budget) {
    if (!dive_) return true;
    const std::uint64_t before = budget.work_done();
    budget.spend(num_patterns_);
    WholePatterns found = dive_->run(budget, seed_++);
    work_ += budget.work_done() - before;
    const bool is_better = best_.patterns.empty() || found.unplaced < best_.unplaced;
    if (!found.patterns.empty() && is_better) best_ = std::move(found);
    return (!best_.patterns.empty() && best_.unplaced < kPlaced) ||
           seed_ == RoundingParameters::kTries || work_ >= most_work_ || budget.interrupted();
  }

  Allocation take_start(Budget& budget) {
    const double most = std::max(1.0, RoundingParameters::kMostUnplaced * model_.world_size());
    if (best_.patterns.empty() || best_.unplaced > most) return std::move(made_);
    for (std::size_t g = 0; g < open_.size(); ++g)
      deal_out(open_[g], best_.tables[g]);
    for (std::uint32_t c = 0; c < demand_.classes.size(); ++c)
      fill_class(c, best_.patterns);
    budget.spend(model_.num_tables());
    return std::move(made_);
  }

 private:
  // A shard without a rank; of a choice that fills hosts, the first shard of a host.
  struct Waiting {
    std::uint32_t table = 0;
    std::uint32_t shard = 0;
  };
  // Equal tables, to be placed by patterns.
  struct Open {
    std::vector<std::uint32_t> tables;
    std::vector<std::uint32_t> choices;         // of the group's first table
    std::uint32_t first_choice = 0;             // of the group's first table
    std::optional<std::uint32_t> on_all_ranks;  // the cheapest choice on all ranks
  };

  void begin_dives(const std::vector<RankPattern>& patterns) {
    if (!parameters_.methods.dives) return;
    if (patterns.empty() || demand_.rows.empty() || (fills_hosts_ && !has_whole_hosts())) return;
    set_rooms();
    std::vector<RankPattern> own = trimmed(patterns);
    add_host_parts(own);
    num_patterns_ = own.size();
    dive_.emplace(demand_, own, parameters_);
  }

  bool is_in_patterns(std::uint32_t choice) const {
    const Choice& own = model_.choices()[choice];
    return own.reach == Reach::kDevice || own.reach == Reach::kWholeHosts;
  }

  void add_tables(const EqualTables& group) {
    Open open;
    for (const std::uint32_t table : group.tables) {
      if (is_in_patterns(made_.choice[table])) open.tables.push_back(table);
    }
    if (open.tables.empty()) return;
    PatternDemand::Tables& need = demand_.tables.emplace_back();
    need.count = static_cast<std::uint32_t>(open.tables.size());
    open.first_choice = model_.first_choice(group.first());
    for (std::uint32_t i = 0; i < model_.choices(group.first()).size(); ++i) {
      const std::uint32_t choice = open.first_choice + i;
      if (domain_[choice] == 0) continue;
      if (model_.choices()[choice].reach == Reach::kAllRanks) keep_cheaper(open, choice);
      if (!is_in_patterns(choice)) continue;
      const bool fills_hosts = model_.choices()[choice].reach == Reach::kWholeHosts;
      fills_hosts_ |= fills_hosts;
      PatternDemand::Shards& shards = need.choices.emplace_back();
      for (std::uint32_t r = rows_.first_row(choice); r < rows_.first_row(choice + 1); ++r) {
        shards.emplace_back(counted_as(r), rows_.rows()[r].need);
        demand_.rows[counted_as(r)] = {use_of(rows_.rows()[r]), size_of(rows_.rows()[r]),
                                       fills_hosts};
      }
      open.choices.push_back(choice);
    }
    open_.push_back(std::move(open));
  }

  void keep_cheaper(Open& open, std::uint32_t choice) const {
    const auto load_of = [&](std::uint32_t own) { return model_.choices()[own].max_load; };
    if (!open.on_all_ranks || load_of(choice) < load_of(*open.on_all_ranks))
      open.on_all_ranks = choice;
  }

  // Gives tables the choices of the dive, and other tables a choice on all ranks if there is one.
  void deal_out(const Open& open, const std::vector<std::uint32_t>& counts) {
    auto next = open.tables.begin();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (std::uint32_t k = 0; k < counts[i] && next != open.tables.end(); ++k, ++next) {
        made_.choice[*next] = model_.first_choice(*next) + open.choices[i] - open.first_choice;
        wait(*next, open.choices[i]);
      }
    }
    for (; next != open.tables.end() && open.on_all_ranks; ++next)
      made_.choice[*next] = model_.first_choice(*next) + *open.on_all_ranks - open.first_choice;
  }

  // Adds the shards of a table to waiting_. `same`: its choice, as a choice of the first table.
  void wait(std::uint32_t table, std::uint32_t same) {
    const Choice& choice = model_.choices()[same];
    made_.ranks[table].resize(choice.num_shards);
    const bool fills_hosts = choice.reach == Reach::kWholeHosts;
    const std::uint32_t step = fills_hosts ? model_.local_world_size() : 1;
    const std::span<const ChoiceRun> runs = model_.runs(choice);
    for (std::uint32_t r = rows_.first_row(same); r < rows_.first_row(same + 1); ++r) {
      const BoundRow& row = rows_.rows()[r];
      std::uint32_t begin = 0;
      for (std::uint32_t run = 0; run < row.run && !fills_hosts; ++run)
        begin += runs[run].count;
      for (std::uint32_t shard = 0; shard < row.need; shard += step)
        waiting_[counted_as(r)].push_back({table, begin + shard});
    }
  }

  // Returns the first row whose shards equal those of `row`, so that they are interchangeable.
  std::uint32_t counted_as(std::uint32_t row) {
    const BoundRow& own = rows_.rows()[row];
    const Reach reach = model_.choices()[own.choice].reach;
    return equal_rows_.try_emplace({reach, own.load, own.storage}, row).first->second;
  }

  double size_of(const BoundRow& row) const {
    const RankClass& rank_class = rows_.classes()[0];
    double size = row.load * rank_class.time_scale / target_;
    for (const MemoryTier tier : model_.tiers())
      size += row.bytes[tier] / std::max(1.0, static_cast<double>(rank_class.room[tier].value()));
    return size;
  }

  // Sets the capacity that choices on all ranks leave for patterns.
  void set_rooms() {
    const RankClasses& classes = rows_.classes();
    const bool is_apart = classes.uniform_apart();
    for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) {
      const RankClass& whole = is_apart ? classes.whole(c) : classes[c];
      const PerTier<double> bytes = as_doubles(whole.room);
      demand_.classes[c].room = {target_ / whole.time_scale, bytes.hbm, bytes.ddr, bytes.ssd};
    }
    for (const std::uint32_t choice : made_.choice) {
      if (model_.choices()[choice].reach != Reach::kAllRanks) continue;
      for (const BoundRow& row : rows_.rows_of(choice)) {
        const std::uint32_t own = is_apart ? classes.whole_class(row.run) : row.run;
        demand_.classes[own].room.remove(1, use_of(row));
      }
    }
  }

  static Resources use_of(const BoundRow& row) {
    return {row.load, row.bytes.hbm, row.bytes.ddr, row.bytes.ssd};
  }

  // Adds patterns with shards of a host-filling choice, which the plan may lack.
  void add_host_parts(std::vector<RankPattern>& patterns) const {
    for (const auto& [row, own] : demand_.rows) {
      for (std::uint32_t c = 0; c < demand_.classes.size() && own.fills_hosts; ++c) {
        if (own.use.fits_in(demand_.classes[c].room)) patterns.push_back({c, {{row, 1}}, 0});
      }
    }
  }

  // Removes shards until every pattern fits beside the choices on all ranks.
  std::vector<RankPattern> trimmed(std::vector<RankPattern> patterns) {
    for (RankPattern& pattern : patterns) {
      std::map<std::uint32_t, std::uint32_t> counts;
      for (const auto& [row, count] : pattern.shards) {
        const std::uint32_t own = counted_as(row);
        if (demand_.rows.contains(own)) counts[own] += count;
      }
      pattern.shards.assign(counts.begin(), counts.end());
      const Resources& room = demand_.classes[pattern.rank_class].room;
      for (const auto resource :
           {&Resources::load, &Resources::hbm, &Resources::ddr, &Resources::ssd}) {
        trim(pattern, room.*resource,
             [&](std::uint32_t row) { return demand_.rows.at(row).use.*resource; });
      }
    }
    return patterns;
  }

  // Removes shards until the rest fits `room`: the smallest that suffices, or else the largest.
  template <class Use>
  static void trim(RankPattern& pattern, double room, const Use& use_of) {
    double excess = -room;
    for (const auto& [row, count] : pattern.shards)
      excess += count * use_of(row);
    while (excess > 0 && !pattern.shards.empty()) {
      const auto is_better = [&](const auto& a, const auto& b) {
        const double use = use_of(a.first);
        const double other = use_of(b.first);
        return use >= excess && other >= excess ? use < other : use > other;
      };
      const auto next = std::min_element(pattern.shards.begin(), pattern.shards.end(), is_better);
      excess -= use_of(next->first);
      if (--next->second == 0) pattern.shards.erase(next);
    }
  }

  bool has_whole_hosts() const {
    if (model_.has_uneven_hosts()) return false;
    const std::uint32_t local = model_.local_world_size();
    for (Rank rank = 0; rank < model_.world_size(); ++rank) {
      if (rows_.classes().class_of(rank) != rows_.classes().class_of(rank - rank % local))
        return false;
    }
    return true;
  }

  void fill_class(std::uint32_t rank_class, const std::vector<RankCount>& counts) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < model_.world_size(); ++rank) {
      if (rows_.classes().class_of(rank) == rank_class) ranks.push_back(rank);
    }
    std::size_t next = 0;
    for (const RankCount& own : counts) {
      if (own.rank_class != rank_class) continue;
      for (std::uint32_t k = 0; k < own.ranks && next < ranks.size(); ++k, ++next) {
        if (fills_hosts_ && next % model_.local_world_size() == 0) fill_host(ranks[next], own);
        fill_rank(ranks[next], own);
      }
    }
  }

  void fill_host(Rank first, const RankCount& own) {
    for (const auto& [row, count] : own.host_part) {
      each_next(row, count, [&](const Waiting& next) {
        for (std::uint32_t k = 0; k < model_.local_world_size(); ++k)
          made_.ranks[next.table][next.shard + k] = first + k;
      });
    }
  }

  void fill_rank(Rank rank, const RankCount& own) {
    for (const auto& [row, count] : own.shards) {
      if (demand_.rows.at(row).fills_hosts) continue;
      each_next(row, count,
                [&](const Waiting& next) { made_.ranks[next.table][next.shard] = rank; });
    }
  }

  template <class Visit>
  void each_next(std::uint32_t row, std::uint32_t count, const Visit& visit) {
    std::vector<Waiting>& waiting = waiting_[row];
    for (std::uint32_t k = 0; k < count && !waiting.empty(); ++k) {
      visit(waiting.back());
      waiting.pop_back();
    }
  }

  const BoundRows& rows_;
  const Domain& domain_;
  const ChoiceModel& model_;
  double target_;
  const BoundParameters& parameters_;
  Allocation made_;
  PatternDemand demand_;
  std::vector<Open> open_;
  std::map<std::tuple<Reach, double, Storage>, std::uint32_t> equal_rows_;
  std::map<std::uint32_t, std::vector<Waiting>> waiting_;  // by row; placed from the back
  bool fills_hosts_ = false;
  std::size_t num_patterns_ = 0;
  std::optional<DivingHeuristic> dive_;  // empty if no dive is possible
  std::uint64_t seed_ = 0;               // of the next dive
  std::uint64_t work_ = 0;               // of all dives so far
  std::uint64_t most_work_ = 0;          // limit of work_ for a further dive
  WholePatterns best_;
};

PatternRounding::PatternRounding(const BoundRows& rows, const Domain& domain,
                                 const std::vector<EqualTables>& groups, const FractionalPlan& plan,
                                 double target, const BoundParameters& parameters,
                                 const Budget& budget)
    : rounding_(std::make_unique<Rounding>(rows, domain, groups, plan, target, parameters,
                                           budget.work_done())) {}

PatternRounding::~PatternRounding() = default;

bool PatternRounding::step(Budget& budget) { return rounding_->dive(budget); }

Allocation PatternRounding::take_start(Budget& budget) { return rounding_->take_start(budget); }

Allocation round_patterns(const BoundRows& rows, const Domain& domain,
                          const std::vector<EqualTables>& groups, const FractionalPlan& plan,
                          double target, const BoundParameters& parameters, Budget& budget) {
  PatternRounding rounding(rows, domain, groups, plan, target, parameters, budget);
  while (!rounding.step(budget)) {
  }
  return rounding.take_start(budget);
}

}  // namespace shardwright::embedding
