#include "runtime/io/experts/experts_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/io/experts/packed_numbers.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"

namespace shardwright {
namespace {

using namespace experts;

constexpr std::string_view kFormat = "shardwright.experts/1";
constexpr std::string_view kPlanFormat = "shardwright.experts.plan/1";

// Relative; the sums of two programs differ by less.
constexpr double kComparedRounding = 1e-9;

Error not_equal(JsonValue value, std::size_t is, std::size_t wanted) {
  return value.error("has " + std::to_string(is) + " entries; the first list has " +
                     std::to_string(wanted));
}

// Reads lists of equal length into `out`, row after row.
template <class T, class Read>
Status read_rows(JsonValue value, std::vector<T>& out, std::size_t& width, const Read& read) {
  if (!value.is_array() || value.size() == 0) return not_a_list(value, "a list of lists");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_array()) return not_a_list(value[i], "a list of numbers");
    if (value[i].size() == 0) return value[i].error("has no numbers");
    if (width == 0) width = value[i].size();
    if (value[i].size() != width) return not_equal(value[i], value[i].size(), width);
    for (std::size_t j = 0; j < width; ++j) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const T number, read(value[i][j]));
      out.push_back(number);
    }
  }
  return {};
}

// Reads the numbers of {"shape", `type`: base64}. `shape` gets the shape.
template <class T>
Result<std::vector<T>> read_packed(JsonValue value, std::string_view type,
                                   std::vector<std::uint64_t>& shape) {
  std::string text;
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(
      value, [&](JsonMembers& members) { members.required("shape", shape).required(type, text); }));
  std::optional<std::vector<T>> numbers = unpacked<T>(text);
  std::size_t size = 1;
  for (const std::uint64_t extent : shape)
    size = extent == 0 || size > numbers.value_or(std::vector<T>()).size() ? 0 : size * extent;
  if (!numbers || size != numbers->size() || size == 0)
    return value.error("is no base64 of as many numbers as `shape` says");
  return *std::move(numbers);
}

JsonShape packed_shape(std::string_view type) {
  return json::object({{"shape", json::list(json::natural()), true},
                       {std::string(type), json::text().says("Little-endian, in base64."), true}});
}

// Reads [layers][experts] or [samples][layers][experts].
Status read_loads(JsonValue value, ExpertSpec& spec) {
  const auto number = [](JsonValue of) { return of.number(); };
  if (value.is_object()) {
    std::vector<std::uint64_t> shape;
    SHARDWRIGHT_ASSIGN_OR_RETURN(spec.loads, read_packed<double>(value, "float64", shape));
    if (shape.size() != 2 && shape.size() != 3)
      return value.error("must have two or three dimensions");
    spec.num_samples = shape.size() == 3 ? shape[0] : 1;
    spec.num_layers = shape[shape.size() - 2];
    spec.num_experts = shape.back();
    return {};
  }
  if (!value.is_array() || value.size() == 0) return not_a_list(value, "a list of layers");
  const bool has_windows = value[0].is_array() && value[0].size() > 0 && value[0][0].is_array();
  spec.num_samples = has_windows ? value.size() : 1;
  spec.num_layers = has_windows ? value[0].size() : value.size();
  if (!has_windows) return read_rows(value, spec.loads, spec.num_experts, number);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_array()) return not_a_list(value[i], "a list of layers");
    if (value[i].size() != spec.num_layers)
      return not_equal(value[i], value[i].size(), spec.num_layers);
    SHARDWRIGHT_RETURN_IF_ERROR(read_rows(value[i], spec.loads, spec.num_experts, number));
  }
  return {};
}

Result<std::vector<double>> read_square(JsonValue value) {
  std::vector<double> numbers;
  std::size_t width = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_rows(value, numbers, width, [](JsonValue of) { return of.number(); }));
  if (value.size() != width) return value.error("must have as many rows as columns");
  return numbers;
}

