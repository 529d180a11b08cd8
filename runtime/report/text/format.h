// Formats numbers and words for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/units.h"

namespace shardwright {

// "27.2 GiB", "512 B", "0"; three significant digits.
std::string format_bytes(Bytes bytes);

// Milliseconds with four significant digits: "0.007639", "9.608", "12,345".
std::string format_ms(double milliseconds);

// "5.44 ms", "46.7 s".
std::string format_seconds(double seconds);

// "1,234,567".
std::string format_count(std::uint64_t count);

// A cost without unit, twelve significant digits: "8,148,273,260.36", "1e+18".
std::string format_cost(double cost);

// "45%"; "-" if the whole is 0.
std::string format_share(double part, double whole);

// "1 table", "26 tables".
std::string format_plural(std::uint64_t count, std::string_view noun);

// Sorted numbers as ranges: "0-3,8,10-11"; cut to "0-3,8,… (14)" beyond `max_width` columns.
std::string format_ranges(std::span<const std::uint32_t> sorted, std::size_t max_width);

// `filled` of `width` cells: "[####------]".
std::string format_bar(double part, double whole, std::size_t width);

// Width of a text on a terminal, in columns: two for wide code points (CJK, emoji), none for
// combining ones and colours. The parts of a joined emoji count one by one, as wcwidth() counts
// them.
std::size_t display_width(std::string_view text);

// Cuts a text to `width` columns, with "…" in place of what was cut.
std::string cut_to(std::string_view text, std::size_t width);

// Breaks a text at spaces into lines of at most `width` columns, indented by `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace shardwright
