"""The two functions of LAPACK in the wheel: they solve, and give the numbers of the reference LAPACK."""

import ctypes
import os
import random
import struct
import unittest
from ctypes import byref, c_char_p, c_double, c_int

LIBRARY = os.environ["SHARDWRIGHT_DENSE_FACTORS"]


def reference():
    """The reference LAPACK if it is this machine's, or None: others add in other orders."""
    try:
        library = ctypes.CDLL("liblapack.so.3")
    except OSError:
        return None
    with open("/proc/self/maps", encoding="ascii") as maps:
        return library if any("/lapack/liblapack.so" in line for line in maps) else None


class Lapack:
    def __init__(self, library):
        self.library = library

    def factors(self, matrix, rows, columns, lda):
        found, pivots, info = (c_double * len(matrix))(*matrix), (c_int * rows)(), c_int()
        self.library.dgetrf_(byref(c_int(rows)), byref(c_int(columns)), found, byref(c_int(lda)),
                             pivots, byref(info))
        return found, pivots, info.value

    def solution(self, trans, order, factors, lda, pivots, right, count):
        found, info = (c_double * len(right))(*right), c_int()
        self.library.dgetrs_(c_char_p(trans), byref(c_int(order)), byref(c_int(count)), factors,
                             byref(c_int(lda)), pivots, found, byref(c_int(order)), byref(info))
        return found, info.value


def bits(numbers):
    return struct.pack(f"{len(numbers)}d", *numbers)


def random_matrix(rng, order):
    """By columns, some with zeros, equal entries and far magnitudes, some of lower rank."""
    kind = rng.randrange(4)
    if kind == 0:
        return [rng.choice((-1.0, 0.0, 1.0)) for _ in range(order * order)]
    numbers = [rng.uniform(-1, 1) * (10.0 ** rng.randint(-9, 9) if kind == 1 else 1.0)
               for _ in range(order * order)]
    if kind == 2 and order > 1:
        numbers[-order:] = numbers[:order]
    return numbers


class DenseFactors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours = Lapack(ctypes.CDLL(LIBRARY))

    def test_factors_solve_equations(self):
        rng = random.Random(5)
        for order in (1, 2, 3, 10, 60):
            matrix = [rng.uniform(-1, 1) for _ in range(order * order)]
            for i in range(order):
                matrix[i * order + i] += order
            wanted = [rng.uniform(-1, 1) for _ in range(order)]
            factors, pivots, info = self.ours.factors(matrix, order, order, order)
            self.assertEqual(info, 0)
            for trans, entry in ((b"N", lambda i, j: matrix[j * order + i]),
                                 (b"T", lambda i, j: matrix[i * order + j])):
                right = [sum(entry(i, j) * wanted[j] for j in range(order)) for i in range(order)]
                found, info = self.ours.solution(trans, order, factors, order, pivots, right, 1)
                self.assertEqual(info, 0)
                for a, b in zip(found, wanted):
                    self.assertAlmostEqual(a, b, delta=1e-12 * order)

    def test_a_singular_matrix_and_wrong_arguments_are_reported(self):
        self.assertEqual(self.ours.factors([1.0, 1.0, 1.0, 1.0], 2, 2, 2)[2], 2)
        self.assertEqual(self.ours.factors([0.0] * 4, 2, 2, 2)[2], 1)
        self.assertEqual(self.ours.factors([1.0] * 4, 2, 2, 1)[2], -4)
        factors, pivots, _ = self.ours.factors([1.0, 0.0, 0.0, 1.0], 2, 2, 2)
        self.assertEqual(self.ours.solution(b"X", 2, factors, 2, pivots, [1.0, 1.0], 1)[1], -1)

    def test_numbers_are_those_of_the_reference_to_the_last_bit(self):
        library = reference()
        if library is None:
            self.skipTest("this machine has another LAPACK than the reference, or none")
        theirs = Lapack(library)
        rng = random.Random(7)
        for _ in range(400):
            order = rng.choice((1, 2, 3, 5, 17, 40, 100))
            matrix = random_matrix(rng, order)
            factors, pivots, info = self.ours.factors(matrix, order, order, order)
            expected, their_pivots, their_info = theirs.factors(matrix, order, order, order)
            self.assertEqual(info, their_info)
            self.assertEqual(list(pivots), list(their_pivots))
            self.assertEqual(bits(factors), bits(expected))
            if info != 0:
                continue
            right = [rng.choice((0.0, rng.uniform(-1, 1))) for _ in range(2 * order)]
            for trans in (b"N", b"T"):
                found, _ = self.ours.solution(trans, order, factors, order, pivots, right, 2)
                wanted, _ = theirs.solution(trans, order, factors, order, pivots, right, 2)
                self.assertEqual(bits(found), bits(wanted))


if __name__ == "__main__":
    unittest.main()
