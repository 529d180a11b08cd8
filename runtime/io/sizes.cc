#include "runtime/io/sizes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "core/embedding/problem/storage.h"

namespace shardwright {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr double kKibi = 1024;
// "80" is more likely GiB without the unit than 80 bytes.
constexpr double kSmallestWithoutUnit = kKibi * kKibi;
constexpr std::array kUnits{
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"kib", kKibi},
    Unit{"mib", kKibi* kKibi},
    Unit{"gib", kKibi* kKibi* kKibi},
    Unit{"tib", kKibi* kKibi* kKibi* kKibi},
    Unit{"kb", 1e3},
    Unit{"mb", 1e6},
    Unit{"gb", 1e9},
    Unit{"tb", 1e12},
};

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  const auto bad = [&](const char* why) {
    return invalid_input("", "\"" + std::string(text) + "\" is no size: " + why);
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return bad("write a number and a unit, such as 80GiB");
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' '))
    rest.remove_prefix(1);
  std::string unit;
  for (const char c : rest)
    unit += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    const double bytes = number * known.bytes;
    constexpr auto kMost = static_cast<double>(embedding::kMaxRankBytes);
    if (unit.empty() && bytes < kSmallestWithoutUnit) return bad("write a unit, such as GiB");
    if (!(bytes >= 1 && bytes <= kMost)) return bad("must be from 1 byte to 8 PiB");
    return static_cast<std::int64_t>(std::llround(bytes));
  }
  return bad("units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB");
}

}  // namespace shardwright
