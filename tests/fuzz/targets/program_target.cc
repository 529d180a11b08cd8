// Input: cases of resharding or whole programs. Best mode's answers keep the placements.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"
#include "tests/fuzz/targets/expect.h"
#include "tests/support/program/program_execution.h"

namespace shardwright::fuzz {
namespace {

constexpr std::size_t kMostRanks = 64;
constexpr std::size_t kMostCases = 32;
constexpr std::size_t kMostOperators = 32;
// Elements times ranks. The default takes seconds under a sanitizer and runs no other code.
constexpr std::int64_t kLargestSimulation = std::int64_t{1} << 18;

bool is_small(const ReshardCase& request) {
  return request.source.mesh.size() + request.target.mesh.size() <= kMostRanks;
}

void reshard(const std::vector<ReshardCaseDocument>& cases, bool compat) {
  std::vector<ReshardCaseDocument> answered;
  std::vector<TensorReshard> answers;
  for (const ReshardCaseDocument& document : cases) {
    if (!is_small(document.request)) continue;
    TensorReshardOptions options;
    options.compat = compat;
    options.mesh_steps = document.on_mesh;
    options.largest_simulation = kLargestSimulation;
    Result<TensorReshard> answer = reshard_tensor(document.request, options);
    if (!answer.ok()) continue;
    // Compat mode repeats Paddle's errors, so its plans may be wrong.
    if (!compat && answer->simulation)
      expect(answer->simulation->ok(), "a plan is correct: " + answer->simulation->problem);
    answered.push_back(document);
    answers.push_back(std::move(answer).value());
  }
  const std::string text =
      written_by([&](const TextSink& sink) { write_reshards(answered, answers, sink); });
  expect(nlohmann::json::accept(text), "an answer is JSON");
}

bool is_small(const program::Program& program) {
  std::size_t ranks = 0;
  for (const program::ProcessMesh& mesh : program.meshes())
    ranks += mesh.size();
  return ranks <= kMostRanks;
}

// Returns true if every operator has a mesh or a sub-block, and every argument has a mapping of its
// dimensions. Operators without a mesh are not resharded.
bool has_placements(const program::Program& program) {
  for (std::size_t i = 0; i < program.op_capacity(); ++i) {
    const program::Operation& op = program.op(program::OpId(i));
    if (!op.mesh.valid() && !op.sub_block.valid()) return false;
    const auto fits = [&](const program::Argument& argument) {
      return argument.dims_mapping.size() == program.var(argument.var).shape.size();
    };
    if (!std::all_of(op.inputs.begin(), op.inputs.end(), fits) ||
        !std::all_of(op.outputs.begin(), op.outputs.end(), fits))
      return false;
  }
  return true;
}

// Returns true if the programs of all ranks can run on small arrays whose averages are exact.
bool can_run(const program::Program& program) {
  constexpr std::int64_t kMostElements = 1024;
  constexpr std::size_t kMostInMesh = 10;
  for (const program::ProcessMesh& mesh : program.meshes()) {
    if (mesh.size() > kMostInMesh) return false;
  }
  for (std::size_t i = 0; i < program.var_capacity(); ++i) {
    const program::Variable& var = program.var(program::VarId(i));
    const bool open = !var.shape.empty() && var.shape.front() < 0;
    if (open || var.is_local || !var.mesh.valid()) return false;
    if (program::num_elements(var.shape) > kMostElements) return false;
  }
  return program.op_capacity() <= kMostOperators && has_placements(program);
}

// Returns true if an operator writes a tensor of another mesh. Only whole programs support that.
bool writes_elsewhere(const program::Program& program) {
  for (std::size_t i = 0; i < program.op_capacity(); ++i) {
    const program::Operation& op = program.op(program::OpId(i));
    const auto is_elsewhere = [&](const program::Argument& output) {
      return program.var(output.var).mesh != op.mesh;
    };
    if (std::any_of(op.outputs.begin(), op.outputs.end(), is_elsewhere)) return true;
  }
  return false;
}

void expect_runs(const program::Program& program, bool whole) {
  if (!can_run(program) || (!whole && writes_elsewhere(program))) return;
  program::ReshardOptions options;
  options.whole = whole;
  const Result<program::ReshardResult> result = reshard_program(program, options, 1);
  if (!result.ok() || result->ranks.empty()) return;
  const test_support::Execution execution = test_support::execute(program, *result);
  expect(execution.problem.empty(),
         "every rank computes what the program says: " + execution.problem);
}

void apply(const std::vector<ProgramDocument>& programs, bool compat, bool whole) {
  std::vector<std::pair<ProgramDocument, program::ReshardResult>> results;
  for (const ProgramDocument& document : programs) {
    if (!is_small(document.program)) continue;
    if (!compat) expect_runs(document.program, whole);
    program::ReshardOptions options;
    options.compat = compat;
    options.whole = whole;
    options.ranks = document.ranks;
    options.batch_size = 8;
    Result<program::ReshardResult> result = reshard_program(document.program, options, 1);
    if (result.ok()) results.emplace_back(document, std::move(result).value());
  }
  const std::string text = written_by([&](const TextSink& sink) { write_programs(results, sink); });
  expect(nlohmann::json::accept(text), "an answer is JSON");
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto cases = read_reshard_cases(text); cases.ok()) {
    if (cases->size() > fuzz::kMostCases) return fuzz::kRejected;
    fuzz::reshard(*cases, false);
    fuzz::reshard(*cases, true);
    return fuzz::kDone;
  }
  const auto programs = read_programs(text);
  if (!programs.ok()) return fuzz::kDone;
  if (programs->size() > fuzz::kMostCases) return fuzz::kRejected;
  fuzz::apply(*programs, false, false);
  fuzz::apply(*programs, false, true);
  fuzz::apply(*programs, true, false);
  return fuzz::kDone;
}
