// Input: requests for resharding paths. Every path leads to its target; exact ones are cheapest.
#include <vector>

#include "core/operators/graph/sharding_spec.h"
#include "runtime/io/operators/paths_json.h"
#include "search/operators/strategies/reshard_path.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

using namespace operators;

constexpr std::size_t kMostPairs = 64;
constexpr PathCost kModes[] = {PathCost::kCompat, PathCost::kSum, PathCost::kExact};

void expect_leads_to(const ReshardQuestions::Pair& pair, const ReshardPath& path) {
  if (!path.found) return;
  const DimSpecs end = path.steps.empty() ? pair.from : path.steps.back().result;
  expect(end == pair.to, "a path ends at its target");
}

std::vector<ReshardPath> paths_of(const ReshardQuestions& questions, PathCost mode) {
  SpecTable table(questions.mesh);
  ReshardPlanner planner(table, mode);
  const TensorShape* shape = table.shape(questions.shape);
  std::vector<ReshardPath> paths;
  for (const ReshardQuestions::Pair& pair : questions.pairs) {
    paths.push_back(planner.path(table.intern(shape, pair.from), table.intern(shape, pair.to)));
    expect_leads_to(pair, paths.back());
  }
  return paths;
}

void expect_cheapest(const std::vector<ReshardPath>& exact, const std::vector<ReshardPath>& sum) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    expect(exact[i].found, "the exact search always finds a path");
    if (!sum[i].found) continue;
    expect(exact[i].cost.total <= sum[i].cost.total * (1 + 1e-9), "the exact path is the cheapest");
  }
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const auto questions = read_reshard_questions(fuzz::text_of(data, size));
  if (!questions.ok()) return fuzz::kDone;
  std::size_t pairs = 0;
  for (const ReshardQuestions& asked : *questions)
    pairs += asked.pairs.size();
  if (pairs > fuzz::kMostPairs) return fuzz::kRejected;
  std::vector<std::vector<operators::ReshardPath>> answers[3];
  for (std::size_t mode = 0; mode < 3; ++mode) {
    for (const ReshardQuestions& asked : *questions)
      answers[mode].push_back(fuzz::paths_of(asked, fuzz::kModes[mode]));
    const std::string text = fuzz::written_by([&](const TextSink& sink) {
      write_reshard_answers(*questions, answers[mode], fuzz::kModes[mode], sink);
    });
    const auto again = read_reshard_questions(text);
    fuzz::expect(again.ok() && again->size() == questions->size(), "an answer is a request");
  }
  for (std::size_t i = 0; i < questions->size(); ++i)
    fuzz::expect_cheapest(answers[2][i], answers[1][i]);
  return fuzz::kDone;
}
