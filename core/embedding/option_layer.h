// Options that one search or question adds to those of a search space.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// An interner layer over a search space, for options that only one search or question needs: caches
// scaled to another load factor, for example. It is dropped with its last owner; the space stays as
// it is. Plans that use an added option must keep the layer alive, which keeps the space alive.
// Thread safety: one thread at a time; the options may be read from any thread.
class OptionLayer {
 public:
  explicit OptionLayer(std::shared_ptr<const SearchSpace> space) : space_(std::move(space)) {}

  const SearchSpace& space() const { return *space_; }

  // Returns the space's option if it has an equal one, and otherwise the layer's. O(1) expected;
  // the first call of all layers over one space hashes its options.
  const ShardingOption* intern(ShardingOption option) {
    if (!added_) added_.emplace(&space_->interned());
    return added_->intern(std::move(option));
  }

  // The number of options that the space does not have.
  std::size_t size() const { return added_ ? added_->size() : 0; }

 private:
  std::shared_ptr<const SearchSpace> space_;
  std::optional<ShardingOptionInterner> added_;  // made when the first option is added
};

}  // namespace shardwright::embedding
