#include "search/operators/elimination/bucket_tables.h"

#include <algorithm>

namespace shardwright::operators {

BucketTables::BucketTables(const BucketTree& tree)
    : tree_(&tree), messages_(tree.buckets().num_entries()) {}

void BucketTables::start(const Buckets::Bucket& bucket) {
  const auto factors = tree_->buckets().factors(bucket);
  sum_.start(tree_->buckets().shape(bucket), costs_.data() + tree_->first_cost(bucket.variable),
             [&](std::size_t f) { return table(factors[f]); });
}

double BucketTables::minimize(std::span<const double> costs, std::vector<std::uint32_t>& choice) {
  costs_ = costs;
  roots_ = 0;
  for (const Buckets::Bucket& bucket : tree_->buckets().list()) {
    double* message = messages_.data() + bucket.first_message;
    start(bucket);
    sum_.send(message);
    if (bucket.parent == Buckets::kNone) roots_ += message[0];
  }
  decode(choice);
  return roots_;
}

void BucketTables::decode(std::vector<std::uint32_t>& choice) {
  const Buckets& buckets = tree_->buckets();
  choice.assign(buckets.size(), 0);
  for (std::size_t b = buckets.size(); b-- > 0;) {
    const auto separator = buckets.separator(buckets[b]);
    start(buckets[b]);
    sum_.seek([&](std::size_t i) { return choice[separator[i]]; });
    const auto sums = sum_.sums();
    choice[buckets[b].variable] =
        static_cast<std::uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }
}

void BucketTables::compute_outside() {
  const Buckets& buckets = tree_->buckets();
  outside_.assign(messages_.size(), kForbidden);
  for (const Buckets::Bucket& bucket : buckets.list()) {
    if (bucket.parent == Buckets::kNone)
      outside_[bucket.first_message] = roots_ - messages_[bucket.first_message];
  }
  for (auto b = static_cast<std::uint32_t>(buckets.size()); b-- > 0;) {
    for_each_entry(
        b, [&](std::size_t entry) { return message(b, entry) + outside(b, entry) < kForbidden; },
        [&](std::size_t entry, std::span<const double> sums) {
          pass_outside(buckets[b], outside(b, entry), sums);
        });
  }
}

// To the children of the bucket, at the current assignment of its separator.
void BucketTables::pass_outside(const Buckets::Bucket& bucket, double outside,
                                std::span<const double> sums) {
  for (const std::uint32_t f : tree_->children(bucket)) {
    const double* messages = sum_.row(f);
    double* least = outside_.data() + (messages - messages_.data());
    for (std::size_t s = 0; s < sums.size(); ++s) {
      const double all = sums[s] + outside;
      if (all < kForbidden) least[s] = std::min(least[s], all - messages[s]);
    }
  }
}

}  // namespace shardwright::operators
