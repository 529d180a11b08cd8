// Input: a file of transfers. The plan passes the checker, moves the right bytes, and its busiest
// port is not below the bound.
#include <nlohmann/json.hpp>

#include "core/redistribution/transfer/execute_transfer.h"
#include "runtime/io/program/transfer_json.h"
#include "runtime/program/transfer_tensors.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

using namespace redistribution;

constexpr std::size_t kMostRanks = 64;
constexpr std::size_t kMostTensors = 32;
// Bytes of a tensor times the number of ranks, each of which may hold the whole tensor.
constexpr std::int64_t kLargestExecution = std::int64_t{1} << 16;

bool is_small(const TransferProblem& problem) {
  std::size_t ranks = 0;
  for (const RankMesh& mesh : problem.meshes())
    ranks += mesh.ranks.size();
  return ranks <= kMostRanks && problem.tensors().size() <= kMostTensors;
}

bool can_execute(const TransferProblem& problem) {
  const auto ranks = static_cast<std::int64_t>(problem.ranks().size());
  std::int64_t bytes = 0;
  for (const TransferTensor& tensor : problem.tensors()) {
    if (num_elements(tensor.shape) > kLargestExecution) return false;
    bytes += num_elements(tensor.shape) * tensor.item_bytes * ranks;
  }
  return bytes <= kLargestExecution;
}

void plan(const TransferProblem& problem, const TransferLimits& limits) {
  TransferOptions options;
  options.limits = limits;
  const Result<TransferAnswer> answer = transfer_tensors(problem, options);
  // With the default memory, only tensors of many tebibytes need too many rounds.
  if (!answer.ok() && answer.error().where == "--memory") return;
  expect(answer.ok(), "a problem that was read can be planned");
  expect(answer->bound <= answer->busiest * (1 + 1e-9), "the busiest port is not below the bound");
  expect(answer->least_rounds <= answer->plan.rounds, "the rounds are not below the least");
  if (can_execute(problem)) {
    expect(execute_transfer(problem, answer->plan).ok(), "every shard gets its bytes");
  }
  const std::string text =
      written_by([&](const TextSink& sink) { write_transfer(problem, *answer, sink); });
  expect(nlohmann::json::accept(text), "an answer is JSON");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const auto problem = read_transfer(fuzz::text_of(data, size));
  if (!problem.ok()) {
    fuzz::expect(!problem.error().message.empty(), "every error has a message");
    return fuzz::kDone;
  }
  if (!fuzz::is_small(*problem)) return fuzz::kRejected;
  fuzz::plan(*problem, {});
  // Small memory gives many rounds; larger tensors would need too many.
  if (fuzz::can_execute(*problem)) fuzz::plan(*problem, {.message_bytes = 24, .memory_bytes = 64});
  return fuzz::kDone;
}
