// TorchRec's recorded answers: compat mode makes every decision of every recorded release.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"

namespace shardwright::embedding_golden_test {

namespace {

using namespace shardwright;
using embedding::ProposalChange;
using embedding::ProposalRecord;
using embedding::ShardingOption;
using nlohmann::json;

// Recorded answers of one release. Files in `cases` and `answers` have the same names.
struct Recording {
  std::filesystem::path folder;
  std::size_t least_cases = 0;
  // TorchRec listed options in an order that depended on a hash seed, up to commit a48cef79.
  bool has_fixed_order = false;
};

const std::array kRecordings{Recording{"tests/golden/embedding", 39, false},
                             Recording{"tests/golden/embedding/1.9.2", 66, true}};

struct GoldenCase {
  const Recording* recording = nullptr;
  std::string name;
  std::shared_ptr<const embedding::Problem> problem;
  std::string answer_text;
  json answer;
};

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

// Reads a case and its answer, which names the release that the problem is for.
GoldenCase load(const Recording& recording, const std::string& name) {
  GoldenCase golden;
  golden.recording = &recording;
  golden.name = name;
  const std::string file = name + ".json.gz";
  golden.answer_text = require(read_file((recording.folder / "answers" / file).string()));
  golden.answer = json::parse(golden.answer_text);
  json problem = json::parse(require(read_file((recording.folder / "cases" / file).string())));
  problem["torchrec"] = golden.answer["torchrec"];
  golden.problem = std::make_shared<const embedding::Problem>(
      require(embedding::Problem::make(require(read_problem(problem.dump())))));
  return golden;
}

std::vector<std::string> case_names(const Recording& recording) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(recording.folder / "cases")) {
    std::string name = entry.path().filename().string();
    names.push_back(name.substr(0, name.find(".json.gz")));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// No search space is recorded if the reservation failed.
bool has_search_space(const GoldenCase& golden) {
  return golden.answer.contains("search_space") && !golden.answer["search_space"].empty();
}

template <class Check>
void for_each_case(const Check& check) {
  for (const Recording& recording : kRecordings) {
    const std::vector<std::string> names = case_names(recording);
    REQUIRE(names.size() >= recording.least_cases);
    for (const std::string& name : names) {
      INFO("case ", recording.folder.string(), " ", name);
      check(load(recording, name));
    }
  }
}

// Returns a text that identifies an option. Equal texts mean equal options.
std::string identity(const json& option) {
  json shards = json::array();
  for (const json& shard : option["shards"]) {
    std::vector<double> perf = shard["perf"].get<std::vector<double>>();
    shards.push_back({shard["size"], shard["offset"], shard["hbm"], shard["ddr"],
                      shard.value("ssd", std::int64_t{0}), perf,
                      shard.value("input_dist_comms", 0.0)});
  }
  const json key = {option["module"],        option["table"],
                    option["sharding_type"], option["compute_kernel"],
                    option["partition_by"],  option["batch_size"],
                    option["is_pooled"],     option["is_weighted"],
                    option["load_factor"],   shards};
  return key.dump();
}

std::vector<std::string> identities(const json& space, bool has_fixed_order) {
  std::vector<std::string> result;
  for (const json& option : space)
    result.push_back(identity(option));
  if (!has_fixed_order) std::sort(result.begin(), result.end());
  return result;
}

json to_json(const embedding::SearchSpace& space) {
  std::string text;
  write_search_space(space, ShardForm::kExpanded, [&](std::string_view part) { text += part; });
  return json::parse(text)["search_space"];
}

// Recorded storage is [hbm, ddr] or [hbm, ddr, ssd]. SSD counts only if an option can use it.
bool same_storage(const json& expected, const embedding::Storage& storage, bool counts_ssd) {
  return expected[0] == storage.hbm.value() && expected[1] == storage.ddr.value() &&
         (!counts_ssd || expected[2] == storage.ssd.value());
}

void check_reservation(const json& expected, const embedding::Reservation& reservation) {
  const auto& storage = reservation.topology.storage();
  const bool counts_ssd = reservation.topology.counts_ssd();
  if (expected.contains("uniform")) {
    CHECK(expected["world_size"] == storage.size());
    CHECK(reservation.topology.uniform());
    CHECK(same_storage(expected["uniform"], storage.front(), counts_ssd));
  } else {
    REQUIRE(expected["per_rank"].size() == storage.size());
    for (std::size_t rank = 0; rank < storage.size(); ++rank) {
      CHECK(same_storage(expected["per_rank"][rank], storage[rank], counts_ssd));
    }
  }
  for (const auto& [key, taken] : {std::pair{"dense_storage", reservation.dense_storage},
                                   std::pair{"kjt_storage", reservation.kjt_storage}}) {
    REQUIRE(expected.contains(key) == taken.has_value());
    if (taken) CHECK(same_storage(expected[key], *taken, counts_ssd));
  }
}

// In scale-up searches TorchRec sums with torch, in another order, so ratings may differ by 1e-9.
bool same_rating(const json& expected, double rating, bool scaleup) {
  const double value = expected.get<double>();
  return scaleup ? std::abs(value - rating) <= 1e-9 * std::abs(value) : value == rating;
}

bool uses_scaleup(const embedding::Problem& problem) {
  const auto& proposers = problem.spec().proposers;
  return std::any_of(proposers.begin(), proposers.end(), [](const embedding::ProposerSpec& spec) {
    return spec.type == embedding::ProposerSpec::Type::kScaleup;
  });
}

// Scale-up adds options to the recorded space, so its proposals describe options by content.
bool same_tables(const json& expected, const std::vector<const ShardingOption*>& options,
                 const embedding::Problem& problem) {
  if (expected.size() != options.size()) return false;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const ShardingOption& own = *options[i];
    const json& other = expected[i];
    const json load_factor = own.load_factor ? json(*own.load_factor) : json();
    if (other["table"] != problem.table(own.table).name ||
        other["sharding_type"] != std::string(to_name(own.sharding_type)) ||
        other["compute_kernel"] != std::string(to_name(own.compute_kernel)) ||
        other["load_factor"] != load_factor ||
        other["total_hbm"] != own.total_storage().hbm.value() ||
        other["total_ddr"] != own.total_storage().ddr.value() ||
        !same_rating(other["total_perf"], own.total_perf().value(), true)) {
      return false;
    }
  }
  return true;
}

class TraceComparison {
 public:
  TraceComparison(const GoldenCase& golden, const ProposalTrace& trace)
      : golden_(golden), trace_(trace), scaleup_(uses_scaleup(*golden.problem)) {}

