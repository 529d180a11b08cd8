#include "search/embedding/questions/replan_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "search/embedding/model/greedy_placer.h"
#include "search/embedding/questions/plan_of_entries.h"

namespace shardwright::embedding {
namespace {

bool only_lacks_memory(const Evaluation& evaluation) {
  return std::all_of(evaluation.violations.begin(), evaluation.violations.end(),
                     [](const Violation& v) { return v.kind == Violation::Kind::kOutOfMemory; });
}

// The options of one table.
struct TableOptions {
  TableId table;
  std::vector<const ShardingOption*> options;
};

// The options of every table, tables in proposal order.
std::vector<TableOptions> options_by_table(const SearchSpace& space) {
  std::vector<TableOptions> tables;
  std::vector<std::size_t> position(space.problem().tables().size(), space.size());
  for (const ShardingOption& option : space.options()) {
    std::size_t& at = position[option.table.index()];
    if (at == space.size()) {
      at = tables.size();
      tables.push_back({option.table, {}});
    }
    tables[at].options.push_back(&option);
  }
  return tables;
}

double num_elements(const Problem& problem, TableId id) {
  const Table& table = problem.table(id);
  return static_cast<double>(table.num_embeddings) * static_cast<double>(table.embedding_dim);
}

}  // namespace

bool is_same(const Assignment& a, const Assignment& b) {
  if (a.option != b.option) return false;
  for (std::uint32_t shard = 0; shard < a.option->num_shards(); ++shard) {
    if (a.rank(shard) != b.rank(shard)) return false;
  }
  return true;
}

ReplanSearch::ReplanSearch(std::shared_ptr<const Problem> problem,
                           std::shared_ptr<const SearchSpace> space, Topology available,
                           OldPlan old, const ReplanGoal& goal)
    : problem_(std::move(problem)),
      space_(std::move(space)),
      available_(std::move(available)),
      old_(std::move(old)),
      goal_(goal),
      pool_(space_) {
  owners_->push_back(space_);
  owners_->push_back(old_.owner());
  owners_->push_back(pool_.owner());
  keep_old_plan();
}

// Sets kept_. Tables keep their old places if these still exist. All other tables are placed one by
// one, the largest first.
void ReplanSearch::keep_old_plan() {
  const std::vector<TableOptions> tables = options_by_table(*space_);
  std::vector<Assignment> assignments(tables.size());
  PlanLoads loads(*problem_, available_);
  std::vector<std::size_t> displaced;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    assignments[i] = old_.assignment(tables[i].table);
    if (assignments[i].option == nullptr) {
      displaced.push_back(i);
      continue;
    }
    loads.add(assignments[i]);
    kept_in_space_ = kept_in_space_ && old_.in_space(tables[i].table);
  }
  rate_old_places(assignments);
  std::stable_sort(displaced.begin(), displaced.end(), [&](std::size_t a, std::size_t b) {
    return num_elements(*problem_, tables[a].table) > num_elements(*problem_, tables[b].table);
  });
  for (const std::size_t i : displaced) {
    auto place = place_anew(*problem_, available_, tables[i].options, loads);
    if (!place) return;
    assignments[i] = std::move(*place);
  }
  kept_ =
      Plan::generate(owners_, assignments.size(), [&](std::size_t i) { return assignments[i]; });
  PlanEdit::count_whole(*kept_, copies_);
  rate_kept();
}

// Rates the old places under the new problem, without new tables. Sets rating_before_, or not_kept_
// to the reason why there is no rating.
void ReplanSearch::rate_old_places(const std::vector<Assignment>& assignments) {
  std::vector<Assignment> standing;
  for (const Assignment& assignment : assignments) {
    if (assignment.option != nullptr) standing.push_back(assignment);
  }
  std::size_t gone = 0;
  for (std::size_t i = 0; i < problem_->tables().size(); ++i) {
    const bool has_place = old_.assignment(TableId(i)).option != nullptr;
    if (old_.place(TableId(i)) != nullptr && !has_place) ++gone;
  }
  if (gone > 0) {
    not_kept_ = "the option or the ranks of " + std::to_string(gone) +
                (gone == 1 ? " table do" : " tables do") + " not exist any more";
    return;
  }
  const Plan plan =
      Plan::generate(nullptr, standing.size(), [&](std::size_t i) { return standing[i]; });
  const Evaluation evaluation = evaluate(*problem_, available_, plan);
  for (const Violation& violation : evaluation.violations) {
    if (violation.kind == Violation::Kind::kMissingTable) continue;
    not_kept_ = violation.message;
    return;
  }
  rating_before_ = evaluation.rating;
}

