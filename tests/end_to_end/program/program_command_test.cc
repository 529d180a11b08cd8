// The commands under `shardwright program` give the recorded answers in every format of input and
// output.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "tests/support/command.h"

namespace shardwright::program_command_test {

namespace {

using nlohmann::json;
using shardwright::read_file;
using shardwright::write_file;
using shardwright::test_support::Command;
using shardwright::test_support::CommandOutcome;
using shardwright::test_support::contains;

const std::string kCases = "tests/golden/programs/paddle_reshard_cases.json.gz";
const std::string kMeshCases = "tests/golden/programs/paddle_nd_mesh_derived.json.gz";
const std::string kPrograms = "tests/golden/programs/programs.json.gz";

json parsed(const std::string& path) {
  auto text = read_file(path);
  REQUIRE(text.ok());
  return json::parse(*text);
}

json answer(const CommandOutcome& outcome) {
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("program command: compat resharding gives the recorded answer in every usable case") {
  const Command run;
  const json recorded = parsed(kCases);
  const json ours = answer(run("program reshard --compat --json " + kCases));
  REQUIRE(ours.size() == recorded.size());
  int compared = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!recorded[i].value("usable", false)) continue;
    CAPTURE(i);
    for (const auto& recorded_rank : recorded[i].at("inserted").items()) {
      const std::string rank = recorded_rank.key();
      const json& inserted = recorded_rank.value();
      CAPTURE(rank);
      REQUIRE(ours[i].at("inserted").contains(rank));
      CHECK(ours[i]["inserted"][rank] == inserted);
      ++compared;
    }
  }
  CHECK(compared >= 200);
}

TEST_CASE("program command: the cheapest resharding is correct by simulation in every case") {
  const Command run;
  for (const std::string& cases : {kCases, kMeshCases}) {
    const json ours = answer(run("program reshard --json " + cases));
    CHECK(ours.size() == parsed(cases).size());
    for (const json& one : ours)
      CHECK(one.at("simulated").at("correct") == true);
    const CommandOutcome report = run("program reshard " + cases);
    CHECK(report.status == 0);
    CHECK(contains(report.out, " 0 wrong"));
  }
}

TEST_CASE("program command: apply makes the recorded programs with one synchronisation") {
  const Command run;
  const json recorded = parsed(kPrograms).at("expected");
  const json ours = answer(run("program apply --compat --json " + kPrograms));
  REQUIRE(recorded.size() == 6);
  const auto find = [&](const json& wanted) -> const json& {
    for (const json& program : ours.at("programs")) {
      if (program.at("name") != wanted.at("program")) continue;
      for (const json& rank : program.at("ranks"))
        if (rank.at("rank") == wanted.at("rank")) return rank;
    }
    FAIL("no such rank");
    return ours;
  };
  for (const json& wanted : recorded) {
    CAPTURE(wanted.at("program").get<std::string>());
    const json& rank = find(wanted);
    CHECK(rank.at("ops") == wanted.at("ops"));
    CHECK(rank.at("counters").at("inserted_ops") == wanted.at("inserted_ops"));
    CHECK(rank.at("counters").at("mirror_syncs") == wanted.at("syncs_batched"));
  }
  const json legacy = answer(run("program apply --compat --legacy-sync --json " + kPrograms));
  for (std::size_t p = 0; p < legacy.at("programs").size(); ++p) {
    const json& ranks = legacy["programs"][p].at("ranks");
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      CHECK(ranks[r].at("counters").at("mirror_syncs") ==
            ranks[r].at("counters").at("inserted_ops"));
      CHECK(ranks[r].at("ops") == ours.at("programs")[p].at("ranks")[r].at("ops"));
    }
  }
}

TEST_CASE("program command: files, pipes, gzip, --json, -o and any number of threads agree") {
  const Command run;
  for (const std::string& asked : {"program reshard|" + kCases, "program apply|" + kPrograms,
                                   "program apply --full|" + kPrograms}) {
    CAPTURE(asked);
    const std::string command = asked.substr(0, asked.find('|'));
    const std::string file = asked.substr(asked.find('|') + 1);
    const std::string plain = run.path("plain.json");
    REQUIRE(write_file(plain, *read_file(file)).ok());
    const auto text = [](const CommandOutcome& outcome) {
      CHECK_MESSAGE(outcome.status == 0, outcome.err);
      return outcome.out;
    };
    const std::string expected = text(run(command + " --json --threads 1 " + file));
    REQUIRE(json::accept(expected));
    CHECK(text(run(command + " --json --threads 2 " + file)) == expected);
    CHECK(text(run(command + " --json -", "cat " + plain + " | ")) == expected);
    CHECK(text(run(command + " --json -", "cat " + file + " | ")) == expected);
    CHECK(text(run(command + " -o - " + plain)) == expected);
    CHECK(text(run(command + " -o " + run.path("answer.json") + " " + plain)).empty());
    CHECK(*read_file(run.path("answer.json")) == expected);
    CHECK_FALSE(json::accept(text(run(command + " " + plain))));
  }
}

