// HTML pages: each is one file that loads nothing, and names cannot become markup.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/redistribution/placement/placement_notation.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/planner.h"
#include "runtime/report/html/html_report.h"
#include "search/executor.h"
#include "tests/support/operators/aten_builder.h"
#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::html_report_test {

using namespace shardwright;
using namespace shardwright::test_support;
using embedding::Problem;
using nlohmann::json;
using redistribution::read_words;

namespace {

const std::string kHostile = "</script><img src=x onerror=\"document.title='owned'\">&amp;\x1b[31m";

std::string plan_page(const std::string& name, std::int64_t rows) {
  embedding::ProblemSpec spec;
  spec.name = name;
  spec.topology.world_size = 2;
  embedding::Table table;
  table.name = name;
  table.num_embeddings = rows;
  table.embedding_dim = 64;
  spec.tables.push_back(table);
  auto problem = Problem::make(std::move(spec));
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  const auto shared = std::make_shared<const Problem>(std::move(problem).value());
  const auto result = plan_embedding(shared, {});
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  InlineExecutor executor;
  ExplainedTables explained;
  if (result->plan) explained = explain_tables(*shared, *result, std::nullopt, executor);
  std::string page;
  write_html_report(make_plan_report(*shared, *result), explained, nullptr,
                    {[&](std::string_view piece) { page += piece; }});
  return page;
}

// A page for one table that moves from rank 0 to rank 1.
std::string change_page(const std::string& name) {
  PlanEntry entry;
  entry.table = name;
  entry.ranks = {0};
  entry.element_bits = 32;
  entry.layout.emplace().append({1000, 64, 0, 0, 0, 0, 1});
  PlanDocument before, after;
  before.perf_ms_by_rank = {2, 1};
  after.perf_ms_by_rank = {1, 2};
  before.plan = {entry};
  entry.ranks = {1};
  after.plan = {entry};
  const auto change = make_plan_change(before, after, std::nullopt);
  REQUIRE_MESSAGE(change.ok(), change.error().to_string());
  std::string page;
  write_html_report(*change, {[&](std::string_view piece) { page += piece; }});
  return page;
}

// A page for a machine on which the tables fit and one on which they do not.
std::string sweep_page(const std::string& name) {
  embedding::ProblemSpec problem;
  problem.name = name;
  Sweep sweep;
  sweep.points.resize(2);
  sweep.points[0].ranks = 2;
  sweep.points[0].rating = 1.5;
  sweep.points[1].ranks = 1;
  sweep.points[1].failure = PlanFailure();
  std::string page;
  write_html_report(sweep_answer(problem, sweep), {[&](std::string_view piece) { page += piece; }});
  return page;
}

// A page for an answer whose kind has no page of its own.
std::string saved_page(const std::string& name) {
  SavedAnswer saved;
  saved.title = "transfer";
  saved.json = json{{"name", name}, {"ports", {{{"bytes", 4096}}}}}.dump();
  std::string page;
  write_html_report(saved, name,
                    {[&](std::string_view piece) { page += piece; }, "by: plan " + name});
  return page;
}

// A page for a traced model with blocks of this name. Without `fits`, no plan fits.
std::string aten_plan_page(const std::string& name, bool fits = true) {
  AtenBuilder b;
  const auto x = b.placeholder(operators::AtenRole::kInput, "x", {64, 64});
  const auto w = b.placeholder(operators::AtenRole::kParameter, name + ".weight", {64, 64});
  const auto y = b.mm(x, w);
  b.last().module = name;
  b.output(y, operators::AtenOutputRole::kOutput, "0");
  b.spec.model = name;
  const operators::AtenGraph graph = b.make();
  PlanAtenOptions options;
  options.mesh = {2, 2};
  if (!fits) options.memory_limit = 16;
  const auto result = plan_aten(graph, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  std::vector<operators::AtenMove> moves;
  if (result->plan) moves = aten_moves(graph, options, *result->plan).value();
  std::string page;
  write_html_report(graph, options, *result, moves,
                    {[&](std::string_view piece) { page += piece; }});
  return page;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

json data_in(const std::string& page) {
  const std::string_view begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace

TEST_CASE("html report: one page, with all of its parts and its data") {
  for (const std::string& page :
       {plan_page("ads", 1000), saved_page("ads"), aten_plan_page("layers.0"), change_page("ads"),
        sweep_page("ads")}) {
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(count(page, "<script") == 2);
    CHECK(count(page, "</script>") == 2);
    CHECK(count(page, "<style>") == 1);
    CHECK(count(page, ".js@") + count(page, ".css@") == 0);
    for (const char* const place :
         {"@title@", "@style@", "@script@", "@text@", "@origin@", "@data@"})
      CHECK_MESSAGE(count(page, place) == 0, place);
    for (const char* const part : {"class List", "function chartFrame", "@page"})
      CHECK_MESSAGE(count(page, part) == 1, part);
  }
  const std::string page = plan_page("ads", 1000);
  for (const char* const part : {"class HeatMap", "function traceChart"})
    CHECK_MESSAGE(count(page, part) == 1, part);
  const json data = data_in(page);
  CHECK(data["format"] == "shardwright.embedding.report/1");
  CHECK(data["tables"][0][0] == "ads");
}

TEST_CASE("html report: loads nothing from anywhere") {
  for (const std::string& page :
       {plan_page("ads", 1000), saved_page("ads"), aten_plan_page("layers.0"), change_page("ads"),
        sweep_page("ads")}) {
    for (const char* const way :
         {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon",
          "import(", "innerHTML", "document.write", "eval("}) {
      CHECK_MESSAGE(count(page, way) == 0, way);
    }
    CHECK(count(page, "default-src 'none'") == 1);
    // The only URL is the SVG namespace, which browsers do not load.
    CHECK(count(page, "://") == count(page, "http://www.w3.org/2000/svg"));
    CHECK(count(page, "href=\"data:,\"") == count(page, "<link"));
  }
}

TEST_CASE("html report: a plan has the other options of its tables, the chosen one first") {
  const json data = data_in(plan_page("ads", 1000));
  REQUIRE(data["explained"].size() == 1);
  const json& options = data["explained"][0][1];
  CHECK(data["explained"][0][0] == 0);
  CHECK(data["explained"][0][2] == 0);  // no option is omitted
  REQUIRE(options.size() > 1);
  CHECK(options[0][0] == 0);
  CHECK(options[0][2].get<double>() == doctest::Approx(data["rating"].get<double>()));
  for (std::size_t i = 1; i < options.size(); ++i) {
    CHECK(options[i][0] != 0);
    CHECK(options[i][1].get<std::size_t>() < data["option_names"].size());
    CHECK(options[i][2].get<double>() >= options[0][2].get<double>());
  }
}

TEST_CASE("html report: a change has what moves, from whom to whom") {
  const json change = data_in(change_page("ads"))["change"];
  CHECK(change["moved_bytes"] == 1000 * 64 * 4);
  CHECK(change["flows"] == json::parse("[[0, 1, 256000]]"));
  CHECK(change["tables"][0][1] == "ranks");
  CHECK(change["tables"][0][4] == json::parse("[\"table_wise\", \"fused\", [1, 1]]"));
  CHECK(change["ranks"][0][0] == 2);
  CHECK(change["ranks"][0][1] == 1);
}

TEST_CASE(
    "html report: a plan of a model has its modules, its memory, and its text without scripts") {
  const std::string page = aten_plan_page("layers.0");
  const json data = data_in(page);
  CHECK(data["format"] == "shardwright.aten_plan.report/1");
  CHECK(data["mesh"] == "2x2");
  CHECK(data["status"] == "optimal");
  CHECK(data["modules"]["modules"][0]["name"] == "layers.0");
  CHECK(data["modules"]["modules"][0]["tensors"][0][0] == "weight");
  CHECK(data["modules"]["modules"][0]["operators"][0][0] == "mm");
  CHECK(data["modules"]["costs"][0] == 1);
  CHECK(data["memory"].size() == 4);
  CHECK(data["peak_name"].is_string());
  CHECK(count(page.substr(0, page.find("</noscript>")), "no plan takes less time") == 1);
}

TEST_CASE("html report: a name cannot become markup") {
  const std::string page = plan_page(kHostile, 1000);
  CHECK(count(page, "</script>") == 2);
  CHECK(count(page, "<img") == 0);
  CHECK(data_in(page)["tables"][0][0] == kHostile);
  CHECK(data_in(page)["problem"]["name"] == kHostile);
  const std::string change = change_page(kHostile);
  CHECK(count(change, "</script>") == 2);
  CHECK(count(change, "<img") == 0);
  CHECK(data_in(change)["change"]["tables"][0][0] == kHostile);
  const std::string sweep = sweep_page(kHostile);
  CHECK(count(sweep, "</script>") == 2);
  CHECK(count(sweep, "<img") == 0);
  CHECK(data_in(sweep)["answer"]["name"] == kHostile);
  const std::string saved = saved_page(kHostile);
  CHECK(count(saved, "</script>") == 2);
  CHECK(count(saved, "<img") == 0);
  CHECK(data_in(saved)["answer"]["name"] == kHostile);
  CHECK(count(saved_page("ads"), "<p>by: plan ads</p></footer>") == 1);
  const std::string model = aten_plan_page(kHostile);
  CHECK(count(model, "</script>") == 2);
  CHECK(count(model, "<img") == 0);
  CHECK(data_in(model)["model"] == kHostile);
}

TEST_CASE("html report: without a plan there is a page, too") {
  const json data = data_in(plan_page("ads", 1'000'000'000'000));
  CHECK(data["rating"].is_null());
  CHECK_FALSE(data["failure"]["message"].get<std::string>().empty());
  CHECK(data["needs"]["tables"].size() == 1);
  const json model = data_in(aten_plan_page("layers.0", false));
  CHECK(model["has_plan"] == false);
  CHECK(model["least_bytes"].get<std::int64_t>() > 16);
  CHECK(model["outcome"].get<std::string>().starts_with("No plan fits"));
}

}  // namespace shardwright::html_report_test
