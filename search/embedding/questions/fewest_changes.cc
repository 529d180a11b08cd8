#include "search/embedding/questions/fewest_changes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/embedding/evaluate.h"
#include "search/embedding/model/greedy_placer.h"

namespace shardwright::embedding {
namespace {

// A plan that changes table by table, and how far its ranks are above the wanted rating.
class ChangingPlan {
 public:
  ChangingPlan(const SearchSpace& space, const Topology& available, const Plan& plan, double wanted)
      : space_(space), available_(available), loads_(space.problem(), available), wanted_(wanted) {
    now_.resize(space.problem().tables().size());
    options_.resize(now_.size());
    is_pinned_.resize(now_.size());
    for (const ShardingOption& option : space.options())
      options_[option.table.index()].push_back(&option);
    for (std::size_t i = 0; i < plan.size(); ++i)
      set(plan[i].option->table, plan[i]);
  }

  const Assignment& at(TableId table) const { return now_[table.index()]; }
  double rating() const { return loads_.rating(); }
  bool is_reached() const { return rating() <= wanted_ && loads_.excess_bytes() <= allowed_bytes_; }
  // From now on the table keeps its option.
  void pin(TableId table) { is_pinned_[table.index()] = true; }
  // A plan may exceed memory from the start; changes must not make that worse.
  void allow_excess() { allowed_bytes_ = loads_.excess_bytes(); }

  void set(TableId table, const Assignment& assignment) {
    Assignment& now = now_[table.index()];
    if (now.option != nullptr) loads_.remove(now);
    now = assignment;
    loads_.add(now);
  }

  // The sum of squares of what ranks are above the wanted rating; kNever if memory is exceeded.
  // With squares, a shard may be spread over ranks that are then a little above.
  double above() const {
    if (loads_.excess_bytes() > allowed_bytes_) return kNever;
    double sum = 0;
    for (Rank rank = 0; rank < loads_.world_size(); ++rank)
      sum += square_above(loads_.rating(rank));
    return sum;
  }

  std::vector<TableId> tables_of_slowest() const {
    Rank slowest = 0;
    for (Rank rank = 1; rank < loads_.world_size(); ++rank)
      if (loads_.rating(rank) > loads_.rating(slowest)) slowest = rank;
    std::vector<TableId> tables;
    for (const Assignment& assignment : now_) {
      if (assignment.option == nullptr) continue;
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
        if (assignment.rank(shard) != slowest) continue;
        tables.push_back(assignment.option->table);
        break;
      }
    }
    return tables;
  }

  // Exchanges a table of the slowest rank with one of another rank, both of a single shard, so that
  // the least is above the wanted rating. Returns false if no exchange helps.
  bool exchange(Budget& budget) {
    const std::vector<TableId> own = tables_of_slowest();
    const double before = above();
    double least = -1e-9 * before;
    std::pair<TableId, TableId> best;
    for (const TableId table : own) {
      const Assignment& mine = at(table);
      if (mine.option->num_shards() != 1) continue;
      budget.spend(now_.size());
      const Rank from = mine.rank(0);
      const double load = loads_.use_of(mine.option->costs.front()).load;
      for (const Assignment& other : now_) {
        if (other.option == nullptr || other.option->num_shards() != 1) continue;
        const Rank to = other.rank(0);
        const double less = load - loads_.use_of(other.option->costs.front()).load;
        if (to == from || less <= 0) continue;
        const double change = square_above(loads_.rating(from) - less) +
                              square_above(loads_.rating(to) + less) -
                              square_above(loads_.rating(from)) - square_above(loads_.rating(to));
        if (change >= least) continue;
        least = change;
        best = {table, other.option->table};
      }
    }
    if (least >= -1e-9 * before) return false;
    const Assignment a = at(best.first);
    const Assignment b = at(best.second);
    set(best.first, {a.option, b.ranks});
    set(best.second, {b.option, a.ranks});
    if (above() < before) return true;
    set(best.first, a);
    set(best.second, b);
    return false;
  }

  // Returns the place of the table that leaves the least above the wanted rating, and sets `above`
  // to that. Keeps the place that the table has unless another one is better.
  std::optional<Assignment> best_place(TableId table, double& above, Budget& budget) {
    const Assignment from = at(table);
    std::optional<Assignment> best;
    loads_.remove(from);
    for (const ShardingOption* const option : options_[table.index()]) {
      if (is_pinned_[table.index()] && option != from.option) continue;
      budget.spend(std::uint64_t{option->num_shards()} * loads_.world_size());
      GreedyPlacer placer(space_.problem(), available_, *option, loads_);
      const std::vector<Rank> ranks = placer.place();
      if (ranks.empty()) continue;
      const double now = this->above();
      placer.take_back(ranks);
      if (!(now < above)) continue;
      above = now;
      best = Assignment::make(*option, ranks);
    }
    loads_.add(from);
    return best;
  }

 private:
  static constexpr double kNever = 1e300;

  double square_above(double rating) const {
    const double above = std::max(0.0, rating - wanted_);
    return above * above;
  }

