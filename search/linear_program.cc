#include "search/linear_program.h"

#include <algorithm>
#include <utility>

#include <ClpSimplex.hpp>

namespace shardwright {

// Collects rows and columns, and passes them to CLP in bulk before it solves.
class LinearProgram::Solver {
 public:
  explicit Solver(Scaling scaling) {
    model.setLogLevel(0);
    if (scaling == Scaling::kNone) model.scaling(0);
  }

  void pass_to_clp() {
    if (!has_rows_) {
      model.resize(static_cast<int>(row_lower.size()), 0);
      for (std::size_t row = 0; row < row_lower.size(); ++row)
        model.setRowBounds(static_cast<int>(row), row_lower[row], row_upper[row]);
      has_rows_ = true;
    }
    const auto added = static_cast<int>(costs.size());
    if (added == 0) return;
    model.addColumns(added, lower.data(), upper.data(), costs.data(), starts.data(), rows.data(),
                     values.data());
    for (auto* column : {&lower, &upper, &costs, &values})
      column->clear();
    rows.clear();
    starts.assign(1, 0);
  }

  ClpSimplex model;
  bool is_factorized = false;  // the factorisation is that of the last call of dual()
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  std::size_t num_columns = 0;
  // Columns that were not passed to CLP yet.
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> costs;
  std::vector<int> starts{0};
  std::vector<int> rows;
  std::vector<double> values;

 private:
  bool has_rows_ = false;
};

LinearProgram::LinearProgram(Scaling scaling) : solver_(std::make_unique<Solver>(scaling)) {}
LinearProgram::~LinearProgram() = default;
LinearProgram::LinearProgram(LinearProgram&&) noexcept = default;
LinearProgram& LinearProgram::operator=(LinearProgram&&) noexcept = default;

std::size_t LinearProgram::add_row(double lower, double upper) {
  solver_->row_lower.push_back(lower <= -kInfinity ? -COIN_DBL_MAX : lower);
  solver_->row_upper.push_back(upper >= kInfinity ? COIN_DBL_MAX : upper);
  return solver_->row_lower.size() - 1;
}

std::size_t LinearProgram::add_column(double cost, double lower, double upper,
                                      std::span<const Entry> entries) {
  solver_->costs.push_back(cost);
  solver_->lower.push_back(lower <= -kInfinity ? -COIN_DBL_MAX : lower);
  solver_->upper.push_back(upper >= kInfinity ? COIN_DBL_MAX : upper);
  for (const Entry& entry : entries) {
    solver_->rows.push_back(static_cast<int>(entry.row));
    solver_->values.push_back(entry.value);
  }
  solver_->starts.push_back(static_cast<int>(solver_->rows.size()));
  return solver_->num_columns++;
}

void LinearProgram::set_row_bounds(std::size_t row, double lower, double upper) {
  solver_->model.setRowBounds(static_cast<int>(row), lower <= -kInfinity ? -COIN_DBL_MAX : lower,
                              upper >= kInfinity ? COIN_DBL_MAX : upper);
}

void LinearProgram::set_column_bounds(std::size_t column, double lower, double upper) {
  solver_->model.setColumnBounds(static_cast<int>(column),
                                 lower <= -kInfinity ? -COIN_DBL_MAX : lower,
                                 upper >= kInfinity ? COIN_DBL_MAX : upper);
}

bool LinearProgram::solve_again() {
  constexpr int kNoValuesPass = 0;
  constexpr int kKeepWorkAreas = 1;
  constexpr int kKeepFactorization = 2;
  solver_->model.dual(kNoValuesPass,
                      kKeepWorkAreas | (solver_->is_factorized ? kKeepFactorization : 0));
  solver_->is_factorized = solver_->model.status() <= 1;  // solved, or infeasible below the limit
  iterations_ += static_cast<std::size_t>(std::max(0, solver_->model.numberIterations()));
  return solver_->model.status() == 0;
}

bool LinearProgram::solve() {
  // The simplex method takes a few iterations per row. The limit ends it if it cycles.
  constexpr std::size_t kIterationsPerRow = 200;
  constexpr std::size_t kLeastLimit = 10'000;
  solver_->pass_to_clp();
  solver_->model.setMaximumIterations(static_cast<int>(
      std::min<std::size_t>(kLeastLimit + kIterationsPerRow * num_rows(), 1 << 30)));
  solver_->model.primal();
  solver_->is_factorized = false;
  iterations_ += static_cast<std::size_t>(std::max(0, solver_->model.numberIterations()));
  return solver_->model.status() == 0;
}

std::size_t LinearProgram::num_rows() const { return solver_->row_lower.size(); }

std::size_t LinearProgram::num_columns() const { return solver_->num_columns; }

double LinearProgram::objective() const { return solver_->model.objectiveValue(); }
double LinearProgram::value(std::size_t column) const {
  if (static_cast<int>(column) >= solver_->model.numberColumns()) return 0;
  return solver_->model.primalColumnSolution()[column];
}
bool LinearProgram::is_basic(std::size_t column) const {
  const auto index = static_cast<int>(column);
  return index < solver_->model.numberColumns() &&
         solver_->model.getColumnStatus(index) == ClpSimplex::basic;
}
double LinearProgram::dual(std::size_t row) const { return solver_->model.dualRowSolution()[row]; }

}  // namespace shardwright
