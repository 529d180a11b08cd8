// Cases of resharding: compat mode gives Paddle's sequences, best mode correct ones.
#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/program/program_json.h"

namespace shardwright::program_reshard_golden_test {

namespace {

using namespace shardwright;
using nlohmann::json;

std::string golden_text(const std::string& name) {
  const auto text = read_file("tests/golden/programs/" + name + ".json.gz");
  REQUIRE(text.ok());
  return *text;
}

struct Answers {
  json golden;
  json written;
  std::vector<TensorReshard> values;
};

Answers answers_of(const std::string& name, TensorReshardOptions options) {
  Answers answers;
  const std::string text = golden_text(name);
  answers.golden = json::parse(text);
  const auto cases = read_reshard_cases(text);
  REQUIRE(cases.ok());
  for (const ReshardCaseDocument& document : *cases) {
    options.mesh_steps = document.on_mesh;
    auto answer = reshard_tensor(document.request, options);
    REQUIRE(answer.ok());
    answers.values.push_back(std::move(answer).value());
  }
  std::string out;
  write_reshards(*cases, answers.values, [&](std::string_view piece) { out += piece; });
  answers.written = json::parse(out);
  return answers;
}

TensorReshardOptions mode(bool compat, program::SyncMode sync = program::SyncMode::kPerCommit) {
  TensorReshardOptions options;
  options.compat = compat;
  options.sync = sync;
  return options;
}

}  // namespace

TEST_CASE("reshard golden: compat mode chooses upstream's sequences and operators") {
  const Answers answers = answers_of("paddle_reshard_cases", mode(true));
  REQUIRE(answers.golden.size() == 252);
  std::size_t usable = 0;
  for (std::size_t i = 0; i < answers.golden.size(); ++i) {
    CAPTURE(i);
    const json& golden = answers.golden[i];
    const json& ours = answers.written[i];
    CHECK(ours["seq"] == golden["seq"]);
    // If Paddle crashed, no operators are recorded.
    const bool crashed = golden["syncs_if_sync_per_insert"].empty();
    if (!crashed) CHECK(ours["inserted"] == golden["inserted"]);
    usable += golden["usable"].get<bool>() ? 1U : 0U;
    // The simulator accepts usable cases. It accepts one other case, in which Paddle crashed for
    // another reason.
    REQUIRE(answers.values[i].simulation.has_value());
    CHECK(answers.values[i].simulation->ok() == (golden["usable"].get<bool>() || crashed));
  }
  CHECK(usable == 195);
}

TEST_CASE(
    "reshard golden: synchronising after every insertion costs a mirror sync per operator, a batch "
    "costs one") {
  const Answers legacy =
      answers_of("paddle_reshard_cases", mode(true, program::SyncMode::kPerInsert));
  const Answers batch = answers_of("paddle_reshard_cases", mode(true));
  std::size_t saved = 0;
  for (std::size_t i = 0; i < legacy.golden.size(); ++i) {
    CAPTURE(i);
    CHECK(legacy.written[i]["inserted"] == batch.written[i]["inserted"]);
    for (const auto& [rank, syncs] : legacy.golden[i]["syncs_if_sync_per_insert"].items()) {
      CHECK(legacy.written[i]["counters"][rank]["mirror_syncs"] == syncs);
      const std::size_t once = syncs.get<std::size_t>() > 0 ? 1 : 0;
      CHECK(batch.written[i]["counters"][rank]["mirror_syncs"].get<std::size_t>() <= 1);
      CHECK(batch.written[i]["counters"][rank]["mirror_syncs"].get<std::size_t>() >= once);
      saved += syncs.get<std::size_t>() - once;
    }
  }
  CHECK(saved > 1000);
}

TEST_CASE(
    "reshard golden: best mode is correct in every case and never costs more than compat mode") {
  const Answers best = answers_of("paddle_reshard_cases", mode(false));
  const Answers compat = answers_of("paddle_reshard_cases", mode(true));
  for (std::size_t i = 0; i < best.values.size(); ++i) {
    CAPTURE(i);
    CAPTURE(best.values[i].simulation->problem);
    CHECK(best.values[i].simulation->ok());
    if (compat.values[i].simulation->ok()) {
      CHECK(best.values[i].us <= compat.values[i].us + 1e-9);
    }
  }
}

TEST_CASE(
    "reshard golden: on meshes of several axes compat mode has upstream's steps, and best mode "
    "costs no more") {
  const Answers compat = answers_of("paddle_nd_mesh_derived", mode(true));
  const Answers best = answers_of("paddle_nd_mesh_derived", mode(false));
  REQUIRE(compat.golden.size() == 169);
  std::size_t redundant = 0;
  for (std::size_t i = 0; i < compat.golden.size(); ++i) {
    CAPTURE(i);
    CHECK(compat.written[i]["steps"] == compat.golden[i]["steps"]);
    CHECK(compat.values[i].simulation->ok());
    CHECK(best.values[i].simulation->ok());
    CHECK(best.values[i].us <= compat.values[i].us + 1e-9);
    REQUIRE(best.values[i].mesh_moves.has_value());
    if (!compat.golden[i]["has_redundant_gather_split"].get<bool>()) continue;
    ++redundant;
    CHECK(best.values[i].mesh_moves->size() < compat.golden[i]["steps"].size());
  }
  CHECK(redundant == 8);
}

TEST_CASE("reshard golden: an axis is moved by an all-to-all, not by an all-gather") {
  program::DistAttr source{program::ProcessMesh::make({4}, {0, 1, 2, 3}).value(), {0, -1}, {}};
  program::DistAttr target = source;
  target.dims_mapping = {-1, 0};
  const auto answer =
      reshard_tensor({{1024, 1024}, program::DataType::kFloat32, source, target}, mode(false));
  REQUIRE(answer.ok());
  REQUIRE(answer->mesh_moves.has_value());
  REQUIRE(answer->mesh_moves->size() == 1);
  CHECK(answer->mesh_moves->front().kind == redistribution::Move::Kind::kAllToAll);
  CHECK(answer->simulation->ok());
}

}  // namespace shardwright::program_reshard_golden_test
