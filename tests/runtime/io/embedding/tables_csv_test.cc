// Tables as comma-separated values: what is read, and the places of errors.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/problem/problem.h"
#include "runtime/io/embedding/problem_json.h"

namespace shardwright::tables_csv_test {

namespace {

using namespace shardwright;

constexpr std::string_view kHeader = "name,num_embeddings,embedding_dim";

ProblemOverrides on_two_ranks() {
  ProblemOverrides overrides;
  overrides.ranks = 2;
  return overrides;
}

std::vector<embedding::Table> tables_of(std::string_view text) {
  const auto spec = read_problem(text, on_two_ranks());
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  return spec->tables;
}

// Returns the error of reading or checking the text, or "".
std::string error_of(std::string_view text) {
  auto spec = read_problem(text, on_two_ranks());
  if (!spec.ok()) return spec.error().to_string();
  const auto problem = embedding::Problem::make(std::move(spec).value());
  return problem.ok() ? "" : locate_in_problem(text, on_two_ranks(), problem.error()).to_string();
}

std::string with_row(const std::string& columns, const std::string& row) {
  return std::string(kHeader) + columns + "\n" + row + "\n";
}

}  // namespace

TEST_CASE("tables csv: the columns are the members of a table in JSON") {
  const auto tables = tables_of(
      "\xEF\xBB\xBFname,num_embeddings,embedding_dim,features,data_type,weighted,pooling_factor,"
      "module\r\n"
      "ads, 4e7 ,128,shown|clicked,fp16,True,20,1\r\n"
      "\r\n"
      "\"pages, \"\"old\"\"\",390000,64.0,,,FALSE,,\r\n");
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].name == "ads");
  CHECK(tables[0].num_embeddings == 40'000'000);
  CHECK(tables[0].features == std::vector<std::string>{"shown", "clicked"});
  CHECK(tables[0].data_type == embedding::DataType::kFp16);
  CHECK(tables[0].weighted);
  CHECK(tables[0].module == "1");  // stays a text
  REQUIRE(tables[0].constraints);
  CHECK(tables[0].constraints->pooling_factors == std::vector<double>{10, 10});
  CHECK(tables[1].name == "pages, \"old\"");
  CHECK(tables[1].embedding_dim == 64);
  CHECK(tables[1].features == std::vector<std::string>{"pages, \"old\""});
  CHECK(tables[1].data_type == embedding::DataType::kFp32);
  CHECK_FALSE(tables[1].weighted);
  CHECK_FALSE(tables[1].constraints);
}

TEST_CASE("tables csv: semicolons and tabs separate, too, and a cell may have several lines") {
  CHECK(tables_of("name;num_embeddings;embedding_dim\n\"a\nb\";10;4\n")[0].name == "a\nb");
  CHECK(tables_of("name\tnum_embeddings\tembedding_dim\na,b\t10\t4")[0].name == "a,b");
}

TEST_CASE("tables csv: errors name line and column, and what to do") {
  CHECK(error_of("a,b\n1,2\n") ==
        "line 1: the column \"name\" is missing: a file of tables begins with its columns, such as "
        "name,num_embeddings,embedding_dim");
  CHECK(error_of(std::string(kHeader)) == "line 2: there is no table");
  CHECK(error_of(with_row("", "a,10")) ==
        "line 2: has 2 cells, but the first line names 3 columns; put a text that holds the "
        "separator in quotes");
  CHECK(error_of(with_row("", "\"a,10,4")) ==
        "line 2, column 1: the quote that begins here has no end");
  CHECK(error_of(with_row("", "\"a\"b,10,4")) ==
        "line 2, column 1: more text follows the quote; write a quote within quotes twice");
  CHECK(error_of(with_row(",name", "a,10,4,b")) ==
        "line 1, column 4: the column \"name\" occurs twice");
  CHECK(error_of(with_row(",", "a,10,4,b")) == "line 1, column 4: the column has no name");
  CHECK(error_of(with_row(",data_tpye", "a,10,4,FP16")) ==
        "line 1, column 4: unknown column \"data_tpye\"; did you mean \"data_type\"?");
  CHECK(error_of(with_row("", "a,10,")) == "line 2: the cell \"embedding_dim\" is missing");
  CHECK(error_of(with_row("", "a,ten,4")) ==
        "line 2, column 2 (num_embeddings): expected an integer, found the text \"ten\"");
  CHECK(error_of(with_row(",weighted", "a,10,4,yes")) ==
        "line 2, column 4 (weighted): expected true or false, found the text \"yes\"");
  CHECK(error_of(with_row(",data_type", "a,10,4,\nb,10,4,float32")) ==
        "line 3, column 4 (data_type): unknown data type \"float32\"; did you mean \"FP32\"?");
  CHECK(error_of(with_row("", "a,10,4\n\na,10,4")) ==
        "line 4, column 1 (name): another table is called \"a\"; rename one, or give it its "
        "own `module`");
  CHECK(error_of(with_row("", "a,0,4")).starts_with("line 2, column 2 (num_embeddings): rows of "));
  CHECK(error_of(with_row("", "\xff,10,4")).starts_with("line 2: a text is no UTF-8"));
  CHECK(error_of("tables:\n  - a, b\n").find("such as YAML") != std::string::npos);
}

TEST_CASE("tables csv: the machine is not in the file") {
  const auto spec = read_problem(with_row("", "a,10,4"));
  REQUIRE_FALSE(spec.ok());
  CHECK(spec.error().where == "");
  CHECK(spec.error().message.find("{ranks}") != std::string::npos);
}

}  // namespace shardwright::tables_csv_test
