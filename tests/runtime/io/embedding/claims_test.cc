// Every value of every kind of plan file is changed, one at a time. verify must notice each change.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/verify_file.h"

namespace shardwright::claims_test {

namespace {

using embedding::Problem;
using nlohmann::ordered_json;
using Pointer = ordered_json::json_pointer;

// A plan file, and the problem and old plan that verify needs.
struct Answer {
  std::shared_ptr<const Problem> problem;
  std::optional<std::vector<PlanEntry>> old_plan;
  ordered_json file;
};

std::shared_ptr<const Problem> problem_of(const ordered_json& json) {
  auto spec = read_problem(json.dump());
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  auto problem = Problem::make(*spec);
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::make_shared<const Problem>(*std::move(problem));
}

ordered_json small_problem() {
  return ordered_json::parse(R"({
    "name": "small",
    "topology": {"world_size": 2, "local_world_size": 2},
    "tables": [
      {"name": "a", "num_embeddings": 100000, "embedding_dim": 64},
      {"name": "b", "num_embeddings": 5000, "embedding_dim": 32},
      {"name": "c", "num_embeddings": 900000, "embedding_dim": 128, "pooling_factor": 7}]})");
}

Answer written(const std::shared_ptr<const Problem>& problem, const EmbeddingPlanResult& result,
               const PlanJsonOptions& options) {
  std::string text;
  write_plan(*problem, result, options, [&](std::string_view piece) { text += piece; });
  return {problem, std::nullopt, ordered_json::parse(text)};
}

Answer planned(const ordered_json& json, PlanMode mode, const PlanJsonOptions& options = {}) {
  const auto problem = problem_of(json);
  PlanOptions how;
  how.mode = mode;
  how.work_limit = 3'000'000;
  how.trace = options.trace;
  const auto result = plan_embedding(problem, how);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  Answer answer = written(result->problem, *result, options);
  answer.problem = problem;
  return answer;
}

// The old plan is for two ranks. The new problem has three ranks and one more table.
Answer replanned() {
  const Answer old = planned(small_problem(), PlanMode::kCompat);
  ordered_json changed = small_problem();
  changed["topology"]["world_size"] = changed["topology"]["local_world_size"] = 3;
  changed["tables"].erase(1);
  changed["tables"].push_back({{"name", "d"}, {"num_embeddings", 3000}, {"embedding_dim", 16}});
  const auto problem = problem_of(changed);
  ReplanOptions how;
  how.plan.work_limit = 3'000'000;
  how.migration_weight = 0.01;
  const auto document = read_plan(old.file.dump());
  REQUIRE(document.ok());
  const auto result = replan_embedding(problem, *document->plan, how);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  Answer answer = written(problem, *result, {});
  REQUIRE(answer.file.contains("migration"));
  answer.old_plan = document->plan;
  return answer;
}

ordered_json with_memory(std::int64_t bytes) {
  ordered_json problem = small_problem();
  problem["topology"]["hbm_cap"] = problem["topology"]["ddr_cap"] = bytes;
  problem["reservation"] = {{"type", "none"}};
  return problem;
}

// On two ranks, a must be on rank 0 and b on rank 1, and c must be apart from both.
ordered_json contradicting_rules() {
  ordered_json problem = small_problem();
  problem["constraints"] = {{"a", {{"ranks", {0}}}}, {"b", {{"ranks", {1}}}}};
  problem["keep_apart"] = ordered_json::array(
      {{{"tables", {"a", "c"}}, {"on", "rank"}}, {{"tables", {"b", "c"}}, {"on", "rank"}}});
  return problem;
}

enum class Outcome { kHolds, kFound };

Outcome verified(const Answer& answer, const ordered_json& file) {
  const auto result = verify_plan_file(answer.problem, file.dump(), {nullptr, answer.old_plan});
  return result.ok() && result->verified() ? Outcome::kHolds : Outcome::kFound;
}

void all_places(const ordered_json& value, const Pointer& place, std::vector<Pointer>& places) {
  places.push_back(place);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      all_places(member, place / key, places);
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      all_places(value[i], place / i, places);
  }
}

// Returns other values of the same type, and one value of another type.
std::vector<ordered_json> other_values(const std::string& place, const ordered_json& value) {
  // Any bound below the proved one is valid, so only larger values are wrong.
  if (place == "/migration/lower_bound")
    return {value.get<double>() * 1.01, value.get<double>() * (1 + 1e-6), "text"};
  if (place == "/mode") return {value == "best" ? "compat" : "best", "other", 7};
  if (place == "/error/reason" && value != "no_plan_exists") return {"nothing_found", "x"};
  if (place == "/error/proof" && value == "search") return {"certificate", "reservation", "x"};
  if (place == "/error/proof" && value == "certificate") return {"search", nullptr, "x"};
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return {number * 1.001 + 1e-6, -number - 1, 0.5 * number - 1e-6, "text"};
  }
  if (value.is_number()) {
    const auto number = value.get<std::int64_t>();
    return {number + 1, number - 1, 1000003 * (number + 1), "text"};
  }
  if (value.is_string()) return {value.get<std::string>() + "x", "", 7};
  if (value.is_boolean()) return {!value.get<bool>(), "text"};
  if (value.is_null()) return {1.5, "text", true};
  return {"text"};
}

