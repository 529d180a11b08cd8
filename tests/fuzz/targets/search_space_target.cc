// Input: a problem and a search space of another planner. It is read, written and planned.
#include <array>

#include "runtime/embedding/identity.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/search_space_json.h"
#include "tests/fuzz/mutator/documents.h"
#include "tests/fuzz/targets/embedding_input.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

void expect_round_trip(const ProblemPointer& problem, const SpacePointer& space, ShardForm form) {
  const std::string text =
      written_by([&](const TextSink& sink) { write_search_space(*space, form, sink); });
  const auto again = read_search_space(text, problem);
  expect(again.ok(), "a written search space can be read");
  expect((*again)->size() == space->size(), "no option is lost");
  expect(identify(*problem, space.get()) == identify(*problem, again->get()),
         "a search space is the same after writing and reading");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const auto documents = fuzz::split_documents(fuzz::text_of(data, size));
  if (documents.size() != 2) return fuzz::kRejected;
  const fuzz::ProblemPointer problem = fuzz::read_small_problem(documents[0]);
  if (problem == nullptr) return fuzz::kDone;
  const auto space = read_search_space(documents[1], problem);
  if (!space.ok()) return fuzz::kDone;
  fuzz::expect_round_trip(problem, *space, ShardForm::kExpanded);
  fuzz::expect_round_trip(problem, *space, ShardForm::kRuns);
  for (const PlanMode mode : {PlanMode::kCompat, PlanMode::kBest}) {
    const auto result = plan_embedding(problem, fuzz::short_search(mode), *space);
    if (result.ok()) fuzz::expect_sound(problem, *result, *space);
  }
  return fuzz::kDone;
}
