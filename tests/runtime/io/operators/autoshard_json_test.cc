#include "runtime/io/operators/autoshard_json.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "runtime/report/operators/operators_text.h"

namespace shardwright::autoshard_json_test {
namespace {

using operators::autoshard::CostModel;
using operators::autoshard::Request;

const std::string kGood =
    R"({"graph":[{"name":"x","kind":"placeholder","args":[],"shape":[8,8]},)"
    R"({"name":"w","kind":"matmul","args":["x"],"shape":[8,24],"module":"m.w"}],)"
    R"("p":2,"version":"v1","optimum_cost":3,"z3_iterations":4})";

TEST_CASE("autoshard json: a graph, its devices and its cost model are read") {
  const auto file = read_autoshard(kGood);
  REQUIRE_MESSAGE(file.ok(), (file.ok() ? std::string() : file.error().to_string()));
  CHECK(!file->is_list);
  REQUIRE(file->entries.size() == 1);
  CHECK(file->entries[0].devices == 2);
  CHECK(file->entries[0].model == CostModel::kV1);
  CHECK(file->entries[0].graph->op(1).module == "m.w");
  const auto list = read_autoshard("[" + kGood + "," + kGood + "]");
  REQUIRE(list.ok());
  CHECK(list->is_list);
  CHECK(list->entries[1].place == "/1");
}

TEST_CASE("autoshard json: malformed graphs are errors that name the place") {
  struct Malformed {
    const char* from;
    const char* to;
    const char* where;
  };
  constexpr std::array<Malformed, 11> kMalformed{{
      {"matmul", "matmull", "/graph/1/kind"},
      {"\"args\":[\"x\"]", "\"args\":[\"w\"]", "/graph/1/args/0"},
      {"\"args\":[\"x\"]", "\"args\":[]", "/graph/1/args"},
      {"\"args\":[\"x\"]", "\"args\":\"x\"", "/graph/1/args"},
      {"[8,24]", "[8,0]", "/graph/1/shape/1"},
      {"[8,24]", "[8,2.5]", "/graph/1/shape/1"},
      {"[8,24]", "8", "/graph/1/shape"},
      {"\"shape\":[8,8]", "\"shap\":[8,8]", "/graph/0/shap"},
      {"\"p\":2", "\"p\":\"2\"", "/p"},
      {"\"v1\"", "\"v3\"", "/version"},
      {"\"module\"", "\"modul\"", "/graph/1/modul"},
  }};
  for (const Malformed& each : kMalformed) {
    CAPTURE(each.to);
    std::string text = kGood;
    text.replace(text.find(each.from), std::string(each.from).size(), each.to);
    const auto file = read_autoshard(text);
    REQUIRE(!file.ok());
    CHECK(file.error().where == each.where);
    const auto list = read_autoshard("[" + kGood + "," + text + "]");
    REQUIRE(!list.ok());
    CHECK(list.error().where == "/1" + std::string(each.where));
  }
  std::string answer = kGood;
  answer.replace(answer.find("\"graph\""), 7, "\"grap\"");
  const auto other = read_autoshard(answer);
  REQUIRE(!other.ok());
  CHECK(other.error().message.starts_with("this is an answer of `operators autoshard`"));
  for (std::size_t length = 0; length < kGood.size(); ++length) {
    CHECK(!read_autoshard(kGood.substr(0, length)).ok());
  }
}

TEST_CASE("autoshard text: nodes with parameters, costs with their total, the schedule") {
  const auto file = read_autoshard(kGood);
  REQUIRE(file.ok());
  const Request request{file->entries[0].graph, 2, CostModel::kV2};
  const auto answers = autoshard({&request, 1}, 1);
  REQUIRE(answers.front().ok());
  const std::string text = text_report(*answers.front(), true, 100);
  CAPTURE(text);
  for (const char* const part : {"|-weight", "[24, 8]", "|-bias", "InSpec", "RRxRS", "Total",
                                 "Iteration 0", "No assignment costs less", "Schedule",
                                 "sch[\"w\"].sync(mode=\"fwd_post\"", "2 devices: cost 96"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  }
}

}  // namespace
}  // namespace shardwright::autoshard_json_test