bool starts_with(const std::string& place, std::string_view start) {
  return place.rfind(start, 0) == 0;
}

// Values that verify does not check, as listed in runtime/cli/README.md. Compat mode's answer is
// computed again, so more of it is checked.
bool is_not_checked(const std::string& place, bool is_compat) {
  for (const char* key :
       {"/name", "/reused", "/work", "/threads", "/stopped_by", "/timing", "/migration/weight",
        "/verdict", "/overrides", "/move_front", "/move_bound"}) {
    if (starts_with(place, key)) return true;
  }
  if (is_compat) return false;
  for (const char* key :
       {"/num_proposals", "/num_plans", "/proposals", "/error/message", "/error/type"}) {
    if (starts_with(place, key)) return true;
  }
  return false;
}

// Returns true for places in a proof. verify notices changes only if the proof no longer holds.
bool is_proof(const std::string& place) {
  return starts_with(place, "/certificate") || starts_with(place, "/migration/certificate");
}

// Returns true for earlier improvements, of which verify checks only that ratings fall.
bool is_step(const std::string& place) { return starts_with(place, "/improvements/"); }

// Returns true for optional keys, whose absence claims nothing.
bool may_be_absent(const std::string& place) {
  for (const char* key : {"/stats", "/search_space", "/migration", "/format", "/name", "/reused",
                          "/machine", "/verdict", "/overrides"}) {
    if (place == key) return true;
  }
  return starts_with(place, "/work/") || starts_with(place, "/timing/") ||
         starts_with(place, "/verdict/") || starts_with(place, "/improvements/") || is_proof(place);
}

// Returns the place in its own plan file. Plan files for other group sizes are nested in the file.
std::string in_its_file(const std::string& place) {
  constexpr std::string_view kOthers = "/other_layouts/";
  if (!starts_with(place, kOthers)) return place;
  const std::size_t end = place.find('/', kOthers.size());
  return end == std::string::npos ? "" : place.substr(end);
}

// Tries all changes of an answer and returns their number.
std::size_t check_all_changes(const Answer& answer) {
  REQUIRE(verified(answer, answer.file) == Outcome::kHolds);
  std::vector<Pointer> places;
  all_places(answer.file, Pointer(), places);
  const bool is_compat = answer.file["mode"] == "compat";
  std::size_t changes = 0;
  const auto try_change = [&](const std::string& what, const ordered_json& file) {
    ++changes;
    const bool found = verified(answer, file) == Outcome::kFound;
    CHECK_MESSAGE(found, what);
  };
  for (const Pointer& place : places) {
    const std::string whole_name = place.to_string();
    const std::string name = in_its_file(whole_name);
    const ordered_json& value = answer.file[place];
    if (value.is_object()) {
      ordered_json file = answer.file;
      file[place]["something_else"] = 1;
      if (!starts_with(name, "/proposals")) try_change("an unknown key in " + whole_name, file);
    }
    if (name.empty()) continue;
    const bool in_object = answer.file[place.parent_pointer()].is_object();
    if (in_object && !may_be_absent(name) && !starts_with(name, "/proposals")) {
      ordered_json file = answer.file;
      file[place.parent_pointer()].erase(place.back());
      try_change("without " + whole_name, file);
    }
    if (value.is_structured() || is_not_checked(name, is_compat) || is_proof(name) || is_step(name))
      continue;
    for (const ordered_json& other : other_values(name, value)) {
      ordered_json file = answer.file;
      file[place] = other;
      try_change(whole_name + " changed to " + other.dump(), file);
    }
  }
  return changes;
}

}  // namespace

TEST_CASE("claims: every change of a plan of best mode is found") {
  CHECK(check_all_changes(planned(small_problem(), PlanMode::kBest, {.stats = true})) > 900);
}

TEST_CASE("claims: every change of a plan is found that chose the size of its sharding groups") {
  ordered_json problem = small_problem();
  problem["topology"]["sharding_groups"] = {{"sync_interval", 1000}};
  const Answer answer = planned(problem, PlanMode::kBest);
  REQUIRE(answer.file["other_layouts"].size() == 1);
  CHECK(check_all_changes(answer) > 700);
}

TEST_CASE("claims: every change of a plan of compat mode is found, its search space included") {
  const PlanJsonOptions options{.search_space = true, .stats = true, .trace = true};
  ordered_json problem = small_problem();
  problem["tables"].erase(2);
  CHECK(check_all_changes(planned(problem, PlanMode::kCompat, options)) > 1000);
}

TEST_CASE("claims: every change of what replan says is found") {
  CHECK(check_all_changes(replanned()) > 500);
}

