#include "runtime/operators/portfolio.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/hash/sha256.h"
#include "runtime/execution/processes/gathering.h"
#include "runtime/execution/processes/message.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

using operators::CostInstance;
using operators::OperatorProblem;
using operators::SolveStatus;

// Digest of the inputs that all processes must have in common.
std::string digest_of(const OperatorProblem& problem, const OperatorsOptions& options) {
  const CostInstance& instance = problem.lowered.instance();
  MessageWriter all;
  Sha256 digest;
  // Digests the input in pieces, since an instance may be large.
  const auto flush = [&] { digest.update(std::exchange(all, {}).take()); };
  all.put(options.seed);
  all.put_if(options.work_limit);
  all.put(static_cast<std::uint64_t>(problem.num_memory_time_points));
  all.put(problem.soft_budget ? problem.soft_budget->bytes : -1);
  all.put(problem.soft_budget ? problem.soft_budget->cost_per_byte : 0);
  all.put_if(problem.max_cost);
  for (const std::int64_t limit : instance.limits())
    all.put(limit);
  for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
    const std::span<const double> costs = instance.costs(node);
    all.put_all(costs);
    for (const CostInstance::Usage& usage : instance.usages(node)) {
      all.put(usage.live.begin);
      all.put(usage.live.end);
      for (std::uint32_t s = 0; s < costs.size(); ++s)
        all.put(instance.bytes(usage, s));
    }
    flush();
  }
  std::vector<std::uint8_t> is_read(instance.num_matrices(), 0);
  for (const CostInstance::Edge& edge : instance.edges()) {
    all.put(edge.first);
    all.put(edge.second);
    all.put(edge.matrix);
    if (std::exchange(is_read[edge.matrix], std::uint8_t{1}) == 0) {
      for (const double entry : instance.matrix(edge))
        all.put(entry);
    }
    flush();
  }
  return digest.hex();
}

// The part of a result that other processes may take over.
struct Offer {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;
  double objective = 0;
  double overbudget_cost = 0;
  double lower_bound = 0;
  std::int64_t peak_bytes = 0;

  bool ends_search() const {
    return status == SolveStatus::kOptimal || status == SolveStatus::kInfeasible;
  }
};

// Encodes an Offer. An error is encoded as an empty result.
std::string offer_of(const Result<OperatorsResult>& found) {
  MessageWriter to;
  const OperatorsResult result = found.ok() ? *found : OperatorsResult();
  to.put(static_cast<std::uint8_t>(result.status));
  to.put_all(result.choice);
  to.put(result.objective);
  to.put(result.overbudget_cost);
  to.put(result.lower_bound);
  to.put(result.peak_bytes);
  return to.take();
}

Offer read_offer(const std::string& bytes) {
  MessageReader from(bytes);
  Offer offer;
  offer.status = static_cast<SolveStatus>(from.get<std::uint8_t>());
  offer.choice = from.get_all<std::uint32_t>();
  offer.objective = from.get<double>();
  offer.overbudget_cost = from.get<double>();
  offer.lower_bound = from.get<double>();
  offer.peak_bytes = from.get<std::int64_t>();
  return from.is_complete() ? offer : Offer();
}

void take_choice(const Offer& best, OperatorsResult& result) {
  result.choice = best.choice;
  result.objective = best.objective;
  result.overbudget_cost = best.overbudget_cost;
  result.peak_bytes = best.peak_bytes;
  if (result.status == SolveStatus::kUnknown) result.status = SolveStatus::kFeasible;
}

void take_best(const std::vector<std::string>& offers, OperatorsResult& result) {
  std::optional<Offer> best;
  for (const std::string& bytes : offers) {
    Offer offer = read_offer(bytes);
    result.lower_bound = std::max(result.lower_bound, offer.lower_bound);
    if (offer.ends_search()) {
      result.status = offer.status;
      result.stopped_by = StopReason::kFinished;
    }
    if (!offer.choice.empty() && (!best || offer.objective < best->objective))
      best = std::move(offer);
  }
  if (best) take_choice(*best, result);
}

}  // namespace

Result<OperatorsResult> solve_portfolio(const OperatorProblem& problem,
                                        const OperatorsOptions& options) {
  const Stopwatch watch;
  Gathering processes(*options.exchange);
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  SHARDWRIGHT_RETURN_IF_ERROR(processes.agree_on(digest_of(problem, options)));
  OperatorsOptions alone = options;
  alone.exchange = nullptr;
  alone.seed += options.exchange->process();
  if (alone.time_limit_s) alone.time_limit_s = std::max(0.0, *alone.time_limit_s - watch.seconds());
  auto found = solve_operators(problem, alone);
  const auto offers = processes.gather(offer_of(found));
  if (!found.ok() || !offers) return found;
  OperatorsResult result = std::move(found).value();
  take_best(*offers, result);
  return result;
}

}  // namespace shardwright
