// Program files: process groups, tensors without elements, and traffic of ranks.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/program/program_json.h"
#include "runtime/program/communication_report.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright::program_json_test {

namespace {

using namespace shardwright;
using nlohmann::json;

// Ranks 0 and 1 hold parts of a tensor that rank 2 needs.
json message_program() {
  return json::parse(R"({"name": "message", "ranks": [2],
    "meshes": [{"shape": [2], "ids": [0, 1]}, {"shape": [1], "ids": [2]}],
    "vars": [{"name": "x", "local_shape": [0, 4], "mesh": 0, "dims_mapping": [-1, 0]}],
    "ops": [{"type": "reads", "mesh": 1, "inputs": [{"var": "x", "dims_mapping": [-1, -1]}]}]})");
}

json answer(const json& program, bool compat) {
  const auto documents = read_programs(program.dump());
  REQUIRE(documents.ok());
  program::ReshardOptions options;
  options.compat = compat;
  options.ranks = documents->front().ranks;
  auto result = reshard_program(documents->front().program, options, 1);
  REQUIRE(result.ok());
  std::vector<std::pair<ProgramDocument, program::ReshardResult>> all;
  all.emplace_back(documents->front(), std::move(result).value());
  std::string text;
  write_programs(all, [&](std::string_view piece) { text += piece; });
  return json::parse(text)["programs"][0];
}

const json& shape_of(const json& program, const std::string& name) {
  for (const json& var : program["vars"]) {
    if (var["name"] == name)
      return var.contains("full_shape") ? var["full_shape"] : var["local_shape"];
  }
  FAIL("no such variable");
  return program;
}

}  // namespace

TEST_CASE("program json: groups, the next ring and the form of recv_v2 survive a round trip") {
  json program = message_program();
  program["groups"] = json::parse(R"([{"ranks": [0, 2]}, {"ranks": [2, 0], "ring_id": 7}])");
  program["next_ring_id"] = 30;
  program["recv_has_input"] = false;
  const json first = answer(program, true);
  CHECK(first["groups"] == json::parse(R"([{"ranks": [0, 2], "point_to_point": false},
      {"ranks": [2, 0], "point_to_point": false, "ring_id": 7},
      {"ranks": [1, 2], "point_to_point": true, "ring_id": 30}])"));
  const json& written = first["ranks"][0]["program"];
  CHECK(written["groups"] == first["groups"]);
  CHECK(written["next_ring_id"] == 31);
  CHECK(written["recv_has_input"] == false);
  CHECK(first["ranks"][0]["ops"][0] == json::parse(R"(["recv_v2", [], ["x@recv_0"]])"));
  CHECK(answer(written, true)["groups"] == first["groups"]);
}

TEST_CASE("program json: what a program does not have is not written") {
  json program = message_program();
  program["meshes"][1]["ids"] = {0};
  program["ranks"] = {0};
  program["ops"] = json::array();
  const json written = answer(program, false)["ranks"][0]["program"];
  CHECK_FALSE(written.contains("groups"));
  CHECK_FALSE(written.contains("next_ring_id"));
  CHECK_FALSE(written.contains("recv_has_input"));
}

TEST_CASE("program json: a reader on another rank gets a tensor without elements") {
  for (const bool compat : {false, true}) {
    const json rank = answer(message_program(), compat)["ranks"][0];
    const json& ops = rank["ops"];
    REQUIRE(ops.size() > 1);
    CHECK(ops[0][0] == (compat ? "recv_v2" : "fill_constant"));
    REQUIRE(ops.back()[0] == "reads");
    CHECK(shape_of(rank["program"], ops.back()[1][0]) == json({0, 4 * 2}));
  }
}

TEST_CASE("reshard tensor: a tensor without dimensions is moved in both modes") {
  const program::DistAttr here{program::ProcessMesh::make({2}, {0, 1}).value(), {}, {}};
  const program::DistAttr there{program::ProcessMesh::make({2}, {2, 3}).value(), {}, {}};
  for (const bool compat : {false, true}) {
    TensorReshardOptions options;
    options.compat = compat;
    const auto answer = reshard_tensor({{}, program::DataType::kFloat32, here, there}, options);
    REQUIRE(answer.ok());
    CHECK(answer->ranks.front().inserted.size() == 1);  // a send
    CHECK(answer->simulation->ok());
  }
}

TEST_CASE("program json: every rank says what its communication moves and how long it takes") {
  const auto ranks_of = [](const std::string& text, const program::ReshardOptions& options) {
    const auto documents = read_programs(text);
    REQUIRE_MESSAGE(documents.ok(), documents.error().to_string());
    auto result = reshard_program((*documents)[0].program, options, 1);
    REQUIRE_MESSAGE(result.ok(), result.error().to_string());
    const std::vector<ReportedRankLoad> traffic = communication_of(*result).ranks;
    std::vector<std::pair<ProgramDocument, program::ReshardResult>> answers;
    answers.emplace_back((*documents)[0], std::move(result).value());
    std::string written;
    write_programs(answers, [&](std::string_view piece) { written += piece; });
    const json ranks = json::parse(written)["programs"][0]["ranks"];
    REQUIRE(ranks.size() == traffic.size());
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      CHECK(ranks[i]["sent_bytes"] == traffic[i].sent);
      CHECK(ranks[i]["received_bytes"] == traffic[i].received);
      CHECK(ranks[i]["communication_us"] == traffic[i].communicating_us);
    }
    return traffic;
  };
  // x (512 bytes) is gathered on two ranks. y (512 bytes) is sent by rows to two others.
  const auto stages = ranks_of(*read_file("samples/data/program.json"), {});
  REQUIRE(stages.size() == 4);
  CHECK(stages[0].sent == 256 + 256);
  CHECK(stages[0].received == 256);
  CHECK(stages[3].sent == 0);
  CHECK(stages[3].received == 256);
  CHECK(stages[0].communicating_us > stages[3].communicating_us);

  // A partial sum of 3 x 8 floats on two ranks. The rows are the batch.
  const std::string sums = R"({"meshes": [{"shape": [2], "ids": [0, 1]}],
    "vars": [{"name": "x", "full_shape": [-1, 8], "mesh": 0, "dims_mapping": [-1, -1],
              "partial": {"0": "sum"}}],
    "ops": [{"type": "reads", "mesh": 0, "inputs": [{"var": "x", "dims_mapping": [-1, -1]}]}]})";
  program::ReshardOptions options;
  options.batch_size = 3;
  const auto reduced = ranks_of(sums, options);
  CHECK(reduced[0].sent == 3 * 8 * 4);
  CHECK(reduced[0].received == 3 * 8 * 4);
}

}  // namespace shardwright::program_json_test
