#include "search/operators/solve/local/block/block_elimination.h"

#include "search/random.h"

namespace shardwright::operators {
namespace {

// The variable of the largest table among `draws` random ones.
std::uint32_t heaviest_drawn(const ScoreQueue& left, int draws, RandomGenerator& random) {
  const auto count = static_cast<std::uint32_t>(left.num_variables());
  std::uint32_t heaviest = Block::kOutside;
  for (int draw = 0; draw < draws; ++draw) {
    std::uint32_t v = random.remainder(count);
    while (!left.contains(v))
      v = v + 1 == count ? 0 : v + 1;
    if (heaviest == Block::kOutside || left.score(v) > left.score(heaviest)) heaviest = v;
  }
  return heaviest;
}

}  // namespace

void BlockElimination::prepare(Block& block, const Limits& limits, std::uint64_t key,
                               std::uint64_t& work) {
  sizes_.clear();
  for (std::uint32_t v = 0; v < block.num_variables(); ++v)
    sizes_.push_back(block[v].size);
  choose_order(block, limits, key);
  fill_pair_tables(block, work);
  buckets_.build(order_, sizes_, pairs_);
}

void BlockElimination::choose_order(const Block& block, const Limits& limits, std::uint64_t key) {
  InteractionGraph& graph = order_.graph();
  graph.reset(block.num_variables());
  for (std::uint32_t v = 0; v < block.num_variables(); ++v) {
    for (const ChoiceGraph::Arc& arc : block.graph().arcs(block[v].node)) {
      const std::uint32_t other = block.variable_of(arc.node);
      if (other != Block::kOutside) graph.add_neighbour(v, other);
    }
  }
  graph.sort();
  // The sums that eliminating the variable takes.
  const auto score = [&](std::uint32_t v) {
    double product = sizes_[v];
    for (const std::uint32_t w : graph.neighbours(v))
      product *= sizes_[w];
    return product;
  };
  RandomGenerator random(key);
  order_.choose(EliminationOrder::ScoreReach::kNeighbours, score,
                [&](std::uint32_t v, const ScoreQueue& left) -> EliminationOrder::Decision {
                  if (left.score(v) <= static_cast<double>(limits.table)) return {};
                  return {EliminationOrder::Step::kFix, heaviest_drawn(left, limits.draws, random)};
                });
}

// Pairs with a variable that keeps its value are added to the base costs.
void BlockElimination::fill_pair_tables(Block& block, std::uint64_t& work) {
  pairs_.clear();
  first_entry_.clear();
  pair_entries_.clear();
  for (std::uint32_t position = 0; position < order_.order().size(); ++position) {
    const std::uint32_t v = order_.order()[position];
    const Block::Variable& variable = block[v];
    for (const ChoiceGraph::Arc& arc : block.graph().arcs(variable.node)) {
      const std::uint32_t w = block.variable_of(arc.node);
      if (w == Block::kOutside) continue;
      if (!decides(w)) {
        block.add_fixed(v, arc);
        continue;
      }
      if (order_.position(w) < position) continue;
      pairs_.push_back({v, w});
      first_entry_.push_back(pair_entries_.size());
      for (std::uint32_t j = 0; j < block[w].size; ++j) {
        const double* row = block.graph().row(variable.node, arc, block.strategy(w, j));
        for (std::uint32_t i = 0; i < variable.size; ++i)
          pair_entries_.push_back(row[block.strategy(v, i)]);
      }
      work += std::uint64_t{block[w].size} * variable.size;
    }
  }
}

void BlockElimination::start(const Block& block, const Buckets::Bucket& bucket) {
  const auto factors = buckets_.factors(bucket);
  sum_.start(buckets_.shape(bucket), block.base_costs(bucket.variable), [&](std::size_t f) {
    return factors[f].is_message ? messages_.data() + buckets_[factors[f].source].first_message
                                 : pair_entries_.data() + first_entry_[factors[f].source];
  });
}

void BlockElimination::minimize(Block& block, std::uint64_t& work) {
  if (messages_.size() < buckets_.num_entries()) messages_.resize(buckets_.num_entries());
  for (const Buckets::Bucket& bucket : buckets_.list()) {
    start(block, bucket);
    sum_.send(messages_.data() + bucket.first_message);
    work += bucket.entries * bucket.own_size;
  }
  block.reset_choice();
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    const Buckets::Bucket& bucket = buckets_[b];
    const auto separator = buckets_.separator(bucket);
    start(block, bucket);
    sum_.seek([&](std::size_t i) { return block[separator[i]].chosen; });
    const auto sums = sum_.sums();
    std::uint32_t best = block[bucket.variable].current;
    for (std::uint32_t s = 0; s < sums.size(); ++s) {
      if (sums[s] < sums[best]) best = s;
    }
    block.choose(bucket.variable, best);
  }
}

}  // namespace shardwright::operators
