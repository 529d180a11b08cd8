// Text that cannot become markup, and the data of pages.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/embedding/sweep_points.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"

namespace shardwright {

// A sink for the JSON inside a page's script: escapes "<", which occurs in strings only, so that no
// text can end the script. Refers to `sink`.
TextSink without_markup(const TextSink& sink);

// The text with "&", "<" and ">" as entities, for the content of an element.
std::string escaped_markup(std::string_view text);

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

// Write the answer's JSON under "answer", and the other data that the page needs. The text has no
// "<". O(bytes).
void write_sweep_data(const SweepAnswer& sweep, const TextSink& sink);
void write_sweep_data(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                      const AtenSweep& sweep, const TextSink& sink);

// Writes a saved answer with its title and the name of its file.
void write_saved_data(std::string_view title, std::string_view file, std::string_view answer,
                      const TextSink& sink);

}  // namespace shardwright
