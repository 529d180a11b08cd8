#include "runtime/capi/commands/requests.h"

namespace shardwright::capi {

Status read(Request& json, commands::ReshardRequest& request) {
  return json.required_document("cases", request.cases)
      .flag("compat", request.compat)
      .flag("legacy_sync", request.legacy_sync)
      .finish();
}

Status read(Request& json, commands::ApplyRequest& request) {
  return json.required_document("program", request.program)
      .document("startup", request.startup)
      .flag("compat", request.compat)
      .flag("legacy_sync", request.legacy_sync)
      .flag("full", request.full)
      .count("batch_size", request.batch_size, 1, kMostCount)
      .count("threads", request.threads, 0, kMostThreads)
      .finish();
}

Status read(Request& json, commands::RedistributeRequest& request) {
  return json.required_document("redistribution", request.redistribution)
      .flag("front", request.front)
      .finish();
}

Status read(Request& json, commands::TransferRequest& request) {
  return json.required_document("transfer", request.transfer)
      .bytes("memory", request.memory)
      .bytes("message_bytes", request.message_bytes)
      .flag("full", request.full)
      .finish();
}

}  // namespace shardwright::capi