void ReplanSearch::rate_kept() {
  const Evaluation evaluation = evaluate(*problem_, available_, *kept_);
  kept_lacks_only_memory_ = only_lacks_memory(evaluation);
  if (!kept_lacks_only_memory_) return;
  kept_fits_ = evaluation.valid();
  kept_rating_ = evaluation.rating;
}

Plan ReplanSearch::edit_of_kept(const Plan& plan) {
  if (!kept_) return plan;
  // An edit of kept_ has owners_ as owner and is not added: a list that owns itself is never freed.
  const bool is_edit = plan.owner() == owners_;
  if (!is_edit && owners_->back() != plan.owner()) owners_->push_back(plan.owner());
  PlanEdit edit(*kept_);
  for (std::size_t i = 0; i < kept_->size(); ++i) {
    if (!is_same((*kept_)[i], plan[i])) edit.set(i, plan[i]);
  }
  return edit.publish(copies_);
}

PlanCopies ReplanSearch::copies() const {
  PlanCopies all = copies_;
  all.options_added += old_.num_added_options();
  return all;
}

double ReplanSearch::cost(double rating, std::int64_t moved_bytes) const {
  return rating + goal_.migration_weight *
                      (static_cast<double>(moved_bytes) / static_cast<double>(kGibibyte));
}

// Returns the bytes that move from the old plan to `plan`, of tables that the old plan has.
std::int64_t ReplanSearch::moved_bytes(const Plan& plan) const {
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (old_.place(plan[i].option->table) != nullptr) moved += old_.bytes_to_move(plan[i]);
  }
  return moved;
}

// Makes the plan best_ if it is valid, moves at most goal_.most_bytes and, with `only_if_better`,
// is better than best_.
void ReplanSearch::take(const Plan& plan, bool only_if_better) {
  constexpr double kSameCost = 1e-9;  // relative
  Best now{plan, {}, 0, moved_bytes(plan)};
  if (now.moved_bytes > goal_.most_bytes) return;
  now.evaluation = evaluate(*problem_, available_, plan);
  now.cost = cost(now.evaluation.rating, now.moved_bytes);
  if (!now.evaluation.valid()) return;
  if (best_ && only_if_better) {
    const bool is_equal = std::abs(now.cost - best_->cost) <= kSameCost * std::abs(best_->cost);
    if (is_equal ? now.moved_bytes >= best_->moved_bytes : now.cost > best_->cost) return;
  }
  best_ = std::move(now);
}

void ReplanSearch::consider(const Plan& plan) { take(edit_of_kept(plan), true); }

const ReplanSearch::Best* ReplanSearch::finish(const std::optional<Plan>& found,
                                               double rating_bound, Budget& budget) {
  std::vector<Plan> starts;
  if (best_) starts.push_back(best_->plan);
  if (found) {
    starts.push_back(edit_of_kept(*found));
    take(starts.back(), true);
  }
  if (kept_) {
    if (kept_fits_) take(*kept_, true);
    const bool has_weight = goal_.migration_weight > 0;
    const bool is_hopeless = !best_ && (std::isinf(rating_bound) || !has_weight);
    const bool is_least = !has_weight && best_ && best_->moved_bytes == 0 &&
                          best_->cost * (1 - goal_.close_enough) <= rating_bound;
    if (!is_hopeless && !is_least) search_moves(starts, rating_bound, budget);
    if (!has_weight && kept_fits_ && should_stay()) take(*kept_, false);
    if (best_) undo_idle_changes(budget);
  }
  return best_ ? &*best_ : nullptr;
}

// Returns tables whose change moves no bytes to their old places, where the rating does not rise.
void ReplanSearch::undo_idle_changes(Budget& budget) {
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < kept_->size(); ++i) {
    const Assignment& old = (*kept_)[i];
    const Assignment& now = best_->plan[i];
    if (!is_same(old, now) && old_.is_kept(old) && old_.bytes_to_move(now) == 0) idle.push_back(i);
  }
  constexpr std::uint64_t kMostWork = 4'000'000;  // may exceed the limit: the search has spent it
  undo(idle, budget, budget.work_done() + kMostWork);
}

