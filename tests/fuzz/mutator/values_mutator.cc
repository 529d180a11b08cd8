#include "tests/fuzz/mutator/values_mutator.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace shardwright::fuzz {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
// Limits of types and file formats, such as 1,048,576 ranks, 2^48 elements or 2^62 bytes.
constexpr std::array<std::int64_t, 22> kIntegers{0,
                                                 1,
                                                 2,
                                                 3,
                                                 8,
                                                 -1,
                                                 63,
                                                 64,
                                                 255,
                                                 4096,
                                                 4097,
                                                 65536,
                                                 1 << 20,
                                                 (1 << 20) + 1,
                                                 std::numeric_limits<std::int32_t>::max(),
                                                 std::int64_t{1} << 32,
                                                 std::int64_t{1} << 40,
                                                 std::int64_t{1} << 48,
                                                 std::int64_t{1} << 53,
                                                 std::int64_t{1} << 62,
                                                 kMost,
                                                 -kMost - 1};
constexpr std::array<double, 14> kDoubles{
    0.5, -0.5, -0.0, 1e-9,    0.1,    1.0,    0.9999999999999999,
    1.5, 1e18, 1e19, 1.7e308, 5e-324, -1e300, 9.3e18};
constexpr std::array<char, 12> kCharacters{'\0', '\x1b', '\n', '"', '\\', '/',
                                           ' ',  '-',    ':',  '0', 'R',  'S'};

std::int64_t near(std::int64_t number, Chance& chance) {
  const auto bits = static_cast<std::uint64_t>(number);  // unsigned, so that overflow wraps
  switch (chance.below(6)) {
    case 0:
      return static_cast<std::int64_t>(bits + 1);
    case 1:
      return static_cast<std::int64_t>(bits - 1);
    case 2:
      return static_cast<std::int64_t>(bits * 2);
    case 3:
      return number / 2;
    case 4:
      return static_cast<std::int64_t>(~bits + 1);
    default:
      return static_cast<std::int64_t>(bits + chance.below(64));
  }
}

Json any_number(Chance& chance) {
  switch (chance.below(4)) {
    case 0:
      return chance.of(kDoubles);
    case 1:
      return chance.of(kIntegers);
    default:
      return chance.below(20);
  }
}

}  // namespace

Json changed_number(const Json& number, Chance& chance) {
  if (chance.one_in(3)) return any_number(chance);
  if (number.is_number_float()) {
    constexpr std::array<double, 8> kFactors{0.5, 2, 0.99, 1.01, -1, 1e3, 1e-3, 1.0000000001};
    const double changed = number.get<double>() * chance.of(kFactors);
    return std::abs(changed) <= std::numeric_limits<double>::max() ? changed : 1e308;
  }
  return near(number.get<std::int64_t>(), chance);
}

std::string changed_text(const std::string& text, const Words& words, Chance& chance) {
  if (!words.empty() && chance.one_in(2)) return chance.of(words);
  std::string changed = text;
  const std::size_t place = chance.below(changed.size() + 1);
  switch (chance.below(4)) {
    case 0:
      return changed.substr(0, place);
    case 1:
      return changed + changed;
    case 2:
      return changed.insert(place, 1, chance.of(kCharacters));
    default:
      if (place < changed.size()) changed[place] = static_cast<char>(' ' + chance.below(95));
      return changed;
  }
}

Json any_scalar(const Words& words, Chance& chance) {
  switch (chance.below(6)) {
    case 0:
      return nullptr;
    case 1:
      return chance.one_in(2);
    case 2:
      return changed_text("", words, chance);
    default:
      return any_number(chance);
  }
}

}  // namespace shardwright::fuzz