TEST_CASE("program command: a bad file exits 2, names the place, and leaves no output behind") {
  const Command run;
  json programs = parsed(kPrograms);
  programs["programs"][1]["ops"][1]["inputs"][0]["var"] = "nobody";
  REQUIRE(write_file(run.path("bad.json"), programs.dump()).ok());
  const std::string output = run.path("never.json");
  const CommandOutcome bad = run("program apply " + run.path("bad.json") + " -o " + output);
  CHECK(bad.status == 2);
  CHECK(bad.out.empty());
  CHECK(bad.err == "shardwright: " + run.path("bad.json") +
                       ": /programs/1/ops/1/inputs/0/var: there is no variable \"nobody\"\n");
  for (const auto& entry : std::filesystem::directory_iterator(run.folder()))
    CHECK_FALSE(entry.path().filename().string().starts_with("never"));
}

TEST_CASE("program command: an open batch dimension takes its size from the command line") {
  const Command run;
  json programs = parsed(kPrograms);
  json program = programs["programs"][0];
  for (json& var : program["vars"]) {
    if (var["name"] != "x") continue;
    var["full_shape"][0] = -1;
    var["local_shape"][0] = -1;
  }
  REQUIRE(write_file(run.path("open.json"), program.dump()).ok());
  const CommandOutcome open = run("program apply --json " + run.path("open.json"));
  CHECK(open.status == 2);
  CHECK(contains(open.err, "\"x\" has an open batch dimension; set the batch size (--batch-size)"));
  const CommandOutcome given = run("program apply --json --batch-size 8 " + run.path("open.json"));
  CHECK(given.status == 0);
  for (json& var : program["vars"]) {
    if (var["name"] != "x") continue;
    var["full_shape"][0] = 8;
    var.erase("local_shape");
  }
  REQUIRE(write_file(run.path("written.json"), program.dump()).ok());
  CHECK(given.out == run("program apply --json " + run.path("written.json")).out);
  CHECK(run("program apply --json --batch-size 9999999999999 " + run.path("open.json")).status ==
        2);
}

TEST_CASE("program command: compat mode warns where its own simulation says that Paddle is wrong") {
  const Command run;
  const std::string cases = "tests/golden/reported/compat_wrong_reshard.json";
  const CommandOutcome wrong = run("program reshard --compat --json " + cases);
  CHECK(wrong.status == 0);
  CHECK(
      contains(wrong.err, "/0: Paddle's plan, which --compat reproduces, is wrong by simulation"));
  CHECK(json::parse(wrong.out)[0].at("simulated").at("correct") == false);
  CHECK(run("program reshard --json " + cases).err.empty());
  // The same cases with a tensor that is too large to be simulated, and in a program.
  json large = parsed(cases);
  large[0]["shape"] = {1 << 20, 1 << 20};
  REQUIRE(write_file(run.path("large.json"), large.dump()).ok());
  CHECK(contains(run("program reshard --compat " + run.path("large.json")).err, "is wrong"));
  const json program =
      json::parse(R"({"name": "p", "meshes": [{"shape": [2, 2], "ids": [0, 1, 2, 3]}],
    "vars": [{"name": "x", "full_shape": [1048576, 1048576], "mesh": 0, "dims_mapping": [0, 1]}],
    "ops": [{"type": "relu", "mesh": 0, "inputs": [{"var": "x", "dims_mapping": [1, 0]}]}]})");
  REQUIRE(write_file(run.path("program.json"), program.dump()).ok());
  const CommandOutcome apply = run("program apply --compat --json " + run.path("program.json"));
  CHECK(apply.status == 0);
  CHECK(contains(apply.err,
                 "/ops/0/inputs (\"x\"): Paddle's plan, which --compat reproduces, is wrong"));
  const json told = json::parse(apply.out)["programs"][0].at("wrong");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("input") == "x");
  const CommandOutcome best = run("program apply --json " + run.path("program.json"));
  CHECK(best.err.empty());
  CHECK_FALSE(json::parse(best.out)["programs"][0].contains("wrong"));
}

TEST_CASE(
    "program command: help pages have examples, and misuse prints one line with a suggestion") {
  const Command run;
  for (const char* name : {"reshard", "apply", "transfer"}) {
    const CommandOutcome help = run(std::string("program ") + name + " --help");
    CHECK(help.status == 0);
    CHECK(contains(help.out, "Example"));
    CHECK(contains(help.out, std::string("shardwright program ") + name));
  }
  const auto check = [&](const std::string& arguments, std::string_view message) {
    CAPTURE(arguments);
    const CommandOutcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  check("program",
        "shardwright program needs a subcommand; known: reshard, apply, redistribute, transfer");
  check("program aply x", "unknown command \"aply\"; did you mean \"apply\"?");
  check("program apply x --legacysync", "did you mean --legacy-sync?");
  check("program apply x --batch-size 0", "--batch-size: must be a whole number of at least 1");
  check("program reshard", "CASES");
  check("program reshard x --full", "see shardwright program reshard --help");
}

}  // namespace shardwright::program_command_test
