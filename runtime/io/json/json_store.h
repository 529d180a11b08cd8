// The memory layout of a JsonDocument. Private to json_document and json_parse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright::internal {

struct TextRange {
  std::uint32_t offset;
  std::uint32_t length;
};

inline constexpr std::uint32_t kNoKey = ~std::uint32_t{0};

// One value. The payload of an array or object is the index of its JsonContainer.
struct JsonNode {
  union Payload {
    std::int64_t integer;
    std::uint64_t natural;
    double number;
    TextRange text;
    std::uint32_t container;
    bool boolean;
  } payload;
  std::uint32_t key = kNoKey;
  JsonType type = JsonType::kNull;
};
static_assert(sizeof(JsonNode) == 16);

// The children of an array or object are the nodes [first, first + count). Containers are numbered
// in the order in which they end, so `first` never decreases and a binary search finds the
// container of a node.
struct JsonContainer {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t node;  // the container's own node
};

struct JsonStore {
  std::vector<JsonNode> nodes;
  std::vector<JsonContainer> containers;
  std::vector<std::string_view> keys;  // views into key_ids
  std::unordered_map<std::string, std::uint32_t> key_ids;
  std::string text;
  std::uint32_t root = 0;
};

// Fills an empty store. Errors: as JsonDocument::parse.
Status parse_json(std::string_view text, JsonStore& store);

}  // namespace shardwright::internal
