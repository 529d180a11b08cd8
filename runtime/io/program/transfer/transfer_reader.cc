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
#include "runtime/io/json/json_reader.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/item_bytes_json.h"
#include "runtime/io/program/transfer/transfer_json.h"

namespace shardwright {
namespace {

using namespace redistribution;

// A range in a few letters may stand for any number of ranks.
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
        ObjectReader(root)
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
          ObjectReader(value[i])
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
        ObjectReader(value)
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
        ObjectReader(value)
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
    return ObjectReader(value)
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

}  // namespace shardwright
