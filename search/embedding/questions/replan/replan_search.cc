#include "search/embedding/questions/replan/replan_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/embedding/evaluation/evaluate.h"
#include "search/embedding/model/rank_state/plan_loads.h"
#include "search/embedding/questions/place_anew.h"
#include "search/embedding/questions/replan/blend/plan_descent.h"
#include "search/embedding/questions/replan/blend/plan_state.h"
#include "search/embedding/questions/replan/blend/plan_walk.h"
#include "search/embedding/questions/replan/moves/move_search.h"

namespace shardwright::embedding {
namespace {

// Each descent multiplies the weight of moved bytes by one of these when it chooses steps.
constexpr double kWeightFactors[] = {1, 10, 1000};
// Descents from the best plan are repeated while they help, at most this often.
constexpr int kMostRounds = 4;

bool only_lacks_memory(const Evaluation& evaluation) {
  return std::all_of(evaluation.violations.begin(), evaluation.violations.end(),
                     [](const Violation& v) { return v.kind == Violation::Kind::kOutOfMemory; });
}

// The options of one table.
struct TableOptions {
  TableId table;
  std::vector<const ShardingOption*> options;
};

// In proposal order of the tables.
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

ReplanSearch::ReplanSearch(std::shared_ptr<const Problem> problem,
                           std::shared_ptr<const SearchSpace> space, Topology available,
                           OldPlan old, const ReplanGoal& goal)
    : problem_(std::move(problem)),
      space_(std::move(space)),
      available_(std::move(available)),
      old_(std::move(old)),
      goal_(goal),
      pool_(space_),
      incumbent_(PlanCosts(*problem_, available_, old_, goal_.migration_weight)) {
  owners_->push_back(space_);
  owners_->push_back(old_.owner());
  owners_->push_back(pool_.owner());
  keep_old_plan();
}

// Tables keep their old places if these still exist. The others are placed one by one, the largest
// first.
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

// Rates the old places under the new problem, without new tables.
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
  // An edit of kept_ has owners_ itself as its owner. A list that holds itself is never freed.
  const bool is_edit = plan.owner() == owners_;
  if (!is_edit && owners_->back() != plan.owner()) owners_->push_back(plan.owner());
  return as_edit_of(*kept_, plan, copies_);
}

PlanCopies ReplanSearch::copies() const {
  PlanCopies all = copies_;
  all += incumbent_.copies();
  all.options_added += old_.num_added_options();
  return all;
}

void ReplanSearch::consider(const Plan& plan) { incumbent_.consider(edit_of_kept(plan)); }

const BlendIncumbent::Best* ReplanSearch::finish(const std::optional<Plan>& found,
                                                 double rating_bound, Budget& budget) {
  std::vector<Plan> ends;
  if (incumbent_.best()) ends.push_back(incumbent_.best()->plan);
  if (found) {
    ends.push_back(edit_of_kept(*found));
    incumbent_.consider(ends.back());
  }
  if (kept_) {
    if (kept_fits_) incumbent_.consider(*kept_);
    for (const Plan& end : ends) {
      walk(end, *kept_, incumbent_, budget);
      walk(*kept_, end, incumbent_, budget);
    }
    if (incumbent_.best()) descend_to(ends, budget);
    const bool hopeless = !incumbent_.best() && std::isinf(rating_bound);
    if (goal_.migration_weight > 0 && !hopeless) search_moves(ends, rating_bound, budget);
    if (goal_.migration_weight == 0 && kept_fits_ && should_stay()) incumbent_.settle(*kept_);
  }
  return incumbent_.best() ? &*incumbent_.best() : nullptr;
}

// The plan with the options of the pool, which gets those that it lacks.
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
  if (incumbent_.best()) plans.push_back(of_pool(incumbent_.best()->plan));
  for (const Plan& start : starts)
    plans.push_back(of_pool(start));
  const ChoiceModel model = ChoiceModel::with_all_cuts(pool_, available_, budget);
  if (!model.status().ok()) return;
  MoveSearch search(model, old_, goal_.migration_weight, home, goal_.seed);
  for (const Plan& plan : plans)
    search.offer(plan);
  search.run(rating_bound, budget);
  proof_ = prove_moves(search, model, old_.held(goal_.migration_weight), rating_bound, budget);
  if (search.best())
    incumbent_.consider(edit_of_kept(to_plan(model, search.best()->allocation, home, copies_)));
}

// Descends from the old plan kept and from the best plan, toward each other and toward what was
// found; then from the best plan again while that helps.
void ReplanSearch::descend_to(const std::vector<Plan>& found, Budget& budget) {
  const Plan first = incumbent_.best()->plan;
  std::vector<Plan> ends = found;
  ends.push_back(first);
  for (const double weight_factor : kWeightFactors) {
    descend(first, *kept_, weight_factor, incumbent_, budget);
    for (const Plan& end : ends)
      descend(*kept_, end, weight_factor, incumbent_, budget);
  }
  for (int round = 0; round < kMostRounds; ++round) {
    const double before = incumbent_.best()->cost;
    for (const Plan& end : ends)
      descend(Plan(incumbent_.best()->plan), end, 1, incumbent_, budget);
    descend(Plan(incumbent_.best()->plan), *kept_, 1, incumbent_, budget);
    if (!(incumbent_.best()->cost < before)) break;
  }
}

// Returns true if the old plan kept moves nothing, and either the problem has not changed or no
// other plan is noticeably better.
bool ReplanSearch::should_stay() const {
  if (incumbent_.costs().moved_bytes(*kept_) > 0) return false;
  const double saved = kept_rating_ - incumbent_.best()->cost;
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
    const PlanCosts& costs = incumbent_.costs();
    out.objective =
        costs.cost(evaluate(*problem_, available_, *plan).rating, costs.moved_bytes(*plan));
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
