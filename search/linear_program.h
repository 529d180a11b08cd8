// Linear programs to which columns can be added, solved by CLP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace shardwright {

// Minimises the cost subject to bounds on columns and rows. After columns are added, solve() starts
// from the previous solution.
// Thread safety: one thread at a time; different programs are independent.
class LinearProgram {
 public:
  static constexpr double kInfinity = 1e300;

  struct Entry {
    std::size_t row;
    double value;
  };

  // Whether CLP scales the coefficients before it solves, which takes a tenth of the time. Programs
  // whose coefficients are of one order of magnitude need no scaling.
  enum class Scaling : std::uint8_t { kAutomatic, kNone };
  explicit LinearProgram(Scaling scaling = Scaling::kAutomatic);
  ~LinearProgram();
  LinearProgram(LinearProgram&&) noexcept;
  LinearProgram& operator=(LinearProgram&&) noexcept;

  // Indices count from 0. All rows come before the first column.
  std::size_t add_row(double lower, double upper);
  std::size_t add_column(double cost, double lower, double upper, std::span<const Entry> entries);

  // Returns false if no optimum was found: the program is infeasible or unbounded, CLP failed
  // numerically, or the limit of 10,000 iterations plus 200 per row was reached.
  bool solve();

  // Replaces the bounds of a row or column of the last solve().
  void set_row_bounds(std::size_t row, double lower, double upper);
  void set_column_bounds(std::size_t column, double lower, double upper);
  // Solves again after bounds changed, by the dual simplex method from the last basis. Ignores
  // columns that were added since solve(). Returns false as solve() does.
  bool solve_again();

  // Values of the last solution. A column that was added after it has the value 0.
  double objective() const;
  double value(std::size_t column) const;
  // The dual value of a row: the change of the objective per unit of its active bound.
  double dual(std::size_t row) const;
  // A column that was added after the last solution is not basic.
  bool is_basic(std::size_t column) const;
  std::size_t num_rows() const;
  std::size_t num_columns() const;
  // The number of simplex iterations of all calls of solve().
  std::size_t iterations() const { return iterations_; }

 private:
  class Solver;
  std::unique_ptr<Solver> solver_;
  std::size_t iterations_ = 0;
};

}  // namespace shardwright
