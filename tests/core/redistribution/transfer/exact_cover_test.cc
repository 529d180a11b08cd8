#include "core/redistribution/transfer/check_transfer.h"

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace shardwright::exact_cover_test {

using namespace shardwright;
using namespace shardwright::redistribution;

TEST_CASE("exact cover: gaps, overlaps and boxes outside are found") {
  const Box whole{{0, 4}, {2, 6}};
  CHECK(covers_exactly({whole}, whole));
  CHECK(covers_exactly({{{0, 1}, {2, 6}}, {{1, 4}, {2, 3}}, {{1, 4}, {3, 6}}}, whole));
  CHECK_FALSE(covers_exactly({}, whole));
  CHECK_FALSE(covers_exactly({whole, whole}, whole));
  CHECK_FALSE(covers_exactly({{{0, 1}, {2, 6}}, {{1, 4}, {2, 3}}}, whole));
  CHECK_FALSE(covers_exactly({{{0, 2}, {2, 6}}, {{1, 4}, {2, 6}}}, whole));
  CHECK_FALSE(covers_exactly({{{0, 4}, {1, 6}}}, whole));
  // The volumes sum to the right number, but some elements are covered twice and some not at all.
  CHECK_FALSE(covers_exactly({{{0, 2}, {2, 6}}, {{2, 3}, {2, 6}}, {{2, 3}, {2, 6}}}, whole));
}

TEST_CASE("exact cover: pinwheels, scalars and boxes without elements") {
  // A pinwheel: every straight cut through the whole box cuts one of the five boxes.
  CHECK(covers_exactly(
      {{{0, 2}, {0, 1}}, {{2, 3}, {0, 2}}, {{1, 3}, {2, 3}}, {{0, 1}, {1, 3}}, {{1, 2}, {1, 2}}},
      {{0, 3}, {0, 3}}));
  CHECK(covers_exactly({Box{}}, Box{}));
  CHECK_FALSE(covers_exactly({Box{}, Box{}}, Box{}));
  CHECK(covers_exactly({{{0, 3}}, {{1, 1}}}, {{0, 3}}));
  CHECK(covers_exactly({}, {{3, 3}}));
  CHECK_FALSE(covers_exactly({{{3, 4}}}, {{3, 3}}));
}

TEST_CASE("exact cover: agrees with counting every element") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3})) {
    CAPTURE(seed);
    test_support::Random random(seed);
    std::size_t covers = 0;
    for (int round = 0; round < 2000; ++round) {
      const Box whole{{0, 3}, {0, 3}};
      std::vector<Box> boxes;
      int count[9] = {};
      for (std::size_t n = random.below(5); n > 0; --n) {
        Box box;
        for (int dim = 0; dim < 2; ++dim) {
          const std::size_t begin = random.below(3);
          const std::size_t end = begin + 1 + random.below(3 - begin);
          box.push_back({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)});
        }
        for (std::int64_t i = box[0].begin; i < box[0].end; ++i) {
          for (std::int64_t j = box[1].begin; j < box[1].end; ++j)
            ++count[i * 3 + j];
        }
        boxes.push_back(box);
      }
      bool once = true;
      for (const int n : count)
        once = once && n == 1;
      covers += once ? 1U : 0U;
      CHECK(covers_exactly(boxes, whole) == once);
    }
    CHECK(covers > 0);
  }
}

}  // namespace shardwright::exact_cover_test
