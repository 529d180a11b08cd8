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
    for (const ShardingOption& option : space.options())
      options_[option.table.index()].push_back(&option);
    for (std::size_t i = 0; i < plan.size(); ++i)
      set(plan[i].option->table, plan[i]);
  }

  const Assignment& at(TableId table) const { return now_[table.index()]; }
  double rating() const { return loads_.rating(); }
  bool is_reached() const { return rating() <= wanted_ && loads_.excess_bytes() <= allowed_bytes_; }
  // A plan may exceed memory from the start; changes must not make that worse.
  void allow_excess() { allowed_bytes_ = loads_.excess_bytes(); }

  void set(TableId table, const Assignment& assignment) {
    Assignment& now = now_[table.index()];
    if (now.option != nullptr) loads_.remove(now);
    now = assignment;
    loads_.add(now);
  }

  // The sum of what ranks are above the wanted rating; infinite if memory is exceeded.
  double above() const {
    if (loads_.excess_bytes() > allowed_bytes_) return kNever;
    double sum = 0;
    for (Rank rank = 0; rank < loads_.world_size(); ++rank)
      sum += std::max(0.0, loads_.rating(rank) - wanted_);
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

  // Returns the place of the table that leaves the least above the wanted rating, and sets `above`
  // to that. Keeps the place that the table has unless another one is better.
  std::optional<Assignment> best_place(TableId table, double& above, Budget& budget) {
    const Assignment from = at(table);
    std::optional<Assignment> best;
    loads_.remove(from);
    for (const ShardingOption* const option : options_[table.index()]) {
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

  const SearchSpace& space_;
  const Topology& available_;
  PlanLoads loads_;
  double wanted_;
  std::int64_t allowed_bytes_ = 0;
  std::vector<Assignment> now_;  // by table
  std::vector<std::vector<const ShardingOption*>> options_;
};

// Adds the changed table of the slowest rank that helps most. Returns false if none helps.
bool step_forward(ChangingPlan& plan, std::vector<TableId>& changed, Budget& budget) {
  double above = plan.above() * (1 - 1e-9);
  std::optional<Assignment> best;
  for (const TableId table : plan.tables_of_slowest()) {
    if (budget.interrupted() || !budget.work_left()) return false;
    if (auto place = plan.best_place(table, above, budget)) best = std::move(place);
  }
  if (!best) return false;
  const TableId table = best->option->table;
  plan.set(table, *best);
  if (std::find(changed.begin(), changed.end(), table) == changed.end()) changed.push_back(table);
  return true;
}

// Orders the changes: next comes the one after which the least is above the wanted rating.
void order(ChangingPlan& plan, PlanChanges& found) {
  std::vector<PlanChange>& changes = found.changes;
  for (const PlanChange& change : changes)
    plan.set(change.table, change.from);
  double rating = found.rating_before = plan.rating();
  for (std::size_t next = 0; next < changes.size(); ++next) {
    std::size_t best = next;
    std::pair<double, double> least;
    for (std::size_t i = next; i < changes.size(); ++i) {
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
                                const OldPlan& old, const Plan& plan, double wanted,
                                Budget& budget) {
  ChangingPlan changing(space, available, plan, wanted);
  changing.allow_excess();
  PlanChanges found;
  found.rating_before = changing.rating();
  std::vector<TableId> changed;
  while (!changing.is_reached() && step_forward(changing, changed, budget)) {
  }
  found.reaches = changing.is_reached();
  std::vector<Assignment> from(space.problem().tables().size());
  for (std::size_t i = 0; i < plan.size(); ++i)
    from[plan[i].option->table.index()] = plan[i];
  for (const TableId table : changed) {
    const Assignment to = changing.at(table);
    const double before = changing.above();
    changing.set(table, from[table.index()]);
    if (found.reaches ? changing.is_reached() : changing.above() <= before) continue;
    changing.set(table, to);
    found.changes.push_back({table, from[table.index()], to, old.bytes_to_move(to), 0, 0});
  }
  order(changing, found);
  return found;
}

}  // namespace shardwright::embedding
