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
  // At least 6 of a resource, at the least cost.
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

}  // namespace shardwright::linear_program_test
