#include "runtime/io/embedding/plan/proofs_json.h"

#include <optional>

#include "core/hash/sha256.h"
#include "core/text/base64.h"
#include "runtime/io/embedding/plan/certificate_json.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {

void write_proofs(const EmbeddingPlanResult& result, JsonWriter& json) {
  if (result.certificate) {
    json.new_line().key("certificate");
    write_certificate(*result.certificate, json);
  }
  if (!result.open_proof) return;
  const std::string& bytes = *result.open_proof;
  json.new_line().key("open_proof").begin_object();
  json.member("sha256", sha256_hex(bytes)).member("state", to_base64(bytes)).end_object();
}

Result<std::string> read_open_proof(JsonValue value) {
  std::string digest;
  std::string text;
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(value).required("sha256", digest).required("state", text).finish());
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes || sha256_hex(*bytes) != digest) {
    return value.error(
        "the open proof was changed or damaged; without this member the search goes on from plan "
        "and bound");
  }
  return *bytes;
}

}  // namespace shardwright
