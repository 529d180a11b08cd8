#include <utility>

#include "runtime/capi/commands/requests.h"

namespace shardwright::capi {

Status read(Request& json, commands::SchemaRequest& request) {
  json.text("kind", request.kind);
  return json.finish();
}

Status read(Request& json, commands::InitRequest& request) {
  std::optional<std::string> kind;
  json.text("kind", kind);
  if (kind) request.kind = std::move(*kind);
  return json.finish();
}

Status read(Request& json, commands::ReportRequest& request) {
  return json.required_document("answer", request.answer).finish();
}

}  // namespace shardwright::capi
