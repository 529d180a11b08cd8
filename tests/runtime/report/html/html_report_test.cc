// The page: one file that loads nothing; names cannot become markup.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/embedding/planner.h"
#include "runtime/report/html/html_report.h"

namespace shardwright::html_report_test {

using namespace shardwright;
using embedding::Problem;
using nlohmann::json;

namespace {

const std::string kHostile = "</script><img src=x onerror=\"document.title='owned'\">&amp;\x1b[31m";

std::string page_of(const std::string& name, std::int64_t rows) {
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
  std::string page;
  write_html_report(make_plan_report(*shared, *result),
                    [&](std::string_view piece) { page += piece; });
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
  const std::string page = page_of("ads", 1000);
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, "</script>") == 2);
  CHECK(count(page, "<style>") == 1);
  CHECK(count(page, ".js@") + count(page, ".css@") + count(page, "@data@") == 0);
  for (const char* const part :
       {"class HeatMap", "class List", "function traceChart", "@media print"})
    CHECK_MESSAGE(count(page, part) == 1, part);
  const json data = data_in(page);
  CHECK(data["format"] == "shardwright.embedding.report/1");
  CHECK(data["tables"][0][0] == "ads");
}

TEST_CASE("html report: loads nothing from anywhere") {
  const std::string page = page_of("ads", 1000);
  for (const char* const way : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket",
                                "sendBeacon", "import(", "innerHTML", "document.write", "eval("}) {
    CHECK_MESSAGE(count(page, way) == 0, way);
  }
  CHECK(count(page, "default-src 'none'") == 1);
  // The only address is the name of the SVG namespace, which is not loaded.
  CHECK(count(page, "://") == count(page, "http://www.w3.org/2000/svg"));
  CHECK(count(page, "href=\"data:,\"") == count(page, "<link"));
}

TEST_CASE("html report: a name cannot become markup") {
  const std::string page = page_of(kHostile, 1000);
  CHECK(count(page, "</script>") == 2);
  CHECK(count(page, "<img") == 0);
  CHECK(data_in(page)["tables"][0][0] == kHostile);
  CHECK(data_in(page)["problem"]["name"] == kHostile);
}

TEST_CASE("html report: without a plan there is a page, too") {
  const json data = data_in(page_of("ads", 1'000'000'000'000));
  CHECK(data["rating"].is_null());
  CHECK_FALSE(data["failure"]["message"].get<std::string>().empty());
  CHECK(data["needs"]["tables"].size() == 1);
}

}  // namespace shardwright::html_report_test
