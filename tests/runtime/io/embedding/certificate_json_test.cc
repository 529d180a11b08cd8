// Bound certificates in files: what is written is read back, and errors have a place.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/embedding/certificate_json.h"
#include "runtime/io/json/json_document.h"
#include "tests/support/malformed.h"

namespace shardwright::certificate_json_test {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

namespace {

constexpr std::string_view kCertificate =
    R"({"bound": 1.5, "uniform_apart": true, "class_of_rank": [[0, 2], [1, 3], [0, 1]],
  "nodes": [
    {"fixing": [[[0.5, 0, 0], [0, 1e-9, 0]], [[1, 0, 0], [0, 0, 0]]], "cut": 7, "parts": [[3, 1], [0, 3]]},
    {"prices": [[0.1, 2e-9, 0], [0.3, 0, 1e-300]]},
    {"prices": [[1, 0, 0]], "shard_duals": [[4, 2, 0.7], [4294967290, 0, -1]],
     "max_pattern_values": [1, 2.5], "whole_prices": [[0.25, 0, 3e-9]]},
    {"cut": [7, 9], "count": 2, "parts": [[3, 1]]},
    {"by_search": true, "prices": [[1, 0, 0]]},
    {"fixing": [[[1, 0, 0], [0, 0, 0]]], "uniform": {"class": 1, "load": 0.75}},
    {"uniform": {"class": 0, "ddr": 4096}}
  ]})";

Result<BoundCertificate> read(std::string_view text) {
  const auto document = JsonDocument::parse(std::string(text));
  if (!document.ok()) return document.error();
  return read_certificate(document->root());
}

std::string written(const BoundCertificate& certificate) {
  std::string text;
  const TextSink sink = [&](std::string_view piece) { text += piece; };
  JsonWriter json(sink);
  write_certificate(certificate, json);
  json.finish();
  return text;
}

std::string error_of(const std::string& text) {
  const auto certificate = read(text);
  return certificate.ok() ? "" : certificate.error().to_string();
}

}  // namespace

TEST_CASE("certificate json: every member is read") {
  const auto certificate = read(kCertificate);
  REQUIRE_MESSAGE(certificate.ok(), certificate.error().to_string());
  CHECK(certificate->bound == 1.5);
  CHECK(certificate->class_of_rank == std::vector<std::uint32_t>{0, 0, 1, 1, 1, 0});
  REQUIRE(certificate->nodes.size() == 7);
  CHECK(certificate->nodes[4].by_search);
  CHECK(certificate->uniform_apart);
  const BoundNode& split = certificate->nodes[5];
  CHECK_FALSE(split.is_leaf);
  CHECK(split.fixing.size() == 1);
  REQUIRE(split.uniform_split.has_value());
  CHECK(split.uniform_split->rank_class == 1);
  CHECK_FALSE(split.uniform_split->tier.has_value());
  CHECK(split.uniform_split->at == 0.75);
  REQUIRE(certificate->nodes[6].uniform_split.has_value());
  CHECK(certificate->nodes[6].uniform_split->tier == MemoryTier::kDdr);
  CHECK(certificate->nodes[6].uniform_split->at == 4096);
  const BoundNode& cut = certificate->nodes[0];
  CHECK_FALSE(cut.is_leaf);
  CHECK(cut.tables == std::vector{TableId(7)});
  REQUIRE(cut.first_child.size() == 2);
  CHECK(cut.first_child[0].option == OptionId(3));
  CHECK(cut.first_child[1].classes == 3);
  CHECK(cut.count == 1);
  REQUIRE(cut.fixing.size() == 2);
  REQUIRE(cut.fixing[0].size() == 2);
  CHECK(cut.fixing[0][1].hbm == 1e-9);
  CHECK(cut.fixing[1][0].load == 1);
  const BoundNode& priced = certificate->nodes[1];
  CHECK(priced.is_leaf);
  REQUIRE(priced.multipliers.size() == 2);
  CHECK(priced.multipliers[0].load == 0.1);
  CHECK(priced.multipliers[0].hbm == 2e-9);
  CHECK(priced.multipliers[1].ddr == 1e-300);
  CHECK(priced.shard_duals.empty());
  const BoundNode& packed = certificate->nodes[2];
  REQUIRE(packed.shard_duals.size() == 2);
  CHECK(packed.shard_duals[0].run == 2);
  CHECK(packed.shard_duals[0].value == 0.7);
  CHECK(packed.shard_duals[1].option == OptionId(4'294'967'290U));
  CHECK(packed.max_pattern_values == std::vector<double>{1, 2.5});
  REQUIRE(packed.whole_multipliers.size() == 1);
  CHECK(packed.whole_multipliers[0].load == 0.25);
  CHECK(packed.whole_multipliers[0].ddr == 3e-9);
  const BoundNode& of_equal = certificate->nodes[3];
  CHECK(of_equal.tables == std::vector{TableId(7), TableId(9)});
  CHECK(of_equal.count == 2);
}

TEST_CASE("certificate json: the names of earlier versions are read") {
  std::string old(kCertificate);
  old.replace(old.find("shard_duals"), std::string("shard_duals").size(), "worths");
  old.replace(old.find("max_pattern_values"), std::string("max_pattern_values").size(),
              "most_worth");
  const auto certificate = read(old);
  REQUIRE_MESSAGE(certificate.ok(), certificate.error().to_string());
  CHECK(written(*certificate) == written(*read(kCertificate)));
}

TEST_CASE("certificate json: of a form that is no longer checked, the nodes are not read") {
  for (const char* const form : {"ranks_are_alike", "ranks_apart"}) {
    const auto certificate =
        read(R"({"bound": 1.5, ")" + std::string(form) +
             R"(": true, "class_of_rank": [[0, 2]], "nodes": [{"pin": [8]}]})");
    REQUIRE_MESSAGE(certificate.ok(), certificate.error().to_string());
    CHECK(certificate->is_older_form);
    CHECK(certificate->bound == 1.5);
    CHECK(certificate->nodes.empty());
  }
}

