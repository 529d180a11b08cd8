#include "runtime/io/sizes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <system_error>

#include "core/embedding/problem/storage.h"
#include "core/units.h"

namespace shardwright {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr double kKibi = 1024;
// Smaller numbers are refused: "80" more likely means 80 GiB than 80 bytes.
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

std::string lower_of(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Returns ", such as 80GiB" if `unit` resembles a known unit, as in "80G"; otherwise "".
std::string unit_meant(std::string_view number, std::string_view unit) {
  constexpr std::array<std::string_view, 4> kMeant{"KiB", "MiB", "GiB", "TiB"};
  const std::size_t power = std::string_view("kmgt").find(unit.front());
  return power == std::string_view::npos
             ? ""
             : ", such as " + std::string(number) + std::string(kMeant[power]);
}

// Returns why a number with this unit is refused if the unit counts bits, as "Gb"; otherwise "".
std::string bits_meant(double number, char prefix, std::string_view per) {
  const char upper = prefix >= 'a' ? static_cast<char>(prefix - 'a' + 'A') : prefix;
  const auto in_bytes = [&](double count) {
    std::array<char, 32> digits{};
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    return std::string(digits.data(), end) + std::string(1, upper) + "B" + std::string(per);
  };
  return "a small b counts bits; write " + in_bytes(number / 8) + ", or " + in_bytes(number) +
         " if bytes are meant";
}

}  // namespace

std::optional<std::int64_t> whole_number_meant(std::string_view text) {
  constexpr double kMost = 9007199254740992.0;  // 2^53, up to which doubles are exact
  std::string digits;
  for (const char c : text) {
    if (c != '_' && c != ',' && c != ' ') digits += c;
  }
  double number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [after, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string unit = lower_of({after, static_cast<std::size_t>(end - after)});
  constexpr std::array<Unit, 4> kFactors{Unit{"", 1}, Unit{"k", 1e3}, Unit{"m", 1e6},
                                         Unit{"g", 1e9}};
  for (const Unit& factor : kFactors) {
    if (factor.name != unit) continue;
    const double value = number * factor.bytes;
    if (!(value >= 0 && value <= kMost) || value != std::trunc(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const auto bad = [&](const std::string& why) {
    return invalid_input("", "\"" + std::string(text) + "\" is no size: " + why);
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return bad("write a number and a unit, such as 80GiB");
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' '))
    rest.remove_prefix(1);
  if (rest.size() == 2 && rest[1] == 'b' && rest[0] >= 'A' && rest[0] <= 'Z')
    return bad(bits_meant(number, rest[0], ""));
  const std::string unit = lower_of(rest);
  if (number <= 0) return bad("must be above zero, such as 80GiB");
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    const double bytes = number * known.bytes;
    constexpr auto kMost = static_cast<double>(embedding::kMaxRankBytes);
    if (unit.empty() && bytes < kSmallestWithoutUnit) return bad("write a unit, such as GiB");
    if (!(bytes >= 1 && bytes <= kMost)) return bad("must be from 1 byte to 8 PiB");
    return static_cast<std::int64_t>(std::llround(bytes));
  }
  if (unit.starts_with(',')) return bad("write a decimal point, such as 1.5GiB");
  const std::string_view written = text.substr(0, static_cast<std::size_t>(end - text.data()));
  return bad("units are B, KiB, MiB, GiB, TiB, KB, MB, GB and TB" + unit_meant(written, unit));
}

std::string exact_size(std::int64_t bytes) {
  if (bytes % kGibibyte == 0) return std::to_string(bytes / kGibibyte) + "GiB";
  if (bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + "MiB";
  return std::to_string(bytes) + "B";
}

Result<double> parse_bandwidth(std::string_view text) {
  constexpr std::string_view kPerSecond = "/s";
  const auto bad = [&](const std::string& why) {
    return invalid_input("", "\"" + std::string(text) + "\" is no bandwidth: " + why);
  };
  const std::string_view size = text.substr(0, text.size() - std::min(text.size(), std::size_t{2}));
  const std::size_t unit = size.find_first_not_of("0123456789.");
  if (!text.ends_with(kPerSecond) || unit == std::string_view::npos)
    return bad("write a number, a unit and /s, such as 900GB/s");
  double number = 0;
  const bool is_number = std::from_chars(size.data(), size.data() + unit, number).ec == std::errc();
  if (is_number && unit + 2 == size.size() && size.ends_with('b'))
    return bad(bits_meant(number, size[unit], kPerSecond));
  const Result<std::int64_t> bytes = parse_bytes(size);
  if (bytes.ok()) return static_cast<double>(*bytes);
  return bad("write a number, a unit and /s, such as 900GB/s");
}

}  // namespace shardwright
