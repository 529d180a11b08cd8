// The copy-on-write containers: their contents, and which versions share storage.
#include "core/cow.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardwright::cow_test {

namespace {

using shardwright::PersistentVector;
using shardwright::SharedArray;

using Numbers = PersistentVector<int>;

Numbers squares(std::size_t size) {
  return Numbers::generate(size, [](std::size_t i) { return static_cast<int>(i * i); });
}

}  // namespace

TEST_CASE("shared array: holds the elements it was given") {
  const std::vector<std::uint32_t> source{3, 1, 4, 1, 5};
  const SharedArray<std::uint32_t> array{std::span<const std::uint32_t>(source)};
  CHECK(array.size() == 5);
  CHECK(array[4] == 5);
  CHECK(std::vector<std::uint32_t>(array.view().begin(), array.view().end()) == source);
  CHECK(array.identity() != nullptr);
}

TEST_CASE("shared array: elements wider than the header are aligned") {
  struct alignas(16) Wide {
    std::uint64_t low;
    std::uint64_t high;
  };
  const std::array<Wide, 2> source{Wide{1, 2}, Wide{3, 4}};
  const SharedArray<Wide> array{std::span<const Wide>(source)};
  CHECK(reinterpret_cast<std::uintptr_t>(&array[0]) % alignof(Wide) == 0);
  CHECK(array[0].high == 2);
  CHECK(array[1].low == 3);
}

TEST_CASE("shared array: copies share, equal contents do not") {
  const std::array<int, 3> source{1, 2, 3};
  const SharedArray<int> a{std::span<const int>(source)};
  const SharedArray<int> copy = a;
  const SharedArray<int> twin{std::span<const int>(source)};
  CHECK(copy.identity() == a.identity());
  CHECK(twin.identity() != a.identity());
}

TEST_CASE("shared array: a copy outlives its original") {
  const std::array<int, 3> source{1, 2, 3};
  SharedArray<int> copy;
  {
    const SharedArray<int> original{std::span<const int>(source)};
    copy = original;
  }
  CHECK(copy[2] == 3);
}

TEST_CASE("shared array: moving empties the source, assigning to oneself does not") {
  const std::array<int, 2> source{8, 9};
  SharedArray<int> a{std::span<const int>(source)};
  const shardwright::Identity identity = a.identity();
  SharedArray<int> b = std::move(a);
  CHECK(b.identity() == identity);
  CHECK(a.size() == 0);  // NOLINT(bugprone-use-after-move): the type promises it
  const SharedArray<int>& itself = b;
  b = itself;
  CHECK(b.identity() == identity);
  CHECK(b[1] == 9);
}

TEST_CASE("shared array: the empty array has no storage") {
  const SharedArray<int> none{std::span<const int>()};
  CHECK(none.size() == 0);
  CHECK(none.view().empty());
  CHECK(none.identity() == nullptr);
}

TEST_CASE("persistent vector: generates its elements in index order, at every depth") {
  for (const std::size_t size :
       std::vector<std::size_t>{0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 4097}) {
    CAPTURE(size);
    std::vector<std::size_t> order;
    const Numbers vector = Numbers::generate(size, [&](std::size_t i) {
      order.push_back(i);
      return static_cast<int>(i) * 3;
    });
    REQUIRE(vector.size() == size);
    CHECK(vector.empty() == (size == 0));
    REQUIRE(order.size() == size);
    bool right = true;
    for (std::size_t i = 0; i < size; ++i) {
      right = right && order[i] == i && vector[i] == static_cast<int>(i) * 3;
    }
    CHECK(right);
  }
}

TEST_CASE("persistent vector: set changes one element of the new version and none of the old") {
  for (const std::size_t size : std::vector<std::size_t>{1, 8, 9, 64, 65, 600}) {
    CAPTURE(size);
    const Numbers before = squares(size);
    bool right = true;
    for (std::size_t changed = 0; changed < size; ++changed) {
      const Numbers after = before.set(changed, -1);
      for (std::size_t i = 0; i < size; ++i) {
        right = right && after[i] == (i == changed ? -1 : static_cast<int>(i * i)) &&
                before[i] == static_cast<int>(i * i);
      }
    }
    CHECK(right);
  }
}

TEST_CASE("persistent vector: set keeps the identity of every leaf but one") {
  const Numbers before = squares(600);
  const Numbers after = before.set(100, -1);
  CHECK(after.identity() != before.identity());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(i);
    CHECK((after.identity(i) == before.identity(i)) == (i / 8 != 100 / 8));
  }
}

TEST_CASE("persistent vector: set_all changes what set changes one by one, and no version before") {
  for (const std::size_t size : std::vector<std::size_t>{1, 8, 9, 64, 65, 600}) {
    CAPTURE(size);
    for (const std::size_t step : std::vector<std::size_t>{1, 3, 7, 64, 599}) {
      const Numbers before = squares(size);
      std::vector<Numbers::Change> changes;
      Numbers one_by_one = before;
      for (std::size_t i = size > 1 ? 1 : 0; i < size; i += step) {
        changes.push_back({i, -static_cast<int>(i)});
        one_by_one = one_by_one.set(i, -static_cast<int>(i));
      }
      const Numbers after = before.set_all(changes);
      bool right = true;
      for (std::size_t i = 0; i < size; ++i)
        right = right && after[i] == one_by_one[i] && before[i] == static_cast<int>(i * i);
      CHECK(right);
    }
  }
}

TEST_CASE("persistent vector: set_all keeps every leaf without a change, and all without changes") {
  const Numbers before = squares(600);
  std::vector<Numbers::Change> changes{{3, -1}, {4, -1}, {500, -1}};
  const Numbers after = before.set_all(changes);
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(i);
    CHECK((after.identity(i) == before.identity(i)) == (i / 8 != 0 && i / 8 != 500 / 8));
  }
  CHECK(before.set_all({}).identity() == before.identity());
}

TEST_CASE("persistent vector: copies share everything") {
  const Numbers vector = squares(100);
  const Numbers copy = vector;
  CHECK(copy.identity() == vector.identity());
  CHECK(copy.identity(99) == vector.identity(99));
}

TEST_CASE("persistent vector: moving empties the source") {
  Numbers a = squares(100);
  const shardwright::Identity identity = a.identity();
  Numbers b = std::move(a);
  CHECK(b.identity() == identity);
  CHECK(b[99] == 99 * 99);
  CHECK(a.empty());  // NOLINT(bugprone-use-after-move): the type promises it
  a = squares(3);
  a = std::move(b);
  CHECK(a.size() == 100);
  CHECK(a[99] == 99 * 99);
  CHECK(b.empty());  // NOLINT(bugprone-use-after-move): the type promises it
}

TEST_CASE("persistent vector: a version outlives the one it came from") {
  PersistentVector<std::string> last;
  {
    const auto first = PersistentVector<std::string>::generate(
        70, [](std::size_t i) { return "a string beyond the small size, " + std::to_string(i); });
    last = first.set(3, "changed");
  }
  CHECK(last[3] == "changed");
  CHECK(last[69] == "a string beyond the small size, 69");
}

}  // namespace shardwright::cow_test
