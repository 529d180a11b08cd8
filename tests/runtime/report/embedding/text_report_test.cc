// The text report: what it contains, and that it fits the terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/text/printable.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "runtime/report/embedding/plan_text.h"
#include "runtime/report/embedding/ranks_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::text_report_test {

using namespace shardwright;
using embedding::Problem;

namespace {

std::shared_ptr<const Problem> problem_of(const std::string& path,
                                          const ProblemOverrides& overrides = {}) {
  const auto spec = read_problem(*read_file(path), overrides);
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  return std::make_shared<const Problem>(*Problem::make(*spec));
}

std::string report_of(const std::shared_ptr<const Problem>& problem, std::size_t width,
                      PlanMode mode = PlanMode::kCompat) {
  PlanOptions plan;
  plan.mode = mode;
  const auto result = plan_embedding(problem, plan);
  REQUIRE(result.ok());
  TextReportOptions options;
  options.width = width;
  return text_report(*problem, *result, options);
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, display_width(line));
  return widest;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("format: numbers in readable form") {
  CHECK(format_bytes(Bytes(0)) == "0");
  CHECK(format_bytes(Bytes(512)) == "512 B");
  CHECK(format_bytes(Bytes(29205613772)) == "27.2 GiB");
  CHECK(format_bytes(Bytes(-kGibibyte)) == "-1.00 GiB");
  CHECK(format_ms(0.0076387) == "0.007639");
  CHECK(format_ms(9.6084768) == "9.608");
  CHECK(format_ms(531621.4) == "531,621");
  CHECK(format_ms(0) == "0");
  CHECK(format_seconds(0.00544) == "5.44 ms");
  CHECK(format_seconds(46.652) == "46.7 s");
  CHECK(format_count(0) == "0");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_share(1, 4) == "25%");
  CHECK(format_share(0.098, 1) == "9.8%");
  CHECK(format_share(1, 0) == "-");
  CHECK(format_plural(1, "rank") == "1 rank");
  CHECK(format_plural(2, "rank") == "2 ranks");
  CHECK(format_bar(1, 2, 4) == "[##--]");
  CHECK(format_bar(3, 2, 4) == "[####]");
  CHECK(format_bar(1, 0, 2) == "[--]");
}

TEST_CASE("format: ranks as ranges, cut if they do not fit") {
  const auto ranges = [](std::vector<std::uint32_t> ranks, std::size_t width) {
    return format_ranges(ranks, width);
  };
  CHECK(ranges({}, 20).empty());
  CHECK(ranges({3}, 20) == "3");
  CHECK(ranges({0, 1, 2, 3}, 20) == "0-3");
  CHECK(ranges({0, 1, 3, 5, 6}, 20) == "0-1,3,5-6");
  const std::string cut = ranges({0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}, 16);
  CHECK(cut == "0,2,4,6,8,… (11)");
  CHECK(display_width(cut) == 16);
}

TEST_CASE("format: text is cut and wrapped by columns, not by bytes") {
  CHECK(display_width("t\xc3\xa9st") == 4);
  CHECK(cut_to("t\xc3\xa9sting", 4) == "t\xc3\xa9s…");
  CHECK(cut_to("short", 5) == "short");
  CHECK(wrap("one two three four five six seven", 24, 2) ==
        "  one two three four\n  five six seven\n");
  CHECK(wrap("a\nb", 80, 0) == "a\nb\n");
}

TEST_CASE("text table: optional columns are dropped first, then the widest is cut") {
  using Align = TextTable::Align;
  TextTable table({{"name", Align::kLeft, 0}, {"x", Align::kRight, 1}, {"y", Align::kRight, 2}});
  table.add_row({"a long table name", "1", "22222"});
  CHECK(table.render(80) == "  name               x      y\n  a long table name  1  22222\n");
  CHECK(table.render(24) == "  name               x\n  a long table name  1\n");
  CHECK(table.render(20) == "  name\n  a long table name\n");
  CHECK(table.render(14) == "  name\n  a long tabl…\n");
}

TEST_CASE("text table: a long name is cut before columns are dropped, and numbers are cut last") {
  using Align = TextTable::Align;
  TextTable table({{"name", Align::kLeft, 0}, {"x", Align::kRight, 1}, {"why", Align::kLeft, 0}});
  table.add_row({std::string(70, 'n'), "123456789", "because of this"});
  const auto name = [](std::size_t letters) { return std::string(letters, 'n') + "…"; };
  CHECK(contains(table.render(60), "\n  " + name(29) + "  123456789  because of this\n"));
  CHECK(contains(table.render(50), "\n  " + name(30) + "  because of this\n"));
  CHECK(table.shows(1, 60));
  CHECK_FALSE(table.shows(1, 50));
  CHECK(contains(table.render(24), "\n  " + name(9) + "  because o…\n"));

  TextTable figures({{"of", Align::kLeft, 0},
                     {"total variation", Align::kRight, 0},
                     {"total distance", Align::kRight, 0}});
  figures.add_row({"memory", "1234567", "12345678"});
  CHECK(widest_line(figures.render(30)) <= 30);
  CHECK(contains(figures.render(30), "memory  "));
  CHECK(contains(figures.render(30), " 12345678\n"));
}

