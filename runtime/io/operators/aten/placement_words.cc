#include "runtime/io/operators/aten/placement_words.h"

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace shardwright {
namespace {

using operators::MaybeAxisPlacement;
using operators::MaybePlacement;
using redistribution::AxisPlacement;
using redistribution::Placement;
using redistribution::ReduceOp;

struct PartialWord {
  std::string_view word;
  ReduceOp op;
};
constexpr std::array<PartialWord, 4> kPartials{{
    {"P", ReduceOp::kSum},
    {"Pavg", ReduceOp::kAvg},
    {"Pmax", ReduceOp::kMax},
    {"Pmin", ReduceOp::kMin},
}};

// Returns false if the word is unknown.
bool parse(std::string_view word, MaybeAxisPlacement& out) {
  out.reset();
  if (word == "-") return true;
  if (word == "R") {
    out = AxisPlacement::replicate();
    return true;
  }
  for (const PartialWord& partial : kPartials) {
    if (word != partial.word) continue;
    out = AxisPlacement::partial(partial.op);
    return true;
  }
  if (word.size() < 2 || word[0] != 'S') return false;
  std::size_t dim = 0;
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data() + 1, end, dim);
  if (error != std::errc{} || next != end || dim >= redistribution::kMaxDims) return false;
  out = AxisPlacement::shard(dim);
  return true;
}

}  // namespace

Status read_axis_word(JsonValue value, MaybeAxisPlacement& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view word, value.string());
  if (parse(word, out)) return {};
  return value.expected("a placement: R, S with one of the dimensions 0 to " +
                        std::to_string(redistribution::kMaxDims - 1) +
                        " such as S0, P, Pavg, Pmax, Pmin or -");
}

std::string axis_word(const MaybeAxisPlacement& placement) {
  if (!placement) return "-";
  if (placement->is_replicate()) return "R";
  if (placement->is_shard()) return "S" + std::to_string(placement->dim);
  for (const PartialWord& partial : kPartials) {
    if (placement->reduce_op == partial.op) return std::string(partial.word);
  }
  return "P" + std::string(redistribution::name_of(placement->reduce_op));
}

Status read_placement(JsonValue value, std::size_t num_axes, Placement& out) {
  if (!value.is_array() || value.size() != num_axes) {
    return value.expected("a list with a placement for each of the mesh's " +
                          std::to_string(num_axes) + " axes");
  }
  std::vector<AxisPlacement> axes;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    MaybeAxisPlacement placement;
    SHARDWRIGHT_RETURN_IF_ERROR(read_axis_word(value[axis], placement));
    if (!placement) return value[axis].expected("a placement, such as R or S0");
    axes.push_back(*placement);
  }
  const Result<Placement> placement = Placement::make(axes, redistribution::kMaxDims);
  if (!placement.ok()) return value.error(placement.error().message);
  out = *placement;
  return {};
}

void write_placement(JsonWriter& json, const MaybePlacement& placement, std::size_t num_axes) {
  json.begin_array();
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    json.value(axis_word(placement ? MaybeAxisPlacement(placement->on(axis)) : std::nullopt));
  json.end_array();
}

}  // namespace shardwright
