// The two functions of LAPACK that CoinUtils calls, so that a wheel needs neither LAPACK nor the
// Fortran libraries beneath it. They add in the order of the reference implementation, so that
// programs find the same numbers with either.
#pragma once

// The names and arguments are LAPACK's: matrices by columns, `lda` and `ldb` numbers apart; all
// numbers by address. The hidden length of `trans` is not read.
extern "C" {

// LU factors of an `rows` x `columns` matrix with partial pivoting, in its place. pivots[k] is the
// row, counted from 1, that row k + 1 was exchanged with. `info` is k > 0 if the k-th pivot is 0,
// and -k if argument k is wrong.
// NOLINTNEXTLINE(readability-identifier-naming)
void dgetrf_(const int* rows, const int* columns, double* matrix, const int* lda, int* pivots,
             int* info);

// Solves A x = b ('N') or the transposed equations ('T', 'C') for `rights` columns of b, in their
// place.
// NOLINTNEXTLINE(readability-identifier-naming)
void dgetrs_(const char* trans, const int* order, const int* rights, const double* factors,
             const int* lda, const int* pivots, double* b, const int* ldb, int* info);
}
