// Linear programs that grow by columns, solved by CLP.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace shardwright {

// Minimises cost over columns within their bounds and rows within theirs. A solution after columns
// were added starts from the one before.
// Thread safety: one thread at a time; different programs are independent.
class LinearProgram {
 public:
  static constexpr double kInfinity = 1e300;

  struct Entry {
    std::size_t row;
    double value;
  };

  LinearProgram();
  ~LinearProgram();
  LinearProgram(LinearProgram&&) noexcept;
  LinearProgram& operator=(LinearProgram&&) noexcept;

  // Indices count from 0. All rows come before the first column.
  std::size_t add_row(double lower, double upper);
  std::size_t add_column(double cost, double lower, double upper, std::span<const Entry> entries);

  // False where no optimum was found: infeasible, unbounded or numerically lost.
  bool solve();

  // Of the last solution.
  double objective() const;
  double value(std::size_t column) const;
  // Change of the objective per unit of the row's active bound.
  double dual(std::size_t row) const;
  std::size_t num_rows() const;
  std::size_t num_columns() const;
  // Pivots so far, of all solutions: what solving cost.
  std::size_t iterations() const { return iterations_; }

 private:
  class Solver;
  std::unique_ptr<Solver> solver_;
  std::size_t iterations_ = 0;
};

}  // namespace shardwright
