// Names that a page's JSON has once, and numbers elsewhere.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Numbers names by first appearance. Thread safety: one thread at a time.
class NameList {
 public:
  std::size_t number_of(const std::string& name) {
    const auto [at, added] = numbers_.emplace(name, names_.size());
    if (added) names_.push_back(name);
    return at->second;
  }

  // All names so far, as the value of a key.
  void write(std::string_view key, JsonWriter& json) const {
    json.key(key).begin_array();
    for (const std::string& name : names_)
      json.value(name);
    json.end_array().new_line();
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace shardwright