  // Compares `count` proposals. Returns the index of the first that differs, or `count`.
  std::size_t first_difference(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!same(golden_.answer["proposals"][i], trace_.proposals[i])) return i;
    }
    return count;
  }

 private:
  bool same(const json& expected, const ProposalRecord& record) {
    std::vector<std::uint32_t>& current = current_[record.proposer];
    if (record.full) current.resize(record.changes.size());
    for (const ProposalChange& change : record.changes)
      current[change.position] = change.option.value();
    return expected["p"] == record.proposer && same_options(expected, record, current) &&
           expected.value("cached", false) == record.cached && expected["ok"] == record.feasible &&
           same_result(expected, record);
  }

  bool same_options(const json& expected, const ProposalRecord& record,
                    const std::vector<std::uint32_t>& current) {
    if (expected.contains("tables")) {
      std::vector<const ShardingOption*> options;
      for (const std::uint32_t id : current)
        options.push_back(trace_.options[id]);
      return same_tables(expected["tables"], options, *golden_.problem);
    }
    std::vector<std::uint32_t>& peer = peer_[record.proposer];
    if (expected.contains("options")) peer = expected["options"].get<std::vector<std::uint32_t>>();
    if (expected.contains("delta")) {
      for (const json& change : expected["delta"]) {
        peer[change[0].get<std::size_t>()] = change[1].get<std::uint32_t>();
      }
    }
    return peer == current;
  }

  bool same_result(const json& expected, const ProposalRecord& record) const {
    if (!record.feasible) return !record.rating.has_value();
    if (!same_rating(expected["rating"], *record.rating, scaleup_)) return false;
    return record.cached || expected["ranks_sha1"] == record.ranks_sha1;
  }

  const GoldenCase& golden_;
  const ProposalTrace& trace_;
  bool scaleup_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> current_, peer_;  // by proposer
};

// Returns true if no rank holds more than it has. The memory-balanced partitioner may exceed that.
bool fits(const json& answer) {
  const json& reserved = answer["reserved_topology"];
  for (std::size_t rank = 0; rank < answer["plan_hbm_by_rank"].size(); ++rank) {
    const json& left =
        reserved.contains("uniform") ? reserved["uniform"] : reserved["per_rank"][rank];
    if (answer["plan_hbm_by_rank"][rank] > left[0] || answer["plan_ddr_by_rank"][rank] > left[1])
      return false;
  }
  return true;
}