Status read_slots(JsonValue value, PlacementRows& out) {
  if (value.is_object()) {
    std::vector<std::uint64_t> shape;
    SHARDWRIGHT_ASSIGN_OR_RETURN(out.slots, read_packed<Expert>(value, "int32", shape));
    if (shape.size() != 2) return value.error("must have two dimensions, layers and slots");
    out.num_layers = shape[0];
    return {};
  }
  out.num_layers = value.size();
  std::size_t width = 0;
  return read_rows(value, out.slots, width, [](JsonValue of) -> Result<Expert> {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t expert, of.integer());
    if (expert < 0 || expert > std::numeric_limits<Expert>::max())
      return of.error("must be the number of an expert");
    return static_cast<Expert>(expert);
  });
}

JsonShape rows_shape(JsonShape number) { return json::list(json::list(std::move(number))); }

void describe_machine(JsonMembers& members, ExpertsMachine& machine) {
  members.optional("num_gpus", machine.num_gpus, "GPUs, in the order of their nodes.")
      .from(1)
      .optional("num_nodes", machine.num_nodes, "1 if left out.")
      .from(1)
      .optional("num_slots", machine.num_slots, "Of a layer, over all GPUs.")
      .from(1)
      .optional("num_groups", machine.num_groups,
                "Of consecutive experts; 1 if left out. A group stays on a node if every node gets "
                "the same number of groups.")
      .from(1)
      .optional("gpu_speeds", machine.gpu_speeds, "Relative; all 1 if left out.");
}

void describe_file(JsonMembers& members, ExpertsDocument& document) {
  const auto loads = [&](JsonValue value) { return read_loads(value, document.spec); };
  const auto shape = [] {
    return json::one_of({rows_shape(json::number()), json::list(rows_shape(json::number())),
                         packed_shape("float64")})
        .says("Tokens of every expert: [layers][experts] or [windows][layers][experts].");
  };
  members.constant("format", kFormat).required_with("loads", loads, shape);
  describe_machine(members, document.machine);
  members
      .optional_with(
          "link_costs",
          [&](JsonValue value) -> Status {
            SHARDWRIGHT_ASSIGN_OR_RETURN(document.machine.link_costs, read_square(value));
            return {};
          },
          [] {
            return rows_shape(json::number())
                .says(
                    "Of a token from GPU to GPU, or from node to node. Among equally fast "
                    "placements, one with the least tokens times cost is chosen.");
          })
      .optional("origins", document.machine.origins,
                "Tokens that begin on each GPU, relative; equally many if left out.")
      .optional_with(
          "old", [&](JsonValue value) { return read_slots(value, document.old); },
          [] {
            return json::one_of({rows_shape(json::natural()), packed_shape("int32")})
                .says("The placement in use: [layers][slots], GPU after GPU.");
          })
      .ignore({"note"});
}

// Windows that SGLang's recorder had room for and did not record.
void drop_empty_windows(ExpertSpec& spec) {
  const auto size = static_cast<std::ptrdiff_t>(spec.num_layers * spec.num_experts);
  std::vector<double> kept;
  for (auto at = spec.loads.begin(); at != spec.loads.end(); at += size) {
    if (std::any_of(at, at + size, [](double load) { return load != 0; }))
      kept.insert(kept.end(), at, at + size);
  }
  if (kept.empty()) return;
  spec.num_samples = kept.size() / static_cast<std::size_t>(size);
  spec.loads = std::move(kept);
}

Error csv_error(std::size_t line, const std::string& message) {
  return invalid_input("line " + std::to_string(line), message);
}

