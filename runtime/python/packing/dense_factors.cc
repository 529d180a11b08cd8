#include "runtime/python/packing/dense_factors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace {

// A column-major matrix; `lda` is the distance between columns in numbers.
template <class Number>
struct Columns {
  Number* first;
  std::ptrdiff_t lda;

  Number* column(int j) const { return first + j * lda; }
};

void exchange_rows(const Columns<double>& matrix, int columns, int a, int b) {
  if (a == b) return;
  for (int j = 0; j < columns; ++j)
    std::swap(matrix.column(j)[a], matrix.column(j)[b]);
}

// Returns the row, at least `k`, with the entry of largest magnitude; the first among equals.
int pivot_row(const double* column, int k, int rows) {
  int best = k;
  for (int i = k + 1; i < rows; ++i) {
    if (std::fabs(column[i]) > std::fabs(column[best])) best = i;
  }
  return best;
}

void scale_below(double* column, int k, int rows) {
  const double pivot = column[k];
  // For a smaller pivot the reciprocal overflows.
  const bool invertible = std::fabs(pivot) >= std::numeric_limits<double>::min();
  const double factor = 1 / pivot;
  for (int i = k + 1; i < rows; ++i)
    column[i] = invertible ? column[i] * factor : column[i] / pivot;
}

// Computes b := L^-1 b; the diagonal of L is 1.
void solve_lower(const Columns<const double>& factors, int order, double* b) {
  for (int k = 0; k < order; ++k) {
    if (b[k] == 0) continue;
    const double* const column = factors.column(k);
    for (int i = k + 1; i < order; ++i)
      b[i] -= b[k] * column[i];
  }
}

// Computes b := U^-1 b.
void solve_upper(const Columns<const double>& factors, int order, double* b) {
  for (int k = order - 1; k >= 0; --k) {
    if (b[k] == 0) continue;
    const double* const column = factors.column(k);
    b[k] /= column[k];
    for (int i = 0; i < k; ++i)
      b[i] -= b[k] * column[i];
  }
}

// Computes b := U^-T b.
void solve_upper_transposed(const Columns<const double>& factors, int order, double* b) {
  for (int i = 0; i < order; ++i) {
    const double* const column = factors.column(i);
    double sum = b[i];
    for (int k = 0; k < i; ++k)
      sum -= column[k] * b[k];
    b[i] = sum / column[i];
  }
}

// Computes b := L^-T b; the diagonal of L is 1.
void solve_lower_transposed(const Columns<const double>& factors, int order, double* b) {
  for (int i = order - 1; i >= 0; --i) {
    const double* const column = factors.column(i);
    double sum = b[i];
    for (int k = i + 1; k < order; ++k)
      sum -= column[k] * b[k];
    b[i] = sum;
  }
}

int wrong_argument(int rows, int columns, int lda) {
  if (rows < 0) return -1;
  if (columns < 0) return -2;
  return lda < std::max(1, rows) ? -4 : 0;
}

}  // namespace

void dgetrf_(const int* rows, const int* columns, double* matrix, const int* lda, int* pivots,
             int* info) {
  *info = wrong_argument(*rows, *columns, *lda);
  if (*info != 0) return;
  const Columns<double> a{matrix, *lda};
  for (int k = 0; k < std::min(*rows, *columns); ++k) {
    double* const pivot_column = a.column(k);
    const int row = pivot_row(pivot_column, k, *rows);
    pivots[k] = row + 1;
    if (pivot_column[row] == 0) {
      if (*info == 0) *info = k + 1;
    } else {
      exchange_rows(a, *columns, k, row);
      scale_below(pivot_column, k, *rows);
    }
    for (int j = k + 1; j < *columns; ++j) {
      double* const column = a.column(j);
      for (int i = k + 1; i < *rows; ++i)
        column[i] -= pivot_column[i] * column[k];
    }
  }
}

void dgetrs_(const char* trans, const int* order, const int* rights, const double* factors,
             const int* lda, const int* pivots, double* b, const int* ldb, int* info) {
  const bool transposed = *trans == 'T' || *trans == 't' || *trans == 'C' || *trans == 'c';
  *info = !transposed && *trans != 'N' && *trans != 'n' ? -1 : 0;
  if (*info != 0) return;
  const Columns<const double> a{factors, *lda};
  const Columns<double> right{b, *ldb};
  for (int k = 0; !transposed && k < *order; ++k)
    exchange_rows(right, *rights, k, pivots[k] - 1);
  for (int j = 0; j < *rights; ++j) {
    double* const column = right.column(j);
    if (transposed) {
      solve_upper_transposed(a, *order, column);
      solve_lower_transposed(a, *order, column);
    } else {
      solve_lower(a, *order, column);
      solve_upper(a, *order, column);
    }
  }
  for (int k = *order - 1; transposed && k >= 0; --k)
    exchange_rows(right, *rights, k, pivots[k] - 1);
}
