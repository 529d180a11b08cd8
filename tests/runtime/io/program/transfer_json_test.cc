// Transfer files and plan files.
#include "runtime/io/program/transfer_json.h"

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/program/transfer_tensors.h"
#include "tests/support/malformed.h"

namespace shardwright::transfer_json_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using nlohmann::json;

namespace {

json small() {
  return json::parse(R"json({
    "meshes": {"train": {"shape": [2, 2], "ranks": "0-3"},
               "serve": {"shape": [2], "ranks": [8, 9]}},
    "tensors": [
      {"name": "w", "shape": [8, 6], "data_type": "bfloat16",
       "source": {"mesh": "train", "placements": ["R", "S(0)"]},
       "target": {"mesh": "serve", "placements": ["S(1)"], "rounding": "balanced"}}],
    "hosts": {"ranks_per_host": 2, "intra_host_bw": 100, "inter_host_bw": 10.5}})json");
}

TransferProblem read(const json& document) {
  auto problem = read_transfer(document.dump());
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::move(problem).value();
}

// Returns the index of a mesh. JSON sorts meshes by name when it is dumped.
std::size_t number_of(const TransferProblem& problem, const std::string& mesh) {
  std::size_t number = 0;
  while (problem.meshes().at(number).name != mesh)
    ++number;
  return number;
}

std::string error_of(const std::string& text) {
  const auto problem = read_transfer(text);
  return problem.ok() ? "" : problem.error().to_string();
}

}  // namespace

TEST_CASE("transfer json: a file is read as it says") {
  const TransferProblem problem = read(small());
  REQUIRE(problem.meshes().size() == 2);
  const RankMesh& train = problem.meshes()[number_of(problem, "train")];
  CHECK(train.shape == MeshShape{2, 2});
  CHECK(train.ranks == std::vector<Rank>{0, 1, 2, 3});
  CHECK(problem.meshes()[number_of(problem, "serve")].ranks == std::vector<Rank>{8, 9});
  REQUIRE(problem.tensors().size() == 1);
  const TransferTensor& tensor = problem.tensors()[0];
  CHECK(tensor.name == "w");
  CHECK(tensor.item_bytes == 2);
  CHECK(tensor.source.mesh == number_of(problem, "train"));
  CHECK(tensor.source.placement.is_replicate(0));
  CHECK(tensor.source.placement.dim(1) == 0);
  CHECK(tensor.source.rounding == Rounding::kCeil);
  CHECK(tensor.target.placement.dim(0) == 1);
  CHECK(tensor.target.rounding == Rounding::kBalanced);
  REQUIRE(problem.hosts().has_value());
  CHECK(problem.hosts()->ranks_per_host == 2);
  CHECK(problem.hosts()->inter_host_bw == 10.5);
}

TEST_CASE("transfer json: ranges of ranks are read and written") {
  json document = small();
  document["meshes"]["train"]["ranks"] = "7,3-4,0";
  const TransferProblem problem = read(document);
  CHECK(problem.meshes()[number_of(problem, "train")].ranks == std::vector<Rank>{7, 3, 4, 0});
  CHECK(ranges_text({7, 3, 4, 0}) == "7,3-4,0");
  CHECK(ranges_text({}) == "");
  CHECK(ranges_text({5}) == "5");
  CHECK(ranges_text({1, 2, 3, 9}) == "1-3,9");
}

TEST_CASE("transfer json: a plan file has groups, transfers, loads and bounds") {
  const TransferProblem problem = read(small());
  TransferOptions options;
  options.limits = {8, 16};
  const auto answer = transfer_tensors(problem, options);
  REQUIRE(answer.ok());
  std::string text;
  write_transfer(problem, *answer, [&](std::string_view piece) { text += piece; });
  const json plan = json::parse(text);
  CHECK(plan.at("format") == "shardwright.transfer/1");
  CHECK(plan.at("unit") == "ms");
  CHECK(plan.at("moved_bytes") == 96);
  CHECK(plan.at("kept_bytes") == 0);
  CHECK(plan.at("meshes").at("train") == json::parse(R"({"shape": [2, 2], "ranks": "0-3"})"));
  REQUIRE(plan.at("groups").size() == 1);
  const json& group = plan["groups"][0];
  CHECK(group.at("tensors") == json::parse(R"(["w"])"));
  CHECK(group.at("shape") == json::parse("[8, 6]"));
  CHECK(group.at("item_bytes") == 2);
  CHECK(group.at("source") == small()["tensors"][0]["source"]);
  CHECK(group.at("target") == small()["tensors"][0]["target"]);
  std::int64_t bytes = 0;
  for (const json& transfer : plan.at("transfers")) {
    std::int64_t in_pieces = 0;
    for (const json& piece : transfer.at("pieces"))
      in_pieces += piece[2].get<int>() * (piece[4].get<int>() - piece[3].get<int>()) *
                   (piece[6].get<int>() - piece[5].get<int>()) * 2;
    std::int64_t in_runs = 0;
    for (const json& run : transfer.at("runs"))
      in_runs += run[1].get<std::int64_t>();
    CHECK(in_pieces == transfer.at("bytes"));
    CHECK(in_runs == in_pieces);
    bytes += in_pieces;
  }
  CHECK(bytes == 96);
  CHECK(plan.at("rounds") == 3);
  CHECK(plan.at("ranks").size() == 6);
  CHECK(plan.at("hosts") == json::parse("[[0, 48, 0], [1, 48, 0], [4, 0, 96]]"));
  CHECK(plan.at("bounds")[0] == json::parse(R"({"host_in": "4", "bytes": 96, "busiest": )" +
                                            plan["lower_bound"].dump() + "}"));
}