void check_plan(const GoldenCase& golden, const EmbeddingPlanResult& result) {
  const json& answer = golden.answer;
  const bool scaleup = uses_scaleup(*golden.problem);
  REQUIRE(result.best_rating.has_value());
  CHECK(same_rating(answer["best_rating"], *result.best_rating, scaleup));
  CHECK(answer["plan_ranks_sha1"] == embedding::ranks_sha1(*result.plan));
  for (std::size_t rank = 0; rank < result.evaluation.perf_ms_by_rank.size(); ++rank) {
    CHECK(same_rating(answer["plan_perf_by_rank"][rank], result.evaluation.perf_ms_by_rank[rank],
                      scaleup));
    const embedding::Storage used = result.evaluation.storage_by_rank[rank];
    CHECK(answer["plan_hbm_by_rank"][rank] == used.hbm.value());
    CHECK(answer["plan_ddr_by_rank"][rank] == used.ddr.value());
    if (answer.contains("plan_ssd_by_rank"))
      CHECK(answer["plan_ssd_by_rank"][rank] == used.ssd.value());
  }
  CHECK(result.evaluation.rating == *result.best_rating);
  // A plan omits tables of another device group.
  if (answer["plan"].size() == golden.problem->tables().size())
    CHECK(result.evaluation.valid() == fits(answer));
  REQUIRE(answer["plan"].size() == result.plan->size());
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    const embedding::Assignment& own = (*result.plan)[i];
    const json& expected = answer["plan"][i];
    CHECK(expected["table"] == golden.problem->table(own.option->table).name);
    CHECK(expected["sharding_type"] == std::string(to_name(own.option->sharding_type)));
    CHECK(expected["compute_kernel"] == std::string(to_name(own.option->compute_kernel)));
    REQUIRE(expected["ranks"].size() == own.option->num_shards());
    for (std::uint32_t shard = 0; shard < own.option->num_shards(); ++shard) {
      CHECK(expected["ranks"][shard] == own.rank(shard));
    }
  }
}

}  // namespace

TEST_CASE("golden: the search space is TorchRec's, option by option and bit by bit") {
  for_each_case([](const GoldenCase& golden) {
    if (!has_search_space(golden)) return;
    const auto space = require(enumerate_embedding(golden.problem));
    CHECK(space->size() == golden.answer["search_space_size"].get<std::size_t>());
    const bool ordered = golden.recording->has_fixed_order;
    const auto own = identities(to_json(*space), ordered);
    const auto peer = identities(golden.answer["search_space"], ordered);
    const auto difference = std::mismatch(own.begin(), own.end(), peer.begin(), peer.end());
    if (difference.first != own.end() && difference.second != peer.end()) {
      INFO("own  ", difference.first->substr(0, 400));
      INFO("peer ", difference.second->substr(0, 400));
      CHECK(*difference.first == *difference.second);
    }
    CHECK(own.size() == peer.size());
  });
}

TEST_CASE("golden: the reservation is TorchRec's") {
  for_each_case([](const GoldenCase& golden) {
    const Result<embedding::Reservation> reservation = reserve_embedding(*golden.problem);
    REQUIRE(reservation.ok() == golden.answer.contains("reserved_topology"));
    if (reservation.ok()) check_reservation(golden.answer["reserved_topology"], *reservation);
  });
}

TEST_CASE("golden: every proposal, rating and plan is TorchRec's") {
  for_each_case([](const GoldenCase& golden) {
    // If TorchRec's order of options depended on a hash seed, its recorded search space is used.
    std::shared_ptr<const embedding::SearchSpace> space;
    if (has_search_space(golden) && !golden.recording->has_fixed_order) {
      space = require(read_search_space(golden.answer_text, golden.problem));
    }
    PlanOptions options;
    options.mode = PlanMode::kCompat;
    options.trace = true;
    const EmbeddingPlanResult result = require(plan_embedding(golden.problem, options, space));
    CHECK(golden.answer["num_proposals"] == result.num_proposals);
    CHECK(golden.answer["num_plans"] == result.num_plans);

    const std::size_t recorded = golden.answer["proposals"].size();
    const std::size_t own = result.trace ? result.trace->proposals.size() : 0;
    // The answer of one case has only its first proposals.
    REQUIRE(own >= recorded);
    if (golden.name != "42_big_1000t_128r_greedy_twcw_nofit") CHECK(own == recorded);
    if (recorded > 0) {
      CHECK(TraceComparison(golden, *result.trace).first_difference(recorded) == recorded);
    }
    if (golden.answer.contains("error")) {
      REQUIRE(result.failure.has_value());
      CHECK(golden.answer["error"]["type"] == name_of(result.failure->type));
      CHECK_FALSE(result.plan.has_value());
    } else {
      CHECK_FALSE(result.failure.has_value());
      check_plan(golden, result);
    }
  });
}

}  // namespace shardwright::embedding_golden_test
