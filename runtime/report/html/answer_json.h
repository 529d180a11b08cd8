// Escapes markup, and writes the data of pages.
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

// Returns a sink for the JSON in a page's script. It escapes "<", which occurs only in strings, so
// that no text can end the script. Keeps a reference to `sink`.
TextSink without_markup(const TextSink& sink);

// Returns the text with "&", "<" and ">" as entities, for the content of an element.
std::string escaped_markup(std::string_view text);

// Numbers names in the order of first appearance. Thread safety: one thread at a time.
class NameList {
 public:
  std::size_t number_of(const std::string& name) {
    const auto [at, added] = numbers_.emplace(name, names_.size());
    if (added) names_.push_back(name);
    return at->second;
  }

  // Writes all names so far under `key`.
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

// Write the answer's JSON under "answer", and the other data of the page. The text has no "<".
// Cost: O(bytes).
void write_sweep_data(const SweepAnswer& sweep, const TextSink& sink);
void write_sweep_data(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                      const AtenSweep& sweep, const TextSink& sink);

// Writes a saved answer with its title and the name of its file.
void write_saved_data(std::string_view title, std::string_view file, std::string_view answer,
                      const TextSink& sink);

}  // namespace shardwright
