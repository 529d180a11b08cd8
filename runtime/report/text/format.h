// Formats numbers and text for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/units.h"

namespace shardwright {

// Returns bytes with three significant digits: "27.2 GiB", "512 B", "0".
std::string format_bytes(Bytes bytes);

// Returns milliseconds with four significant digits and no unit: "0.007639", "9.608", "12,345".
std::string format_ms(double milliseconds);

// Returns a duration with its unit: "5.44 ms", "46.7 s".
std::string format_seconds(double seconds);

// Returns a number such as "1,234,567".
std::string format_count(std::uint64_t count);

// Returns a cost with twelve significant digits: "8,148,273,260.36", "1e+18".
std::string format_cost(double cost);

// Returns a percentage such as "45%"; "-" if `whole` is 0.
std::string format_share(double part, double whole);

// Returns a number and a noun: "1 table", "26 tables".
std::string format_plural(std::uint64_t count, std::string_view noun);

// Returns sorted numbers as ranges: "0-3,8,10-11". If wider than `max_width` columns, the text is
// cut to "0-3,8,… (14)".
std::string format_ranges(std::span<const std::uint32_t> sorted, std::size_t max_width);

// Returns a bar of `width` cells such as "[####------]", filled by part / whole.
std::string format_bar(double part, double whole, std::size_t width);

// Returns the width of a text on a terminal: two columns for wide code points (CJK, emoji), none
// for combining ones and colours. As in wcwidth(), each part of a joined emoji counts.
std::size_t display_width(std::string_view text);

// Cuts a text to `width` columns; "…" marks the cut.
std::string cut_to(std::string_view text, std::size_t width);

// Breaks a text at spaces into lines of at most `width` columns, each indented by `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace shardwright
