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

// Limits memory, since a short text such as "0-99999999" can name any number of ranks.
constexpr std::size_t kMaxMeshRanks = std::size_t{1} << 20;

constexpr std::array<std::string_view, 2> kRoundings{"ceil", "balanced"};

Error bad_ranks(JsonValue value, const std::string& text) {
  return value.error("\"" + text + "\" is no range of ranks; write \"0-63\" or \"0-7,16-23\"");
}

// Takes a range such as "7" or "0-63" from the front of `text`.
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

void describe_mesh(JsonMembers& members, RankMesh& mesh) {
  members.required("shape", mesh.shape, "Ranks along each axis.")
      .required_with(
          "ranks", [&](JsonValue value) { return read_mesh_ranks(value, mesh.ranks); },
          [] {
            return json::one_of({json::text().says("Such as 0-63 or 0-7,16-23."),
                                 json::list(json::natural())})
                .says("In row-major order of the mesh.");
          });
}

void describe_hosts(JsonMembers& members, TransferHosts& hosts) {
  members.required("ranks_per_host", hosts.ranks_per_host, "Rank r is on host r / ranks_per_host.")
      .required("intra_host_bw", hosts.intra_host_bw,
                "Bytes per millisecond of a rank in each direction.")
      .required("inter_host_bw", hosts.inter_host_bw,
                "Bytes per millisecond of all ranks of a host together in each direction.");
}

// Reads one file and remembers the names of its meshes.
class TransferReader {
 public:
  void describe_file(JsonMembers& members, TransferSpec& spec) {
    members
        .required_with(
            "meshes", [&](JsonValue value) { return read_meshes(value, spec.meshes); },
            [] {
              RankMesh sample;
              return json::by_name(
                         shape_by([&](JsonMembers& mesh) { describe_mesh(mesh, sample); }))
                  .says("Meshes by name.");
            })
        .required_with(
            "tensors", [&](JsonValue value) { return read_tensors(value, spec); },
            [this] { return json::list(tensor_shape()); })
        .optional_with(
            "hosts",
            [&](JsonValue value) {
              return read_by(
                  value, [&](JsonMembers& hosts) { describe_hosts(hosts, spec.hosts.emplace()); });
            },
            [] {
              TransferHosts sample;
              return shape_by([&](JsonMembers& hosts) { describe_hosts(hosts, sample); })
                  .says("If left out, the busiest rank counts, in bytes.");
            })
        .ignore({"note"});
  }

 private:
  // The members of a layout in the file.
  struct Layout {
    std::uint32_t mesh = 0;
    std::vector<std::string> words;
    Rounding rounding = Rounding::kCeil;
  };

  // A tensor whose layouts are not read yet, since they depend on its shape.
  struct Tensor {
    TransferTensor tensor;
    std::vector<std::int64_t> shape;
    std::optional<JsonValue> source;
    std::optional<JsonValue> target;
  };

  Status read_meshes(JsonValue value, std::vector<RankMesh>& out) {
    if (!value.is_object()) return value.expected("an object of meshes by name");
    for (std::size_t i = 0; i < value.size(); ++i) {
      RankMesh& mesh = out.emplace_back();
      mesh.name = std::string(value[i].key());
      SHARDWRIGHT_RETURN_IF_ERROR(
          read_by(value[i], [&](JsonMembers& members) { describe_mesh(members, mesh); }));
      meshes_.emplace(mesh.name, static_cast<std::uint32_t>(i));
    }
    // Checked before layouts, whose errors would only follow from these.
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

  void describe_layout(JsonMembers& members, Layout& layout) const {
    members
        .required_with(
            "mesh", [&](JsonValue value) { return read_mesh_name(value, layout.mesh); },
            [] { return json::text().says("A name under `meshes`."); })
        .required("placements", layout.words, "One for each axis of the mesh, such as S(0) or R.")
        .word("rounding", layout.rounding, "rounding", kRoundings,
              "How extents that do not divide are cut: as torch.chunk does, or as evenly as "
              "possible.");
  }

  Status read_layout(JsonValue value, const TransferSpec& spec, std::size_t num_dims,
                     TensorLayout& out) const {
    Layout layout;
    SHARDWRIGHT_RETURN_IF_ERROR(
        read_by(value, [&](JsonMembers& members) { describe_layout(members, layout); }));
    out.mesh = layout.mesh;
    out.rounding = layout.rounding;
    const std::vector<std::string>& words = layout.words;
    const RankMesh& mesh = spec.meshes[out.mesh];
    const auto error = [&](const std::string& axis, const std::string& message) {
      return invalid_input(value.pointer() + "/placements" + axis, message);
    };
    // A mesh without axes or with too many is reported later, at its own place.
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

  void describe_tensor(JsonMembers& members, Tensor& file) const {
    const auto keep = [](std::optional<JsonValue>& layout) {
      return [&layout](JsonValue value) -> Status {
        layout = value;
        return {};
      };
    };
    const auto layout_shape = [this] {
      Layout sample;
      return shape_by([&](JsonMembers& layout) { describe_layout(layout, sample); })
          .named("layout");
    };
    members.required("name", file.tensor.name)
        .required("shape", file.shape, "Of the whole tensor.");
    describe_item_bytes(members, file.tensor.item_bytes);
    members.optional_with("source", keep(file.source), layout_shape)
        .optional_with("target", keep(file.target), layout_shape);
  }

  JsonShape tensor_shape() const {
    Tensor sample;
    JsonShape shape = shape_by([&](JsonMembers& members) { describe_tensor(members, sample); });
    for (JsonMember& member : shape.members)
      member.required = true;  // read_tensor() reports missing layouts itself
    return shape;
  }

  Status read_tensor(JsonValue value, const TransferSpec& spec, TransferTensor& out) const {
    Tensor file;
    SHARDWRIGHT_RETURN_IF_ERROR(
        read_by(value, [&](JsonMembers& members) { describe_tensor(members, file); }));
    out = std::move(file.tensor);
    if (!file.source || !file.target) {
      return value.error(quoted(out.name) + " has no " + (file.source ? "target" : "source") +
                         " layout; give it one, or leave the tensor out");
    }
    const std::vector<std::int64_t>& shape = file.shape;
    if (shape.size() > kMaxDims) {
      return invalid_input(value.pointer() + "/shape",
                           "a tensor has at most " + std::to_string(kMaxDims) + " dimensions");
    }
    out.shape.assign(shape.begin(), shape.end());
    SHARDWRIGHT_RETURN_IF_ERROR(read_layout(*file.source, spec, shape.size(), out.source));
    return read_layout(*file.target, spec, shape.size(), out.target);
  }

  Status read_tensors(JsonValue value, TransferSpec& spec) const {
    if (!value.is_array()) return value.expected("a list of tensors");
    for (std::size_t i = 0; i < value.size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(read_tensor(value[i], spec, spec.tensors.emplace_back()));
    return {};
  }

  std::unordered_map<std::string, std::uint32_t> meshes_;
};

}  // namespace

Result<TransferProblem> read_transfer(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kTransfer));
  TransferReader reader;
  TransferSpec spec;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(document.root(), [&](JsonMembers& members) { reader.describe_file(members, spec); }));
  return TransferProblem::make(std::move(spec));
}

