#include "runtime/io/program/redistribution_json.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "tests/support/malformed.h"

namespace shardwright::redistribution_json_test {

namespace {

using namespace shardwright;
using nlohmann::json;

json small() {
  return json::parse(R"json({
    "mesh": [2, 4], "shape": [64, 48], "data_type": "bfloat16",
    "source": ["P(sum)", "S(0)"], "target": ["S(1)", "R"],
    "costs": {"model": "rings", "groups": true, "copy_gb_per_s": 900, "links": [
      {"latency_us": 3, "bandwidth_gb_per_s": 25}, {"latency_us": 1, "bandwidth_gb_per_s": 200}]},
    "memory_bytes": 1000000, "collectives": 5})json");
}

std::string error_of(const std::string& text) {
  const auto document = read_redistribution(text);
  return document.ok() ? "" : document.error().to_string();
}

}  // namespace

TEST_CASE("redistribution json: a file is read as it says, and the answer names every step") {
  const auto document = read_redistribution(small().dump());
  REQUIRE_MESSAGE(document.ok(), document.error().to_string());
  CHECK(document->request.itemsize == 2);
  CHECK(document->request.source.is_partial(0));
  CHECK(document->request.target.dim(0) == 1);
  CHECK(document->options.memory_bytes == 1'000'000);
  CHECK(document->options.collectives == 5);
  const auto* const rings = std::get_if<RingModel>(&document->options.model);
  REQUIRE(rings != nullptr);
  CHECK(rings->links[1].bandwidth_gb_per_s == 200);
  CHECK(rings->groups);
  const auto answer = plan_redistribution(document->request, document->options);
  REQUIRE(answer.ok());
  std::string text;
  write_redistribution(*document, *answer, [&](std::string_view part) { text += part; });
  const json written = json::parse(text);
  CHECK(written["is_optimal"] == true);
  CHECK(written["cost_us"] == answer->path.cost);
  REQUIRE(written["steps"].size() == answer->path.steps.size());
  CHECK(written["steps"].back()["after"] == small()["target"]);
  double sum = 0;
  for (const json& step : written["steps"])
    sum += step["us"].get<double>();
  CHECK(sum == doctest::Approx(answer->path.cost));
}

TEST_CASE("redistribution json: errors name the place and explain") {
  test_support::check_no_json(error_of);
  test_support::check_malformed(
      small(), error_of,
      {
          {"/mesh", "-", "the key \"mesh\" is missing"},
          {"/mehs", "[1]", "/mehs: unknown key \"mehs\"; did you mean \"mesh\"?"},
          {"/shape", "[1,1,1,1,1,1,1,1,1,1]", "/shape: a tensor has at most 9 dimensions"},
          {"/data_type", "\"float\"", "/data_type: unknown data type \"float\""},
          {"/source", "[\"R\"]", "/source: the mesh has 2 axes; write a placement for each, not 1"},
          {"/source", "[\"R\", \"S(7)\"]", "/source/1: the tensor has 2 dimensions"},
          {"/target", "[\"R\", \"X\"]", "/target/1: \"X\" is no placement; write \"R\", \"S(0)\""},
          {"/target", "[\"R\", \"_StridedShard(dim=0, sf=2)\"]",
           "/target/1: \"_StridedShard(dim=0, sf=2)\" is no placement; write its order instead of "
           "its "
           "split factor: \"S(0)[1]\" cuts what \"S(0)[0]\" leaves"},
          {"/costs/model", "\"ring\"",
           "/costs/model: unknown model \"ring\"; did you mean \"rings\"?"},
          {"/costs/model", "\"dtensor\"", "/costs: \"links\" belong to the model \"rings\""},
          {"/costs/links", "-", "/costs: the model \"rings\" needs \"links\""},
          {"/costs/links", "3", "/costs/links: expected a list with a link for each axis"},
          {"/collectives", "-1", "/collectives: must be between 0 and 1000"},
          {"/collectives", "100000", "/collectives: must be between 0 and 1000"},
      });
}

TEST_CASE("redistribution json: the entry refuses what does not fit together") {
  const auto refusal = [](const char* place, const char* value) {
    json changed = small();
    changed[json::json_pointer(place)] = json::parse(value);
    const auto document = read_redistribution(changed.dump());
    REQUIRE_MESSAGE(document.ok(), document.error().to_string());
    const auto answer = plan_redistribution(document->request, document->options);
    return answer.ok() ? std::string() : answer.error().where;
  };
  CHECK(refusal("/mesh", "[2, 0]").starts_with("/mesh"));
  CHECK(refusal("/shape", "[-4, 48]").starts_with("/shape"));
  CHECK(refusal("/memory_bytes", "-1") == "/memory_bytes");
  CHECK(refusal("/costs/links/0/latency_us", "-1") == "/links/0/latency_us");
  CHECK(refusal("/costs/copy_gb_per_s", "0") == "/copy_gb_per_s");
}

}  // namespace shardwright::redistribution_json_test
