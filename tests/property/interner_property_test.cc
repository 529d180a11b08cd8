// Random interning in a stack of layers, compared with maps.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/interner.h"
#include "tests/support/random.h"

namespace shardwright::interner_property_test {

namespace {

using shardwright::test_support::Random;
using shardwright::test_support::seeds;

struct Traits {
  // There are four hashes for hundreds of values, so equal hashes are frequent.
  static std::uint64_t hash(const std::string& text) {
    return shardwright::hash_mix(0, static_cast<unsigned char>(text.back()) % 4);
  }
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
};
using Strings = shardwright::Interner<std::string, Traits>;

// A layer and the values that it should hold.
struct Layer {
  std::unique_ptr<Strings> strings;
  std::map<std::string, const std::string*> own;
};

// Returns the pointer that the top layer should find: that of the lowest layer with the value.
const std::string* expected(const std::vector<Layer>& stack, const std::string& value) {
  for (const Layer& layer : stack) {
    const auto at = layer.own.find(value);
    if (at != layer.own.end()) return at->second;
  }
  return nullptr;
}

bool agree(const std::vector<Layer>& stack) {
  for (const Layer& layer : stack) {
    if (layer.strings->size() != layer.own.size()) return false;
    for (const auto& [value, pointer] : layer.own) {
      if (*pointer != value) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("interner: a stack of layers agrees with a stack of maps") {
  for (const std::uint64_t seed : seeds({1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<Layer> stack;
    stack.push_back({std::make_unique<Strings>(), {}});
    bool right = true;
    for (int step = 0; step < 4000; ++step) {
      const std::string value = "value " + std::to_string(random.below(400));
      const std::size_t action = random.below(100);
      if (action == 0 && stack.size() < 4) {
        stack.push_back({std::make_unique<Strings>(stack.back().strings.get()), {}});
      } else if (action == 1 && stack.size() > 1) {
        stack.pop_back();
      } else if (action < 30) {
        right = right && stack.back().strings->find(value) == expected(stack, value);
      } else {
        // Only the top layer gains values. Adding to a base that has layers is not allowed.
        const std::string* const known = expected(stack, value);
        const std::string* const pointer = stack.back().strings->intern(value);
        right = right && *pointer == value && (known == nullptr || pointer == known);
        if (known == nullptr) right = right && stack.back().own.emplace(value, pointer).second;
      }
      REQUIRE(right);
    }
    CHECK(agree(stack));
  }
}

}  // namespace shardwright::interner_property_test