TEST_CASE("certificate json: a round trip changes no byte") {
  const auto certificate = read(kCertificate);
  REQUIRE(certificate.ok());
  const std::string text = written(*certificate);
  const auto again = read(text);
  REQUIRE_MESSAGE(again.ok(), again.error().to_string());
  CHECK(written(*again) == text);
  CHECK(nlohmann::json::parse(text) == nlohmann::json::parse(kCertificate));
}

TEST_CASE("certificate json: a price of SSD is the fourth, and absent where it is 0") {
  const std::string text =
      R"({"bound":1.5,"class_of_rank":[[0,2]],"nodes":[{"prices":[[1.0,0.0,0.0,0.25]]}]})";
  const auto certificate = read(text);
  REQUIRE_MESSAGE(certificate.ok(), certificate.error().to_string());
  CHECK(certificate->nodes[0].multipliers[0].ssd == 0.25);
  CHECK(written(*certificate).find("[1.0,0.0,0.0,0.25]") != std::string::npos);
  auto without = *certificate;
  without.nodes[0].multipliers[0].ssd = 0;
  CHECK(written(without).find("[1.0,0.0,0.0]") != std::string::npos);
  CHECK(error_of(R"({"bound":1,"class_of_rank":[],"nodes":[{"prices":[[1,0]]}]})") != "");
  CHECK(error_of(R"({"bound":1,"class_of_rank":[],"nodes":[{"prices":[[1,0,0,0,0]]}]})") != "");
}

TEST_CASE("certificate json: malformed certificates are refused with their place") {
  check_malformed(
      nlohmann::json::parse(kCertificate), error_of,
      {{"/bound", "-", "the key \"bound\" is missing"},
       {"/bound", "\"high\"", "/bound: expected a number"},
       {"/class_of_rank", "-", "the key \"class_of_rank\" is missing"},
       {"/class_of_rank", "3", "/class_of_rank: expected a list"},
       {"/class_of_rank/1", "[1]", "/class_of_rank/1: expected [class, number of ranks]"},
       {"/class_of_rank/1", "[1, 0]", "/class_of_rank/1: expected [class, number of ranks]"},
       {"/class_of_rank/1", "[-1, 2]", "/class_of_rank/1: expected [class, number of ranks]"},
       {"/class_of_rank/1", "[0, 16777216]", "/class_of_rank/1: expected [class, number"},
       {"/class_of_rank/1", "[0, 1.5]", "/class_of_rank/1/1: expected an integer"},
       {"/class_of_rank/1", "7", "/class_of_rank/1: expected a list"},
       {"/nodes", "-", "the key \"nodes\" is missing"},
       {"/nodes", "{}", "/nodes: expected a list of nodes"},
       {"/nodes/1", "[]", "/nodes/1: expected an object"},
       {"/nodes/1/price", "[]", "/nodes/1/price: unknown key \"price\"; did you mean \"prices\"?"},
       {"/nodes/0/cut", "-1", "/nodes/0/cut: there is no such table"},
       {"/nodes/0/cut", "4294967296", "/nodes/0/cut: there is no such table"},
       {"/nodes/0/cut", "\"a\"", "/nodes/0/cut: expected an integer"},
       {"/nodes/3/cut", "[7, -1]", "/nodes/3/cut: there is no such table"},
       {"/nodes/3/cut", "[7, true]", "/nodes/3/cut/1: expected an integer"},
       {"/nodes/3/count", "0", "/nodes/3/count: must be positive"},
       {"/nodes/3/count", "4294967296", "/nodes/3/count: must be positive"},
       {"/nodes/0/parts", "[[0, 1, 2]]", "/nodes/0/parts/0: expected a list of 2 numbers"},
       {"/nodes/0/parts", "[[0, 1], [-1, 1]]", "/nodes/0/parts/1: expected a whole number"},
       {"/nodes/0/parts", "[[0, 1], [0.5, 1]]", "/nodes/0/parts/1: expected a whole number"},
       {"/nodes/0/parts", "[[0, 4294967296]]", "/nodes/0/parts/0: expected a whole number"},
       {"/nodes/0/parts", "[[0, \"1\"]]", "/nodes/0/parts/0/1: expected a number"},
       {"/nodes/0/fixing", "1", "/nodes/0/fixing: expected a list of prices"},
       {"/nodes/0/fixing/1", "[[0, 1]]", "/nodes/0/fixing/1/0: expected a list of 3 or 4 numbers"},
       {"/nodes/1/prices", "[[0, 1]]", "/nodes/1/prices/0: expected a list of 3 or 4 numbers"},
       {"/nodes/1/prices", "[[0, 1, null]]", "/nodes/1/prices/0/2: expected a number"},
       {"/nodes/2/shard_duals", "[[4, 2]]", "/nodes/2/shard_duals/0: expected a list of 3 numbers"},
       {"/nodes/2/shard_duals", "[[-4, 2, 1]]", "/nodes/2/shard_duals/0: expected a whole number"},
       {"/nodes/2/shard_duals", "[[4, 1e30, 1]]",
        "/nodes/2/shard_duals/0: expected a whole number"},
       {"/nodes/2/max_pattern_values", "[true]",
        "/nodes/2/max_pattern_values/0: expected a number"}});
}

TEST_CASE("certificate json: invalid JSON is refused") { check_no_json(error_of); }

}  // namespace shardwright::certificate_json_test
