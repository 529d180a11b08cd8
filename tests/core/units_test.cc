// Quantities and ids: which expressions compile, and plain arithmetic.
#include "core/units.h"

#include <doctest/doctest.h>

#include <concepts>
#include <functional>
#include <limits>
#include <type_traits>
#include <unordered_set>

#include "core/embedding/problem/storage.h"
#include "core/ids.h"

namespace shardwright::units_test {

namespace {

using shardwright::Bytes;
using shardwright::Id;
using shardwright::Milliseconds;

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

using TableId = Id<struct TestTableTag>;
using OptionId = Id<struct TestOptionTag>;

}  // namespace

TEST_CASE("units: different units do not mix, nor do units and numbers") {
  CHECK(Addable<Bytes, Bytes>);
  CHECK_FALSE(Addable<Bytes, Milliseconds>);
  CHECK_FALSE(Addable<Bytes, std::int64_t>);
  CHECK_FALSE(Comparable<Bytes, Milliseconds>);
  CHECK_FALSE(std::is_convertible_v<std::int64_t, Bytes>);
  CHECK_FALSE(std::is_convertible_v<Bytes, std::int64_t>);
}

TEST_CASE("units: a quantity has the size of its number and starts at zero") {
  CHECK(sizeof(Bytes) == sizeof(std::int64_t));
  CHECK(sizeof(Milliseconds) == sizeof(double));
  CHECK(Bytes().value() == 0);
  CHECK(Milliseconds().value() == 0.0);
}

TEST_CASE("units: addition rounds exactly as the hardware does") {
  const Milliseconds sum = Milliseconds(0.1) + Milliseconds(0.2);
  CHECK(sum.value() == 0.1 + 0.2);
  CHECK(sum.value() != 0.3);
  Milliseconds difference(1);
  difference -= Milliseconds(0.9);
  CHECK(difference.value() == 1 - 0.9);
}

TEST_CASE("units: NaN is unordered") {
  const Milliseconds nan(std::numeric_limits<double>::quiet_NaN());
  CHECK_FALSE(nan < Milliseconds(1));
  CHECK_FALSE(nan > Milliseconds(1));
  CHECK_FALSE(nan == nan);
}

TEST_CASE("storage: is ordered by HBM, then DDR, but fits only if both fit") {
  using shardwright::embedding::Storage;
  const Storage little_hbm{Bytes(1), Bytes(9)};
  const Storage much_hbm{Bytes(2), Bytes(3)};
  CHECK(little_hbm < much_hbm);
  CHECK_FALSE(little_hbm.fits_in(much_hbm));
  CHECK_FALSE(much_hbm.fits_in(little_hbm));
  CHECK(Storage{Bytes(2), Bytes(2)}.fits_in(much_hbm));
  CHECK(Storage{Bytes(2), Bytes(2)} < much_hbm);
  CHECK(much_hbm - little_hbm == Storage{Bytes(1), Bytes(-6)});
}

TEST_CASE("perf: the total is added in the peer's order") {
  // Added in the order of the members, the second 1 would be lost beside 2^53.
  shardwright::embedding::Perf perf;
  perf.fwd_compute = Milliseconds(1);
  perf.fwd_comms = Milliseconds(9007199254740992.0);
  perf.bwd_compute = Milliseconds(1);
  perf.bwd_comms = Milliseconds(0.5);
  CHECK(perf.total().value() == ((1.0 + 1.0) + 9007199254740992.0) + 0.5);
  CHECK(perf.total().value() != ((1.0 + 9007199254740992.0) + 1.0) + 0.5);
}

TEST_CASE("ids: are invalid until given an index, and kinds do not mix") {
  CHECK_FALSE(TableId().valid());
  CHECK(TableId(0).valid());
  CHECK(TableId(7).index() == 7);
  CHECK(TableId(3) < TableId(4));
  CHECK_FALSE(std::is_convertible_v<TableId, OptionId>);
  CHECK_FALSE(std::equality_comparable_with<TableId, OptionId>);
  CHECK_FALSE(std::is_convertible_v<std::size_t, TableId>);
}

TEST_CASE("ids: hash as keys") {
  std::unordered_set<TableId> set{TableId(1), TableId(2), TableId(1)};
  CHECK(set.size() == 2);
  CHECK(set.contains(TableId(2)));
  CHECK_FALSE(set.contains(TableId(3)));
}

}  // namespace shardwright::units_test
