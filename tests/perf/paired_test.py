"""The statistics of paired runs: noise alone is never a verdict, and a real change is one."""

from __future__ import annotations

import math
import unittest

import support
from tracking import paired


class PairedTest(unittest.TestCase):
    def test_a_program_against_itself_is_neither_slower_nor_faster(self) -> None:
        for noise in (0.0, 0.01, 0.03, 0.1, 0.3):
            wrong = 0
            for seed in range(60):
                a = support.noisy(seed, 20, 1.0, noise)
                b = support.noisy(seed + 10_000, 20, 1.0, noise)
                wrong += paired.compare(a, b).verdict in ("slower", "faster")
            # 300 comparisons in all. The floor and the A/A spread must keep every one of them right.
            self.assertEqual(wrong, 0, f"noise {noise}")

    def test_ten_percent_more_is_slower_and_ten_percent_less_is_faster(self) -> None:
        for seed in range(30):
            # On a quiet machine the default of 10 pairs is enough; where every tenth run is disturbed, it takes 40.
            for pairs, disturbed in ((10, 0.0), (40, 0.1)):
                a = support.noisy(seed, pairs, 1.0, 0.02, disturbed)
                b = support.noisy(seed + 10_000, pairs, 1.1, 0.02, disturbed)
                self.assertEqual(paired.compare(a, b).verdict, "slower", f"seed {seed}, {pairs} pairs")
                self.assertEqual(paired.compare(b, a).verdict, "faster", f"seed {seed}, {pairs} pairs")

    def test_ten_percent_within_thirty_percent_noise_is_not_called_same(self) -> None:
        verdicts = {paired.compare(support.noisy(seed, 12, 1.0, 0.3),
                                   support.noisy(seed + 10_000, 12, 1.1, 0.3)).verdict for seed in range(30)}
        self.assertNotIn("same", verdicts)

    def test_a_machine_that_slows_down_for_both_makes_nobody_slower(self) -> None:
        for seed in range(30):
            drift = [1 + 0.05 * turn for turn in range(20)]
            a = [value * slow for value, slow in zip(support.noisy(seed, 20, 1.0, 0.01), drift)]
            b = [value * slow for value, slow in zip(support.noisy(seed + 10_000, 20, 1.0, 0.01), drift)]
            self.assertNotIn(paired.compare(a, b).verdict, ("slower", "faster"))

    def test_a_change_below_the_floor_is_the_same_however_certain(self) -> None:
        a = [1.0 + 0.0001 * turn for turn in range(20)]
        comparison = paired.compare(a, [value * 1.02 for value in a])
        self.assertEqual(comparison.verdict, "same")
        self.assertLessEqual(comparison.p_value, 0.001)
        self.assertEqual(paired.compare(a, [value * 1.02 for value in a], floor=0.01).verdict, "slower")

    def test_too_few_pairs_prove_nothing(self) -> None:
        for pairs in range(1, paired.MIN_PAIRS):
            self.assertEqual(paired.compare([1.0] * pairs, [2.0] * pairs).verdict, "unstable", f"{pairs} pairs")
        self.assertEqual(paired.compare([1.0] * paired.MIN_PAIRS, [2.0] * paired.MIN_PAIRS).verdict, "slower")

    def test_the_same_samples_get_the_same_words(self) -> None:
        a, b = support.noisy(1, 15, 1.0, 0.1), support.noisy(2, 15, 1.05, 0.1)
        self.assertEqual(paired.compare(a, b), paired.compare(a, b))

    def test_the_ratio_is_the_median_of_pairs(self) -> None:
        comparison = paired.compare([1.0, 2.0, 4.0], [1.1, 2.2, 40.0])
        self.assertAlmostEqual(comparison.ratio, 1.1)
        self.assertEqual(comparison.pairs, 3)

    def test_the_sign_test_agrees_with_the_binomial_distribution(self) -> None:
        self.assertEqual(paired.sign_test([]), 1.0)
        self.assertEqual(paired.sign_test([0.0, 0.0]), 1.0)
        self.assertAlmostEqual(paired.sign_test([1.0] * 6), 2 / 64)
        self.assertAlmostEqual(paired.sign_test([1.0] * 5 + [-1.0]), 2 * 7 / 64)
        self.assertEqual(paired.sign_test([1.0, -1.0]), 1.0)

    def test_a_single_run_says_nothing_about_its_spread(self) -> None:
        self.assertEqual(paired.self_spread([1.0]), math.inf)


if __name__ == "__main__":
    unittest.main()
