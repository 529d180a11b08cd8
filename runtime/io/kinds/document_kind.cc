#include "runtime/io/kinds/document_kind.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>

namespace shardwright {
namespace {

using Kind = DocumentKind;

// Words about a kind for messages.
struct Words {
  std::string_view name;     // such as "a plan"
  std::string_view readers;  // such as "`shardwright verify PROBLEM PLAN` reads"
  std::string_view source;   // such as "`shardwright plan` writes"; empty if no command reads it
};

constexpr std::string_view kNoReader = "`shardwright report ANSWER` shows";

// Index: Kind.
constexpr std::array kWords{
    Words{"a problem", "`shardwright plan PROBLEM` reads", "`shardwright init problem` begins"},
    Words{"a list of tables", "a problem holds under the key `tables`", ""},
    Words{"a machine", "a problem holds under the key `topology`", ""},
    Words{"a plan", "`shardwright verify PROBLEM PLAN` reads", "`shardwright plan` writes"},
    Words{"a certificate", "a plan holds under the key `certificate`", ""},
    Words{"a search space", "`shardwright plan PROBLEM --search-space FILE` reads",
          "`shardwright enumerate` writes"},
    Words{"a sweep", kNoReader, ""},
    Words{"an explanation", kNoReader, ""},
    Words{"a verification", kNoReader, ""},
    Words{"a comparison", kNoReader, ""},
    Words{"an audit", kNoReader, ""},
    Words{"an operator graph", "`shardwright operators build GRAPH` reads",
          "`shardwright init graph` begins"},
    Words{"a cost instance", "`shardwright operators solve INSTANCE` reads",
          "`shardwright operators build` writes"},
    Words{"a solution of a cost instance", kNoReader, ""},
    Words{"a traced model", "`shardwright operators plan MODEL` reads",
          "shardwright.torch.trace writes"},
    Words{"a file of options", "`shardwright operators plan MODEL --options FILE` reads",
          "`shardwright init options` begins"},
    Words{"a plan of a traced model", "shardwright.torch.parallelize reads",
          "`shardwright operators plan` writes"},
    Words{"a sweep over meshes", kNoReader, ""},
    Words{"a list of resharding paths", "`shardwright operators paths FILE` reads",
          "`shardwright init paths` begins"},
    Words{"a graph for autoshard", "`shardwright operators autoshard GRAPH` reads",
          "`shardwright schema autoshard` describes"},
    Words{"an answer of `operators autoshard`", kNoReader, ""},
    Words{"a list of single operators", "`shardwright operators strategies FILE` reads",
          "`shardwright schema strategies` describes"},
    Words{"an answer of `operators strategies`", kNoReader, ""},
    Words{"a program", "`shardwright program apply PROGRAM` reads",
          "`shardwright init program` begins"},
    Words{"a list of resharding cases", "`shardwright program reshard CASES` reads",
          "`shardwright init reshard` begins"},
    Words{"an answer of `program reshard`", kNoReader, ""},
    Words{"a redistribution", "`shardwright program redistribute FILE` reads",
          "`shardwright init redistribution` begins"},
    Words{"an answer of `program redistribute`", kNoReader, ""},
    Words{"a transfer", "`shardwright program transfer FILE` reads",
          "`shardwright init transfer` begins"},
    Words{"an answer of `program transfer`", kNoReader, ""},
    Words{"a file of expert loads", "`shardwright experts plan LOADS` reads",
          "`shardwright init experts` begins"},
    Words{"a plan of experts", "`shardwright experts verify LOADS PLAN` reads",
          "`shardwright experts plan` writes"},
    Words{"a sweep of experts", kNoReader, ""},
    Words{"an explanation of experts", kNoReader, ""},
    Words{"a measured machine", "`shardwright plan PROBLEM --machine FILE` reads",
          "`shardwright machine fit` writes"},
    Words{"a JSON Schema", "`shardwright schema` prints and no command reads", ""},
};
static_assert(kWords.size() == static_cast<std::size_t>(Kind::kSchema) + 1);

const Words& words_of(Kind kind) { return kWords[static_cast<std::size_t>(kind)]; }

struct Format {
  std::string_view name;  // text of `format` before its slash
  Kind kind;
};
constexpr std::array kFormats{
    Format{"shardwright.embedding", Kind::kProblem},
    Format{"shardwright.embedding.plan", Kind::kPlan},
    Format{"shardwright.embedding.sweep", Kind::kSweep},
    Format{"shardwright.embedding.explanation", Kind::kExplanation},
    Format{"shardwright.embedding.audit", Kind::kAudit},
    Format{"shardwright.aten_graph", Kind::kTracedModel},
    Format{"shardwright.aten_plan", Kind::kModelPlan},
    Format{"shardwright.transfer", Kind::kTransferPlan},
    Format{"shardwright.experts", Kind::kExperts},
    Format{"shardwright.experts.plan", Kind::kExpertPlan},
    Format{"shardwright.experts.sweep", Kind::kExpertSweep},
    Format{"shardwright.experts.explanation", Kind::kExpertExplanation},
};

// Members, as paths from the root, that identify a kind. A kind may have several forms.
struct Form {
  Kind kind;
  std::string_view first;
  std::string_view second = {};   // empty if `first` is enough
  std::string_view without = {};  // member that is absent; empty if none
};
constexpr std::array kForms{
    Form{Kind::kProblem, "tables", "", "tables_added"},
    Form{Kind::kProblem, "topology"},
    Form{Kind::kProblem, "constraints"},
    Form{Kind::kTables, "0/num_embeddings"},
    Form{Kind::kMachine, "world_size"},
    Form{Kind::kMachine, "hbm_cap"},
    Form{Kind::kPlan, "plan"},
    Form{Kind::kPlan, "reserved_topology"},
    Form{Kind::kPlan, "best_rating"},
    Form{Kind::kPlan, "error", "num_proposals"},
    Form{Kind::kCertificate, "bound", "class_of_rank"},
    Form{Kind::kSearchSpace, "search_space"},
    Form{Kind::kSweep, "points", "best_by_ranks"},
    Form{Kind::kVerification, "claims_checked"},
    Form{Kind::kDiff, "tables_added", "tables_removed"},
    Form{Kind::kDiff, "same_problem"},
    Form{Kind::kTracedModel, "rules", "nodes"},
    Form{Kind::kCostInstance, "nodes/0/strategies"},
    Form{Kind::kCostInstance, "edges_merged"},
    Form{Kind::kCostInstance, "s_len"},
    Form{Kind::kCostInstance, "request"},
    Form{Kind::kCostInstance, "problem/nodes"},
    Form{Kind::kOperatorGraph, "nodes/0/kind"},
    Form{Kind::kModelOptions, "mesh", "device"},
    Form{Kind::kModelOptions, "mesh", "memory"},
    Form{Kind::kModelOptions, "mesh", "collectives"},
    Form{Kind::kModelOptions, "mesh", "optimizer_states"},
    Form{Kind::kModelOptions, "mesh", "placements"},
    Form{Kind::kModelOptions, "mesh", "blocks"},
    Form{Kind::kSolution, "status", "objective"},
    Form{Kind::kMeshSweep, "devices", "meshes"},
    Form{Kind::kPaths, "0/pairs"},
    Form{Kind::kAutoshard, "graph"},
    Form{Kind::kAutoshard, "0/graph"},
    Form{Kind::kAutoshardAnswer, "optimum_cost"},
    Form{Kind::kAutoshardAnswer, "0/optimum_cost"},
    Form{Kind::kStrategies, "records/0/operands"},
    Form{Kind::kStrategiesAnswer, "records/0/strategies"},
    Form{Kind::kProgram, "vars"},
    Form{Kind::kProgram, "programs"},
    Form{Kind::kReshard, "0/src"},
    Form{Kind::kReshard, "0/dst"},
    Form{Kind::kReshardAnswer, "0/inserted"},
    Form{Kind::kRedistributionAnswer, "cost_us", "collectives"},
    Form{Kind::kRedistribution, "mesh", "shape"},
    Form{Kind::kRedistribution, "source", "target"},
    Form{Kind::kTransfer, "meshes", "tensors"},
    Form{Kind::kExperts, "loads"},
    Form{Kind::kExpertPlan, "physical_to_logical"},
    Form{Kind::kMeasuredMachine, "machine/caches"},
    Form{Kind::kMeasuredMachine, "embedding/lookups"},
    Form{Kind::kMeasuredMachine, "operator_times", "", "mesh"},
    Form{Kind::kSchema, "$schema"},
};

// Returns true if the path of keys and list indices leads to a value.
bool has(JsonValue value, std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view token = path.substr(0, slash);
    if (value.is_array()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
      if (error != std::errc() || index >= value.size()) return false;
      value = value[index];
    } else {
      const std::optional<JsonValue> member = value.find(token);
      if (!member) return false;
      value = *member;
    }
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool has(JsonValue root, const Form& form) {
  return has(root, form.first) && (form.second.empty() || has(root, form.second)) &&
         (form.without.empty() || !has(root, form.without));
}

std::optional<Kind> kind_of_format(JsonValue root) {
  const std::optional<JsonValue> format = root.find("format");
  if (!format || !format->is_string()) return std::nullopt;
  const std::string_view text = *format->string();
  for (const Format& known : kFormats) {
    if (known.name == text.substr(0, text.find('/'))) return known.kind;
  }
  return std::nullopt;
}

bool has_keys_of(JsonValue root, Kind wanted) {
  for (const Form& form : kForms) {
    if (form.kind == wanted && has(root, form)) return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(DocumentKind kind) { return words_of(kind).name; }

std::optional<DocumentKind> kind_of(JsonValue root) {
  if (const std::optional<Kind> kind = kind_of_format(root)) return kind;
  for (const Form& form : kForms) {
    if (has(root, form)) return form.kind;
  }
  return std::nullopt;
}

Status check_kind(JsonValue root, DocumentKind wanted) {
  const std::optional<Kind> said = kind_of_format(root);
  if (said ? *said == wanted : has_keys_of(root, wanted)) return {};
  const std::optional<Kind> found = said ? said : kind_of(root);
  if (!found || *found == wanted) return {};
  std::string message = "this is " + std::string(name_of(*found)) + ", which " +
                        std::string(words_of(*found).readers) + "; " +
                        std::string(name_of(wanted)) + " is needed here";
  if (!words_of(wanted).source.empty())
    message += ", which " + std::string(words_of(wanted).source);
  return root.error(std::move(message));
}

}  // namespace shardwright
