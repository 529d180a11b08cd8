#include "runtime/surface/program_requests.h"
#include "runtime/surface/embedding_requests.h"

namespace shardwright::commands {
namespace {

void describe_peer(bool& compat, bool& legacy_sync, Fields& fields) {
  fields.flag("compat", compat, "Plan as Paddle does, instead of the cheapest way known");
  fields.flag("legacy_sync", legacy_sync,
              "Count a synchronisation before every inserted operator, as in Paddle");
}

}  // namespace

void describe(ReshardRequest& request, Fields& fields) {
  fields.document("cases", request.cases, "CASES", "List of cases (- = stdin)").needed();
  describe_peer(request.compat, request.legacy_sync, fields);
}

void describe(ApplyRequest& request, Fields& fields) {
  fields.document("program", request.program, "PROGRAM", "Program file (- = stdin)").needed();
  fields.flag("full", request.full, "Also reshard outputs, and remove what a rank does not need");
  fields.document("startup", request.startup, "",
                  "Startup program; a rank keeps what its main program needs");
  fields.count("batch_size", request.batch_size, "Size of batch dimensions written as -1");
  describe_peer(request.compat, request.legacy_sync, fields);
  describe_threads(request.threads, fields);
}

void describe(RedistributeRequest& request, Fields& fields) {
  fields
      .document("redistribution", request.redistribution, "REDISTRIBUTION",
                "Redistribution file (- = stdin)")
      .needed();
  fields.flag("front", request.front,
              "Also list the paths that no other one beats in both time and memory");
}

void describe(TransferRequest& request, Fields& fields) {
  fields.document("transfer", request.transfer, "TRANSFER", "Transfer file (- = stdin)").needed();
  fields.bytes("message_bytes", request.message_bytes, "Most bytes of a message (default: 64MiB)");
  fields.bytes("memory", request.memory,
               "Most bytes that a rank sends, and that it receives, in a round (default: 1GiB)");
  fields.flag("full", request.full, "Show every rank in the report");
}

}  // namespace shardwright::commands
