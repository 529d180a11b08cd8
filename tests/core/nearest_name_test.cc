// Suggestions for misspelt names.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"

namespace shardwright::nearest_name_test {

using shardwright::edit_distance;
using shardwright::nearest_name;
using shardwright::suggestion;

TEST_CASE("nearest name: distance counts edits and swaps, without case") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "ABC") == 0);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("table", "tabel") == 1);
  CHECK(edit_distance("", "abc") == 3);
}

TEST_CASE("nearest name: finds what was meant and nothing far away") {
  constexpr std::array<std::string_view, 4> kNames{"table_wise", "row_wise", "column_wise", "data"};
  CHECK(nearest_name("row_wize", kNames) == "row_wise");
  CHECK(nearest_name("tablewise", kNames) == "table_wise");
  CHECK(nearest_name("xyzzy", kNames).empty());
  constexpr std::array<std::string_view, 2> kOthers{"tower", "pod-size"};
  CHECK(nearest_name("owner", kOthers).empty());
  CHECK(nearest_name("world-size", kOthers).empty());
  CHECK(nearest_name("podsize", kOthers) == "pod-size");
  constexpr std::array<std::string_view, 4> kGpus{"v100", "a100-40", "a100-80", "h100"};
  CHECK(nearest_name("a100", kGpus) == "a100-40");
  CHECK(nearest_name("h100-80", kGpus) == "h100");
  constexpr std::array<std::string_view, 2> kFlags{"ranks", "ranks-per-host"};
  CHECK(nearest_name("ranks-per-hos", kFlags) == "ranks-per-host");
  CHECK(suggestion("rowwise", kNames) == "; did you mean \"row_wise\"?");
  CHECK(suggestion("xyzzy", kNames) == "; known: table_wise, row_wise, column_wise, data");
}

TEST_CASE("nearest name: a vocabulary is listed whole, the names of a large model are not") {
  std::vector<std::string> texts;
  for (int i = 0; i < 129; ++i)
    texts.push_back("t" + std::to_string(i));
  std::vector<std::string_view> names(texts.begin(), texts.end());
  CHECK(suggestion("xyzzy", names).ends_with(", t10, t11, … (129 in all)"));
  names.pop_back();
  CHECK(suggestion("xyzzy", names).ends_with(", t126, t127"));
}

TEST_CASE("nearest name: knows what other tools call a name, where this one is known") {
  constexpr std::array<std::string_view, 3> kTypes{"FP32", "FP16", "BF16"};
  CHECK(nearest_name("bfloat16", kTypes) == "BF16");
  CHECK(nearest_name("Float", kTypes) == "FP32");
  constexpr std::array<std::string_view, 2> kDevices{"cpu", "cuda"};
  CHECK(nearest_name("gpu", kDevices) == "cuda");
  CHECK(nearest_name("bfloat16", kDevices).empty());
}

}  // namespace shardwright::nearest_name_test
