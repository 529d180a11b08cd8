// What the proof suggests, until it was tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/model/suggested_start.h"

namespace shardwright::embedding {

// First comes what has places for the most tables, and of those the last: they are for the targets
// closest to the bound. Places are given once; then the choices alone a few times, as each lane
// places them in its own way.
// Thread safety: one thread at a time. Refers to the model.
class Suggestions {
 public:
  Suggestions(const ChoiceModel& model, const LaneParameters& parameters)
      : model_(model), parameters_(parameters) {}

  // Too many push the oldest ones out.
  void add(std::vector<SuggestedStart> suggestions);
  // What to try next; nothing if none waits.
  std::optional<SuggestedStart> take();

 private:
  struct Waiting {
    SuggestedStart made;
    std::uint32_t tries_left = 0;
    std::size_t unplaced = 0;  // tables without a place
  };

  const ChoiceModel& model_;
  LaneParameters parameters_;
  std::vector<Waiting> waiting_;
};

}  // namespace shardwright::embedding
