#include "tests/fuzz/mutator/json_mutator.h"

#include <iterator>
#include <utility>

namespace shardwright::fuzz {
namespace {

// Number of attempts to find a value to which the change applies.
constexpr int kTries = 16;
// A tree of this many values is not enlarged.
constexpr std::size_t kLargestTree = 3000;

void collect(Json& value, const std::string& key, std::vector<TreePlace>& places) {
  places.push_back({&value, key});
  if (value.is_object()) {
    for (auto& [name, child] : value.items())
      collect(child, name, places);
  } else if (value.is_array()) {
    for (Json& child : value)
      collect(child, "", places);
  }
}

template <class Accept>
const TreePlace* find(const std::vector<TreePlace>& places, Chance& chance, const Accept& accept) {
  for (int i = 0; i < kTries; ++i) {
    const TreePlace& place = chance.of(places);
    if (accept(place)) return &place;
  }
  return nullptr;
}

bool has_children(const TreePlace& place) {
  return place.value->is_structured() && !place.value->empty();
}

}  // namespace

std::vector<TreePlace> JsonMutator::places_of(Json& tree) const {
  std::vector<TreePlace> places;
  collect(tree, "", places);
  return places;
}

void JsonMutator::mutate(Json& tree) {
  const std::vector<TreePlace> places = places_of(tree);
  const bool may_grow = places.size() < kLargestTree;
  switch (chance_.below(12)) {
    case 0:
      return remove_child(places);
    case 1:
    case 2:
      return may_grow ? copy_over(places, places) : remove_child(places);
    case 3:
      return swap(places);
    case 4:
    case 5:
      return may_grow ? add_child(places) : remove_child(places);
    case 6:
      return chance_.one_in(3) ? rename_key(places) : change_shape(places);
    default:
      return change_scalar(places);
  }
}

void JsonMutator::cross(Json& tree, Json& other) { copy_over(places_of(tree), places_of(other)); }

void JsonMutator::change_scalar(const std::vector<TreePlace>& places) {
  const TreePlace* const place =
      find(places, chance_, [](const TreePlace& p) { return p.value->is_primitive(); });
  if (place == nullptr) return;
  Json& value = *place->value;
  if (chance_.one_in(12)) {
    value = any_scalar(words_, chance_);
  } else if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number()) {
    value = changed_number(value, chance_);
  } else if (value.is_string()) {
    value = changed_text(value.get<std::string>(), words_, chance_);
  } else {
    value = any_scalar(words_, chance_);
  }
}

void JsonMutator::copy_over(const std::vector<TreePlace>& places,
                            const std::vector<TreePlace>& sources) {
  const TreePlace& source = chance_.of(sources);
  const TreePlace* target = find(
      places, chance_, [&](const TreePlace& p) { return p.key == source.key && &p != &source; });
  if (target == nullptr || chance_.one_in(6)) target = &chance_.of(places);
  Json copy = *source.value;
  *target->value = std::move(copy);
}

void JsonMutator::swap(const std::vector<TreePlace>& places) {
  Json& first = *chance_.of(places).value;
  Json& second = *chance_.of(places).value;
  // One subtree may be inside the other, so only one of them is overwritten.
  if (first.is_structured() || second.is_structured()) {
    Json copy = first;
    second = std::move(copy);
  } else {
    std::swap(first, second);
  }
}

void JsonMutator::remove_child(const std::vector<TreePlace>& places) {
  const TreePlace* const place = find(places, chance_, has_children);
  if (place == nullptr) return;
  Json& parent = *place->value;
  const auto child = static_cast<std::ptrdiff_t>(chance_.below(parent.size()));
  parent.erase(std::next(parent.begin(), child));
}

void JsonMutator::add_child(const std::vector<TreePlace>& places) {
  const TreePlace* const place =
      find(places, chance_, [](const TreePlace& p) { return p.value->is_structured(); });
  if (place == nullptr) return;
  Json& parent = *place->value;
  if (parent.is_array()) {
    Json child =
        parent.empty() || chance_.one_in(4) ? any_scalar(words_, chance_) : chance_.of(parent);
    parent.push_back(std::move(child));
    return;
  }
  const std::string key = any_key(places);
  const TreePlace* const model =
      find(places, chance_, [&](const TreePlace& p) { return p.key == key; });
  Json child = model == nullptr ? any_scalar(words_, chance_) : *model->value;
  parent[key] = std::move(child);
}

void JsonMutator::rename_key(const std::vector<TreePlace>& places) {
  const TreePlace* const place = find(places, chance_, [](const TreePlace& p) {
    return p.value->is_object() && !p.value->empty();
  });
  if (place == nullptr) return;
  Json& parent = *place->value;
  const auto member =
      std::next(parent.begin(), static_cast<std::ptrdiff_t>(chance_.below(parent.size())));
  Json value = *member;
  parent.erase(member);
  parent[any_key(places)] = std::move(value);
}

void JsonMutator::change_shape(const std::vector<TreePlace>& places) {
  Json& value = *chance_.of(places).value;
  Json old = std::move(value);
  switch (chance_.below(4)) {
    case 0:
      value = Json::array();
      break;
    case 1:
      value = Json::object();
      break;
    case 2:
      value = Json::array({std::move(old)});
      break;
    default:
      value = old.is_structured() && !old.empty() ? Json(*old.begin()) : Json::array({old, old});
  }
}

std::string JsonMutator::any_key(const std::vector<TreePlace>& places) {
  if (!words_.empty() && chance_.one_in(2)) return chance_.of(words_);
  return chance_.of(places).key;
}

}  // namespace shardwright::fuzz