  const SearchSpace& space_;
  const Topology& available_;
  PlanLoads loads_;
  double wanted_;
  std::int64_t allowed_bytes_ = 0;
  std::vector<Assignment> now_;  // by table
  std::vector<std::vector<const ShardingOption*>> options_;
  std::vector<bool> is_pinned_;
};

// Changes the table of the slowest rank that helps most. Returns false if none helps.
bool step_forward(ChangingPlan& plan, Budget& budget) {
  double above = plan.above() * (1 - 1e-9);
  std::optional<Assignment> best;
  for (const TableId table : plan.tables_of_slowest()) {
    if (budget.interrupted() || !budget.work_left()) return false;
    if (auto place = plan.best_place(table, above, budget)) best = std::move(place);
  }
  if (best) plan.set(best->option->table, *best);
  return best.has_value();
}

// Puts the largest table of the slowest rank, or else the largest of all, where `best` has it.
// Every table once: its place is taken out of `left`. Returns false if none is left.
bool take_from_best(ChangingPlan& plan, std::vector<Assignment>& left) {
  const auto largest = [&](const std::vector<TableId>& tables) {
    std::optional<TableId> found;
    Milliseconds time;
    for (const TableId table : tables) {
      if (left[table.index()].option == nullptr) continue;
      const Milliseconds own = plan.at(table).option->max_shard_perf();
      if (found && own <= time) continue;
      found = table;
      time = own;
    }
    return found;
  };
  std::optional<TableId> table = largest(plan.tables_of_slowest());
  if (!table) {
    std::vector<TableId> all;
    for (const Assignment& place : left)
      if (place.option != nullptr) all.push_back(place.option->table);
    table = largest(all);
  }
  if (!table) return false;
  plan.set(*table, left[table->index()]);
  plan.pin(*table);
  left[table->index()] = {};
  return true;
}

// Takes back what is not needed, small tables first.
void prune(ChangingPlan& plan, const OldPlan& old, const std::vector<Assignment>& from,
           bool reaches, const Budget& budget) {
  std::vector<TableId> tables;
  for (const Assignment& before : from)
    if (before.option != nullptr && !old.is_kept(plan.at(before.option->table)))
      tables.push_back(before.option->table);
  std::stable_sort(tables.begin(), tables.end(), [&](TableId a, TableId b) {
    return from[a.index()].option->max_shard_perf() < from[b.index()].option->max_shard_perf();
  });
  for (const TableId table : tables) {
    if (budget.interrupted()) return;
    const Assignment to = plan.at(table);
    const double above = plan.above();
    plan.set(table, from[table.index()]);
    if (reaches ? plan.is_reached() : plan.above() <= above) continue;
    plan.set(table, to);
  }
}

// Orders the changes: next comes the one after which the least is above the wanted rating. The
// changes that are left when the budget ends keep their order.
void order(ChangingPlan& plan, PlanChanges& found, Budget& budget) {
  constexpr std::uint64_t kWorkOfTry = 64;  // a sum over the ranks
  std::vector<PlanChange>& changes = found.changes;
  for (const PlanChange& change : changes)
    plan.set(change.table, change.from);
  double rating = found.rating_before = plan.rating();
  for (std::size_t next = 0; next < changes.size(); ++next) {
    std::size_t best = next;
    std::pair<double, double> least;
    const bool is_spent = budget.interrupted() || !budget.work_left();
    budget.spend(kWorkOfTry * (changes.size() - next));
    for (std::size_t i = next; i < (is_spent ? next : changes.size()); ++i) {
      plan.set(changes[i].table, changes[i].to);
      const std::pair<double, double> now{plan.rating(), plan.above()};
      plan.set(changes[i].table, changes[i].from);
      if (i != next && !(now < least)) continue;
      best = i;
      least = now;
    }
    std::rotate(changes.begin() + static_cast<std::ptrdiff_t>(next),
                changes.begin() + static_cast<std::ptrdiff_t>(best),
                changes.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    plan.set(changes[next].table, changes[next].to);
    changes[next].rating_after = plan.rating();
    changes[next].gain = rating - changes[next].rating_after;
    rating = changes[next].rating_after;
  }
}

}  // namespace

PlanChanges find_fewest_changes(const SearchSpace& space, const Topology& available,
                                const OldPlan& old, const Plan& plan, const Plan& best,
                                double wanted, Budget& budget) {
  const std::size_t num_tables = space.problem().tables().size();
  std::vector<Assignment> from(num_tables);
  for (std::size_t i = 0; i < plan.size(); ++i)
    from[plan[i].option->table.index()] = plan[i];
  std::vector<Assignment> to(num_tables);
  for (std::size_t i = 0; i < best.size(); ++i)
    to[best[i].option->table.index()] = best[i];
  ChangingPlan changing(space, available, plan, wanted);
  changing.allow_excess();
  for (const bool other_options_first : {false, true}) {
    if (changing.is_reached()) break;
    std::vector<Assignment> left = to;
    for (std::size_t i = 0; i < from.size() && other_options_first; ++i) {
      if (from[i].option == nullptr) continue;
      const TableId table = from[i].option->table;
      const bool other = to[i].option != nullptr && to[i].option != from[i].option;
      changing.set(table, other ? to[i] : from[i]);
      if (other) changing.pin(table);
    }
    while (!budget.interrupted() && !changing.is_reached() &&
           (step_forward(changing, budget) || changing.exchange(budget) ||
            take_from_best(changing, left))) {
    }
  }
  for (std::size_t i = 0; i < best.size() && !changing.is_reached(); ++i)
    changing.set(best[i].option->table, best[i]);
  PlanChanges found;
  found.reaches = changing.is_reached();
  prune(changing, old, from, found.reaches, budget);
  for (const Assignment& before : from) {
    if (before.option == nullptr) continue;
    const Assignment& now = changing.at(before.option->table);
    if (!old.is_kept(now))
      found.changes.push_back({before.option->table, before, now, old.bytes_to_move(now), 0, 0});
  }
  order(changing, found, budget);
  return found;
}

}  // namespace shardwright::embedding
