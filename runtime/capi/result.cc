// Calls that read results as numbers, texts and arrays.
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/surface/embedding_answers.h"

using namespace shardwright;
using namespace shardwright::capi;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

shardwright_stop stop_of(StopReason reason) {
  switch (reason) {
    case StopReason::kWorkLimit:
      return SHARDWRIGHT_STOPPED_BY_WORK_LIMIT;
    case StopReason::kTimeLimit:
      return SHARDWRIGHT_STOPPED_BY_TIME_LIMIT;
    case StopReason::kCancelled:
      return SHARDWRIGHT_STOPPED_BY_CANCEL;
    case StopReason::kFinished:
      break;
  }
  return SHARDWRIGHT_FINISHED;
}

shardwright_plan_summary summarize(const PlannedResult& planned) {
  const EmbeddingPlanResult& result = planned.result;
  shardwright_plan_summary summary{};
  summary.has_plan = result.plan ? 1 : 0;
  summary.mode = result.mode == PlanMode::kCompat ? SHARDWRIGHT_MODE_COMPAT : SHARDWRIGHT_MODE_BEST;
  summary.stopped_by = stop_of(result.stopped_by);
  summary.rating = result.best_rating.value_or(kUnknown);
  summary.lower_bound = result.lower_bound.value_or(kUnknown);
  summary.gap = kUnknown;
  if (result.best_rating && result.lower_bound) {
    summary.gap = gap(*result.best_rating, *result.lower_bound);
    summary.proven_optimal = summary.gap <= kProvenGap ? 1 : 0;
  }
  summary.num_tables = static_cast<uint32_t>(planned.options.size());
  summary.num_ranks = planned.result.problem->topology().world_size();
  summary.threads = static_cast<uint32_t>(result.threads);
  summary.num_shards = planned.num_shards;
  summary.num_violations = result.evaluation.violations.size();
  summary.num_proposals = result.num_proposals;
  summary.num_plans = result.num_plans;
  summary.work_steps = result.work.work_steps;
  summary.total_s = result.timing.total_s;
  return summary;
}

std::string_view text_of(const std::optional<PlanFailure>& failure, shardwright_text which) {
  switch (which) {
    case SHARDWRIGHT_TEXT_FAILURE:
      return failure ? std::string_view(failure->message) : "";
    case SHARDWRIGHT_TEXT_FAILURE_TYPE:
      return failure ? name_of(failure->type) : "";
    case SHARDWRIGHT_TEXT_FAILURE_REASON:
      return failure ? name_of(failure->reason) : "";
    default:
      fail(SHARDWRIGHT_INVALID_ARGUMENT, "there is no such text", "which");
  }
}

const embedding::Plan& plan_of(const PlannedResult& planned) {
  if (planned.result.plan) return *planned.result.plan;
  const auto& failure = planned.result.failure;
  fail(SHARDWRIGHT_NO_PLAN, failure ? failure->message : "the search was stopped before any plan",
       "result");
}

AnswerTexts answer_of(const shardwright_result* result, shardwright_contents contents = 0) {
  const auto planned = object_of(result, "result");
  PlanJsonOptions options;
  options.search_space = (contents & SHARDWRIGHT_WITH_SEARCH_SPACE) != 0;
  options.stats = (contents & SHARDWRIGHT_WITH_STATS) != 0;
  return AnswerTexts(
      commands::plan_answer({planned, &planned->result}, options, "PROBLEM", planned->old));
}

}  // namespace

shardwright_status shardwright_result_summary(const shardwright_result* result,
                                              shardwright_plan_summary* summary) {
  return guarded(
      [&] { write_struct(summarize(*object_of(result, "result")), summary, "summary"); });
}

shardwright_status shardwright_result_text(const shardwright_result* result, shardwright_text which,
                                           char* buffer, size_t capacity, size_t* size) {
  return guarded([&] {
    const auto planned = object_of(result, "result");
    put_text(text_of(planned->result.failure, which), buffer, capacity, size);
  });
}

shardwright_status shardwright_result_violation(const shardwright_result* result, uint64_t index,
                                                char* buffer, size_t capacity, size_t* size) {
  return guarded([&] {
    const auto planned = object_of(result, "result");
    const auto& violations = planned->result.evaluation.violations;
    if (index >= violations.size()) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT,
           "there are " + std::to_string(violations.size()) + " violations", "index");
    }
    put_text(violations[index].message, buffer, capacity, size);
  });
}

