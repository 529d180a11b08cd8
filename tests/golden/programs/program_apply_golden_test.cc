// Whole programs: compat mode inserts Paddle's operators, and best mode inserts no more than these.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"
#include "tests/support/program/program_execution.h"

namespace shardwright::program_apply_golden_test {

namespace {

using namespace shardwright;
using nlohmann::json;

struct Run {
  json golden;
  json written;
};

Run run(const program::ReshardOptions& base, int threads) {
  const auto text = read_file("tests/golden/programs/programs.json.gz");
  REQUIRE(text.ok());
  const auto programs = read_programs(*text);
  REQUIRE(programs.ok());
  std::vector<std::pair<ProgramDocument, program::ReshardResult>> results;
  for (const ProgramDocument& document : *programs) {
    program::ReshardOptions options = base;
    options.ranks = document.ranks;
    auto result = reshard_program(document.program, options, threads);
    REQUIRE(result.ok());
    results.emplace_back(document, std::move(result).value());
  }
  std::string out;
  write_programs(results, [&](std::string_view piece) { out += piece; });
  return {json::parse(*text), json::parse(out)};
}

const json& rank_of(const json& written, const json& expected) {
  for (const json& program : written["programs"]) {
    if (program["name"] != expected["program"]) continue;
    for (const json& rank : program["ranks"]) {
      if (rank["rank"] == expected["rank"]) return rank;
    }
  }
  FAIL("no such run");
  return written;
}

}  // namespace

TEST_CASE("program golden: compat mode makes upstream's programs") {
  program::ReshardOptions options;
  options.compat = true;
  for (const int threads : {1, 2}) {
    const Run batch = run(options, threads);
    CHECK(batch.golden["expected"].size() == 6);
    for (const json& expected : batch.golden["expected"]) {
      CAPTURE(expected.dump());
      const json& ours = rank_of(batch.written, expected);
      CHECK(ours["ops"] == expected["ops"]);
      CHECK(ours["counters"]["planner_calls"] == expected["parse_op_desc_calls"]);
      CHECK(ours["counters"]["inserted_ops"] == expected["inserted_ops"]);
      CHECK(ours["counters"]["mirror_syncs"] == expected["syncs_batched"]);
      CHECK(ours["counters"]["commits"] == 1);
    }
  }
}

TEST_CASE(
    "program golden: synchronising after every insertion makes the same programs, with a sync per "
    "insertion") {
  program::ReshardOptions options;
  options.compat = true;
  options.sync = program::SyncMode::kPerInsert;
  const Run legacy = run(options, 1);
  for (const json& expected : legacy.golden["expected"]) {
    const json& ours = rank_of(legacy.written, expected);
    CHECK(ours["ops"] == expected["ops"]);
    // Paddle synchronises once more at the end.
    CHECK(ours["counters"]["mirror_syncs"].get<int>() + 1 ==
          expected["syncs_merged_code"].get<int>());
  }
}

TEST_CASE(
    "program golden: best mode inserts no more operators and calls the planner no more often") {
  const Run best = run({}, 2);
  for (const json& expected : best.golden["expected"]) {
    CAPTURE(expected.dump());
    const json& ours = rank_of(best.written, expected);
    CHECK(ours["counters"]["inserted_ops"] <= expected["inserted_ops"]);
    CHECK(ours["counters"]["planner_calls"] <= expected["parse_op_desc_calls"]);
    CHECK(ours["counters"]["mirror_syncs"] == 1);
  }
}

TEST_CASE(
    "program golden: a resharded program can be read back, and resharding it again inserts no more "
    "operators") {
  const Run best = run({}, 1);
  for (const json& program : best.written["programs"]) {
    for (const json& rank : program["ranks"]) {
      const auto again = read_programs(rank["program"].dump());
      REQUIRE(again.ok());
      program::ReshardOptions options;
      options.ranks = again->front().ranks;
      const auto result = reshard_program(again->front().program, options, 1);
      REQUIRE(result.ok());
      std::size_t consumers = 0;
      for (const json& op : rank["program"]["ops"])
        consumers += op.contains("mesh") ? 1U : 0U;
      CHECK(consumers > 0);
      CHECK(result->ranks.front().counters.inserted_ops <=
            rank["counters"]["inserted_ops"].get<std::uint64_t>());
    }
  }
}

TEST_CASE(
    "program golden: every rank reads the right data, in both modes, for whole programs and as "
    "upstream") {
  const auto text = read_file("tests/golden/programs/programs.json.gz");
  REQUIRE(text.ok());
  const auto programs = read_programs(*text);
  REQUIRE(programs.ok());
  std::size_t runs = 0;
  for (const ProgramDocument& document : *programs) {
    CAPTURE(document.program.name());
    for (const int choice : {0, 1, 2, 3}) {
      program::ReshardOptions options;
      options.compat = choice % 2 == 1;
      options.whole = choice / 2 == 1;
      options.ranks = document.ranks;
      const auto result = reshard_program(document.program, options, 2);
      REQUIRE(result.ok());
      const auto execution = test_support::execute(document.program, *result);
      CHECK(execution.problem == "");
      CHECK(execution.inputs >= document.ranks.size());
      runs += result->ranks.size();
    }
  }
  CHECK(runs == 4 * 6);
}

}  // namespace shardwright::program_apply_golden_test
