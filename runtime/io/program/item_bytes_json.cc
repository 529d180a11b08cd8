#include "runtime/io/program/item_bytes_json.h"

#include <array>
#include <string_view>
#include <vector>

namespace shardwright {
namespace {

struct DataTypeBytes {
  std::string_view name;
  std::int64_t bytes;
};
// Names as in torch.
constexpr std::array<DataTypeBytes, 18> kDataTypes{{
    {"float32", 4},
    {"float16", 2},
    {"bfloat16", 2},
    {"float64", 8},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"float8_e8m0fnu", 1},
    {"int64", 8},
    {"int32", 4},
    {"int16", 2},
    {"int8", 1},
    {"uint8", 1},
    {"bool", 1},
    {"complex64", 8},
    {"complex128", 16},
    {"uint16", 2},
}};

}  // namespace

Status read_item_bytes(JsonValue value, std::int64_t& out) {
  std::vector<std::string_view> names;
  for (const DataTypeBytes& type : kDataTypes) {
    if (value.is_string() && value.string().value() == type.name) {
      out = type.bytes;
      return {};
    }
    names.push_back(type.name);
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, "data type", names));
  out = kDataTypes[index].bytes;
  return {};
}

}  // namespace shardwright
