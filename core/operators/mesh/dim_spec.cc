#include "core/operators/mesh/dim_spec.h"

#include <algorithm>
#include <iterator>

namespace shardwright::operators {
namespace {

Error no_spec(std::string_view text, const std::string& reason) {
  return invalid_input("",
                       "\"" + std::string(text) + "\" is no sharding of a dimension: " + reason);
}

Result<DimSpec> parse_dim(std::string_view text) {
  if (text == "R") return DimSpec{};
  if (text.size() < 2 || text[0] != 'S')
    return no_spec(text, "expected R, or S with mesh axes such as S0 or S01");
  DimSpec spec;
  for (const char digit : text.substr(1)) {
    if (digit < '0' || digit > '7') return no_spec(text, "mesh axes are digits from 0 to 7");
    const int axis = digit - '0';
    if (axis <= spec.last_axis()) return no_spec(text, "its mesh axes do not ascend");
    spec = spec.with(axis);
  }
  return spec;
}

}  // namespace

std::string DimSpec::to_string() const {
  if (replicated()) return "R";
  std::string text = "S";
  for (int axis = 0; axis <= last_axis(); ++axis) {
    if (has(axis)) text += static_cast<char>('0' + axis);
  }
  return text;
}

std::string DimSpecs::to_string() const {
  std::string text;
  for (std::size_t dim = 0; dim < rank_; ++dim) {
    if (dim > 0) text += ',';
    text += (*this)[dim].to_string();
  }
  return text;
}

Result<DimSpecs> DimSpecs::parse(std::string_view text) {
  std::string bare;
  std::copy_if(text.begin(), text.end(), std::back_inserter(bare),
               [](char c) { return c != '[' && c != ']' && c != ' '; });
  if (bare.empty()) return DimSpecs();
  const auto commas = static_cast<std::size_t>(std::count(bare.begin(), bare.end(), ','));
  if (commas >= kMaxRank)
    return invalid_input("", "a sharding spec has at most " + std::to_string(kMaxRank) +
                                 " dimensions, this one has " + std::to_string(commas + 1));
  DimSpecs specs(commas + 1);
  std::string_view rest = bare;
  for (std::size_t dim = 0; dim <= commas; ++dim) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    SHARDWRIGHT_ASSIGN_OR_RETURN(const DimSpec spec, parse_dim(rest.substr(0, end)));
    specs = specs.with(dim, spec);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return specs;
}

}  // namespace shardwright::operators
