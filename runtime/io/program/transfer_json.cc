#include "runtime/io/program/transfer_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/nearest_name.h"
#include "core/redistribution/placement/placement_notation.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/item_bytes_json.h"

namespace shardwright {
namespace {

using namespace redistribution;

// A limit is needed because a short range may stand for any number of ranks.
constexpr std::size_t kMaxMeshRanks = std::size_t{1} << 20;

constexpr std::array<std::string_view, 2> kRoundings{"ceil", "balanced"};

Error bad_ranks(JsonValue value, const std::string& text) {
  return value.error("\"" + text + "\" is no range of ranks; write \"0-63\" or \"0-7,16-23\"");
}

// Reads "7" or "0-63" and takes it from the front of `text`.
bool take_range(std::string_view& text, Rank& first, Rank& last) {
  const auto number = [&](Rank& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || text.front() == '-') return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (text.empty() || !number(first)) return false;
  last = first;
  if (!text.starts_with('-')) return true;
  text.remove_prefix(1);
  return !text.empty() && number(last) && last >= first;
}

Status read_ranges(JsonValue value, std::vector<Rank>& out) {
  const std::string text(value.string().value());
  std::string_view rest = text;
  for (;;) {
    Rank first = 0;
    Rank last = 0;
    if (!take_range(rest, first, last)) return bad_ranks(value, text);
    if (static_cast<std::size_t>(last - first) >= kMaxMeshRanks - out.size())
      return value.error("a mesh has fewer than 2^20 ranks");
    for (std::int64_t rank = first; rank <= last; ++rank)
      out.push_back(static_cast<Rank>(rank));
    if (rest.empty()) return {};
    if (rest.front() != ',') return bad_ranks(value, text);
    rest.remove_prefix(1);
  }
}

Status read_mesh_ranks(JsonValue value, std::vector<Rank>& out) {
  if (value.is_string()) return read_ranges(value, out);
  if (!value.is_array()) return value.expected("a list of ranks, or a text such as \"0-63\"");
  if (value.size() >= kMaxMeshRanks) return value.error("a mesh has fewer than 2^20 ranks");
  for (std::size_t i = 0; i < value.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t rank, value[i].integer());
    if (rank < 0 || rank > std::numeric_limits<Rank>::max())
      return value[i].error("a rank is between 0 and 2^31 - 1, not " + std::to_string(rank));
    out.push_back(static_cast<Rank>(rank));
  }
  return {};
}

// Reads one file. Keeps the names of the meshes that were read.
class TransferReader {
 public:
  Result<TransferProblem> read(JsonValue root) {
    TransferSpec spec;
    SHARDWRIGHT_RETURN_IF_ERROR(
        JsonMembers(root)
            .required_with("meshes", [&](JsonValue v) { return read_meshes(v, spec.meshes); })
            .required_with("tensors", [&](JsonValue v) { return read_tensors(v, spec); })
            .optional_with("hosts", [&](JsonValue v) { return read_hosts(v, spec.hosts); })
            .ignore({"note"})
            .finish());
    return TransferProblem::make(std::move(spec));
  }

 private:
  Status read_meshes(JsonValue value, std::vector<RankMesh>& out) {
    if (!value.is_object()) return value.expected("an object of meshes by name");
    for (std::size_t i = 0; i < value.size(); ++i) {
      RankMesh& mesh = out.emplace_back();
      mesh.name = std::string(value[i].key());
      SHARDWRIGHT_RETURN_IF_ERROR(
          JsonMembers(value[i])
              .required("shape", mesh.shape)
              .required_with("ranks", [&](JsonValue v) { return read_mesh_ranks(v, mesh.ranks); })
              .finish());
      meshes_.emplace(mesh.name, static_cast<std::uint32_t>(i));
    }
    // Before layouts are read, whose errors would only follow from these.
    return check_rank_meshes(out);
  }

  Status read_mesh_name(JsonValue value, std::uint32_t& out) const {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value.string());
    const auto known = meshes_.find(std::string(name));
    if (known != meshes_.end()) {
      out = known->second;
      return {};
    }
    std::vector<std::string_view> names;
    for (const auto& [mesh, index] : meshes_)
      names.push_back(mesh);
    std::sort(names.begin(), names.end());
    return value.error("unknown mesh " + quoted(std::string(name)) + suggestion(name, names));
  }

