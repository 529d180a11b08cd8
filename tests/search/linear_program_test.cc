// Linear programs that grow by columns.
#include "search/linear_program.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace shardwright::linear_program_test {

namespace {

using shardwright::LinearProgram;
using Entry = LinearProgram::Entry;

}  // namespace

TEST_CASE(
    "linear program: columns enter a solved program, and count only after the next solution") {
  // At least 6 units of a resource are bought at the least cost.
  LinearProgram program;
  const std::size_t row = program.add_row(6, LinearProgram::kInfinity);
  const std::array<Entry, 1> two{Entry{row, 2}};
  const std::size_t first = program.add_column(4, 0, LinearProgram::kInfinity, two);
  REQUIRE(program.solve());
  CHECK(program.objective() == doctest::Approx(12));
  CHECK(program.value(first) == doctest::Approx(3));
  CHECK(program.dual(row) == doctest::Approx(2));
  CHECK(program.is_basic(first));

  const std::size_t second = program.add_column(1, 0, LinearProgram::kInfinity, two);
  CHECK(program.value(second) == 0);
  CHECK_FALSE(program.is_basic(second));
  CHECK(program.value(first) == doctest::Approx(3));
  REQUIRE(program.solve());
  CHECK(program.objective() == doctest::Approx(3));
  CHECK(program.value(first) == doctest::Approx(0));
  CHECK(program.value(second) == doctest::Approx(3));
}

TEST_CASE("linear program: an infeasible program has no solution") {
  LinearProgram program;
  const std::size_t row = program.add_row(6, LinearProgram::kInfinity);
  const std::array<Entry, 1> one{Entry{row, 1}};
  program.add_column(1, 0, 5, one);
  CHECK_FALSE(program.solve());
}

TEST_CASE("linear program: bounds change, and a solution starts from the last one") {
  // 6 units are bought in two kinds. The cheaper kind has 4 units.
  LinearProgram program;
  const std::size_t row = program.add_row(6, LinearProgram::kInfinity);
  const std::array<Entry, 1> one{Entry{row, 1}};
  const std::size_t cheap = program.add_column(1, 0, 4, one);
  const std::size_t dear = program.add_column(3, 0, LinearProgram::kInfinity, one);
  REQUIRE(program.solve());
  CHECK(program.objective() == doctest::Approx(10));

  program.set_column_bounds(cheap, 0, 0);
  REQUIRE(program.solve_again());
  CHECK(program.objective() == doctest::Approx(18));
  CHECK(program.value(dear) == doctest::Approx(6));
  program.set_column_bounds(dear, 0, 5);
  CHECK_FALSE(program.solve_again());

  program.set_column_bounds(cheap, 0, 4);
  program.set_row_bounds(row, 5, LinearProgram::kInfinity);
  REQUIRE(program.solve_again());
  CHECK(program.objective() == doctest::Approx(7));
  CHECK(program.value(cheap) == doctest::Approx(4));

  program.set_row_bounds(row, 6, LinearProgram::kInfinity);
  REQUIRE(program.solve_again());
  CHECK(program.objective() == doctest::Approx(10));
}

}  // namespace shardwright::linear_program_test
