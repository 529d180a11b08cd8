// Requests for resharding paths: what is read, what is refused, and the places of errors.
#include "runtime/io/operators/paths_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace shardwright::paths_json_test {

namespace {

using namespace shardwright;

std::string refused_at(const std::string& text) {
  const auto questions = read_reshard_questions(text);
  if (questions.ok()) return "accepted";
  CHECK(questions.error().code == ErrorCode::kInvalidInput);
  CHECK_FALSE(questions.error().message.empty());
  return questions.error().where;
}

// Returns the place of the error in a request with these members, on a 2x4 mesh.
std::string refused_with(const std::string& members) {
  return refused_at(R"([{"mesh": [2, 4], )" + members + "}]");
}

}  // namespace

TEST_CASE("paths json: meshes, shapes and pairs are read") {
  const auto questions = read_reshard_questions(R"([
    {"mesh": [2, 4], "shape": [8, 6], "alpha": [1, 2.5], "beta": [0.5, 1],
     "pairs": [["S01,R", "[R, S0]"], ["R,R", "S1,S0", 10, ["anything"]]]},
    {"mesh": [2, 2, 2], "shape": [], "pairs": [["", "[]"]]}])");
  REQUIRE_MESSAGE(questions.ok(), questions.error().to_string());
  REQUIRE(questions->size() == 2);
  const ReshardQuestions& first = (*questions)[0];
  CHECK(first.mesh->alpha(1) == 2.5);
  CHECK(first.mesh->beta(0) == 0.5);
  CHECK(first.shape == std::vector<std::int64_t>{8, 6});
  REQUIRE(first.pairs.size() == 2);
  CHECK(first.pairs[0].from.to_string() == "S01,R");
  CHECK(first.pairs[0].to.to_string() == "R,S0");
  CHECK(first.pairs[1].to.to_string() == "S1,S0");
  CHECK((*questions)[1].mesh->alpha(2) == 1);
  CHECK((*questions)[1].pairs[0].from.rank() == 0);
}

TEST_CASE("paths json: a path not found is written as null") {
  auto questions =
      read_reshard_questions(R"([{"mesh": [2], "shape": [2], "pairs": [["R", "S0"]]}])").value();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  operators::ReshardPath lost;
  lost.found = false;
  lost.cost = {kInfinite, kInfinite, kInfinite};
  const std::vector<std::vector<operators::ReshardPath>> paths{{lost}};
  std::string text;
  write_reshard_answers(questions, paths, operators::PathCost::kCompat,
                        [&](std::string_view piece) { text += piece; });
  CHECK(text.find(R"(["R","S0",5,null,null,[null,null,null],[null,null,null]])") !=
        std::string::npos);
}

TEST_CASE("paths json: bad meshes and tensors are refused with their place") {
  CHECK(refused_at("{}") == "");
  CHECK(refused_at("[1]") == "/0");
  CHECK(refused_at(R"([{"shape": [8], "pairs": []}])") == "/0");
  CHECK(refused_at(R"([{"mesh": [2, 0], "shape": [8], "pairs": []}])") == "/0/mesh/1");
  CHECK(refused_at(R"([{"mesh": [], "shape": [8], "pairs": []}])") == "/0/mesh");
  CHECK(refused_at(R"([{"mesh": [2.5], "shape": [8], "pairs": []}])") == "/0/mesh/0");
  CHECK(refused_at(R"([{"mesh": [65536, 65536], "shape": [8], "pairs": []}])") == "/0/mesh");
  CHECK(refused_with(R"("shape": [8], "alpha": [1], "pairs": [])") == "/0/alpha");
  CHECK(refused_with(R"("shape": [8], "beta": [1, -1], "pairs": [])") == "/0/beta/1");
  CHECK(refused_with(R"("shape": [-8], "pairs": [])") == "/0/shape/0");
  CHECK(refused_with(R"("shape": [1, 1, 1, 1, 1, 1, 1, 1, 1], "pairs": [])") == "/0/shape");
  CHECK(refused_with(R"("shape": [4294967296, 4294967296], "pairs": [])") == "/0/shape");
  CHECK(refused_with(R"("shpae": [8], "pairs": [])") == "/0/shpae");
  CHECK(refused_with(R"("shape": [8])") == "/0");
}

TEST_CASE("paths json: bad pairs are refused with their place") {
  const auto pair = [](const std::string& text) {
    return refused_with(R"("shape": [6, 8], "pairs": [["R,R", "R,S1"], )" + text + "]");
  };
  CHECK(pair(R"(["S0,R", "R,S01"])") == "accepted");
  CHECK(pair(R"("R,R")") == "/0/pairs/1");
  CHECK(pair(R"(["R,R"])") == "/0/pairs/1");
  CHECK(pair(R"(["R,R", 3])") == "/0/pairs/1/1");
  CHECK(pair(R"(["R", "R,R"])") == "/0/pairs/1/0");
  CHECK(pair(R"(["S1,R", "R,R"])") == "/0/pairs/1/0");
  CHECK(pair(R"(["R,R", "S0,S0"])") == "/0/pairs/1/1");
  CHECK(pair(R"(["R,R", "R,S2"])") == "/0/pairs/1/1");
  CHECK(pair(R"(["R,R", "R,S10"])") == "/0/pairs/1/1");
  CHECK(refused_with(R"("shape": [6, 8], "pairs": {})") == "/0/pairs");
}

}  // namespace shardwright::paths_json_test
