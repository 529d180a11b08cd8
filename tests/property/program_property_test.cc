// Random programs: two notations of the same program get the same answer.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/io/program/program_json.h"
#include "runtime/program/communication_report.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"
#include "tests/support/program/random_program.h"
#include "tests/support/random.h"

namespace shardwright::program_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::program;
using test_support::Random;
using test_support::RandomProgram;

constexpr std::int64_t kBatch = 12;  // divides evenly on all meshes but one

// Gives some tensors a first dimension of kBatch. One in four is described by a rank's part.
void give_batch(Random& random, ProgramSpec& spec, std::vector<std::size_t>& with_batch) {
  for (std::size_t i = 0; i < spec.vars.size(); ++i) {
    Variable& var = spec.vars[i];
    if (var.shape.empty() || var.name == "condition" || random.below(2) == 0) continue;
    var.shape[0] = kBatch;
    with_batch.push_back(i);
    if (random.below(4) != 0) continue;
    const DistAttr attr{spec.meshes[var.mesh.index()], var.dims_mapping, {}};
    bool even = true;
    for (std::size_t dim = 0; dim < var.shape.size(); ++dim)
      even = even && var.shape[dim] % attr.splits(dim) == 0;
    if (!even) continue;
    var.is_local = true;
    for (std::size_t dim = 0; dim < var.shape.size(); ++dim)
      var.shape[dim] /= attr.splits(dim);
  }
}

// Returns the answer as the text of a file, or the error.
std::string answer(const ProgramSpec& spec, const ReshardOptions& options) {
  const Program program = Program::make(spec).value();
  auto result = reshard_program(program, options, 1);
  if (!result.ok()) return result.error().to_string();
  std::vector<std::pair<ProgramDocument, ReshardResult>> results;
  results.emplace_back(ProgramDocument{program, {}, ""}, std::move(result).value());
  std::string text;
  write_programs(results, [&](std::string_view part) { text += part; });
  return text;
}

// Adds an axis of one rank in front of every mesh. Along this axis, tensors and demands are
// randomly split, partial or neither.
ProgramSpec with_axis_of_one(Random& random, const ProgramSpec& spec) {
  ProgramSpec more = spec;
  for (ProcessMesh& mesh : more.meshes) {
    std::vector<std::int64_t> shape = mesh.shape();
    shape.insert(shape.begin(), 1);
    mesh = ProcessMesh::make(std::move(shape), mesh.ids()).value();
  }
  const auto shift = [&](DimsMapping& mapping) {
    bool is_free = true;
    for (auto& axis : mapping) {
      if (axis >= 0) {
        axis = static_cast<std::int8_t>(axis + 1);
      } else if (is_free && random.below(2) == 0) {
        axis = 0;
        is_free = false;
      }
    }
    return is_free;
  };
  for (Variable& var : more.vars) {
    const bool is_free = shift(var.dims_mapping);
    const bool has_partial = !var.partial.empty();
    if (has_partial) var.partial.insert(var.partial.begin(), Reduction::kNone);
    if (!has_partial && is_free && random.below(4) == 0) var.partial = {Reduction::kSum};
  }
  for (auto& [block, op] : more.ops) {
    for (Argument& input : op.inputs)
      shift(input.dims_mapping);
    for (Argument& output : op.outputs) {
      if (!output.dims_mapping.empty())
        output.dims_mapping = more.vars[output.var.index()].dims_mapping;
    }
  }
  return more;
}

struct Figures {
  std::int64_t moved = 0;
  double us = 0;
  std::uint64_t requests = 0;
  std::vector<std::vector<std::string>> inserted;  // by rank

  friend bool operator==(const Figures&, const Figures&) = default;
};

Figures figures(const ProgramSpec& spec, bool whole) {
  ReshardOptions options;
  options.whole = whole;
  const auto result = reshard_program(Program::make(spec).value(), options, 1);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  const CommunicationReport report = communication_of(*result);
  Figures found{report.moved_bytes, report.total_us, result->requests, {}};
  for (const RankProgram& rank : result->ranks) {
    std::vector<std::string>& types = found.inserted.emplace_back();
    for (std::size_t i = 0; i < rank.program.op_capacity(); ++i) {
      if (rank.program.has(OpId(i)) && rank.program.op(OpId(i)).is_inserted)
        types.push_back(rank.program.op(OpId(i)).type);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("program: -1 with the batch size has the answer of the number written out") {
  for (const std::uint64_t seed : test_support::seeds({1})) {
    Random random(seed);
    std::size_t answered = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      ProgramSpec written = RandomProgram(seed * 1000 + i, random.below(2) == 0).make_spec();
      std::vector<std::size_t> with_batch;
      give_batch(random, written, with_batch);
      ProgramSpec open = written;
      for (const std::size_t var : with_batch)
        open.vars[var].shape[0] = -1;
      for (const bool compat : {false, true}) {
        for (const bool whole : {false, true}) {
          ReshardOptions options;
          options.compat = compat;
          options.whole = whole;
          if (random.below(2) == 0) options.sync = SyncMode::kPerInsert;
          const std::string expected = answer(written, options);
          options.batch_size = kBatch;
          CHECK(answer(open, options) == expected);
          answered += expected.starts_with("{") ? 1U : 0U;
        }
      }
    }
    CHECK(answered > 500);
  }
}

TEST_CASE("program: a batch that the ranks of a local variable cannot share is refused") {
  ProgramSpec spec;
  spec.meshes.push_back(ProcessMesh::make({2}, {0, 1}).value());
  Variable var;
  var.name = "x";
  var.shape = {-1, 8};
  var.mesh = MeshId(0);
  var.dims_mapping = {0, -1};
  var.is_local = true;
  spec.vars.push_back(var);
  const Program program = Program::make(std::move(spec)).value();
  CHECK(program.with_batch_size(8)->var(VarId(0)).shape == Shape{4, 8});
  CHECK(program.with_batch_size(7).error().to_string().starts_with(
      "/vars/0: \"x\" is one of 2 equal parts, which a batch of 7 does not have"));
  CHECK_FALSE(program.with_batch_size(std::int64_t{1} << 46).ok());
}

TEST_CASE("program: an axis of one rank changes neither bytes, times nor operators") {
  for (const std::uint64_t seed : test_support::seeds({2})) {
    Random random(seed);
    std::int64_t moved = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const ProgramSpec spec = RandomProgram(seed * 1000 + i, random.below(2) == 0).make_spec();
      const ProgramSpec more = with_axis_of_one(random, spec);
      const bool whole = random.below(2) == 0;
      const Figures expected = figures(spec, whole);
      CHECK(figures(more, whole) == expected);
      moved += expected.moved;
      for (std::size_t o = 0; o < spec.ops.size(); ++o) {
        const Operation& op = spec.ops[o].second;
        if (op.inputs.empty() || op.sub_block.valid()) continue;
        const auto us = [&](const ProgramSpec& from) {
          const Operation& reader = from.ops[o].second;
          const Variable& var = from.vars[reader.inputs[0].var.index()];
          ReshardCase one{var.shape, var.type, {}, {}};
          one.source = {from.meshes[var.mesh.index()], var.dims_mapping, var.partial};
          one.target = {from.meshes[reader.mesh.index()], reader.inputs[0].dims_mapping, {}};
          const auto found = reshard_tensor(one, {});
          REQUIRE_MESSAGE(found.ok(), found.error().to_string());
          CHECK(found->simulation->ok());
          return found->us;
        };
        CHECK(us(more) == us(spec));
      }
    }
    CHECK(moved > 0);
  }
}

}  // namespace shardwright::program_property_test
