// Linear programs to which columns can be added, solved by CLP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace shardwright {

// Minimises the cost subject to bounds on columns (variables) and rows (constraints). After columns
// are added, solve() starts from the previous solution.
// Thread safety: one thread at a time; different programs are independent.
class LinearProgram {
 public:
  static constexpr double kInfinity = 1e300;

  struct Entry {
    std::size_t row;
    double value;
  };

  // Whether CLP scales the coefficients before it solves, which takes a tenth of its time. Programs
  // with coefficients of one order of magnitude need no scaling.
  enum class Scaling : std::uint8_t { kAutomatic, kNone };
  explicit LinearProgram(Scaling scaling = Scaling::kAutomatic);
  ~LinearProgram();
  LinearProgram(LinearProgram&&) noexcept;
  LinearProgram& operator=(LinearProgram&&) noexcept;

  // Both return the index of the new row or column, from 0. All rows must be added before the first
  // column.
  std::size_t add_row(double lower, double upper);
  std::size_t add_column(double cost, double lower, double upper, std::span<const Entry> entries);

  // Returns false if there is no optimum because the program is infeasible or unbounded, if CLP
  // failed numerically, or after 10,000 iterations plus 200 per row.
  bool solve();

  // Replace the bounds of a row or column. Precondition: solve() was called since it was added.
  void set_row_bounds(std::size_t row, double lower, double upper);
  void set_column_bounds(std::size_t column, double lower, double upper);
  // Solves again after bounds changed, by the dual simplex method from the last basis. Ignores
  // columns that were added since solve(). Returns false in the same cases as solve().
  bool solve_again();

  // Values of the last solution. A column that was added later has the value 0.
  double objective() const;
  double value(std::size_t column) const;
  // The dual value of a row: the change of the objective per unit of its active bound.
  double dual(std::size_t row) const;
  // Returns true if the column is basic in the last solution.
  bool is_basic(std::size_t column) const;
  std::size_t num_rows() const;
  std::size_t num_columns() const;
  // The number of simplex iterations of all calls of solve() and solve_again().
  std::size_t iterations() const { return iterations_; }

 private:
  class Solver;
  std::unique_ptr<Solver> solver_;
  std::size_t iterations_ = 0;
};

}  // namespace shardwright
