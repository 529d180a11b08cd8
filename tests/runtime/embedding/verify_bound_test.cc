// verify accepts the bound of a plan file only with a certificate that proves it.
#include <doctest/doctest.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/embedding/planner.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/command.h"
#include "tests/support/random.h"

namespace shardwright::verify_bound_test {

using namespace shardwright;
using namespace shardwright::test_support;
using embedding::Problem;
using nlohmann::json;

namespace {

const std::string kCase = "tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz";

// A problem that is too large for the check by enumeration, and best mode's plan. The bound is
// below the rating.
class Planned {
 public:
  Planned() {
    problem_ = std::make_shared<const Problem>(*Problem::make(*read_problem(*read_file(kCase))));
    PlanOptions options;
    options.work_limit = 4'000'000;
    const auto result = plan_embedding(problem_, options);
    REQUIRE_MESSAGE(result.ok(), result.error().to_string());
    REQUIRE(result->certificate.has_value());
    std::string text;
    write_plan(*problem_, *result, {}, [&](std::string_view piece) { text += piece; });
    plan = json::parse(text);
  }

  // Returns the place of the first violation, "" if there is none, or the error if the file cannot
  // be read.
  std::string place(const json& changed) const {
    const auto document = read_plan(changed.dump());
    if (!document.ok()) return document.error().to_string();
    const auto verification = verify_plan(problem_, *document, nullptr);
    REQUIRE_MESSAGE(verification.ok(), verification.error().to_string());
    return verification->valid() ? "" : verification->violations.front().where;
  }

  json plan;

 private:
  std::shared_ptr<const Problem> problem_;
};

void all_numbers(json& value, std::vector<json*>& numbers) {
  if (value.is_number()) numbers.push_back(&value);
  if (!value.is_structured()) return;
  for (json& member : value)
    all_numbers(member, numbers);
}

}  // namespace

TEST_CASE("verify: a bound without its proof is refused") {
  const Planned planned;
  CHECK(planned.place(planned.plan) == "");
  const auto place = [&](const char* key, const json& value) {
    json changed = planned.plan;
    changed[json::json_pointer(key)] = value;
    return planned.place(changed);
  };
  const double bound = planned.plan["lower_bound"].get<double>();
  const double rating = planned.plan["best_rating"].get<double>();
  json raised = planned.plan;
  raised["lower_bound"] = bound * (1 + 1e-9);
  raised["gap"] = gap(rating, bound * (1 + 1e-9));
  CHECK(planned.place(raised) == "/lower_bound");
  raised["certificate"]["bound"] = rating * 0.999;
  CHECK(planned.place(raised) == "/certificate");
  CHECK(place("/certificate", nullptr) == "/lower_bound");
  CHECK(place("/lower_bound", 2 * rating) == "/lower_bound");
  CHECK(place("/gap", 0.0) == "/gap");
  CHECK(place("/proven_optimal", true) == "/proven_optimal");
  // A weaker bound than the proved one is valid if the gap is changed with it.
  json lowered = planned.plan;
  lowered["lower_bound"] = bound / 2;
  lowered["gap"] = gap(rating, bound / 2);
  CHECK(planned.place(lowered) == "");
}

TEST_CASE("verify: a gap or an optimum without a bound is refused") {
  const Planned planned;
  json changed = planned.plan;
  changed["lower_bound"] = nullptr;
  CHECK(planned.place(changed) == "/gap");
  changed["gap"] = nullptr;
  CHECK(planned.place(changed) == "");
  changed["proven_optimal"] = true;
  CHECK(planned.place(changed) == "/proven_optimal");
}

TEST_CASE("verify: a certificate that does not fit the problem is refused") {
  const Planned planned;
  const auto place = [&](const char* key, const json& value) {
    json changed = planned.plan;
    changed[json::json_pointer(key)] = value;
    return planned.place(changed);
  };
  CHECK(place("/certificate/class_of_rank", json::array({{0, 3}})) == "/certificate");
  CHECK(place("/certificate/class_of_rank", json::array({{0, 5}})) == "/certificate");
  CHECK(place("/certificate/class_of_rank", json::array()) == "/certificate");
  CHECK(place("/certificate/nodes", json::array()) == "/certificate");
  CHECK(place("/certificate/nodes", json::parse("[{}]")) == "/certificate");
  CHECK(place("/certificate/nodes", json::parse(R"([{"cut": 0, "parts": []}])")) == "/certificate");
  CHECK(place("/certificate/nodes", json::parse(R"([{"cut": 4294967295}])")) == "/certificate");
  json twice = planned.plan;
  json& nodes = twice["certificate"]["nodes"];
  nodes.push_back(nodes.back());
  CHECK(planned.place(twice) == "/certificate");
}

// Changed numbers may still prove a bound, but none above the rating.
TEST_CASE("verify: no certificate with changed numbers proves more than the rating") {
  const Planned planned;
  const double rating = planned.plan["best_rating"].get<double>();
  for (const std::uint64_t seed : seeds({71})) {
    Random random(seed);
    for (int i = 0; i < 200; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      json changed = planned.plan;
      json& certificate = changed["certificate"];
      certificate["bound"] = rating * (1 + 1e-6);
      std::vector<json*> numbers;
      all_numbers(certificate["nodes"], numbers);
      for (std::size_t k = 1 + random.below(3); k > 0; --k) {
        const json values[] = {0, 1, -1, 1e300, 0.5, 4294967295U, 1e-300};
        *numbers[random.below(numbers.size())] = values[random.below(std::size(values))];
      }
      CHECK_FALSE(planned.place(changed).empty());
    }
  }
}

TEST_CASE("verify: the command exits 5 on a bound that is not proved") {
  const Command run;
  const Planned planned;
  const auto status = [&](const json& plan) {
    REQUIRE(write_file(run.path("plan.json"), plan.dump()).ok());
    return run("verify " + kCase + " " + run.path("plan.json"));
  };
  CHECK(status(planned.plan).status == 0);
  json changed = planned.plan;
  changed["certificate"]["bound"] = planned.plan["best_rating"];
  const CommandOutcome tampered = status(changed);
  CHECK(tampered.status == 5);
  CHECK(contains(tampered.out, "violation: /certificate: does not prove its bound"));
  changed = planned.plan;
  changed.erase("certificate");
  const CommandOutcome removed = status(changed);
  CHECK(removed.status == 5);
  CHECK(contains(removed.out, "violation: /lower_bound: is claimed without"));
  changed = planned.plan;
  changed["certificate"]["nodes"] = "none";
  const CommandOutcome malformed = status(changed);
  CHECK(malformed.status == 2);
  CHECK(contains(malformed.err, "plan.json: /certificate/nodes: "));
}

}  // namespace shardwright::verify_bound_test