// Reads the numbers of a line: between semicolons if there are any, else between commas, else
// between blanks and tabs.
Result<std::vector<double>> read_line(std::string_view row, std::size_t line) {
  static constexpr std::string_view kBlanks = " \t\r";
  const auto trimmed = [](std::string_view text) {
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
    return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
  };
  row = trimmed(row);
  const bool has_semicolons = row.find(';') != std::string_view::npos;
  const bool has_commas = row.find(',') != std::string_view::npos;
  const std::string_view separators = has_semicolons ? ";" : has_commas ? "," : kBlanks;
  std::vector<double> numbers;
  for (bool is_last = row.empty(); !is_last;) {
    const std::size_t end = std::min(row.find_first_of(separators), row.size());
    const std::string_view field = trimmed(row.substr(0, end));
    is_last = end == row.size();
    row.remove_prefix(std::min(end + 1, row.size()));
    if (separators == kBlanks) row = trimmed(row);
    double number = 0;
    const auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || rest != field.data() + field.size()) {
      return csv_error(line, "\"" + std::string(field.substr(0, 40)) +
                                 "\" is no number; put commas, semicolons, tabs or blanks between "
                                 "numbers, and a point before decimals");
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Reads SGLang's record: a layer, an expert and a count per line. Counts of several ranks add up.
// `width`: the most experts of a layer so far. Few lines must not ask for much memory.
Status take_count(const std::vector<double>& row, std::size_t line, std::size_t& width,
                  std::vector<std::vector<double>>& counts) {
  constexpr double kMostIndex = 1 << 20;
  constexpr std::size_t kMostNumbers = std::size_t{1} << 26;
  const auto is_index = [&](double value) {
    return value >= 0 && value < kMostIndex && value == std::floor(value);
  };
  if (row.size() != 3 || !is_index(row[0]) || !is_index(row[1]))
    return csv_error(line, "must have a layer, an expert and a count");
  const auto layer = static_cast<std::size_t>(row[0]);
  const auto expert = static_cast<std::size_t>(row[1]);
  width = std::max(width, expert + 1);
  if (std::max(counts.size(), layer + 1) > kMostNumbers / width)
    return csv_error(line, "layers times experts may be 2^26");
  if (counts.size() <= layer) counts.resize(layer + 1);
  if (counts[layer].size() <= expert) counts[layer].resize(expert + 1);
  counts[layer][expert] += row[2];
  return {};
}

// Reads a line per layer, or SGLang's record. Lines from # on are comments.
Result<ExpertsDocument> read_csv(std::string_view text) {
  constexpr std::string_view kRecord = "layer_id,expert_id,count";
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  ExpertsDocument document;
  ExpertSpec& spec = document.spec;
  bool is_record = false;
  std::vector<std::vector<double>> rows;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    row = row.substr(0, row.find('#'));
    if (row.find("balancedness=") != std::string_view::npos) {
      return csv_error(line,
                       "this log has no counts of experts; save vLLM's expert_load_window and "
                       "physical_to_logical_map as .npz and plan in Python");
    }
    if (row.substr(0, kRecord.size()) == kRecord && (is_record || rows.empty())) {
      is_record = true;
      continue;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<double> numbers, read_line(row, line));
    if (numbers.empty()) continue;
    if (is_record) {
      SHARDWRIGHT_RETURN_IF_ERROR(take_count(numbers, line, spec.num_experts, rows));
      continue;
    }
    if (!rows.empty() && numbers.size() != rows[0].size()) {
      return csv_error(line, "has " + std::to_string(numbers.size()) +
                                 " numbers; the first layer has " + std::to_string(rows[0].size()));
    }
    rows.push_back(std::move(numbers));
  }
  spec.num_layers = rows.size();
  for (const std::vector<double>& row : rows)
    spec.num_experts = std::max(spec.num_experts, row.size());
  for (std::vector<double>& row : rows) {
    row.resize(spec.num_experts);
    spec.loads.insert(spec.loads.end(), row.begin(), row.end());
  }
  return document;
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace

Result<ExpertsDocument> read_experts(std::string_view text) {
  if (!is_json(text)) return read_csv(text);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument file, JsonDocument::parse(text));
  const JsonValue root = file.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kExperts));
  ExpertsDocument document;
  if (root.is_array()) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_loads(root, document.spec));
  } else if (root.find("float64")) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_loads(root, document.spec));
  } else if (const auto counts = root.find("logical_count")) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_loads(*counts, document.spec));
    drop_empty_windows(document.spec);
  } else {
    SHARDWRIGHT_RETURN_IF_ERROR(
        read_by(root, [&](JsonMembers& members) { describe_file(members, document); }));
  }
  return document;
}

