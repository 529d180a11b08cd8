// Batches whose candidates are dealt out to processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/message.h"
#include "search/search_group.h"

namespace shardwright {

// All processes have the same batches of candidates and the same state. Each works on some of the
// candidates and hears from the others what theirs gave. Every batch begins with the next process,
// so that the first candidates, which may take longer, come to all in turn.
// Thread safety: const members may be called from any thread between two calls of others. Refers to
// the group.
class DealtBatches {
 public:
  // `group` is null if this process is alone.
  explicit DealtBatches(SearchGroup* group)
      : group_(group),
        processes_(group == nullptr ? 1 : group->processes()),
        process_(group == nullptr ? 0 : group->process()) {}

  bool is_alone() const { return processes_ == 1; }
  bool is_own(std::size_t candidate) const { return process_of(candidate) == process_; }

  // Ends a batch of `count` candidates: calls put(i, writer) for those of this process and
  // get(i, reader) for all others, in their order. Does nothing but return true if this process is
  // alone. `stops`: this process will end the search. Returns false if a process does or has left;
  // results may then be missing, and no other batch must follow.
  template <class Put, class Get>
  bool gather(std::size_t count, bool stops, const Put& put, const Get& get) {
    if (is_alone()) return true;
    MessageWriter own;
    own.put_flag(stops);
    for (std::size_t i = 0; i < count; ++i) {
      if (is_own(i)) put(i, own);
    }
    const auto all = group_->is_alone() ? std::nullopt : group_->all_gather(own.take());
    bool goes_on = all.has_value() && !stops;
    for (std::uint32_t process = 0; all && process < processes_; ++process) {
      if (process == process_) continue;
      MessageReader from((*all)[process]);
      goes_on &= !from.get_flag();
      for (std::size_t i = 0; i < count && from.good(); ++i) {
        if (process_of(i) == process) get(i, from);
      }
      goes_on &= from.is_complete();
    }
    ++batches_;
    return goes_on;
  }

 private:
  std::uint32_t process_of(std::size_t candidate) const {
    return static_cast<std::uint32_t>((batches_ + candidate) % processes_);
  }

  SearchGroup* group_;
  std::uint32_t processes_;
  std::uint32_t process_;
  std::size_t batches_ = 0;
};

}  // namespace shardwright
