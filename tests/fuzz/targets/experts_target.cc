// Input: a file of expert loads, and the plan in use or a forged plan. Plans verify and do not fall
// behind EPLB's; what `verify` accepts has the loads that it says.
#include "runtime/experts/experts.h"
#include "runtime/io/experts/experts_json.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

using namespace experts;

constexpr std::size_t kMostSlots = 256;  // of all layers and windows
constexpr std::string_view kSeparator = "\n===\n";

ExpertsOptions options_for(const Placement& old, Over over) {
  ExpertsOptions options;
  options.threads = 1;
  options.rules.terms.old = old;
  options.rules.terms.over = over;
  return options;
}

void expect_verified(const ExpertProblem& problem, const ExpertsOptions& options) {
  const Result<ExpertsAnswer> answer = plan_experts(problem, options);
  if (!answer.ok()) {
    expect(answer.error().where.rfind("/old", 0) == 0, "only an old placement is refused");
    return;
  }
  const std::string text =
      written_by([&](const TextSink& sink) { write_expert_plan(problem, *answer, sink); });
  const Result<ExpertPlanDocument> again = read_expert_plan(text);
  expect(again.ok(), "a plan that is written is read");
  const Result<ExpertsAnswer> verified = verify_experts(problem, again->plan, options);
  expect(verified.ok(), "a plan verifies");
  expect(check_comparison(problem, *verified, text).ok(), "what it is compared with verifies");
  if (options.rules.terms.old.empty())
    expect(answer->planned.plan.objective <= answer->eplb_time * (1 + 1e-9), "not above EPLB");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  using namespace shardwright::fuzz;
  const std::string_view text = text_of(data, size);
  const std::size_t end = std::min(text.find(kSeparator), text.size());
  const std::string_view rest = text.substr(std::min(end + kSeparator.size(), text.size()));
  Result<ExpertsDocument> read = read_experts(text.substr(0, end));
  const Result<PlacementRows> old = read_placement(rest);
  const Result<ExpertPlanDocument> plan = read_expert_plan(rest);
  if (!read.ok()) return kDone;
  const ExpertsDocument document = std::move(read).value();
  ExpertSpec spec = document.spec;
  const ExpertsMachine& machine = document.machine;
  spec.num_gpus = machine.num_gpus.value_or(2);
  spec.num_nodes = machine.num_nodes.value_or(1);
  spec.num_groups = machine.num_groups.value_or(1);
  spec.num_slots = machine.num_slots.value_or(2 * spec.num_gpus);
  spec.gpu_speeds = machine.gpu_speeds;
  spec.link_costs = machine.link_costs;
  spec.origins = machine.origins;
  const Result<ExpertProblem> problem = ExpertProblem::make(spec);
  if (!problem.ok()) return kDone;
  if (problem->num_slots() * problem->num_layers() * problem->num_samples() > kMostSlots)
    return kRejected;
  expect_verified(*problem, options_for(document.old.slots, Over::kWorst));
  if (old.ok()) expect_verified(*problem, options_for(old->slots, Over::kMean));
  if (!plan.ok()) return kDone;
  const auto verified = verify_experts(*problem, plan->plan, options_for({}, plan->over));
  if (!verified.ok()) return kDone;
  const std::vector<double> busiest = busiest_times(*problem, plan->plan.placement);
  const auto layers = over_windows(*problem, busiest, plan->over, worst_window(*problem, busiest));
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    expect(close(plan->plan.max_load[layer], layers[layer]), "an accepted load is true");
  return kDone;
}