Result<PlacementRows> read_placement(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument file, JsonDocument::parse(text));
  JsonValue value = file.root();
  for (const std::string_view key : {"physical_to_logical", "physical_to_logical_map"}) {
    if (const auto found = file.root().find(key)) value = *found;
  }
  PlacementRows placement;
  SHARDWRIGHT_RETURN_IF_ERROR(read_slots(value, placement));
  return placement;
}

Result<std::vector<double>> read_link_costs(std::string_view text) {
  if (is_json(text)) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument file, JsonDocument::parse(text));
    return read_square(file.root());
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(ExpertsDocument rows, read_csv(text));
  if (rows.spec.num_layers == rows.spec.num_experts) return std::move(rows.spec.loads);
  return invalid_input("", "must have as many rows as columns");
}

namespace {

template <class T>
void write_rows(JsonWriter& json, const std::vector<T>& numbers, std::size_t width) {
  json.begin_array();
  for (std::size_t i = 0; i < numbers.size(); i += width) {
    json.new_line().begin_array();
    for (std::size_t j = i; j < i + width; ++j)
      json.value(numbers[j]);
    json.end_array();
  }
  json.end_array();
}

void describe_values(JsonMembers& members, ExpertPlanDocument& document) {
  ExpertPlan& plan = document.plan;
  members
      .required("objective", plan.objective,
                "Sum of max_load, and migration_weight per moved slot.")
      .required("moved", plan.moved, "Slots whose expert was not on their GPU before.")
      .required("proven_optimal", plan.proven_optimal)
      .optional("link_cost", document.link_cost, "Tokens times link costs, if there are any.")
      .word("over", document.over, "way to compare windows", kOverNames)
      .optional("migration_weight", document.migration_weight, "Time per moved slot.");
  describe_machine(members, document.machine);
  members.line()
      .required("max_load", plan.max_load, "Busiest GPU of every layer.")
      .line()
      .required("mean_load", plan.mean_load, "Of every layer: all loads / all speeds.")
      .line()
      .required("lower_bound", plan.lower_bound, "No placement has a smaller max_load.")
      .line();
}

JsonShape figure(std::string_view help) { return json::number().says(help); }

JsonShape placement_shape() {
  return rows_shape(json::natural())
      .says("Expert per layer and slot. GPU g has slots g*S/G to (g+1)*S/G - 1.");
}

// What a plan is compared with.
void describe_comparison(JsonMembers& members, const ExpertsAnswer& answer) {
  const auto number = [](double value) { return [value](JsonWriter& json) { json.value(value); }; };
  members
      .written_if(answer.old_time.has_value(), "old_time", number(answer.old_time.value_or(0)),
                  [] { return figure("Time of the old placement."); })
      .shown("eplb_time", answer.eplb_time, "Time of EPLB's placement.")
      .shown("mean_time", answer.mean_time, "Time if all GPUs were equally busy.")
      .shown("link_cost_before", answer.link_cost_before,
             "The same of the old placement, or of EPLB's.")
      .written_if(
          !answer.planned.front.empty(), "front",
          [&](JsonWriter& json) {
            json.begin_array();
            for (const MovesPoint& point : answer.planned.front)
              json.begin_array().value(point.moves).value(point.time).end_array();
            json.end_array();
          },
          [] {
            return json::list(json::tuple({json::natural(), json::number()}))
                .says("Moves, and the time that they reach.");
          });
  describe_stop(members, answer.planned.stop);
}

// Writes [layers][gpus].
void write_gpu_times(JsonWriter& json, const ExpertProblem& problem, const Placement& placement) {
  std::vector<double> all;
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    const std::vector<double> times =
        gpu_times(problem, 0, layer, placement.data() + layer * problem.num_slots());
    all.insert(all.end(), times.begin(), times.end());
  }
  write_rows(json, all, problem.num_gpus());
}