shardwright_status shardwright_result_plan(const shardwright_result* result,
                                           const shardwright_plan_buffers* plan) {
  return guarded([&] {
    const auto planned = object_of(result, "result");
    const embedding::Plan& found = plan_of(*planned);
    const shardwright_plan_buffers to = read_struct(plan, "plan");
    check_room(to.num_tables, found.size(), "plan.num_tables");
    check_room(to.num_shards, planned->num_shards, "plan.num_shards");
    std::uint64_t shard = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const embedding::Assignment& assignment = found[i];
      put(to.table, i, assignment.option->table.value());
      put(to.option, i, planned->options[i]);
      put(to.shard_begin, i, shard);
      for (std::uint32_t k = 0; k < assignment.option->num_shards(); ++k) {
        put(to.rank, shard++, assignment.rank(k));
      }
    }
    put(to.shard_begin, found.size(), shard);
  });
}

shardwright_status shardwright_result_ranks(const shardwright_result* result,
                                            const shardwright_rank_buffers* ranks) {
  return guarded([&] {
    const auto planned = object_of(result, "result");
    plan_of(*planned);
    const shardwright_rank_buffers to = read_struct(ranks, "ranks");
    const embedding::Evaluation& evaluation = planned->result.evaluation;
    const auto& available = planned->result.reservation->topology.storage();
    check_room(to.num_ranks, available.size(), "ranks.num_ranks");
    for (std::size_t rank = 0; rank < available.size(); ++rank) {
      const embedding::Perf& perf = evaluation.perf_parts_by_rank[rank];
      const double parts[] = {perf.fwd_compute.value(), perf.fwd_comms.value(),
                              perf.bwd_compute.value(), perf.bwd_comms.value(),
                              perf.prefetch_compute.value()};
      for (std::size_t part = 0; part < 5; ++part)
        put(to.perf_parts, 5 * rank + part, parts[part]);
      put(to.perf_ms, rank, evaluation.perf_ms_by_rank[rank]);
      put(to.hbm, rank, evaluation.storage_by_rank[rank].hbm.value());
      put(to.ddr, rank, evaluation.storage_by_rank[rank].ddr.value());
      put(to.available_hbm, rank, available[rank].hbm.value());
      put(to.available_ddr, rank, available[rank].ddr.value());
      put(to.ssd, rank, evaluation.storage_by_rank[rank].ssd.value());
      put(to.available_ssd, rank, available[rank].ssd.value());
    }
  });
}

shardwright_status shardwright_result_search_space(const shardwright_result* result,
                                                   shardwright_search_space** space) {
  return guarded([&] {
    HandleOutput out(space, "space");
    const auto planned = object_of(result, "result");
    if (!planned->space) fail(SHARDWRIGHT_NO_PLAN, "nothing was enumerated", "result");
    out.set(planned->space);
  });
}

shardwright_status shardwright_result_to_json(const shardwright_result* result,
                                              shardwright_contents contents, char* buffer,
                                              size_t capacity, size_t* size) {
  return guarded([&] {
    constexpr shardwright_contents kKnown = SHARDWRIGHT_WITH_SEARCH_SPACE | SHARDWRIGHT_WITH_STATS;
    if ((contents & ~kKnown) != 0)
      fail(SHARDWRIGHT_INVALID_ARGUMENT, "has a flag that does not exist", "contents");
    put_text(answer_of(result, contents).json(), buffer, capacity, size);
  });
}

shardwright_status shardwright_result_to_text(const shardwright_result* result, uint32_t width,
                                              char* buffer, size_t capacity, size_t* size) {
  return guarded([&] { put_text(answer_of(result).text(width), buffer, capacity, size); });
}

shardwright_status shardwright_result_to_html(const shardwright_result* result, char* buffer,
                                              size_t capacity, size_t* size) {
  return guarded([&] { put_text(answer_of(result).page(), buffer, capacity, size); });
}

shardwright_status shardwright_result_destroy(shardwright_result* result) {
  return destroy(result, "result");
}