  Status read_layout(JsonValue value, const TransferSpec& spec, std::size_t num_dims,
                     TensorLayout& out) const {
    std::vector<std::string> words;
    std::size_t rounding = 0;
    SHARDWRIGHT_RETURN_IF_ERROR(
        JsonMembers(value)
            .required_with("mesh", [&](JsonValue v) { return read_mesh_name(v, out.mesh); })
            .required("placements", words)
            .optional_with("rounding",
                           [&](JsonValue v) -> Status {
                             SHARDWRIGHT_ASSIGN_OR_RETURN(rounding,
                                                          read_choice(v, "rounding", kRoundings));
                             return {};
                           })
            .finish());
    out.rounding = static_cast<Rounding>(rounding);
    const RankMesh& mesh = spec.meshes[out.mesh];
    const auto error = [&](const std::string& axis, const std::string& message) {
      return invalid_input(value.pointer() + "/placements" + axis, message);
    };
    // A mesh without axes, or with too many, is refused later, where it stands.
    const bool is_mesh = !mesh.shape.empty() && mesh.shape.size() <= kMaxMeshAxes;
    if (is_mesh && words.size() != mesh.shape.size()) {
      return error("", "mesh " + quoted(mesh.name) + " has " + std::to_string(mesh.shape.size()) +
                           " axes; write a placement for each, not " +
                           std::to_string(words.size()));
    }
    const Result<Placement> placement = read_words(words, num_dims);
    if (!placement.ok()) return error(placement.error().where, placement.error().message);
    out.placement = *placement;
    return {};
  }

  Status read_tensor(JsonValue value, const TransferSpec& spec, TransferTensor& out) const {
    std::vector<std::int64_t> shape;
    std::vector<JsonValue> source;
    std::vector<JsonValue> target;
    const auto keep = [](std::vector<JsonValue>& layout) {
      return [&layout](JsonValue v) -> Status {
        layout.push_back(v);
        return {};
      };
    };
    SHARDWRIGHT_RETURN_IF_ERROR(
        JsonMembers(value)
            .required("name", out.name)
            .required("shape", shape)
            .required_with("data_type",
                           [&](JsonValue v) { return read_item_bytes(v, out.item_bytes); })
            .optional_with("source", keep(source))
            .optional_with("target", keep(target))
            .finish());
    if (source.empty() || target.empty()) {
      return value.error(quoted(out.name) + " has no " + (source.empty() ? "source" : "target") +
                         " layout; give it one, or leave the tensor out");
    }
    if (shape.size() > kMaxDims) {
      return invalid_input(value.pointer() + "/shape",
                           "a tensor has at most " + std::to_string(kMaxDims) + " dimensions");
    }
    out.shape.assign(shape.begin(), shape.end());
    SHARDWRIGHT_RETURN_IF_ERROR(read_layout(source[0], spec, shape.size(), out.source));
    return read_layout(target[0], spec, shape.size(), out.target);
  }

  Status read_tensors(JsonValue value, TransferSpec& spec) const {
    if (!value.is_array()) return value.expected("a list of tensors");
    for (std::size_t i = 0; i < value.size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(read_tensor(value[i], spec, spec.tensors.emplace_back()));
    return {};
  }

  static Status read_hosts(JsonValue value, std::optional<TransferHosts>& out) {
    out.emplace();
    return JsonMembers(value)
        .required("ranks_per_host", out->ranks_per_host)
        .required("intra_host_bw", out->intra_host_bw)
        .required("inter_host_bw", out->inter_host_bw)
        .finish();
  }

  std::unordered_map<std::string, std::uint32_t> meshes_;
};

}  // namespace

Result<TransferProblem> read_transfer(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kTransfer));
  return TransferReader().read(document.root());
}