TEST_CASE("text report: shows the plan by ranks, kinds and tables") {
  const auto problem = problem_of("tests/golden/embedding/cases/26_offload_scaleup_10t_4r.json.gz");
  const std::string text = report_of(problem, 100);
  CHECK(contains(text,
                 "26_offload_scaleup_10t_4r: 10 tables on 4 ranks (1 host, cuda), batch 2,048"));
  CHECK(contains(text, "rating 9.608 ms (compat mode)"));
  CHECK(contains(text, "17 proposals, of which 17 fit; 10 sharding options"));
  CHECK(contains(text, "  84%"));
  CHECK(contains(report_of(problem, 120), "[#######-]   84%"));
  CHECK(contains(text, "6.05 GiB"));
  CHECK(contains(text, "largest / mean 3.249"));
  CHECK(contains(text, "column_wise  fused_uvm_caching"));
  CHECK(contains(text, "fused_uvm_caching 18%"));
  CHECK(contains(text, "4 x at most 4805529x128"));
  CHECK(contains(text, "0-3"));
}

TEST_CASE("text report: fits the width that it is given") {
  const auto problem =
      problem_of("tests/golden/embedding/cases/31_uvm_caching_clf_bw_sparsedist_16r.json.gz");
  for (const std::size_t width : std::array<std::size_t, 4>{72, 80, 100, 160}) {
    CAPTURE(width);
    CHECK(widest_line(report_of(problem, width)) <= width);
  }
}

TEST_CASE("text report: says why there is no plan") {
  const auto problem =
      problem_of("tests/golden/embedding/cases/12_nofit_strict_constraints_4r.json.gz");
  const std::string text = report_of(problem, 80);
  CHECK(contains(text, "no plan"));
  CHECK(contains(text, "Why there is no plan (strict_constraints"));
  CHECK_FALSE(contains(text, "Ranks"));
}

TEST_CASE("text report: best mode says how far from optimal the plan may be, and why") {
  const auto problem = problem_of("tests/golden/embedding/cases/15_weighted_features_4r.json.gz");
  const std::string text = report_of(problem, 100, PlanMode::kBest);
  CHECK(contains(text, "(best mode)"));
  CHECK(contains(text, "proved optimal, by trying all plans"));
  CHECK(contains(text, "Improvements"));
  CHECK(widest_line(text) <= 100);
  CHECK_FALSE(contains(report_of(problem, 100), "optimal"));
}

TEST_CASE("text report: many ranks and tables stay readable") {
  ProblemOverrides overrides;
  overrides.ranks = 1024;
  overrides.ranks_per_host = 8;
  const auto problem =
      problem_of("tests/golden/workloads/torchrec_enumbench_200t.json.gz", overrides);
  PlanOptions one;
  one.mode = PlanMode::kCompat;
  one.work_limit = 1;
  const auto result = plan_embedding(problem, one);
  REQUIRE(result.ok());
  const std::string text = text_report(*problem, *result, {});
  CHECK(std::count(text.begin(), text.end(), '\n') < 80);
  if (result->plan) CHECK(contains(text, "cheaper tables"));
}

TEST_CASE("text report: a search space lists every table") {
  const auto problem = problem_of("tests/golden/embedding/cases/02_cpu_2r_default.json.gz");
  const auto space = enumerate_embedding(problem);
  REQUIRE(space.ok());
  const std::string text = text_report(**space, {});
  CHECK(contains(text, "16 sharding options"));
  CHECK(contains(text, "t3"));
  CHECK(contains(text, "fastest"));
}

TEST_CASE("text report: colours change nothing but colours") {
  const auto problem =
      problem_of("tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz");
  PlanOptions plan;
  plan.work_limit = 3'000'000;
  const auto result = plan_embedding(problem, plan);
  REQUIRE(result.ok());
  for (const std::size_t width : std::array<std::size_t, 3>{72, 100, 160}) {
    CAPTURE(width);
    TextReportOptions options;
    options.width = width;
    const std::string plain = text_report(*problem, *result, options);
    CHECK_FALSE(contains(plain, "\x1b"));
    options.colours = true;
    std::string coloured = text_report(*problem, *result, options);
    CHECK(contains(coloured, "\x1b[1m"));
    CHECK(widest_line(coloured) <= width);
    CHECK(std::count(coloured.begin(), coloured.end(), '\n') ==
          std::count(plain.begin(), plain.end(), '\n'));
    CHECK(printable(coloured, true) == coloured);
  }
}