ExpertPlanDocument document_of(const ExpertProblem& problem, const ExpertsAnswer& answer) {
  ExpertPlanDocument document;
  document.plan = answer.planned.plan;
  if (!problem.spec().link_costs.empty()) document.link_cost = document.plan.link_cost;
  document.over = answer.planned.terms.over;
  document.migration_weight = answer.planned.terms.migration_weight;
  document.machine = {problem.num_gpus(),
                      problem.num_nodes(),
                      problem.num_slots(),
                      problem.num_groups(),
                      problem.spec().gpu_speeds,
                      {},
                      {}};
  return document;
}

}  // namespace

void describe_stop(JsonMembers& members, StopReason stop) {
  members.written_if(
      stop != StopReason::kFinished, "stop", [&](JsonWriter& json) { json.value(name_of(stop)); },
      [] {
        return json::one_word(std::span(kStopReasonNames).subspan(1))
            .says("Why the search ended early.");
      });
}

Result<ExpertPlanDocument> read_expert_plan(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument file, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(file.root(), DocumentKind::kExpertPlan));
  ExpertPlanDocument document;
  PlacementRows placement;
  const auto read_rules = [&](JsonValue value) -> Status {
    if (!value.is_array()) return not_a_list(value, "a list of rules");
    for (std::size_t i = 0; i < value.size(); ++i) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t rule,
                                   read_choice(value[i], "rule", kBoundRuleNames));
      document.plan.rules.push_back(static_cast<BoundRule>(rule));
    }
    return {};
  };
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(file.root(), [&](JsonMembers& members) {
    members.constant("format", kPlanFormat);
    describe_values(members, document);
    members.required_with("bound_rules", read_rules)
        .required_with("physical_to_logical",
                       [&](JsonValue value) { return read_slots(value, placement); })
        .ignore({"old_time", "eplb_time", "mean_time", "link_cost_before", "front", "stop",
                 "replica_count", "gpu_load", "gpu_load_before"});
  }));
  document.plan.placement = std::move(placement.slots);
  document.num_layers = placement.num_layers;
  document.plan.link_cost = document.link_cost.value_or(0);
  return document;
}

void write_expert_plan(const ExpertProblem& problem, const ExpertsAnswer& answer,
                       const TextSink& sink) {
  ExpertPlanDocument document = document_of(problem, answer);
  const ExpertPlan& plan = answer.planned.plan;
  const PlanTerms& terms = answer.planned.terms;
  JsonWriter json(sink);
  write_by(json, [&](JsonMembers& members) {
    members.constant("format", kPlanFormat);
    describe_values(members, document);
    describe_comparison(members, answer);
    json.new_line().key("bound_rules").begin_array();
    for (const BoundRule rule : plan.rules)
      json.value(kBoundRuleNames[static_cast<std::size_t>(rule)]);
    json.end_array().new_line().key("physical_to_logical");
    write_rows(json, plan.placement, problem.num_slots());
    json.new_line().key("replica_count");
    std::vector<std::int32_t> counts;
    for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
      const auto of = replica_counts(problem, plan.placement.data() + layer * problem.num_slots());
      counts.insert(counts.end(), of.begin(), of.end());
    }
    write_rows(json, counts, problem.num_experts());
    json.new_line().key("gpu_load_before");
    write_gpu_times(json, problem, terms.old.empty() ? terms.eplb : terms.old);
    json.new_line().key("gpu_load");
    write_gpu_times(json, problem, plan.placement);
  });
  json.finish();
}

namespace {

// Returns the first place where two values differ by more than rounding.
std::optional<JsonValue> difference(JsonValue said, JsonValue is) {
  if (is.is_array()) {
    if (!said.is_array() || said.size() != is.size()) return said;
    for (std::size_t i = 0; i < is.size(); ++i) {
      if (const auto found = difference(said[i], is[i])) return found;
    }
    return std::nullopt;
  }
  const Result<double> number = said.number();
  const double wanted = *is.number();
  if (number.ok() && std::abs(*number - wanted) <= kComparedRounding * std::abs(wanted))
    return std::nullopt;
  return said;
}

}  // namespace

