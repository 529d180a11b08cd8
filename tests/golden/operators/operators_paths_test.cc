// ColossalAI's recorded answers: differences, costs of collectives, one-step conversions, paths.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/operators/graph/sharding_spec.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/paths_json.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright::operators_paths_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;
using nlohmann::json;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

std::string load_text(const std::string& name) {
  return require(read_file("tests/golden/operators/colossal_" + name + ".json.gz"));
}

DimSpecs specs(const json& text) { return require(DimSpecs::parse(text.get<std::string>())); }

std::shared_ptr<const DeviceMesh> mesh(const json& shape, const json& alpha, const json& beta) {
  return require(DeviceMesh::make({shape, alpha, beta, {}}));
}

json as_json(const PhaseCost& cost) { return {cost.forward, cost.backward, cost.total}; }

std::vector<std::vector<ReshardPath>> answer(const std::vector<ReshardQuestions>& questions,
                                             PathCost mode) {
  std::vector<std::vector<ReshardPath>> paths;
  for (const ReshardQuestions& asked : questions) {
    SpecTable table(asked.mesh);
    ReshardPlanner planner(table, mode);
    const TensorShape* shape = table.shape(asked.shape);
    for (paths.emplace_back(); paths.back().size() < asked.pairs.size();) {
      const ReshardQuestions::Pair& pair = asked.pairs[paths.back().size()];
      paths.back().push_back(
          planner.path(table.intern(shape, pair.from), table.intern(shape, pair.to)));
    }
  }
  return paths;
}

std::string written(const std::vector<ReshardQuestions>& questions, PathCost mode) {
  std::string text;
  write_reshard_answers(questions, answer(questions, mode), mode,
                        [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

TEST_CASE("golden paths: the difference of every two dimension specs") {
  const json golden = json::parse(load_text("dim_difference"));
  REQUIRE(golden["dim_difference"].size() == 16);
  for (const auto& [key, value] : golden["dim_difference"].items()) {
    const std::size_t arrow = key.find("->");
    CHECK(difference(specs(key.substr(0, arrow)), specs(key.substr(arrow + 2))) == value);
  }
}

TEST_CASE("golden paths: the cost of every collective, to the last bit") {
  const json golden = json::parse(load_text("alpha_beta"));
  REQUIRE(golden["rows"].size() == 54);
  for (const json& row : golden["rows"]) {
    const CollectiveAxis axis = CollectiveAxis::along(*mesh(row[0], row[1], row[2]), row[3]);
    const double volume = row[4];
    INFO(row.dump());
    CHECK(axis.all_gather(volume) == row[5].get<double>());
    CHECK(axis.all_reduce(volume) == row[6].get<double>());
    CHECK(axis.reduce_scatter(volume) == row[7].get<double>());
    CHECK(axis.all_to_all(volume) == row[8].get<double>());
  }
}

TEST_CASE("golden paths: every one-step conversion, in order") {
  std::size_t num_steps = 0;
  const json golden = json::parse(load_text("one_step"));
  for (const json& group : golden) {
    const SpecTable table(mesh(group["mesh"], group["alpha"], group["beta"]));
    const TensorShape shape{group["shape"]};
    for (const json& row : group["rows"]) {
      json next = json::array();
      for (const ReshardStep& step : one_step_reshards(table, shape, specs(row["src"]))) {
        next.push_back({step.result.to_string(), pattern_name(step.pattern), step.gather_dim,
                        step.shard_dim, step.axis, step.cost.forward, step.cost.backward,
                        step.cost.total});
      }
      INFO(group["mesh"].dump(), " ", row["src"].dump());
      CHECK(next == row["next"]);
      num_steps += next.size();
    }
  }
  CHECK(num_steps == 519);
}

TEST_CASE("golden paths: every path with both costs, through the file format") {
  const std::string text = load_text("paths");
  const json golden = json::parse(text);
  const std::vector<ReshardQuestions> questions = require(read_reshard_questions(text));
  REQUIRE(questions.size() == golden.size());
  std::size_t num_pairs = 0;
  for (const PathCost mode : {PathCost::kCompat, PathCost::kSum}) {
    const json ours = json::parse(written(questions, mode));
    REQUIRE(ours.size() == golden.size());
    for (std::size_t i = 0; i < golden.size(); ++i) {
      CHECK(ours[i]["columns"] == golden[i]["columns"]);
      REQUIRE(ours[i]["pairs"].size() == golden[i]["pairs"].size());
      for (std::size_t k = 0; k < golden[i]["pairs"].size(); ++k) {
        CHECK(ours[i]["pairs"][k] == golden[i]["pairs"][k]);
        ++num_pairs;
      }
    }
    CHECK(ours == golden);
  }
  CHECK(num_pairs == 2 * 1044);
}

TEST_CASE("golden paths: the planner counts costs as its mode says") {
  const std::string text = load_text("paths");
  const json golden = json::parse(text);
  const std::vector<ReshardQuestions> questions = require(read_reshard_questions(text));
  const auto compat = answer(questions, PathCost::kCompat);
  const auto sum = answer(questions, PathCost::kSum);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    for (std::size_t k = 0; k < compat[i].size(); ++k) {
      CHECK(as_json(compat[i][k].cost) == golden[i]["pairs"][k][5]);
      CHECK(as_json(sum[i][k].cost) == golden[i]["pairs"][k][6]);
    }
  }
}

TEST_CASE("golden paths: the cheapest path never costs more than the greedy one and often less") {
  const std::string text = load_text("paths");
  const std::vector<ReshardQuestions> questions = require(read_reshard_questions(text));
  const auto exact = answer(questions, PathCost::kExact);
  const auto sum = answer(questions, PathCost::kSum);
  std::size_t cheaper = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    for (std::size_t k = 0; k < exact[i].size(); ++k) {
      CHECK(exact[i][k].cost.total <= sum[i][k].cost.total);
      if (exact[i][k].cost.total < sum[i][k].cost.total) ++cheaper;
    }
  }
  CHECK(cheaper == 295);
  // A written answer can be read as a request.
  CHECK(written(require(read_reshard_questions(written(questions, PathCost::kExact))),
                PathCost::kExact) == written(questions, PathCost::kExact));
}

}  // namespace shardwright::operators_paths_test