JsonShape transfer_shape() {
  TransferReader reader;
  TransferSpec sample;
  return shape_by([&](JsonMembers& members) { reader.describe_file(members, sample); })
      .says(
          "Tensors that move from one layout to another, over any ranks. `program transfer` reads "
          "it.");
}

namespace {

using namespace redistribution;

constexpr std::string_view kFormat = "shardwright.transfer/1";
constexpr std::array<std::string_view, 4> kPortNames{"send", "receive", "host_out", "host_in"};

JsonShape integers(std::size_t length) {
  return json::tuple(std::vector<JsonShape>(length, json::integer()));
}

void write_meshes(JsonWriter& json, const std::vector<RankMesh>& meshes) {
  json.begin_object();
  for (const RankMesh& mesh : meshes) {
    json.new_line().key(mesh.name).begin_object().key("shape");
    write_value(json, mesh.shape);
    json.member("ranks", ranges_text({mesh.ranks.begin(), mesh.ranks.end()})).end_object();
  }
  json.end_object();
}

JsonShape meshes_shape() {
  return json::by_name(json::object({{"shape", json::list(json::integer()), true},
                                     {"ranks", json::text().says("Such as 0-63."), true}}));
}

void write_layout(JsonWriter& json, const TransferProblem& problem, const TensorLayout& layout) {
  const RankMesh& mesh = problem.meshes()[layout.mesh];
  json.begin_object().member("mesh", mesh.name).key("placements");
  write_value(json, to_words(layout.placement, mesh.shape.size()));
  if (layout.rounding == Rounding::kBalanced)
    json.member("rounding", kRoundings[static_cast<std::size_t>(Rounding::kBalanced)]);
  json.end_object();
}

JsonShape written_layout_shape() {
  return json::object({{"mesh", json::text(), true},
                       {"placements", json::list(json::text()), true},
                       {"rounding", json::one_word({"balanced"})}})
      .named("layout");
}

void describe_group(JsonMembers& members, const TransferProblem& problem,
                    const TensorGroup& group) {
  const auto layout = [&](const TensorLayout& of) {
    return [&](JsonWriter& json) { write_layout(json, problem, of); };
  };
  const auto write_names = [&](JsonWriter& json) {
    json.begin_array();
    for (const std::uint32_t tensor : group.tensors)
      json.value(problem.tensors()[tensor].name);
    json.end_array();
  };
  members.shown("shape", std::vector<std::int64_t>(group.shape.begin(), group.shape.end()))
      .shown("item_bytes", group.item_bytes, "Bytes of an element.")
      .written("source", layout(group.source), written_layout_shape)
      .written("target", layout(group.target), written_layout_shape)
      .written("tensors", write_names,
               [] { return json::list(json::text()).says("Names of equal tensors."); });
}

void describe_transfer(JsonMembers& members, const Transfer& transfer) {
  const auto write_runs = [&](JsonWriter& json) {
    json.begin_array();
    for (const MessageRun& run : transfer.runs)
      json.begin_array().value(run.round).value(run.bytes).end_array();
    json.end_array();
  };
  const auto write_pieces = [&](JsonWriter& json) {
    json.begin_array();
    for (const TransferPiece& piece : transfer.pieces) {
      json.begin_array().value(piece.group).value(piece.first).value(piece.count);
      for (const Interval& interval : piece.box)
        json.value(interval.begin).value(interval.end);
      json.end_array();
    }
    json.end_array();
  };
  members.shown("from", transfer.from, "Rank that sends.")
      .shown("to", transfer.to, "Rank that receives.")
      .shown("bytes", transfer.bytes)
      .written_if(
          transfer.passed_on > 0, "passed_on",
          [&](JsonWriter& json) { json.value(transfer.passed_on); },
          [] { return json::integer().says("The last bytes, received from others before."); })
      .written("runs", write_runs,
               [] { return json::list(integers(2)).says("Round and bytes of it."); })
      .written("pieces", write_pieces, [] {
        return json::list(json::list(json::integer()).from(3))
            .says("Group, its first tensor, number of tensors, begin and end in each dimension.");
      });
}

void describe_bound(JsonMembers& members, const TransferProblem& problem,
                    const TransferBound& bound) {
  for (std::size_t kind = 0; kind < kPortNames.size(); ++kind) {
    std::vector<std::int64_t> numbers;
    for (const TransferPort& port : bound.ports) {
      if (port.kind == static_cast<TransferPort::Kind>(kind)) numbers.push_back(port.number);
    }
    members.written_if(
        !numbers.empty(), kPortNames[kind],
        [&](JsonWriter& json) { json.value(ranges_text(numbers)); },
        [] { return json::text().says("Ranks or hosts, such as 0-63."); });
  }
  members.shown("bytes", bound.bytes, "That must pass these ports.")
      .shown("busiest", proved(problem, bound), "Least time of the busiest port.");
}

void write_rank_loads(JsonWriter& json, const TransferProblem& problem,
                      const std::vector<RankLoad>& loads) {
  json.begin_array();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    json.begin_array().value(problem.ranks()[i]).value(loads[i].sent).value(loads[i].received);
    json.value(loads[i].kept).end_array();
  }
  json.end_array();
}

