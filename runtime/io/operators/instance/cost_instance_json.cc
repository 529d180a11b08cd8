// Recognises the format of a cost instance and calls the reader of that format.
#include "runtime/io/operators/instance/cost_instance_json.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/operators/instance/sharding_request.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_scanner.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/instance/colossal_instance_json.h"
#include "runtime/io/operators/instance/contest_json.h"
#include "runtime/io/operators/instance/sharding_request_json.h"

namespace shardwright {
namespace {

using operators::CostInstance;
using operators::LoweredInstance;
using operators::OperatorProblem;

bool has_contest_form(std::string_view text) {
  JsonScanner scanner(text);
  bool first = true;
  std::string key;
  return scanner.begin_object() && scanner.next_key(first, key) && key == "problem";
}

Result<OperatorProblem> lower_request(JsonValue root, const CostInstanceOptions& options) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(operators::ShardingRequest request, read_sharding_request(root));
  if (options.budget) request.memory_budget = static_cast<double>(*options.budget);
  Result<OperatorProblem> problem = operators::lower(request);
  if (!problem.ok()) return at_sum(problem.error(), root.pointer() + "/m");
  return problem;
}

}  // namespace

Result<OperatorProblem> read_cost_instance(std::string_view text,
                                           const CostInstanceOptions& options) {
  if (has_contest_form(text)) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance,
                                 read_contest_instance(text, options.budget));
    return OperatorProblem(LoweredInstance(std::move(instance)));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kCostInstance));
  if (!root.is_object()) return root.expected("an object");
  if (const auto request = root.find("request")) return lower_request(*request, options);
  if (root.find("s_len")) return lower_request(root, options);
  if (root.find("solve")) return root.error("holds a list of requests; give one of them");
  return read_colossal_instance(root, options);
}

}  // namespace shardwright
