// Tells by its keys of which kind a JSON document is, so that a file of another kind is refused by
// its kind instead of by the first key that the reader does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// The kinds of documents that commands read and write. kTables is a bare list of tables, kMachine a
// bare topology, and kCertificate the certificate of a plan.
enum class DocumentKind : std::uint8_t {
  kProblem,
  kTables,
  kMachine,
  kPlan,
  kCertificate,
  kSearchSpace,
  kSweep,
  kExplanation,
  kVerification,
  kDiff,
  kOperatorGraph,
  kCostInstance,
  kSolution,
  kTracedModel,
  kModelOptions,
  kModelPlan,
  kMeshSweep,
  kPaths,
  kAutoshard,
  kAutoshardAnswer,
  kStrategies,
  kStrategiesAnswer,
  kProgram,
  kReshard,
  kReshardAnswer,
  kRedistribution,
  kRedistributionAnswer,
  kTransfer,
  kTransferPlan,
  kSchema,
};

// "a plan"
std::string_view name_of(DocumentKind kind);

// Returns the kind whose keys the document has; nullopt if it has those of none. A document with
// the keys of several kinds, such as a problem with its plan, is the first one of them in the order
// above. O(members of the root).
std::optional<DocumentKind> kind_of(JsonValue root);

// Errors: kInvalidInput if the document has the keys of another kind and none of the wanted kind:
// "this is a plan, which `shardwright verify PROBLEM PLAN` reads; a problem is needed here, which
// `shardwright init problem` begins".
Status check_kind(JsonValue root, DocumentKind wanted);

}  // namespace shardwright