TEST_CASE("text report: a wide terminal shows bars of times, a narrow one how full ranks are") {
  const auto problem =
      problem_of("tests/golden/embedding/cases/09_mixed_default_20t_16r_2h.json.gz");
  const std::string wide = report_of(problem, 150);
  CHECK(contains(wide, "time: F forward compute, f forward comms, B backward compute"));
  CHECK(contains(wide, "ffff"));
  const std::string narrow = report_of(problem, 80);
  CHECK_FALSE(contains(narrow, "F forward compute"));
  CHECK(contains(narrow, "full"));
  CHECK(contains(narrow, "bwd comm"));
}

TEST_CASE("text report: bars of time are as long as the time") {
  embedding::Perf parts;
  parts.fwd_compute = Milliseconds(2);
  parts.bwd_comms = Milliseconds(1);
  CHECK(time_bar(parts, 4, 8, false) == "FFFFbb  ");
  CHECK(time_bar(parts, 3, 6, false) == "FFFFbb");
  CHECK(time_bar(parts, 0, 4, false) == "    ");
  CHECK(display_width(time_bar(parts, 4, 8, true)) == 8);
  CHECK(time_bar_key(parts, false) == "F forward compute, b backward comms");
}

TEST_CASE("text report: constraints, reservation and identities are shown") {
  const auto problem = problem_of("tests/golden/embedding/cases/05_cw_min_partition_8r.json.gz");
  const std::string text = report_of(problem, 100);
  CHECK(contains(text, "\nConstraints\n"));
  CHECK(contains(text, "sharding types column_wise"));
  CHECK(contains(text, "  reservation: "));
  CHECK(contains(text, "problem1:"));
  CHECK(contains(text, "plan1:"));
}

TEST_CASE("text report: if nothing fits, it shows what tables need") {
  const auto problem = problem_of("tests/golden/embedding/cases/11_nofit_insufficient_2r.json.gz");
  const std::string text = report_of(problem, 80);
  CHECK(contains(text, "\nWhat tables need, and what all ranks have\n"));
  CHECK(contains(text, "tables need at least"));
  CHECK(contains(text, "memory at least"));
  CHECK(widest_line(text) <= 80);
  const std::string none =
      report_of(problem_of("tests/golden/embedding/cases/13_reservation_negative_hbm.json.gz"), 80);
  CHECK(contains(none, "capacity"));
  CHECK_FALSE(contains(none, "tables need at least"));
}

TEST_CASE("printable: no text can send escape sequences to a terminal") {
  CHECK(printable("plain \xc3\xa9\n", false) == "plain \xc3\xa9\n");
  CHECK(printable("a\x1b[31mb\x07\x7f\r", false) == "a\\u001b[31mb\\u0007\\u007f\\r");
  CHECK(printable("a\xc2\x9b"
                  "31m",
                  false) == "a\\u009b31m");
  CHECK(printable("a\x1b]0;title\x07", true) == "a\\u001b]0;title\\u0007");
  CHECK(printable("a\x1b[2J", true) == "a\\u001b[2J");
  CHECK(printable("a\nb") == "a\\nb");
  CHECK(printable("\u202e\u2066\u061c\u2028 \u200d") == "\\u202e\\u2066\\u061c\\u2028 \u200d");
  // Invalid UTF-8: truncated, overlong, a surrogate, too large, a lone continuation byte.
  CHECK(printable("\xe5\xba") == "\\xe5\\xba");
  CHECK(printable("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\x80") ==
        "\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\x80");
  const std::string ours = paint("good", TextStyle::kGood, true);
  CHECK(printable(ours, true) == ours);
  CHECK(printable(ours, false) == "\\u001b[32mgood\\u001b[0m");
  CHECK(paint("as it is", TextStyle::kGood, false) == "as it is");
  CHECK(paint("line\n", TextStyle::kGood, true) == "\x1b[32mline\x1b[0m\n");
}

TEST_CASE("format: colours have no width, and end if a text is cut") {
  const std::string painted = paint("painted", TextStyle::kBad, true);
  CHECK(display_width(painted) == 7);
  CHECK(cut_to(painted, 7) == painted);
  CHECK(cut_to(painted, 4) == "\x1b[31mpai…\x1b[0m");
}

}  // namespace shardwright::text_report_test
