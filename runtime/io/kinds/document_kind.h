// Recognises the kind of a JSON document by its keys. The error about a file of the wrong kind then
// names that kind instead of an unknown key.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// The kinds of documents that commands read and write. kTables is a bare list of tables, kMachine a
// bare topology, kCertificate the certificate of a plan.
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
  kAudit,
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
  kExperts,
  kExpertPlan,
  kExpertSweep,
  kExpertExplanation,
  kMeasuredMachine,
  kSchema,
};

// Returns the name with its article, such as "a plan".
std::string_view name_of(DocumentKind kind);

// Returns the kind whose keys the document has, or nullopt. Of several kinds, as for a problem with
// its plan, returns the first in DocumentKind. Cost: O(members of the root).
std::optional<DocumentKind> kind_of(JsonValue root);

// Refuses a document that has the keys of another kind but none of the wanted kind. Errors:
// kInvalidInput such as "this is a plan, which `shardwright verify PROBLEM PLAN` reads; a problem
// is needed here, which `shardwright init problem` begins".
Status check_kind(JsonValue root, DocumentKind wanted);

}  // namespace shardwright
