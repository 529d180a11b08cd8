#include "tests/fuzz/mutator/input_mutator.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/fuzz/mutator/chance.h"
#include "tests/fuzz/mutator/documents.h"
#include "tests/fuzz/mutator/json_mutator.h"

namespace shardwright::fuzz {
namespace {

// Deeper JSON is not parsed, because nlohmann::json writes trees recursively.
constexpr int kDeepest = 200;
constexpr std::size_t kMostChanges = 4;

bool is_deep(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

Json parsed(const std::string& text) {
  if (is_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

std::string written(const Json& tree) {
  return tree.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns true for a short text that is not JSON, such as the arguments of a command.
bool is_words(std::string_view text) {
  return !text.empty() && text.size() < 4000 &&
         text.find_first_of("{}[]") == std::string_view::npos;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> list;
  for (std::string word; stream >> word;)
    list.push_back(word);
  return list;
}

std::string mutate_words(const std::string& text, const Words& words, Chance& chance) {
  std::vector<std::string> list = words_of(text);
  const std::size_t place = chance.below(list.size() + 1);
  const auto at = list.begin() + static_cast<std::ptrdiff_t>(place);
  const bool inside = place < list.size();
  switch (chance.below(5)) {
    case 0:
      if (inside) list.erase(at);
      break;
    case 1:
      if (inside) std::swap(*at, chance.of(list));
      break;
    case 2:
      if (inside) *at = changed_text(*at, words, chance);
      break;
    case 3:
      list.insert(at,
                  any_scalar(words, chance).dump(-1, ' ', true, Json::error_handler_t::replace));
      break;
    default:
      list.insert(at, changed_text("1", words, chance));
  }
  std::string joined;
  for (const std::string& word : list)
    joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

bool mutate_document(std::string& text, const Words& words, Chance& chance) {
  const std::size_t changes = 1 + chance.below(kMostChanges);
  if (is_words(text)) {
    for (std::size_t i = 0; i < changes; ++i)
      text = mutate_words(text, words, chance);
    return true;
  }
  Json tree = parsed(text);
  if (tree.is_discarded()) return false;
  JsonMutator mutator(words, chance);
  for (std::size_t i = 0; i < changes; ++i)
    mutator.mutate(tree);
  text = written(tree);
  return true;
}

std::optional<std::string> joined(const std::vector<std::string>& documents,
                                  std::size_t most_bytes) {
  std::string input = join_documents(documents);
  if (input.size() > most_bytes) return std::nullopt;
  return input;
}

}  // namespace

std::optional<std::string> mutate_input(std::string_view input, std::size_t most_bytes,
                                        std::uint64_t seed, const Words& words) {
  Chance chance(seed);
  std::vector<std::string> documents = split_documents(input);
  // Takes later documents more often: they have to agree with the earlier ones.
  const std::size_t which =
      std::max(chance.below(documents.size()), chance.below(documents.size()));
  if (!mutate_document(documents[which], words, chance)) return std::nullopt;
  return joined(documents, most_bytes);
}

std::optional<std::string> cross_inputs(std::string_view input, std::string_view other,
                                        std::size_t most_bytes, std::uint64_t seed,
                                        const Words& words) {
  Chance chance(seed);
  std::vector<std::string> documents = split_documents(input);
  const std::vector<std::string> others = split_documents(other);
  const std::size_t which = chance.below(std::min(documents.size(), others.size()));
  if (chance.one_in(4)) {
    documents[which] = others[which];
    return joined(documents, most_bytes);
  }
  Json tree = parsed(documents[which]);
  Json source = parsed(others[which]);
  if (tree.is_discarded() || source.is_discarded()) return std::nullopt;
  JsonMutator(words, chance).cross(tree, source);
  documents[which] = written(tree);
  return joined(documents, most_bytes);
}

}  // namespace shardwright::fuzz
