#include "runtime/embedding/portfolio.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/planning.h"
#include "runtime/execution/processes/gathering.h"
#include "runtime/execution/processes/message.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

using embedding::Plan;
using embedding::Problem;
using embedding::SearchSpace;

// Digest of the inputs that all processes must have in common.
std::string digest_of(const Problem& problem, const PlanOptions& options,
                      const SearchSpace* given) {
  MessageWriter to;
  to.put_text(identify(problem, given).hash + search_hash(problem));
  to.put(static_cast<std::uint32_t>(options.mode));
  to.put(options.seed);
  to.put(options.lanes);
  to.put_if(work_limit_of(options));
  return to.take();
}

bool has_valid_plan(const EmbeddingPlanResult& result) {
  return result.plan && result.evaluation.valid();
}

// Encodes the rating and the plan; options are indices into the search space. The offer is empty if
// there is no plan. It is also empty if the plan has an option that a proposer added to the space:
// every process has such a plan.
std::string offer_of(const Result<EmbeddingPlanResult>& found) {
  MessageWriter nothing;
  nothing.put_flag(false);
  if (!found.ok() || !has_valid_plan(*found) || !found->search_space) return nothing.take();
  MessageWriter to;
  to.put_flag(true);
  to.put(*found->best_rating);
  const std::span<const embedding::ShardingOption> options = found->search_space->options();
  const std::less<> before;
  for (std::size_t i = 0; i < found->plan->size(); ++i) {
    const embedding::Assignment& table = (*found->plan)[i];
    if (before(table.option, options.data()) ||
        !before(table.option, options.data() + options.size()))
      return nothing.take();
    to.put(static_cast<std::uint64_t>(table.option - options.data()));
    for (std::uint32_t shard = 0; shard < table.option->num_shards(); ++shard)
      to.put(table.rank(shard));
  }
  return to.take();
}

// Decodes the plan of an offer. Returns nullopt if the bytes are no plan of the space.
std::optional<Plan> plan_of(MessageReader from, const std::shared_ptr<const SearchSpace>& space) {
  std::vector<const embedding::ShardingOption*> options;
  std::vector<embedding::Rank> ranks;
  while (!from.is_complete()) {
    const auto number = from.get<std::uint64_t>();
    if (!from.good() || number >= space->options().size()) return std::nullopt;
    options.push_back(&space->options()[number]);
    for (std::uint32_t shard = 0; shard < options.back()->num_shards(); ++shard)
      ranks.push_back(from.get<embedding::Rank>());
  }
  return Plan::make(space, options, ranks);
}

void take_plan(Plan plan, EmbeddingPlanResult& result) {
  result.evaluation = embedding::evaluate(*result.problem, result.reservation->topology, plan);
  result.failure.reset();
  result.plan = std::move(plan);
  result.best_rating = result.evaluation.rating;
  if (!result.improvements.empty() && result.improvements.back().rating <= *result.best_rating)
    return;
  result.improvements.push_back(
      {result.work.work_steps, *result.best_rating, result.lower_bound.value_or(0)});
}

// Takes the best plan offered, the first among equals, unless the result's own plan is better.
void take_best(const std::vector<std::string>& offers, EmbeddingPlanResult& result) {
  if (!result.search_space || !result.reservation) return;
  std::optional<MessageReader> best;
  double best_rating = 0;
  for (const std::string& offer : offers) {
    MessageReader from(offer);
    if (!from.get_flag()) continue;
    const auto rating = from.get<double>();
    if (best && best_rating <= rating) continue;
    best = from;
    best_rating = rating;
  }
  if (!best || (has_valid_plan(result) && *result.best_rating < best_rating)) return;
  if (std::optional<Plan> plan = plan_of(*best, result.search_space))
    take_plan(*std::move(plan), result);
}

}  // namespace

Result<EmbeddingPlanResult> plan_portfolio(std::shared_ptr<const Problem> problem,
                                           const PlanOptions& options,
                                           std::shared_ptr<const SearchSpace> search_space) {
  const Stopwatch watch;
  Gathering processes(*options.exchange);
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  if (!problem->topology().layouts().empty() && search_space == nullptr)
    return Error{ErrorCode::kUnsupported, "one process chooses the layout of a machine",
                 "exchange"};
  SHARDWRIGHT_RETURN_IF_ERROR(processes.agree_on(digest_of(*problem, options, search_space.get())));
  PlanOptions alone = options;
  alone.exchange = nullptr;
  alone.seed += options.exchange->process();
  if (alone.time_limit_s) alone.time_limit_s = std::max(0.0, *alone.time_limit_s - watch.seconds());
  auto found = plan_embedding(std::move(problem), alone, std::move(search_space));
  if (options.mode == PlanMode::kCompat) return found;  // every process made TorchRec's plan
  const auto offers = processes.gather(offer_of(found));
  if (!found.ok() || !offers) return found;
  EmbeddingPlanResult result = std::move(found).value();
  take_best(*offers, result);
  return result;
}

}  // namespace shardwright
