// An answer as a command wrote it.
#pragma once

#include <cstdint>
#include <string>

namespace shardwright {

// Thread safety: a value. Invariant: `json` is one of the answers that `page` shows.
struct SavedAnswer {
  // kAny shows figures and lists; the others are the pages of the commands.
  enum class Page : std::uint8_t { kAny, kSweep, kMeshSweep, kPlanDiff, kProblemDiff };

  Page page = Page::kAny;
  std::string title;  // what it is: "plan"
  std::string file;   // where it was
  std::string json;
};

}  // namespace shardwright
