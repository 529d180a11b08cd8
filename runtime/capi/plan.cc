// Cancel handles, and plans that the caller passes as arrays.
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/capi/boundary.h"
#include "runtime/capi/objects.h"
#include "runtime/capi/shardwright.h"
#include "runtime/embedding/layout_problem.h"
#include "runtime/embedding/reuse.h"
#include "runtime/io/embedding/plan_json.h"

using namespace shardwright;
using namespace shardwright::capi;
using embedding::SearchSpace;

namespace {

// Makes a plan from the caller's arrays, in which options are indices in `space`.
embedding::Plan plan_of(const shardwright_plan_arrays& arrays,
                        const std::shared_ptr<const SearchSpace>& space) {
  if (arrays.num_tables == 0) return {};
  required(arrays.option, "plan.option");
  required(arrays.shard_begin, "plan.shard_begin");
  required(arrays.rank, "plan.rank");
  std::vector<const embedding::ShardingOption*> options;
  options.reserve(arrays.num_tables);
  for (std::size_t i = 0; i < arrays.num_tables; ++i) {
    if (arrays.option[i] >= space->size()) {
      fail(SHARDWRIGHT_INVALID_INPUT,
           "the search space has " + std::to_string(space->size()) + " options",
           "/option/" + std::to_string(i));
    }
    options.push_back(&space->options()[arrays.option[i]]);
    const std::uint64_t begin = arrays.shard_begin[i];
    const std::uint64_t end = arrays.shard_begin[i + 1];
    if (begin > end || end - begin != options.back()->num_shards()) {
      fail(SHARDWRIGHT_INVALID_INPUT,
           "the option has " + std::to_string(options.back()->num_shards()) + " shards",
           "/shard_begin/" + std::to_string(i));
    }
  }
  const std::uint64_t first = arrays.shard_begin[0];
  return embedding::Plan::make(
      space, options, {arrays.rank + first, arrays.shard_begin[arrays.num_tables] - first});
}

}  // namespace

shardwright_status shardwright_cancel_create(shardwright_cancel** cancel) {
  return guarded([&] {
    HandleOutput out(cancel, "cancel");
    out.set(std::make_shared<CancelToken>());
  });
}

shardwright_status shardwright_cancel_request(const shardwright_cancel* cancel) {
  return guarded([&] {
    // The copy of a stop_source shares its state.
    std::stop_source source = object_of(cancel, "cancel")->source;
    source.request_stop();
  });
}

shardwright_status shardwright_cancel_destroy(shardwright_cancel* cancel) {
  return destroy(cancel, "cancel");
}

shardwright_status shardwright_result_from_json(const shardwright_problem* problem,
                                                const shardwright_search_space* space,
                                                const char* plan, size_t size,
                                                shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    const PlanDocument document = take(read_plan(given_text(plan, size, "plan")));
    const auto asked = take(problem_of_plan(inputs.problem, document));
    Reuse reuse =
        take(reuse_plan(asked, document, document.mode.value_or(PlanMode::kBest), inputs.space));
    if (!reuse.result) fail(SHARDWRIGHT_VERIFICATION_FAILED, std::move(reuse.why_not), "plan");
    out.set(number_options(std::make_shared<const EmbeddingPlanResult>(std::move(*reuse.result))));
  });
}

shardwright_status shardwright_evaluate(const shardwright_problem* problem,
                                        const shardwright_search_space* space,
                                        const shardwright_plan_arrays* plan,
                                        shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    if (!inputs.space) fail(SHARDWRIGHT_INVALID_HANDLE, "a search space is needed", "space");
    EmbeddingPlanResult evaluated;
    evaluated.problem = inputs.problem;
    evaluated.search_space = inputs.space;
    evaluated.reservation = take(reserve_embedding(*inputs.problem));
    evaluated.plan = plan_of(read_struct(plan, "plan"), inputs.space);
    evaluated.evaluation =
        embedding::evaluate(*inputs.problem, evaluated.reservation->topology, *evaluated.plan);
    evaluated.best_rating = evaluated.evaluation.rating;
    out.set(number_options(std::make_shared<const EmbeddingPlanResult>(std::move(evaluated))));
  });
}
