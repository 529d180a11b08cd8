#include "core/nearest_name.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shardwright {
namespace {

// edit_distance() cuts longer names to bound its running time. All known names are shorter.
constexpr std::size_t kLongest = 64;

// A name that other tools use, and the name that shardwright uses.
constexpr std::array<std::pair<std::string_view, std::string_view>, 32> kOtherNames{{
    {"float32", "FP32"},
    {"float", "FP32"},
    {"float16", "FP16"},
    {"half", "FP16"},
    {"bfloat16", "BF16"},
    {"qint8", "INT8"},
    {"fp32", "float32"},
    {"fp16", "float16"},
    {"bf16", "bfloat16"},
    {"fp64", "float64"},
    {"float", "float32"},
    {"half", "float16"},
    {"double", "float64"},
    {"long", "int64"},
    {"int", "int32"},
    {"dense", "linear"},
    {"mean", "avg"},
    {"fwd", "forward"},
    {"bwd", "backward"},
    {"gpu", "cuda"},
    {"rowwise_adagrad", "RowWiseAdagrad"},
    {"rows", "num_embeddings"},
    {"columns", "embedding_dim"},
    {"dim", "embedding_dim"},
    {"dtype", "data_type"},
    {"ranks", "world_size"},
    {"world-size", "ranks"},
    {"gpus", "ranks"},
    {"num-ranks", "ranks"},
    {"local-world-size", "ranks-per-host"},
    {"memory", "hbm"},
    {"exact_rowwise_adagrad", "RowWiseAdagrad"},
}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Returns true if `name` is `part` and a dash or an underscore, and more.
bool is_first_part(std::string_view part, std::string_view name) {
  return name.size() > part.size() && name.starts_with(part) &&
         (name[part.size()] == '-' || name[part.size()] == '_');
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  for (const auto& [other, own] : kOtherNames) {
    if (edit_distance(name, other) == 0 &&
        std::find(known.begin(), known.end(), own) != known.end())
      return own;
  }
  std::string_view best;
  std::size_t least = kLongest;
  for (const std::string_view candidate : known) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    std::size_t distance = edit_distance(name, candidate);
    if (is_first_part(name, candidate) || is_first_part(candidate, name))
      distance = std::min(distance, longer / 8 * 2);  // "a100" for "a100-40", not "v100"
    constexpr std::size_t kShortestStem = 3;
    const bool stem = std::min(name.size(), candidate.size()) >= kShortestStem &&
                      (candidate.starts_with(name) || name.starts_with(candidate));
    if (distance < least && (stem || distance * 4 <= longer + 1)) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view near = nearest_name(name, known);
  if (!near.empty()) return "; did you mean \"" + std::string(near) + "\"?";
  // Lists all values of an enumeration, but not all tables of a model.
  constexpr std::size_t kVocabulary = 128;
  constexpr std::size_t kShown = 12;
  const std::size_t shown = known.size() <= kVocabulary ? known.size() : kShown;
  std::string text = "; known: ";
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += known[i].empty() ? "\"\"" : std::string(known[i]);
  }
  if (known.size() > shown) text += ", … (" + std::to_string(known.size()) + " in all)";
  return text;
}

}  // namespace shardwright