namespace {

using namespace redistribution;

constexpr std::array<std::string_view, 4> kPortNames{"send", "receive", "host_out", "host_in"};

template <class List>
void write_numbers(JsonWriter& json, std::string_view key, const List& list) {
  json.key(key).begin_array();
  for (const auto& number : list)
    json.value(number);
  json.end_array();
}

void write_meshes(JsonWriter& json, const TransferProblem& problem) {
  json.new_line().key("meshes").begin_object();
  for (const RankMesh& mesh : problem.meshes()) {
    json.new_line().key(mesh.name).begin_object();
    write_numbers(json, "shape", mesh.shape);
    json.member("ranks", ranges_text({mesh.ranks.begin(), mesh.ranks.end()})).end_object();
  }
  json.end_object();
}

void write_layout(JsonWriter& json, std::string_view key, const TransferProblem& problem,
                  const TensorLayout& layout) {
  const RankMesh& mesh = problem.meshes()[layout.mesh];
  json.key(key).begin_object().member("mesh", mesh.name);
  write_numbers(json, "placements", to_words(layout.placement, mesh.shape.size()));
  if (layout.rounding == Rounding::kBalanced) json.member("rounding", "balanced");
  json.end_object();
}

void write_groups(JsonWriter& json, const TransferProblem& problem) {
  json.new_line().key("groups").begin_array();
  for (const TensorGroup& group : problem.groups()) {
    json.new_line().begin_object();
    write_numbers(json, "shape", group.shape);
    json.member("item_bytes", group.item_bytes);
    write_layout(json, "source", problem, group.source);
    write_layout(json, "target", problem, group.target);
    json.key("tensors").begin_array();
    for (const std::uint32_t tensor : group.tensors)
      json.value(problem.tensors()[tensor].name);
    json.end_array().end_object();
  }
  json.end_array();
}

void write_transfers(JsonWriter& json, const TransferPlan& plan) {
  json.new_line().key("transfers").begin_array();
  for (const Transfer& transfer : plan.transfers) {
    json.new_line().begin_object().member("from", transfer.from).member("to", transfer.to);
    json.member("bytes", transfer.bytes);
    if (transfer.passed_on > 0) json.member("passed_on", transfer.passed_on);
    json.key("runs").begin_array();
    for (const MessageRun& run : transfer.runs)
      json.begin_array().value(run.round).value(run.bytes).end_array();
    json.end_array().key("pieces").begin_array();
    for (const TransferPiece& piece : transfer.pieces) {
      json.begin_array().value(piece.group).value(piece.first).value(piece.count);
      for (const Interval& interval : piece.box)
        json.value(interval.begin).value(interval.end);
      json.end_array();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_bounds(JsonWriter& json, const TransferProblem& problem, const TransferPlan& plan) {
  json.new_line().key("bounds").begin_array();
  for (const TransferBound& bound : plan.bounds) {
    json.new_line().begin_object();
    for (std::size_t kind = 0; kind < kPortNames.size(); ++kind) {
      std::vector<std::int64_t> numbers;
      for (const TransferPort& port : bound.ports) {
        if (port.kind == static_cast<TransferPort::Kind>(kind)) numbers.push_back(port.number);
      }
      if (!numbers.empty()) json.member(kPortNames[kind], ranges_text(numbers));
    }
    json.member("bytes", bound.bytes).member("busiest", proved(problem, bound)).end_object();
  }
  json.end_array();
}

void write_loads(JsonWriter& json, const TransferProblem& problem, const PortLoads& loads) {
  json.new_line().key("ranks").begin_array();
  for (std::size_t i = 0; i < loads.ranks.size(); ++i) {
    const RankLoad& load = loads.ranks[i];
    json.begin_array().value(problem.ranks()[i]).value(load.sent).value(load.received);
    json.value(load.kept).end_array();
  }
  json.end_array();
  if (!problem.hosts()) return;
  json.new_line().key("hosts").begin_array();
  for (const HostLoad& host : loads.hosts)
    json.begin_array().value(host.host).value(host.out).value(host.in).end_array();
  json.end_array();
}

}  // namespace

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += (i > 0 ? "," : "") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

void write_transfer(const TransferProblem& problem, const TransferAnswer& answer,
                    const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().member("format", "shardwright.transfer/1");
  json.member("unit", problem.hosts() ? "ms" : "bytes");
  json.member("busiest", answer.busiest).member("lower_bound", answer.bound);
  json.member("moved_bytes", answer.moved_bytes).member("kept_bytes", answer.kept_bytes);
  json.new_line().member("message_bytes", answer.plan.message_bytes);
  json.member("memory_bytes", answer.plan.memory_bytes).member("messages", answer.messages);
  json.member("rounds", answer.plan.rounds).member("least_rounds", answer.least_rounds);
  json.member("work", answer.work);
  write_bounds(json, problem, answer.plan);
  write_loads(json, problem, answer.loads);
  write_meshes(json, problem);
  write_groups(json, problem);
  write_transfers(json, answer.plan);
  json.end_object().finish();
}

}  // namespace shardwright