TEST_CASE("transfer json: errors name the place and explain") {
  test_support::check_no_json(error_of);
  test_support::check_malformed(
      small(), error_of,
      {
          {"/meshes", "[]", "/meshes: expected an object of meshes by name"},
          {"/meshes", "{}", "/tensors/0/source/mesh: unknown mesh \"train\""},
          {"/mesh", "{}", "/mesh: unknown key \"mesh\"; did you mean \"meshes\"?"},
          {"/tensors", "-", "the key \"tensors\" is missing"},
          {"/tensors", "{}", "/tensors: expected a list of tensors"},
          {"/tensors", "[]", "/tensors: there is no tensor to move"},
          {"/meshes/train/shape", "[2, 3]",
           "/meshes/train/ranks: a mesh of this shape has 6 ranks, not 4; change the shape or"},
          {"/meshes/train/shape", "[]", "/meshes/train/shape: a mesh has at least one axis"},
          {"/meshes/train/shape", "[4, 0]", "/meshes/train/shape/1: the axis has no device"},
          {"/meshes/train/shape", "[1,1,1,1,1,1,1,1,4]",
           "/meshes/train/shape: a mesh has at most 8 axes; join axes"},
          {"/meshes/train/ranks", "\"0-2,2\"", "/meshes/train/ranks: rank 2 occurs twice"},
          {"/meshes/train/ranks", "\"3-0\"", "/meshes/train/ranks: \"3-0\" is no range of ranks"},
          {"/meshes/train/ranks", "\"0-3,\"", "/meshes/train/ranks: \"0-3,\" is no range of ranks"},
          {"/meshes/train/ranks", "\"\"", "/meshes/train/ranks: \"\" is no range of ranks"},
          {"/meshes/train/ranks", "\"-3\"", "/meshes/train/ranks: \"-3\" is no range of ranks"},
          {"/meshes/train/ranks", "\"0 - 3\"", "/meshes/train/ranks: \"0 - 3\" is no range"},
          {"/meshes/train/ranks", "\"0-99999999999\"",
           "/meshes/train/ranks: \"0-99999999999\" is no range"},
          {"/meshes/train/ranks", "\"0-2147483647\"",
           "/meshes/train/ranks: a mesh has fewer than 2^20 ranks"},
          {"/meshes/train/ranks", "[0, 1, 2, -3]",
           "/meshes/train/ranks/3: a rank is between 0 and"},
          {"/meshes/train/ranks", "3", "/meshes/train/ranks: expected a list of ranks, or a text"},
          {"/meshes/a~1b", R"({"shape": [1], "ranks": [0, 0]})", "/meshes/a~1b/ranks: a mesh of"},
          {"/tensors/0/shape", "[8, 0]", "/tensors/0/shape/1: an extent cannot be 0"},
          {"/tensors/0/shape", "[1,1,1,1,1,1,1,1,1,1]", "/tensors/0/shape: a tensor has at most 9"},
          {"/tensors/0/shape", "[16777216, 1073741824]",
           "/tensors/0/shape: a tensor has at most 2^48 elements"},
          {"/tensors/0/data_type", "\"bfloat\"",
           "/tensors/0/data_type: unknown data type \"bfloat\"; did you mean \"bfloat16\"?"},
          {"/tensors/0/source", "-",
           "/tensors/0: \"w\" has no source layout; give it one, or leave the tensor out"},
          {"/tensors/0/target", "-", "/tensors/0: \"w\" has no target layout"},
          {"/tensors/0/source/mesh", "\"trian\"",
           "/tensors/0/source/mesh: unknown mesh \"trian\"; did you mean \"train\"?"},
          {"/tensors/0/source/placements", "[\"R\"]",
           "/tensors/0/source/placements: mesh \"train\" has 2 axes; write a placement for each"},
          {"/tensors/0/source/placements", "[\"R\", \"S(2)\"]", "/tensors/0/source/placements/1: "},
          {"/tensors/0/source/placements", "[\"R\", \"T\"]",
           "/tensors/0/source/placements/1: \"T\" is no placement; write \"R\", \"S(0)\""},
          {"/tensors/0/source/placements", "[\"P\", \"R\"]",
           "/tensors/0/source/placements/0: a weight that is moved has no partial values; reduce"},
          {"/tensors/0/target/rounding", "\"floor\"",
           "/tensors/0/target/rounding: unknown rounding"},
          {"/tensors/1", R"({"name": "w", "shape": [1], "data_type": "bool",
             "source": {"mesh": "serve", "placements": ["R"]},
             "target": {"mesh": "serve", "placements": ["R"]}})",
           "/tensors/1/name: two tensors are called \"w\""},
          {"/hosts/ranks_per_host", "0", "/hosts/ranks_per_host: a host has at least one rank"},
          {"/hosts/inter_host_bw", "0", "/hosts/inter_host_bw: a bandwidth is a positive number"},
          {"/hosts/intra_host_bw", "-1", "/hosts/intra_host_bw: a bandwidth is a positive number"},
          {"/hosts/inter_host_bw", "-", "/hosts: the key \"inter_host_bw\" is missing"},
      });
}

}  // namespace shardwright::transfer_json_test
