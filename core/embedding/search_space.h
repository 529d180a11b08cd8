// The options of every table, with their costs, from which a search chooses.
#pragma once

#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// An immutable list of sharding options in enumeration order, with the problem and the layouts of
// the options. All plans made from a space share it, so their option pointers can be compared.
// Thread safety: const members may be called from any thread.
class SearchSpace {
 public:
  // `layouts` owns every layout that `options` points to.
  static std::shared_ptr<const SearchSpace> make(std::shared_ptr<const Problem> problem,
                                                 std::shared_ptr<const ShardLayoutInterner> layouts,
                                                 std::vector<ShardingOption> options) {
    return std::shared_ptr<const SearchSpace>(
        new SearchSpace(std::move(problem), std::move(layouts), std::move(options)));
  }

  // Returns a space with copies of the options of `base`, then `added`. It keeps `base` alive.
  static std::shared_ptr<const SearchSpace> extend(std::shared_ptr<const SearchSpace> base,
                                                   std::vector<ShardingOption> added) {
    std::vector<ShardingOption> options;
    options.reserve(base->size() + added.size());
    options.insert(options.end(), base->options_.begin(), base->options_.end());
    std::move(added.begin(), added.end(), std::back_inserter(options));
    auto* const space = new SearchSpace(base->problem_, base->layouts_, std::move(options));
    space->base_ = std::move(base);
    return std::shared_ptr<const SearchSpace>(space);
  }

  // The space that this one extends, or null. The options of the base come first.
  const std::shared_ptr<const SearchSpace>& base() const { return base_; }
  // The space with the options that the problem or caller declared: base(), if any, or this space.
  const SearchSpace& declared() const { return base_ == nullptr ? *this : *base_; }

  const Problem& problem() const { return *problem_; }
  const std::shared_ptr<const Problem>& shared_problem() const { return problem_; }
  std::span<const ShardingOption> options() const { return options_; }
  const ShardingOption& option(OptionId id) const { return options_[id.index()]; }
  std::size_t size() const { return options_.size(); }

  // Returns the options, indexed by content. This interner is the base of every OptionLayer
  // (below). Of equal options, which only a space from a file can have, it finds the first. The
  // first call hashes all options; most searches add no options and never call this function.
  const ShardingOptionInterner& interned() const {
    std::call_once(indexed_, [this] {
      interned_.emplace();
      for (const ShardingOption& option : options_)
        interned_->adopt(option);
    });
    return *interned_;
  }

 private:
  SearchSpace(std::shared_ptr<const Problem> problem,
              std::shared_ptr<const ShardLayoutInterner> layouts,
              std::vector<ShardingOption> options)
      : problem_(std::move(problem)), layouts_(std::move(layouts)), options_(std::move(options)) {}

  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<const ShardLayoutInterner> layouts_;
  std::vector<ShardingOption> options_;
  std::shared_ptr<const SearchSpace> base_;
  mutable std::once_flag indexed_;
  mutable std::optional<ShardingOptionInterner> interned_;  // made by the first interned()
};

// Returns the declared options of `space` as a shared space.
inline const std::shared_ptr<const SearchSpace>& declared_part(
    const std::shared_ptr<const SearchSpace>& space) {
  return space->base() == nullptr ? space : space->base();
}

// An interner layer over a search space, for options that only one search or question needs, such
// as caches scaled to another load factor. The space does not change. Plans that use an added
// option must keep the layer alive, and the layer keeps the space alive.
// Thread safety: one thread at a time; the options may be read from any thread.
class OptionLayer {
 public:
  explicit OptionLayer(std::shared_ptr<const SearchSpace> space) : space_(std::move(space)) {}

  const SearchSpace& space() const { return *space_; }

  // Returns the stored option that equals `option`. If neither the space nor the layer has one,
  // stores `option` in the layer and returns that. O(1) expected, but the first call on any layer
  // of a space hashes all options of the space.
  const ShardingOption* intern(ShardingOption option) {
    if (!added_) added_.emplace(&space_->interned());
    return added_->intern(std::move(option));
  }

  // The number of options that the layer stores.
  std::size_t size() const { return added_ ? added_->size() : 0; }

 private:
  std::shared_ptr<const SearchSpace> space_;
  std::optional<ShardingOptionInterner> added_;  // made when the first option is added
};

}  // namespace shardwright::embedding
