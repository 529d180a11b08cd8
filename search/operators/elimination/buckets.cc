#include "search/operators/elimination/buckets.h"

#include <algorithm>

namespace shardwright::operators {

void Buckets::build(const EliminationOrder& order, std::span<const std::uint32_t> sizes,
                    std::span<const Pair> pairs) {
  add_buckets(order, sizes);
  add_factors(order, pairs);
}

void Buckets::add_buckets(const EliminationOrder& order, std::span<const std::uint32_t> sizes) {
  const auto variables = order.order();
  buckets_.assign(variables.size(), Bucket{});
  scopes_.clear();
  scope_sizes_.clear();
  num_entries_ = 0;
  for (std::size_t b = 0; b < variables.size(); ++b) {
    Bucket& bucket = buckets_[b];
    const auto scope = order.scope(b);
    bucket.variable = variables[b];
    bucket.own_size = sizes[bucket.variable];
    bucket.depth = static_cast<std::uint32_t>(scope.size());
    bucket.first_scope = scopes_.size();
    bucket.first_message = num_entries_;
    for (const std::uint32_t variable : scope) {
      scopes_.push_back(variable);
      scope_sizes_.push_back(sizes[variable]);
      bucket.entries *= sizes[variable];
    }
    num_entries_ += bucket.entries;
    if (scope.empty()) continue;
    bucket.parent = order.position(scope.back());
    ++buckets_[bucket.parent].num_children;
  }
}

// A table belongs to the bucket of its variable that is eliminated first.
void Buckets::add_factors(const EliminationOrder& order, std::span<const Pair> pairs) {
  const auto bucket_of = [&](const Pair& pair) {
    return std::min(order.position(pair.first), order.position(pair.second));
  };
  for (Bucket& bucket : buckets_)
    bucket.num_factors = bucket.num_children;
  for (const Pair& pair : pairs)
    ++buckets_[bucket_of(pair)].num_factors;
  std::size_t num_factors = 0;
  std::size_t num_strides = 0;
  for (Bucket& bucket : buckets_) {
    bucket.first_factor = num_factors;
    bucket.first_stride = num_strides;
    num_factors += bucket.num_factors;
    num_strides += std::size_t{bucket.num_factors} * bucket.depth;
    bucket.num_factors = 0;
  }
  factors_.resize(num_factors);
  levels_.resize(num_factors);
  strides_.assign(num_strides, 0);
  for (std::uint32_t p = 0; p < pairs.size(); ++p) {
    const std::uint32_t b = bucket_of(pairs[p]);
    const bool first = buckets_[b].variable == pairs[p].first;
    place(buckets_[b], {p, false},
          pair_level(buckets_[b], first ? pairs[p].second : pairs[p].first));
  }
  for (std::uint32_t child = 0; child < buckets_.size(); ++child) {
    if (buckets_[child].parent == kNone) continue;
    Bucket& parent = buckets_[buckets_[child].parent];
    place(parent, {child, true}, message_level(parent, buckets_[child]));
  }
  for (const Bucket& bucket : buckets_)
    set_strides(bucket);
}

// Keeps the factors of a bucket sorted by level, and in order of insertion within a level.
void Buckets::place(Bucket& bucket, Factor factor, std::uint32_t level) {
  std::size_t at = bucket.first_factor + bucket.num_factors++;
  for (; at > bucket.first_factor && levels_[at - 1] > level; --at) {
    factors_[at] = factors_[at - 1];
    levels_[at] = levels_[at - 1];
  }
  factors_[at] = factor;
  levels_[at] = level;
}

std::uint32_t Buckets::pair_level(const Bucket& bucket, std::uint32_t other) const {
  const auto scope = separator(bucket);
  return static_cast<std::uint32_t>(std::find(scope.begin(), scope.end(), other) - scope.begin()) +
         1;
}

// The last variable of the child's separator is the bucket's own; the one before it decides.
std::uint32_t Buckets::message_level(const Bucket& bucket, const Bucket& child) const {
  return child.depth < 2 ? 0 : pair_level(bucket, separator(child)[child.depth - 2]);
}

void Buckets::set_strides(const Bucket& bucket) {
  const std::size_t count = bucket.num_factors;
  std::size_t* strides = strides_.data() + bucket.first_stride;
  const auto scope = separator(bucket);
  for (std::size_t f = 0; f < count; ++f) {
    const Factor factor = factors_[bucket.first_factor + f];
    if (!factor.is_message) {
      strides[(levels_[bucket.first_factor + f] - 1) * count + f] = bucket.own_size;
      continue;
    }
    const Bucket& child = buckets_[factor.source];
    std::size_t stride = bucket.own_size;
    std::size_t at = levels_[bucket.first_factor + f];
    for (std::size_t i = child.depth - std::size_t{1}; i-- > 0;) {
      const std::uint32_t variable = scopes_[child.first_scope + i];
      while (scope[at - 1] != variable)
        --at;
      strides[(at - 1) * count + f] = stride;
      stride *= scope_sizes_[child.first_scope + i];
    }
  }
}

}  // namespace shardwright::operators
