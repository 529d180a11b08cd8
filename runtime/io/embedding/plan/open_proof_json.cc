#include "runtime/io/embedding/plan/open_proof_json.h"

#include <optional>

#include "core/hash/sha256.h"
#include "core/text/base64.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {
namespace {

std::string digest_of(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.hex();
}

}  // namespace

void write_open_proof(std::string_view bytes, JsonWriter& json) {
  json.begin_object().member("sha256", digest_of(bytes)).member("state", to_base64(bytes));
  json.end_object();
}

Result<std::string> read_open_proof(JsonValue value) {
  std::string digest;
  std::string text;
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(value).required("sha256", digest).required("state", text).finish());
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes || digest_of(*bytes) != digest) {
    return value.error(
        "the open proof was changed or damaged; without this member the search goes on from plan "
        "and bound");
  }
  return *bytes;
}

}  // namespace shardwright
