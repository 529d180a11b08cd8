// `plan --batch`, `--checkpoint` and `--resume` as a user runs them.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::batch_test {

namespace {

using nlohmann::json;
using test_support::Command;
using test_support::CommandOutcome;
using test_support::contains;

const std::string kCases = "tests/golden/embedding/cases/";
const std::string kSmall = kCases + "01_small_2t_2r_default.json.gz";
const std::string kNoPlan = kCases + "11_nofit_insufficient_2r.json.gz";
const std::string kMixed = kCases + "09_mixed_default_20t_16r_2h.json.gz";
const std::string kLimit = " --work-limit 1000000 --threads 1 ";

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("batch: one line per problem, in their order, with the answers that they have alone") {
  const Command run;
  const CommandOutcome batch =
      run("plan --batch " + kMixed + " nowhere.json " + kNoPlan + " " + kSmall + kLimit);
  CHECK(batch.status == 2);  // the status of the first problem that failed
  const std::vector<json> lines = lines_of(batch.out);
  REQUIRE(lines.size() == 4);
  const std::vector<int> statuses{0, 2, 3, 0};
  const std::vector<std::string> files{kMixed, "nowhere.json", kNoPlan, kSmall};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CAPTURE(i);
    CHECK(lines[i]["file"] == files[i]);
    CHECK(lines[i]["exit"] == statuses[i]);
    CHECK(lines[i].contains("error") == (i == 1));
    if (i == 1) continue;
    json alone = json::parse(run("plan " + files[i] + kLimit + "--json").out);
    json answer = lines[i]["answer"];
    alone.erase("timing");
    answer.erase("timing");
    CHECK(answer == alone);
  }
  CHECK(contains(lines[1]["error"].get<std::string>(), "nowhere.json: cannot open"));
}

TEST_CASE("batch: the file of -o has the lines, and flags hold for all problems") {
  const Command run;
  const std::string path = run.path("answers.jsonl");
  const CommandOutcome batch =
      run("plan --batch " + kSmall + " " + kMixed + " --mode compat --hbm 100GiB -o " + path);
  CHECK(batch.status == 0);
  CHECK(batch.out.empty());
  const std::vector<json> lines = lines_of(*read_file(path));
  REQUIRE(lines.size() == 2);
  for (const json& line : lines)
    CHECK(line["answer"]["mode"] == "compat");
}

TEST_CASE("batch: what it cannot do is refused") {
  const Command run;
  const std::vector<std::string> wrong_uses{"plan",
                                            "plan --batch -",
                                            "plan " + kSmall + " --batch " + kMixed,
                                            "plan --batch " + kSmall + " --reuse x.json",
                                            "plan --batch " + kSmall + " --resume x.json",
                                            "plan --batch " + kSmall + " --checkpoint x.json",
                                            "plan --batch " + kSmall + " -o " + kSmall,
                                            "plan --batch " + kSmall + " --search-space x.json"};
  for (const std::string& wrong : wrong_uses) {
    CAPTURE(wrong);
    const CommandOutcome refused = run(wrong);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK_FALSE(refused.err.empty());
  }
}

TEST_CASE("checkpoint: an answer may take its place, and another command goes on from it") {
  const Command run;
  const std::string plan = run.path("plan.json");
  const std::string keep = kLimit + "--checkpoint " + plan + " -o " + plan;
  REQUIRE(run("plan " + kMixed + keep).status == 0);
  const double first = json::parse(*read_file(plan))["best_rating"];
  CHECK(run("verify " + kMixed + " " + plan).status == 0);
  REQUIRE(run("plan " + kMixed + keep + " --resume " + plan).status == 0);
  CHECK(json::parse(*read_file(plan))["best_rating"].get<double>() <= first);
  const std::vector<std::pair<std::string, std::string>> refusals{
      {kSmall + " --resume " + plan, "made for another problem"},
      {kMixed + " --mode compat --resume " + plan, "compat mode"},
      {kMixed + " --resume nowhere.json", "nowhere.json: cannot open"},
      {kMixed + " --checkpoint -", "needs the name of a file"},
      {kMixed + " --checkpoint " + kMixed, "would be lost"}};
  for (const auto& refusal : refusals) {
    CAPTURE(refusal.first);
    const CommandOutcome refused = run("plan " + refusal.first);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, refusal.second));
  }
}

TEST_CASE("checkpoint: one that cannot be written is said once, before the search") {
  const Command run;
  const CommandOutcome outcome = run("plan " + kMixed + kLimit + "--json --checkpoint " +
                                     run.path("no_folder/checkpoint.json"));
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  const std::size_t first = outcome.err.find("no_folder/checkpoint.json: cannot write");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.err.find("no_folder", first + 1) == std::string::npos);
}

}  // namespace shardwright::batch_test
