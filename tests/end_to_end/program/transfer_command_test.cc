// `program transfer` as a user runs it.
#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::transfer_command_test {

using namespace shardwright::test_support;
using nlohmann::json;
using shardwright::read_file;
using shardwright::write_file;

namespace {

const std::string kSample = "samples/data/transfer.json";

}  // namespace

TEST_CASE("transfer command: the report says what the busiest ports carry, and what is proved") {
  const Command run;
  const CommandOutcome outcome = run("program transfer " + kSample);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out,
                 "16 tensors in 8 groups of equal ones, 8 ranks: 224 MiB move, "
                 "96.0 MiB stay where they are"));
  CHECK(contains(outcome.out, "estimated time 3.020 ms, proved at least 3.020 ms (0.00 % above)"));
  CHECK(contains(outcome.out,
                 "(for all plans in which ranks pass on what they want within their host)"));
  CHECK(contains(outcome.out, "of at most 64.0 MiB in 2 rounds of at most 1.00 GiB per rank"));
  CHECK_FALSE(contains(outcome.out, "keeps"));
  CHECK(contains(run("program transfer --full " + kSample).out, "     4  20.0 MiB  56.0 MiB"));
}

TEST_CASE("transfer command: a replicated target enters its host once, and is passed on there") {
  const Command run;
  const CommandOutcome outcome =
      run("program transfer --json tests/golden/reported/replicated_rollout_transfer.json");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  const json plan = json::parse(outcome.out);
  CHECK(plan.at("hosts") == json::parse("[[0, 1073741824, 0], [1, 0, 1073741824]]"));
  CHECK(plan.at("busiest").get<double>() == doctest::Approx(1073741824 / 4e8));
  CHECK(plan.at("lower_bound") == plan.at("busiest"));
  std::int64_t passed_on = 0;
  for (const json& transfer : plan.at("transfers"))
    passed_on += transfer.value("passed_on", std::int64_t{0});
  CHECK(passed_on == std::int64_t{3} << 30);
}

TEST_CASE("transfer command: files, pipes, --json and -o give the same plan") {
  const Command run;
  const std::string expected = run("program transfer --json " + kSample).out;
  REQUIRE(json::accept(expected));
  CHECK(run("program transfer --json -", "cat " + kSample + " | ").out == expected);
  CHECK(run("program transfer -o " + run.path("plan.json") + " " + kSample).out.empty());
  CHECK(*read_file(run.path("plan.json")) == expected);
}

TEST_CASE("transfer command: sizes limit messages and memory") {
  const Command run;
  const json plan = json::parse(run("program transfer --json --memory 8MiB " + kSample).out);
  CHECK(plan.at("memory_bytes") == 8 << 20);
  CHECK(plan.at("message_bytes") == 8 << 20);
  CHECK(plan.at("rounds") == 7);
  CHECK(plan.at("rounds") == plan.at("least_rounds"));
  const json short_messages =
      json::parse(run("program transfer --json --message-bytes 1MiB " + kSample).out);
  CHECK(short_messages.at("messages") == 224);
}

TEST_CASE("transfer command: a bad file or flag exits 2 with one line that helps") {
  const Command run;
  json document = json::parse(*read_file(kSample));
  document["tensors"][2]["source"]["mesh"] = "stage";
  REQUIRE(write_file(run.path("bad.json"), document.dump()).ok());
  const auto check = [&](const std::string& arguments, const std::string& message) {
    const CommandOutcome outcome = run("program transfer " + arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  check(run.path("bad.json"), run.path("bad.json") +
                                  ": /tensors/2/source/mesh: unknown mesh \"stage\"; did you mean "
                                  "\"stage0\"?");
  check(kSample + " --memory 1MiB --message-bytes 2MiB",
        "--memory: a message of 2097152 bytes must fit");
  check(kSample + " --memory much", "--memory: \"much\" is no size");
  check(kSample + " --memroy 1MiB", "did you mean --memory?");
}

}  // namespace shardwright::transfer_command_test
