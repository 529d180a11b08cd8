// Recognises the kind of a JSON document by its keys, so that the error about a file of the wrong
// kind names its kind instead of its first unknown key.
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

// Returns the kind whose keys the document has, or nullopt. A document with the keys of several
// kinds, such as a problem with its plan, is of the first of these kinds in the order above.
// O(members of the root).
std::optional<DocumentKind> kind_of(JsonValue root);

// Errors: kInvalidInput if the document has the keys of another kind and none of the wanted kind:
// "this is a plan, which `shardwright verify PROBLEM PLAN` reads; a problem is needed here, which
// `shardwright init problem` begins".
Status check_kind(JsonValue root, DocumentKind wanted);

}  // namespace shardwright
