"""The check of counted figures: what fails, and what passes."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import support
from tracking import baseline, fingerprint
from tracking.counted import Counts
from tracking.errors import TrackError

run = support.load_script(support.PERF / "instr" / "run.py")

OLD = baseline.Baseline({"compiler": "g++ 12"}, {"a": Counts(1000, 100, 5000), "b": Counts(9000, 0, 0)},
                        {"easy": 1.5, "hard": None}, "first")


def failures(**changed: Counts) -> list[str]:
    report = baseline.judge_regions(OLD, {**OLD.regions, **changed})
    return [judgement.name for judgement in report.judgements if judgement.failed]


class RegionTest(unittest.TestCase):
    def test_equal_counts_pass(self) -> None:
        self.assertEqual(failures(), [])

    def test_a_region_may_rise_two_percent_and_no_more(self) -> None:
        self.assertEqual(failures(a=Counts(1020, 100, 5000)), [])
        self.assertEqual(failures(a=Counts(1021, 100, 5000)), ["a.instructions"])

    def test_the_total_may_rise_half_a_percent_and_no_more(self) -> None:
        self.assertEqual(failures(b=Counts(9050, 0, 0)), [])
        self.assertEqual(failures(b=Counts(9051, 0, 0)), ["total.instructions"])

    def test_allocations_and_their_bytes_may_rise_one_percent(self) -> None:
        self.assertEqual(failures(a=Counts(1000, 101, 5050)), [])
        self.assertEqual(failures(a=Counts(1000, 102, 5051)), ["a.allocations", "a.bytes"])
        self.assertEqual(failures(b=Counts(9000, 1, 0)), ["b.allocations"])

    def test_fewer_of_anything_passes(self) -> None:
        self.assertEqual(failures(a=Counts(1, 0, 0)), [])

    def test_regions_that_come_or_go_ask_for_an_update(self) -> None:
        self.assertIn("c.instructions", failures(c=Counts(1, 1, 1)))
        report = baseline.judge_regions(OLD, {"a": OLD.regions["a"]})
        self.assertEqual({each.verdict for each in report.judgements if each.failed}, {"gone"})

    def test_a_part_is_judged_without_the_rest(self) -> None:
        report = baseline.judge_regions(OLD, {"a": Counts(1100, 100, 5000)}, partial=True)
        self.assertEqual([each.name for each in report.judgements if each.failed], ["a.instructions"])


    def test_a_new_region_takes_its_place_and_the_others_stay(self) -> None:
        merged = baseline.with_regions(OLD.regions, {"c": Counts(5, 0, 0)}, ["a", "c", "d", "b"])
        self.assertEqual(list(merged.items()),
                         [("a", OLD.regions["a"]), ("c", Counts(5, 0, 0)), ("b", OLD.regions["b"])])


class QualityTest(unittest.TestCase):
    def verdicts(self, **new: float | None) -> dict[str, str]:
        report = baseline.judge_quality(OLD.quality, {**OLD.quality, **new})
        return {each.name: each.verdict for each in report.judgements if each.verdict != "same"}

    def test_any_worse_rating_fails(self) -> None:
        self.assertEqual(self.verdicts(), {})
        self.assertEqual(self.verdicts(easy=1.5000000000000002), {"rating easy": "worse"})
        self.assertEqual(self.verdicts(easy=None), {"rating easy": "worse"})

    def test_a_better_rating_or_a_first_plan_passes(self) -> None:
        self.assertEqual(self.verdicts(easy=1.4, hard=9.0), {"rating easy": "better", "rating hard": "better"})
        self.assertFalse(baseline.judge_quality(OLD.quality, {"easy": 1.4, "hard": 9.0}).failed)


class UpdateTest(unittest.TestCase):
    def test_the_baseline_survives_the_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "b.json"
            baseline.save(path, OLD)
            self.assertEqual(baseline.load(path), OLD)

    def test_a_baseline_that_is_none_is_an_error_in_one_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "b.json"
            with self.assertRaisesRegex(TrackError, "does not exist"):
                baseline.load(path)
            path.write_text('{"format": "other"}', encoding="utf-8")
            with self.assertRaisesRegex(TrackError, "format is 'other'"):
                baseline.load(path)

    def test_a_raise_counts_only_where_it_is_comparable(self) -> None:
        worse = {**OLD.regions, "a": Counts(2000, 100, 5000)}
        same_build = baseline.Baseline(OLD.fingerprint, worse, OLD.quality)
        other_build = baseline.Baseline({"compiler": "clang 14"}, worse, OLD.quality)
        self.assertEqual([each.name for each in run.raises(OLD, same_build)], ["a.instructions", "total.instructions"])
        self.assertEqual(run.raises(OLD, other_build), [])
        worse_rating = baseline.Baseline({"compiler": "clang 14"}, OLD.regions, {"easy": 2.0, "hard": None})
        self.assertEqual([each.name for each in run.raises(OLD, worse_rating)], ["rating easy"])

    def test_fingerprints_name_what_differs(self) -> None:
        self.assertEqual(fingerprint.differences({"a": "1", "b": "2"}, {"a": "1", "b": "3"}), ["b: 2 -> 3"])
        self.assertEqual(fingerprint.differences({"a": "1"}, {"a": "1"}), [])


if __name__ == "__main__":
    unittest.main()
