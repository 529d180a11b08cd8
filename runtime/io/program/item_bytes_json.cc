#include "runtime/io/program/item_bytes_json.h"

#include <array>
#include <string_view>

namespace shardwright {
namespace {

// Names as in torch.
constexpr std::array<std::string_view, 18> kDataTypes{"float32",
                                                      "float16",
                                                      "bfloat16",
                                                      "float64",
                                                      "float8_e4m3fn",
                                                      "float8_e5m2",
                                                      "float8_e4m3fnuz",
                                                      "float8_e5m2fnuz",
                                                      "float8_e8m0fnu",
                                                      "int64",
                                                      "int32",
                                                      "int16",
                                                      "int8",
                                                      "uint8",
                                                      "bool",
                                                      "complex64",
                                                      "complex128",
                                                      "uint16"};
constexpr std::array<std::int64_t, 18> kItemBytes{4, 2, 2, 8, 1, 1, 1, 1,  1,
                                                  8, 4, 2, 1, 1, 1, 8, 16, 2};

}  // namespace

void describe_item_bytes(JsonMembers& members, std::int64_t& bytes) {
  const auto read = [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                                 read_choice(value, "data type", kDataTypes));
    bytes = kItemBytes[index];
    return {};
  };
  members.required_with("data_type", read, [] { return json::one_word(kDataTypes); });
}

}  // namespace shardwright