void write_host_loads(JsonWriter& json, const std::vector<HostLoad>& loads) {
  json.begin_array();
  for (const HostLoad& host : loads)
    json.begin_array().value(host.host).value(host.out).value(host.in).end_array();
  json.end_array();
}

void describe_figures(JsonMembers& members, const TransferProblem& problem,
                      const TransferAnswer& answer) {
  members.constant("format", kFormat)
      .written(
          "unit", [&](JsonWriter& json) { json.value(problem.hosts() ? "ms" : "bytes"); },
          [] {
            return json::one_word({"ms", "bytes"}).says("Of all times.");
          })
      .shown("busiest", answer.busiest, "Time of the busiest port.")
      .shown("lower_bound", answer.bound, "Of the time of every plan.")
      .shown("moved_bytes", answer.moved_bytes)
      .shown("kept_bytes", answer.kept_bytes)
      .line()
      .shown("message_bytes", answer.plan.message_bytes, "Most bytes of a message.")
      .shown("memory_bytes", answer.plan.memory_bytes,
             "Most bytes that a rank sends, and that it receives, in a round.")
      .shown("messages", answer.messages)
      .shown("rounds", answer.plan.rounds)
      .shown("least_rounds", answer.least_rounds, "Lower bound.")
      .shown("work", answer.work);
}

void describe_plan(JsonMembers& members, const TransferProblem& problem,
                   const TransferAnswer& answer) {
  describe_figures(members, problem, answer);
  members.line()
      .rows_by("bounds", answer.plan.bounds,
               [&](JsonMembers& inner, const TransferBound& bound) {
                 describe_bound(inner, problem, bound);
               })
      .line()
      .written(
          "ranks", [&](JsonWriter& json) { write_rank_loads(json, problem, answer.loads.ranks); },
          [] { return json::list(integers(4)).says("Rank, bytes sent, received and kept."); });
  if (problem.hosts()) members.line();
  members
      .written_if(
          problem.hosts().has_value(), "hosts",
          [&](JsonWriter& json) { write_host_loads(json, answer.loads.hosts); },
          [] { return json::list(integers(3)).says("Host, bytes out and in."); })
      .line()
      .written(
          "meshes", [&](JsonWriter& json) { write_meshes(json, problem.meshes()); }, meshes_shape)
      .line()
      .rows_by("groups", problem.groups(),
               [&](JsonMembers& inner, const TensorGroup& group) {
                 describe_group(inner, problem, group);
               })
      .line()
      .rows_by("transfers", answer.plan.transfers, describe_transfer);
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
  write_by(json, [&](JsonMembers& members) { describe_plan(members, problem, answer); });
  json.finish();
}

JsonShape transfer_plan_shape() {
  return shape_by([](JsonMembers& members) { describe_plan(members, {}, {}); })
      .says("What `program transfer` answers. Times are in milliseconds, without hosts in bytes.");
}

}  // namespace shardwright
