// Logs of TorchRec's planner: every way of writing them is read alike, and damage is named with its
// line.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/embedding/audit.h"
#include "runtime/io/embedding/planner_log_reader.h"
#include "runtime/io/file.h"

namespace shardwright::planner_log_reader_test {

using namespace shardwright;

namespace {

std::string sample() { return *read_file("samples/data/planner.log"); }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE_MESSAGE(at != std::string::npos, what);
  return text.replace(at, what.size(), by);
}

// Calls `change` for every line.
template <class Change>
std::string by_line(const std::string& text, const Change& change) {
  std::string changed;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    changed += change(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return changed;
}

void check_sample(const std::string& text, const char* form) {
  CAPTURE(form);
  const Result<PlannerLog> log = read_planner_log(text);
  REQUIRE_MESSAGE(log.ok(), (log.ok() ? "" : log.error().to_string()));
  REQUIRE(log->ranks.size() == 4);
  REQUIRE(log->tables.size() == 4);
  CHECK(log->ranks[2].time.total == 0.133);
  CHECK(log->ranks[0].shards.size() == 4);
  CHECK(log->tables[1].name == "ads");
  CHECK(log->tables[1].module == "ebc");
  CHECK(log->tables[1].shard_columns == 128);
  CHECK(log->tables[1].ranks == std::vector<std::int64_t>{2, 3});
  CHECK(log->tables[0].batch_sizes == std::vector<std::int64_t>{256});
  CHECK(log->batch_size == 256);
}

}  // namespace

TEST_CASE("planner log: frames, prefixes and neighbours do not matter") {
  const std::string log = sample();
  check_sample(log, "as printed");
  check_sample("before\n" + log + "behind\n", "among others");
  check_sample(by_line(log, [](const std::string& line) { return "INFO:torchrec:" + line; }),
               "with a prefix");
  int second = 0;
  check_sample(by_line(log,
                       [&](const std::string& line) {
                         return "[01:02:" + std::to_string(++second) + "] 7 " + line + "\r";
                       }),
               "with a prefix that changes");
  check_sample(by_line(log,
                       [](const std::string& line) {
                         return line.size() < 2 ? line : line.substr(1, line.size() - 2);
                       }),
               "without the frame");
  check_sample(
      by_line(log, [](const std::string& line) { return line + "\nanother process says"; }),
      "with lines between");
  check_sample(log.substr(0, log.find("# Total Perf Imbalance")), "cut behind the tables");
  check_sample(replaced(log, "0.133", "9.133") + log, "the last of two");
  const Result<PlannerLog> first = read_planner_log(replaced(log, "0.133", "9.133") + log, 1);
  REQUIRE(first.ok());
  CHECK(first->num_plans == 2);
  CHECK(first->ranks[2].time.total == 9.133);
}

TEST_CASE("planner log: damage is named with its line") {
  struct Damage {
    std::string what;
    std::string by;
    std::string error;  // the beginning of it, or all
  };
  const std::vector<Damage> damages{
      {"--- Planner Statistics ---", "---", "line 103: the text ends without"},
      {"Evaluated 9", "Evaluated nine", "line 3: "},
      {"ran for 0.01s", "ran for ", "line 3: "},
      {"HBM (GB)", "HBM", "line 5: the column \"HBM (GB)\" is missing"},
      {"Output (MB)", "", "line 5: the column \"Output (MB)\" is missing"},
      {"0.383 (1%)", "0.383", "line 7: \"0.383\" is not what column \"HBM (GB)\" has"},
      {"0.383 (1%)", "-1 (1%)", "line 7: "},
      {"0.383 (1%)", "nan (1%)", "line 7: "},
      {"0.125 (0.002,", "0.125 (", "line 7: "},
      {"0.125 (0.002,0.06,0.004,0.06,0)", "0.125 (0.002,0.06)", "line 7: "},
      {"0.125 (0.002", "0.125 (0.0x2", "line 7: "},
      {"CW: 0 RW: 1 TW: 1 TWRW: 1", "CW: 0 XW: 1", "line 7: "},
      {"CW: 0 RW: 1 TW: 1 TWRW: 1", "CW: 0 RW", "line 7: "},
      {"   1   0.24 (1%)", "   2   0.24 (1%)", "line 8: rank 1 is missing before \"2\""},
      {"0.24 (1%)   ", "0.24 (1%)\n", "line 8: the row has 2 of 7 columns"},
      {"Parameter Info:", "", "line 103: the plan of line 2 has no section `Parameter Info`"},
      {"Compute Kernel   ", "Compute\n", "line 17: the column \"Compute Kernel\" is missing"},
      {"   TW   fused", "   TB   fused", "line 19: \"TB\" is not what column \"Sharding\" has"},
      {"   TW   fused", "   TW   fusd", "line 19: \"fusd\" is not what column"},
      {"(0.144 GB,", "(0.144 MB,", "line 19: "},
      {"(0.144 GB, 0.0 GB, 0.0 GB)", "(0.144 GB)", "line 19: "},
      {"sequence   unweighted", "sequenced   unweighted", "line 19: "},
      {"sequence   unweighted", "sequence   heavy", "line 19: "},
      {"   128   300000", "   0   300000", "line 19: \"0\" is not what column \"Emb Dim\" has"},
      {"   128   300000", "   128   3e5", "line 19: "},
      {"256 (128)", "256 (512)", "line 20: "},
      {"256 (128)   100000   2-3", "256 (128)   100000   3-2", "line 20: "},
      {"256 (128)   100000   2-3", "256 (128)   100000   2-4",
       "line 20: the table is on rank 4, and the section of ranks has 4 ranks"},
      {"256 (128)   100000   2-3", "256 (128)   100000   None", "line 20: "},
      {"   0   256   #", "   0   256*x   #", "line 19: "},
      {"20.0   1.0   20.0", "20.0   1.0   inf", "line 20: "},
      {"20.0   1.0   20.0", "20.0   1.0", "line 20: the row has 16 of 17 columns"},
      {"Batch Size: 256", "Batch Size: many", "line 24: "},
      {"Batch Size: 256", "", "line 103: the log ends before `Batch Size`"},
      {"HBM: 4.8 GB", "HBM: much", "line 86: "},
      {"HBM: 27.2 GB, DDR", "HBM: 27.2 GB, SSD", "line 89: "},
  };
  CHECK(damages.size() >= 30);
  for (const Damage& damage : damages) {
    CAPTURE(damage.what);
    CAPTURE(damage.by);
    const Result<PlannerLog> log = read_planner_log(replaced(sample(), damage.what, damage.by));
    CHECK(!log.ok());
    if (log.ok()) continue;
    CHECK(log.error().code == ErrorCode::kInvalidInput);
    CHECK_MESSAGE(log.error().to_string().starts_with(damage.error), log.error().to_string());
  }
}

TEST_CASE("planner log: a log that is cut anywhere is read or refused with a line") {
  const std::string log = sample();
  int read = 0;
  for (std::size_t end = 0; end <= log.size(); end += 7) {
    const Result<PlannerLog> cut = read_planner_log(log.substr(0, end));
    read += cut.ok() ? 1 : 0;
    if (!cut.ok()) CHECK(cut.error().where.starts_with("line "));
  }
  CHECK(read > 100);
}

TEST_CASE("audit: the plan of a log is recomputed, judged and changed") {
  AuditOptions options;
  options.plan.work_limit = 1'000'000;
  const Result<Audit> audit = audit_log(*read_planner_log(sample()), options);
  REQUIRE(audit.ok());
  const AuditAnswer& answer = audit->answer;
  CHECK(answer.as_run.differences.empty());
  CHECK(answer.as_run.num_shards == 9);
  CHECK(answer.inferred.ranks_per_host.value == 2);
  CHECK(answer.inferred.ranks_per_host.from == InferredFrom::kLog);
  CHECK(answer.inferred.weights.value == embedding::DataType::kFp32);
  CHECK(answer.fit.total.not_followed.empty());
  REQUIRE(answer.same_options);
  REQUIRE(answer.all_options);
  CHECK(answer.same_options->rating <= answer.as_run.rating);
  CHECK(answer.all_options->rating <= answer.same_options->rating);
  CHECK(answer.all_options->lower_bound <= answer.all_options->rating);
  CHECK(answer.reaches);
  double rating = answer.as_run.rating;
  for (const AuditAnswer::Change& change : answer.changes) {
    CHECK(std::abs(rating - change.gain_ms - change.rating_after) < 1e-9);
    rating = change.rating_after;
  }
  CHECK(rating <= answer.all_options->rating * 1.01 + 1e-9);
}

TEST_CASE("audit: ranks per host that a table contradicts are refused") {
  AuditOptions options;
  options.known.ranks_per_host = 4;
  const Result<Audit> audit = audit_log(*read_planner_log(sample()), options);
  REQUIRE(!audit.ok());
  CHECK(audit.error().where == "ranks_per_host");
}

}  // namespace shardwright::planner_log_reader_test
