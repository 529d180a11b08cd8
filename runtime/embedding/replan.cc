#include "runtime/embedding/replan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "runtime/execution/run_limits.h"
#include "runtime/execution/tbb_executor.h"
#include "search/embedding/compat/enumerate.h"
#include "search/embedding/compat/search_parts.h"
#include "search/embedding/questions/replan/old_plan.h"
#include "search/embedding/questions/replan/place_anew.h"
#include "search/embedding/questions/replan/plan_blend.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::Evaluation;
using embedding::Plan;
using embedding::Problem;
using embedding::SearchSpace;
using embedding::ShardingOption;
using embedding::TableId;
using embedding::Topology;
using embedding::Violation;

bool only_lacks_memory(const Evaluation& evaluation) {
  return std::all_of(evaluation.violations.begin(), evaluation.violations.end(),
                     [](const Violation& v) { return v.kind == Violation::Kind::kOutOfMemory; });
}

// The options of a table, tables in proposal order.
struct TableOptions {
  TableId table;
  std::vector<const ShardingOption*> options;
};

std::vector<TableOptions> by_table(const SearchSpace& space) {
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

class Replanner {
 public:
  Replanner(std::shared_ptr<const Problem> problem, std::shared_ptr<const SearchSpace> space,
            Reservation reservation, OldPlan old, const ReplanOptions& options)
      : problem_(std::move(problem)),
        space_(std::move(space)),
        reservation_(std::move(reservation)),
        old_(std::move(old)),
        options_(options),
        blend_(*problem_, reservation_.topology, old_, options.migration_weight) {}

  Result<EmbeddingPlanResult> run() {
    blend_.keep_alive(space_);
    blend_.keep_alive(old_.owner());
    keep_old_plan();
    SHARDWRIGHT_ASSIGN_OR_RETURN(EmbeddingPlanResult result, search());
    compare(result);
    if (blend_.best()) take_best(result);
    result.migration = migration(result);
    return result;
  }

 private:
  // Old places where they exist; the other tables, the largest first, where they do best.
  void keep_old_plan() {
    const std::vector<TableOptions> tables = by_table(*space_);
    Assignments kept(tables.size());
    embedding::PlanLoads loads(*problem_, reservation_.topology);
    std::vector<std::size_t> homeless;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      kept[i] = old_.assignment(tables[i].table);
      if (kept[i].option == nullptr) {
        homeless.push_back(i);
        continue;
      }
      loads.add(kept[i]);
      in_space_ = in_space_ && old_.in_space(tables[i].table);
    }
    rate_old_places(kept);
    const auto size_of = [&](std::size_t i) {
      const embedding::Table& table = problem_->table(tables[i].table);
      return static_cast<double>(table.num_embeddings) * static_cast<double>(table.embedding_dim);
    };
    std::stable_sort(homeless.begin(), homeless.end(),
                     [&](std::size_t a, std::size_t b) { return size_of(a) > size_of(b); });
    for (const std::size_t i : homeless) {
      const auto place = place_anew(*problem_, reservation_.topology, tables[i].options, loads);
      if (!place) return;
      kept[i] = *place;
    }
    kept_ = std::move(kept);
  }

  // What the old plan is worth under the new problem, new tables aside.
  void rate_old_places(const Assignments& kept) {
    Assignments standing;
    std::size_t gone = 0;
    for (const Assignment& assignment : kept) {
      if (assignment.option != nullptr) standing.push_back(assignment);
    }
    for (std::size_t i = 0; i < problem_->tables().size(); ++i) {
      const bool has_place = old_.assignment(TableId(i)).option != nullptr;
      if (old_.place(TableId(i)) != nullptr && !has_place) ++gone;
    }
    if (gone > 0) {
      migration_.not_kept = "the option or the ranks of " + std::to_string(gone) +
                            (gone == 1 ? " table do" : " tables do") + " not exist any more";
      return;
    }
    const Plan plan =
        Plan::generate(nullptr, standing.size(), [&](std::size_t i) { return standing[i]; });
    const Evaluation evaluation = embedding::evaluate(*problem_, reservation_.topology, plan);
    for (const Violation& violation : evaluation.violations) {
      if (violation.kind == Violation::Kind::kMissingTable) continue;
      migration_.not_kept = violation.message;
      return;
    }
    migration_.rating_before = evaluation.rating;
  }

  Result<EmbeddingPlanResult> search() {
    PlanOptions options = options_.plan;
    if (kept_) {
      const Plan plan =
          Plan::generate(space_, kept_->size(), [&](std::size_t i) { return (*kept_)[i]; });
      const Evaluation evaluation = embedding::evaluate(*problem_, reservation_.topology, plan);
      if (only_lacks_memory(evaluation)) {
        if (in_space_) options.start = std::make_shared<const Plan>(plan);
        kept_fits_ = evaluation.valid();
        kept_rating_ = evaluation.rating;
      }
    }
    // Without a weight, only the last and best of them counts.
    if (options_.migration_weight > 0) {
      options.on_better_plan = [this](const Plan& plan) {
        blend_.keep_alive(plan.owner());
        blend_.consider(to_assignments(plan));
      };
    }
    return plan_embedding(problem_, options, space_);
  }

  void compare(const EmbeddingPlanResult& result) {
    std::vector<Assignments> ends;
    if (blend_.best()) ends.push_back(to_assignments(blend_.best()->plan));
    if (result.plan) {
      blend_.keep_alive(result.plan->owner());
      ends.push_back(to_assignments(*result.plan));
      blend_.consider(ends.back());
    }
    if (!kept_) return;
    if (kept_fits_) blend_.consider(*kept_);
    for (const Assignments& end : ends) {
      blend_.walk(end, *kept_);
      blend_.walk(*kept_, end);
    }
    if (blend_.best()) descend(ends);
    if (kept_fits_ && stays()) blend_.settle(*kept_);
  }

  // From the old plan and from the best so far, toward each other and toward what was found; then
  // from the best again while that helps.
  void descend(const std::vector<Assignments>& found) {
    const Assignments first = to_assignments(blend_.best()->plan);
    std::vector<Assignments> ends = found;
    ends.push_back(first);
    for (const double dearer : {1.0, 10.0, 1000.0}) {
      blend_.descend(first, *kept_, dearer);
      for (const Assignments& end : ends)
        blend_.descend(*kept_, end, dearer);
    }
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round) {
      const double before = blend_.best()->cost;
      for (const Assignments& end : ends)
        blend_.descend(to_assignments(blend_.best()->plan), end, 1);
      blend_.descend(to_assignments(blend_.best()->plan), *kept_, 1);
      if (!(blend_.best()->cost < before)) break;
    }
  }

  // Nothing moves, and nothing is noticeably better or has changed.
  bool stays() const {
    std::int64_t moved = 0;
    for (const Assignment& assignment : *kept_)
      moved += blend_.moved_bytes(assignment);
    if (moved > 0) return false;
    return is_unchanged() || gap(kept_rating_, blend_.best()->cost) <= kProvenGap;
  }

  bool is_unchanged() const {
    if (!options_.best_mode_rating || !old_.dropped().empty()) return false;
    const bool all_kept =
        std::all_of(kept_->begin(), kept_->end(),
                    [this](const Assignment& assignment) { return old_.is_kept(assignment); });
    constexpr double kSame = 1e-9;
    return all_kept && std::abs(*options_.best_mode_rating - kept_rating_) <= kSame * kept_rating_;
  }

  void take_best(EmbeddingPlanResult& result) {
    const PlanBlend::Blended& best = *blend_.best();
    result.failure.reset();
    result.plan = best.plan;
    result.evaluation = best.evaluation;
    result.best_rating = best.evaluation.rating;
    // A bound speaks of the search space, and an old option may lie outside.
    if (result.lower_bound && *result.lower_bound > *result.best_rating) {
      result.lower_bound.reset();
      result.certificate.reset();
    }
  }

  Migration migration(const EmbeddingPlanResult& result) {
    Migration out = std::move(migration_);
    out.weight = options_.migration_weight;
    out.dropped = old_.dropped();
    if (!result.plan) return out;
    for (std::size_t i = 0; i < result.plan->size(); ++i) {
      const Assignment& to = (*result.plan)[i];
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

  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<const SearchSpace> space_;
  Reservation reservation_;
  OldPlan old_;
  ReplanOptions options_;
  PlanBlend blend_;
  std::optional<Assignments> kept_;  // the old plan, with a place for every table
  bool in_space_ = true;             // all of its options are of the search space
  bool kept_fits_ = false;
  double kept_rating_ = 0;
  Migration migration_;
};

Result<EmbeddingPlanResult> replan_in(std::shared_ptr<const Problem> problem,
                                      const std::vector<PlanEntry>& old,
                                      const ReplanOptions& options,
                                      std::shared_ptr<const SearchSpace> search_space) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(OldPlan matched, OldPlan::make(search_space, old));
  Result<Reservation> reservation = reserve_embedding(*problem);
  if (!reservation.ok()) {
    if (reservation.error().code != ErrorCode::kInfeasible) return reservation.error();
    return plan_embedding(std::move(problem), options.plan, std::move(search_space));
  }
  return Replanner(std::move(problem), std::move(search_space), std::move(reservation).value(),
                   std::move(matched), options)
      .run();
}

}  // namespace

Result<EmbeddingPlanResult> replan_embedding(std::shared_ptr<const Problem> problem,
                                             const std::vector<PlanEntry>& old,
                                             const ReplanOptions& options,
                                             std::shared_ptr<const SearchSpace> search_space) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.plan.threads, options.plan.time_limit_s));
  if (!(options.migration_weight >= 0) || !std::isfinite(options.migration_weight)) {
    return invalid_input("--migration-weight", "must be a number of ms per GiB, zero or above");
  }
  const bool given = search_space != nullptr;
  if (!given) {
    TbbExecutor executor(options.plan.threads);
    const embedding::CostModel* const cost_model =
        options.plan.parts == nullptr ? nullptr : options.plan.parts->cost_model.get();
    SHARDWRIGHT_ASSIGN_OR_RETURN(search_space,
                                 embedding::enumerate(problem, executor, {}, cost_model));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      EmbeddingPlanResult result,
      replan_in(std::move(problem), old, options, std::move(search_space)));
  result.given_search_space = given;
  return result;
}

}  // namespace shardwright