Status check_comparison(const ExpertProblem& problem, const ExpertsAnswer& answer,
                        std::string_view text) {
  std::string wanted;
  write_expert_plan(problem, answer, [&](std::string_view piece) { wanted += piece; });
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument is, JsonDocument::parse(wanted));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument said, JsonDocument::parse(text));
  for (const std::string_view key : {"replica_count", "gpu_load", "gpu_load_before", "eplb_time",
                                     "old_time", "mean_time", "link_cost_before"}) {
    const std::optional<JsonValue> right = is.root().find(key);
    const std::optional<JsonValue> given = said.root().find(key);
    const auto wrong = right && given ? difference(*given, *right) : std::nullopt;
    if (right.has_value() == given.has_value() && !wrong) continue;
    return Error{ErrorCode::kVerificationFailed, "is not what the placement gives",
                 wrong ? wrong->pointer() : "/" + std::string(key)};
  }
  return {};
}

JsonShape experts_shape() {
  return shape_by([](JsonMembers& members) {
           ExpertsDocument sample;
           describe_file(members, sample);
         })
      .says("Loads of experts, and GPUs for them. `experts plan` reads it.");
}

JsonShape expert_plan_shape() {
  return shape_by([](JsonMembers& members) {
           ExpertPlanDocument sample;
           const auto numbers = [](std::string_view key) {
             return [key] {
               return rows_shape(json::number())
                   .says(key == "gpu_load" ? "Load per layer and GPU, in the first window."
                                           : "The same of the old placement, or of EPLB's.");
             };
           };
           const auto nothing = [](JsonWriter&) {};
           members.constant("format", kPlanFormat);
           describe_values(members, sample);
           describe_comparison(members, {});
           members
               .written("bound_rules", nothing,
                        [] {
                          return json::list(json::one_word(kBoundRuleNames))
                              .says("What proves each lower bound.");
                        })
               .written("physical_to_logical", nothing, placement_shape)
               .written("replica_count", nothing,
                        [] { return rows_shape(json::natural()).says("Per layer and expert."); })
               .written("gpu_load_before", nothing, numbers("gpu_load_before"))
               .written("gpu_load", nothing, numbers("gpu_load"));
         })
      .says("What `experts plan` answers. Loads are in tokens / speed.");
}

namespace {

void write_ascend(JsonWriter& json, const ExpertProblem& problem, const Placement& placement) {
  json.begin_object()
      .member("moe_layer_count", problem.num_layers())
      .key("layer_list")
      .begin_array();
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    json.new_line().begin_object().member("layer_id", layer);
    json.member("device_count", problem.num_gpus()).key("device_list").begin_array();
    for (std::size_t gpu = 0; gpu < problem.num_gpus(); ++gpu) {
      json.begin_object().member("device_id", gpu).key("device_expert").begin_array();
      for (std::size_t i = 0; i < problem.slots_per_gpu(); ++i)
        json.value(placement[layer * problem.num_slots() + gpu * problem.slots_per_gpu() + i]);
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

}  // namespace

void write_engine_form(const ExpertProblem& problem, const Placement& placement, EngineForm form,
                       const TextSink& sink) {
  if (form == EngineForm::kTensorrtLlm) {
    sink("num_slots: " + std::to_string(problem.num_slots()) +
         "\nlayer_updates_per_iter: 0\ninitial_global_assignments:\n");
    for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
      std::string line = "  " + std::to_string(layer) + ": [";
      for (std::size_t slot = 0; slot < problem.num_slots(); ++slot)
        line +=
            (slot == 0 ? "" : ", ") + std::to_string(placement[layer * problem.num_slots() + slot]);
      sink(line + "]\n");
    }
    return;
  }
  JsonWriter json(sink);
  if (form == EngineForm::kPacked) {
    json.begin_object().key("physical_to_logical").begin_object().key("shape").begin_array();
    json.value(problem.num_layers()).value(problem.num_slots()).end_array();
    json.member("int32", packed(placement)).end_object().end_object();
  } else if (form == EngineForm::kVllmAscend) {
    write_ascend(json, problem, placement);
  } else {
    json.begin_object().key("physical_to_logical_map");
    write_rows(json, placement, problem.num_slots());
    json.end_object();
  }
  json.finish();
}

}  // namespace shardwright
