#include "core/redistribution/placement/placement_notation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace shardwright::redistribution {
namespace {

constexpr std::array kReduceOps{ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMin, ReduceOp::kMax,
                                ReduceOp::kProduct};

// A parsed word, before the order of the axes of its dimension is known.
struct Word {
  AxisPlacement placement;
  std::optional<std::size_t> index;  // among the axes of its dimension
};

std::optional<std::size_t> read_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Removes a bracket from the end of the text and returns the text inside it, or nullopt.
std::optional<std::string_view> take_bracket(std::string_view& text, char open, char close) {
  if (text.empty() || text.back() != close) return std::nullopt;
  const std::size_t begin = text.rfind(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(begin + 1, text.size() - begin - 2);
  text = text.substr(0, begin);
  return inside;
}

std::optional<Word> read_shard(std::string_view text) {
  Word word;
  if (const auto index = take_bracket(text, '[', ']')) {
    word.index = read_number(*index);
    if (!word.index) return std::nullopt;
  }
  const auto inside = take_bracket(text, '(', ')');
  if (!inside || text != "S") return std::nullopt;
  const std::optional<std::size_t> dim = read_number(*inside);
  if (!dim) return std::nullopt;
  word.placement = AxisPlacement::shard(*dim);
  return word;
}

std::optional<Word> read_word(std::string_view text) {
  if (text == "R") return Word();
  if (text == "P") return Word{AxisPlacement::partial(ReduceOp::kSum), std::nullopt};
  for (const ReduceOp op : kReduceOps) {
    if (text == std::string("P(") + name_of(op) + ")")
      return Word{AxisPlacement::partial(op), std::nullopt};
  }
  return read_shard(text);
}

Error no_placement(std::size_t axis, const std::string& word) {
  std::string message = quoted(word) + " is no placement; ";
  message += word.starts_with("_S")  // torch writes _StridedShard(dim=0, sf=2) or _S(0, 2)
                 ? "write its order instead of its split factor: \"S(0)[1]\" cuts what "
                   "\"S(0)[0]\" leaves of dimension 0, whichever axis comes first"
                 : "write \"R\", \"S(0)\" with the dimension that is sharded, or \"P(sum)\" with "
                   "sum, avg, min, max or product";
  return invalid_input("/" + std::to_string(axis), message);
}

// Returns the axes that shard `dim` in the order of their indices; empty if they have no indices.
Result<Axes> axes_by_index(std::span<const Word> words, std::size_t dim) {
  Axes sharding;
  Axes ordered;
  for (std::size_t axis = 0; axis < words.size(); ++axis) {
    if (!words[axis].placement.is_shard() || words[axis].placement.dim != dim) continue;
    sharding.push_back(static_cast<std::uint8_t>(axis));
    if (words[axis].index) ordered.push_back(static_cast<std::uint8_t>(axis));
  }
  if (ordered.empty()) return ordered;
  std::sort(ordered.begin(), ordered.end(),
            [&](std::uint8_t a, std::uint8_t b) { return *words[a].index < *words[b].index; });
  for (std::size_t i = 0; i < sharding.size(); ++i) {
    if (i >= ordered.size() || *words[ordered[i]].index != i) {
      return invalid_input("/" + std::to_string(sharding.back()),
                           "the shards of dimension " + std::to_string(dim) +
                               " need the indices 0 to " + std::to_string(sharding.size() - 1) +
                               ", each once");
    }
  }
  return ordered;
}

bool is_ascending(const Axes& axes) { return std::is_sorted(axes.begin(), axes.end()); }

}  // namespace

std::vector<std::string> to_words(const Placement& placement, std::size_t num_axes) {
  std::vector<std::string> words(num_axes, "R");
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if (placement.is_partial(axis)) {
      words[axis] = std::string("P(") + name_of(placement.reduce_op(axis)) + ")";
    } else if (placement.is_shard(axis)) {
      words[axis] = "S(" + std::to_string(placement.dim(axis)) + ")";
      if (!is_ascending(placement.axes_of(placement.dim(axis))))
        words[axis] += "[" + std::to_string(placement.index(axis)) + "]";
    }
  }
  return words;
}

std::string to_text(const Placement& placement, std::size_t num_axes) {
  std::string text;
  for (const std::string& word : to_words(placement, num_axes))
    text += (text.empty() ? "" : " ") + word;
  return text;
}

Result<Placement> read_words(std::span<const std::string> words, std::size_t num_dims) {
  std::vector<Word> read;
  std::vector<AxisPlacement> axes;
  for (std::size_t axis = 0; axis < words.size(); ++axis) {
    const std::optional<Word> word = read_word(words[axis]);
    if (!word) return no_placement(axis, words[axis]);
    read.push_back(*word);
    axes.push_back(word->placement);
  }
  std::vector<ShardOrder> order;
  for (std::size_t dim = 0; dim < std::min(num_dims, kMaxDims); ++dim) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(Axes ordered, axes_by_index(read, dim));
    if (!ordered.empty()) order.push_back({dim, std::move(ordered)});
  }
  return Placement::make(axes, num_dims, order);
}

std::vector<std::int64_t> split_factors(const MeshShape& mesh, const Placement& placement) {
  std::vector<std::int64_t> factors(mesh.size(), 0);
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (!placement.is_shard(axis)) continue;
    factors[axis] = 1;
    for (std::size_t other = axis + 1; other < mesh.size(); ++other) {
      if (placement.is_shard(other) && placement.dim(other) == placement.dim(axis) &&
          placement.index(other) < placement.index(axis)) {
        factors[axis] *= mesh[other];
      }
    }
  }
  return factors;
}

Result<Placement> placement_of_split_factors(const MeshShape& mesh,
                                             std::span<const AxisPlacement> axes,
                                             std::size_t num_dims,
                                             std::span<const std::int64_t> factors) {
  std::array<Axes, kMaxDims> order_by_dim;
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    if (!axes[axis].is_shard() || axes[axis].dim >= kMaxDims) continue;
    Axes& order = order_by_dim[axes[axis].dim];
    std::int64_t product = 1;
    std::size_t place = 0;
    while (place < order.size() && product != factors[axis])
      product *= mesh[order[place++]];
    if (product != factors[axis]) {
      return invalid_input(
          "/" + std::to_string(axis),
          "no order of the mesh axes gives the split factor " + std::to_string(factors[axis]));
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place),
                 static_cast<std::uint8_t>(axis));
  }
  std::vector<ShardOrder> order;
  for (std::size_t dim = 0; dim < kMaxDims; ++dim) {
    if (!order_by_dim[dim].empty()) order.push_back({dim, order_by_dim[dim]});
  }
  return Placement::make(axes, num_dims, order);
}

}  // namespace shardwright::redistribution
