#include "runtime/io/program/item_bytes_json.h"

#include <array>
#include <string_view>

namespace shardwright {
namespace {

struct DataTypeBytes {
  std::string_view name;
  std::int64_t bytes;
};
// torch's names.
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
constexpr auto kDataTypeNames = names_in(kDataTypes);

}  // namespace

void describe_item_bytes(JsonMembers& members, std::int64_t& bytes) {
  const auto read = [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                                 read_choice(value, "data type", kDataTypeNames));
    bytes = kDataTypes[index].bytes;
    return {};
  };
  members.required_with("data_type", read, [] { return json::one_word(kDataTypeNames); });
}

}  // namespace shardwright