// Tries all tables together; if the rating rises, each half of them.
void ReplanSearch::undo(std::span<const std::size_t> tables, Budget& budget,
                        std::uint64_t most_work) {
  if (tables.empty() || budget.work_done() >= most_work || budget.interrupted()) return;
  budget.spend(kept_->size());
  PlanEdit edit(best_->plan);
  for (const std::size_t i : tables)
    edit.set(i, (*kept_)[i]);
  const Plan plan = edit.publish(copies_);
  const Evaluation evaluation = evaluate(*problem_, available_, plan);
  if (evaluation.valid() && evaluation.rating <= best_->evaluation.rating) {
    best_ = Best{plan, evaluation, cost(evaluation.rating, best_->moved_bytes), best_->moved_bytes};
    return;
  }
  const std::size_t half = tables.size() / 2;
  if (half == 0) return;
  undo(tables.first(half), budget, most_work);
  undo(tables.subspan(half), budget, most_work);
}

// Returns the plan with options of pool_. Adds options that pool_ lacks.
Plan ReplanSearch::of_pool(const Plan& plan) {
  return Plan::generate(owners_, plan.size(), [&](std::size_t i) {
    const std::optional<OptionId> id = pool_.id_of(plan[i].option);
    return Assignment{&pool_.option(id ? *id : pool_.intern(*plan[i].option)), plan[i].ranks};
  });
}

void ReplanSearch::search_moves(const std::vector<Plan>& starts, double rating_bound,
                                Budget& budget) {
  const Plan home = of_pool(*kept_);
  std::vector<Plan> plans;
  if (best_) plans.push_back(of_pool(best_->plan));
  for (const Plan& start : starts)
    plans.push_back(of_pool(start));
  const ChoiceModel model = ChoiceModel::with_all_cuts(pool_, available_, budget);
  if (!model.status().ok()) return;
  const bool has_weight = goal_.migration_weight > 0;
  const HeldPlan held = old_.held(has_weight ? goal_.migration_weight : weight_among_equal());
  ReplanMoveParameters parameters;
  if (has_weight) parameters.most_moved = cost(0, goal_.most_bytes);
  MoveSearch search(model, held, has_weight ? MovesCount::kInCost : MovesCount::kAmongEqual, home,
                    goal_.seed, parameters);
  for (const Plan& plan : plans)
    search.offer(plan);
  search.run(rating_bound, budget);
  if (has_weight) proof_ = search.prove(rating_bound, budget);
  if (search.best())
    take(edit_of_kept(to_plan(model, search.best()->allocation, home, copies_)), true);
}

// Returns the cost per GiB moved that annealing uses among plans of equal rating. With this weight,
// all moves of the best plan together cost as much as the plan's rating; if the best plan moves
// nothing, one GiB costs that much.
double ReplanSearch::weight_among_equal() const {
  const std::int64_t bytes = best_->moved_bytes > 0 ? best_->moved_bytes : kGibibyte;
  return best_->cost * static_cast<double>(kGibibyte) / static_cast<double>(bytes);
}

// Returns true if kept_ moves nothing, and the problem is unchanged or no plan is much better.
bool ReplanSearch::should_stay() const {
  if (moved_bytes(*kept_) > 0) return false;
  const double saved = kept_rating_ - best_->cost;
  const double gap = kept_rating_ > 0 ? std::max(0.0, saved / kept_rating_) : 0;
  return is_same_problem() || gap <= goal_.close_enough;
}

bool ReplanSearch::is_same_problem() const {
  if (!goal_.best_mode_rating || !old_.dropped().empty()) return false;
  for (std::size_t i = 0; i < kept_->size(); ++i) {
    if (!old_.is_kept((*kept_)[i])) return false;
  }
  constexpr double kSame = 1e-9;
  return std::abs(*goal_.best_mode_rating - kept_rating_) <= kSame * kept_rating_;
}

Migration ReplanSearch::migration(const std::optional<Plan>& plan) const {
  Migration out;
  out.weight = goal_.migration_weight;
  out.rating_before = rating_before_;
  out.not_kept = not_kept_;
  if (kept_fits_) out.rating_kept = kept_rating_;
  out.dropped = old_.dropped();
  if (!plan) return out;
  if (goal_.migration_weight > 0) {
    out.objective = cost(evaluate(*problem_, available_, *plan).rating, moved_bytes(*plan));
    if (proof_) {
      out.lower_bound = std::min(proof_->bound, *out.objective);
      out.certificate = proof_->certificate;
    }
  }
  for (std::size_t i = 0; i < plan->size(); ++i) {
    const Assignment& to = (*plan)[i];
    if (old_.is_kept(to)) {
      ++out.tables_kept;
      continue;
    }
    TableMove move{to.option->table, std::nullopt, place_of(to), old_.bytes_to_move(to)};
    if (const TablePlace* const from = old_.place(to.option->table)) move.from = *from;
    (move.from ? out.moved_bytes : out.placed_bytes) += move.bytes;
    out.moves.push_back(std::move(move));
  }
  return out;
}

}  // namespace shardwright::embedding