TEST_CASE("claims: every change of an answer without a plan is found") {
  const Answer small = planned(with_memory(1 << 20), PlanMode::kBest);
  CHECK(small.file["error"]["proof"] == "certificate");
  CHECK(check_all_changes(small) > 50);
  const Answer ruled = planned(contradicting_rules(), PlanMode::kBest);
  CHECK(ruled.file["error"]["proof"] == "certificate");
  CHECK(ruled.file["certificate"]["by_search"] == true);
  CHECK(check_all_changes(ruled) > 50);
  CHECK(check_all_changes(planned(with_memory(1 << 20), PlanMode::kCompat)) > 50);
}

namespace {

Verification verification_of(const std::shared_ptr<const Problem>& problem,
                             const ordered_json& file) {
  auto result = verify_plan_file(problem, file.dump());
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return *std::move(result);
}

ordered_json claim_of_absence() {
  return ordered_json::parse(R"({"plan": null, "mode": "best",
      "error": {"type": "insufficient_storage", "reason": "no_plan_exists", "message": "proved"}})");
}

}  // namespace

TEST_CASE("claims: that no plan exists is refuted by a plan") {
  const auto problem = problem_of(small_problem());
  ordered_json file = claim_of_absence();
  for (const char* mode : {"best", "compat"}) {
    file["mode"] = mode;
    const Verification found = verification_of(problem, file);
    REQUIRE(found.violations.size() == 1);
    CHECK(found.violations[0].where == "/error");
    CHECK(found.violations[0].message == "says that no plan exists, but one does");
  }
  file["error"]["reason"] = "nothing_found";
  CHECK(verification_of(problem, file).verified());
}

TEST_CASE("claims: that no plan exists is not verified if there are too many to try") {
  ordered_json large = small_problem();
  large["topology"]["world_size"] = 512;
  large["topology"]["local_world_size"] = 8;
  large["topology"]["hbm_cap"] = large["topology"]["ddr_cap"] = 30'000'000;
  large["reservation"] = {{"type", "none"}};
  for (int i = 0; i < 300; ++i) {
    large["tables"].push_back(
        {{"name", "x" + std::to_string(i)}, {"num_embeddings", 100'000}, {"embedding_dim", 64}});
  }
  const Verification found = verification_of(problem_of(large), claim_of_absence());
  CHECK(found.valid());
  CHECK_FALSE(found.verified());
  REQUIRE(found.not_verified.size() == 1);
  CHECK(found.not_verified[0].where == "/error");
}

TEST_CASE("claims: a proof that no plan exists holds for its problem only") {
  const Answer small = planned(with_memory(20'000'000), PlanMode::kBest);
  REQUIRE(small.file["error"]["proof"] == "certificate");
  REQUIRE(small.file["certificate"]["bound"].is_null());
  CHECK(verification_of(small.problem, small.file).verified());
  ordered_json file = small.file;
  for (const char* key : {"format", "problem_hash", "problem_parts", "reserved_topology"})
    file.erase(key);
  const Verification found = verification_of(problem_of(small_problem()), file);
  REQUIRE(found.violations.size() == 1);
  CHECK(found.violations[0].where == "/certificate");
}

TEST_CASE("claims: a plan of another version of the format is refused") {
  Answer answer = planned(small_problem(), PlanMode::kCompat);
  answer.file["format"] = "shardwright.embedding.plan/99";
  const auto result = verify_plan_file(answer.problem, answer.file.dump());
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().where == "/format");
}

TEST_CASE("claims: what is not checked is named") {
  const Answer best = planned(small_problem(), PlanMode::kBest);
  const auto named = [](const Verification& found, const std::string& name) {
    return std::count(found.not_checked.begin(), found.not_checked.end(), name) == 1;
  };
  const Verification found = verification_of(best.problem, best.file);
  CHECK(named(found, "num_proposals"));
  CHECK(named(found, "timing"));
  const Answer compat = planned(small_problem(), PlanMode::kCompat);
  CHECK_FALSE(named(verification_of(compat.problem, compat.file), "num_proposals"));
}

TEST_CASE("claims: a bound of rating and moves needs its certificate") {
  const Answer answer = replanned();
  REQUIRE(answer.file["migration"].contains("certificate"));
  const auto found = [&](const ordered_json& file) {
    auto result = verify_plan_file(answer.problem, file.dump(), {nullptr, answer.old_plan});
    REQUIRE(result.ok());
    return result->violations.empty() ? "" : result->violations[0].where;
  };
  CHECK(found(answer.file) == "");
  ordered_json file = answer.file;
  file["migration"]["certificate"]["bound"] =
      file["migration"]["certificate"]["bound"].get<double>() * 1.01;
  CHECK(found(file) == "/migration/certificate");
  file = answer.file;
  file["migration"].erase("certificate");
  CHECK(found(file) == "/migration/lower_bound");
}

TEST_CASE("claims: what replan moved needs the old plan") {
  Answer answer = replanned();
  answer.old_plan.reset();
  const auto result = verify_plan_file(answer.problem, answer.file.dump());
  REQUIRE(result.ok());
  CHECK(result->valid());
  REQUIRE(result->not_verified.size() == 1);
  CHECK(result->not_verified[0].where == "/migration");
}

}  // namespace shardwright::claims_test
