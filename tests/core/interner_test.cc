// The interner: one object per value, layers, and pointers that stay valid.
#include "core/interner.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardwright::interner_test {

namespace {

using shardwright::Interner;

struct StringTraits {
  static std::uint64_t hash(const std::string& text) {
    std::uint64_t h = text.size();
    for (const char c : text)
      h = shardwright::hash_mix(h, static_cast<unsigned char>(c));
    return h;
  }
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
};
using Strings = Interner<std::string, StringTraits>;

// Gives all values one hash, so they share one shard and one probe sequence.
struct CollidingTraits {
  static std::uint64_t hash(const std::string&) { return 7; }
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
};

std::string text(int i) {
  return "a value too long for a short string, number " + std::to_string(i);
}

}  // namespace

TEST_CASE("interner: equal values are one object, different values are not") {
  Strings strings;
  const std::string* const a = strings.intern(text(1));
  const std::string* const b = strings.intern(text(2));
  CHECK(strings.intern(text(1)) == a);
  CHECK(a != b);
  CHECK(*a == text(1));
  CHECK(*b == text(2));
  CHECK(strings.size() == 2);
}

TEST_CASE("interner: find does not add") {
  Strings strings;
  CHECK(strings.find(text(1)) == nullptr);
  CHECK(strings.size() == 0);
  const std::string* const a = strings.intern(text(1));
  CHECK(strings.find(text(1)) == a);
  CHECK(strings.find(text(2)) == nullptr);
  CHECK(strings.size() == 1);
}

TEST_CASE("interner: pointers stay valid while the table grows") {
  Strings strings;
  std::vector<const std::string*> pointers;
  for (int i = 0; i < 5000; ++i)
    pointers.push_back(strings.intern(text(i)));
  CHECK(strings.size() == 5000);
  CHECK(std::set<const std::string*>(pointers.begin(), pointers.end()).size() == 5000);
  bool same = true;
  for (int i = 0; i < 5000; ++i) {
    const std::string* const pointer = pointers[static_cast<std::size_t>(i)];
    same = same && strings.intern(text(i)) == pointer && *pointer == text(i);
  }
  CHECK(same);
  CHECK(strings.size() == 5000);
}

TEST_CASE("interner: values whose hashes are all equal stay apart") {
  Interner<std::string, CollidingTraits> strings;
  std::set<const std::string*> pointers;
  for (int i = 0; i < 200; ++i)
    pointers.insert(strings.intern(text(i)));
  CHECK(pointers.size() == 200);
  CHECK(strings.size() == 200);
  CHECK(*strings.find(text(137)) == text(137));
}

TEST_CASE("interner: an adopted object keeps its address, and the first of equal ones is found") {
  const std::string first = text(1);
  const std::string equal = text(1);
  Strings strings;
  CHECK(strings.adopt(first) == &first);
  CHECK(strings.adopt(equal) == &first);
  CHECK(strings.intern(text(1)) == &first);
  CHECK(strings.size() == 1);
  Strings layer(&strings);
  CHECK(layer.intern(text(1)) == &first);
  CHECK(layer.adopt(equal) == &first);
  const std::string* const own = layer.intern(text(2));
  CHECK(layer.adopt(text(2)) == own);
  CHECK(layer.size() == 1);
}

TEST_CASE("interner: a layer returns the base's object") {
  Strings base;
  const std::string* const a = base.intern(text(1));
  Strings layer(&base);
  CHECK(layer.intern(text(1)) == a);
  CHECK(layer.find(text(1)) == a);
  CHECK(layer.size() == 0);
}

TEST_CASE("interner: the values of a layer are unknown to its base and its siblings") {
  Strings base;
  Strings left(&base);
  Strings right(&base);
  const std::string* const a = left.intern(text(1));
  CHECK(left.size() == 1);
  CHECK(base.find(text(1)) == nullptr);
  CHECK(right.find(text(1)) == nullptr);
  CHECK(right.intern(text(1)) != a);
}

TEST_CASE("interner: dropping a layer leaves the base as it was") {
  Strings base;
  const std::string* const a = base.intern(text(1));
  {
    Strings layer(&base);
    Strings upper(&layer);
    layer.intern(text(2));
    CHECK(upper.intern(text(1)) == a);
    CHECK(upper.intern(text(2)) == layer.find(text(2)));
    upper.intern(text(3));
    CHECK(upper.size() == 1);
  }
  CHECK(base.size() == 1);
  CHECK(base.find(text(1)) == a);
  CHECK(base.find(text(2)) == nullptr);
}

TEST_CASE("hash_mix: one bit of the seed or the word moves about half of the bits") {
  // The mean of 64 samples of a binomial distribution (64, 1/2) is 32 with a deviation of 0.5. The
  // tolerance of 3 is six deviations.
  int changed_by_word = 0;
  int changed_by_seed = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    const std::uint64_t plain = shardwright::hash_mix(123, 456);
    changed_by_word += __builtin_popcountll(plain ^ shardwright::hash_mix(123, 456 ^ flip));
    changed_by_seed += __builtin_popcountll(plain ^ shardwright::hash_mix(123 ^ flip, 456));
  }
  CHECK(changed_by_word / 64.0 == doctest::Approx(32).epsilon(3.0 / 32));
  CHECK(changed_by_seed / 64.0 == doctest::Approx(32).epsilon(3.0 / 32));
}

}  // namespace shardwright::interner_test
