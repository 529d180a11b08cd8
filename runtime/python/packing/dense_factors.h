// The two LAPACK functions that CoinUtils calls, so that a wheel needs neither LAPACK nor Fortran
// libraries. They add in the order of the reference implementation, so results are equal.
#pragma once

// Names and arguments are LAPACK's: matrices are column-major with `lda` or `ldb` numbers per
// column, and all numbers are passed by address. The hidden length of `trans` is not read.
extern "C" {

// Factors a `rows` x `columns` matrix in place into L and U with partial pivoting. pivots[k] is the
// row, counted from 1, that was exchanged with row k + 1. `info` is 0 on success, k > 0 if the k-th
// pivot is 0, and -k if argument k is wrong.
// NOLINTNEXTLINE(readability-identifier-naming)
void dgetrf_(const int* rows, const int* columns, double* matrix, const int* lda, int* pivots,
             int* info);

// Solves A x = b ('N') or the transposed system ('T', 'C') in place for `rights` columns of b.
// NOLINTNEXTLINE(readability-identifier-naming)
void dgetrs_(const char* trans, const int* order, const int* rights, const double* factors,
             const int* lda, const int* pivots, double* b, const int* ldb, int* info);
}
