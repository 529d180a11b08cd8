#include "tests/support/embedding/naive/naive_planner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

namespace shardwright::test_support::naive {

using namespace embedding;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Indices = std::vector<std::size_t>;

double score(const ShardingOption& option, bool use_depth) {
  if (!use_depth) return total_perf(option);
  double most = option.shard_cost(0).perf.total().value();
  for (std::uint32_t i = 1; i < option.num_shards(); ++i) {
    most = std::max(most, option.shard_cost(i).perf.total().value());
  }
  return most;
}

// Groups options by table. Tables are in the order of their first appearance in `order`.
std::vector<Indices> by_table(const SearchSpace& space, const Indices& order) {
  std::vector<Indices> tables;
  for (const std::size_t i : order) {
    const TableId table = space.options()[i].table;
    auto at = std::find_if(tables.begin(), tables.end(), [&](const Indices& options) {
      return space.options()[options.front()].table == table;
    });
    if (at == tables.end()) at = tables.insert(tables.end(), Indices());
    at->push_back(i);
  }
  return tables;
}

Indices all_of(const SearchSpace& space) {
  Indices all(space.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  return all;
}

std::vector<Indices> best_first(const SearchSpace& space, std::vector<Indices> tables,
                                bool use_depth) {
  for (Indices& options : tables) {
    std::stable_sort(options.begin(), options.end(), [&](std::size_t a, std::size_t b) {
      return score(space.options()[a], use_depth) < score(space.options()[b], use_depth);
    });
  }
  return tables;
}

// A proposer gives one proposal at a time, or nullopt at the end. It gets feedback on each.
class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::optional<Indices> propose() = 0;
  virtual void feedback(const Placed& placed) = 0;
};

class Greedy final : public Proposer {
 public:
  Greedy(const SearchSpace& space, const ProposerSpec& spec)
      : space_(space),
        spec_(spec),
        tables_(best_first(space, by_table(space, all_of(space)), spec.use_depth)),
        index_(tables_.size(), 0) {}

  std::optional<Indices> propose() override {
    if (index_.empty()) return std::nullopt;
    Indices proposal;
    for (std::size_t t = 0; t < tables_.size(); ++t)
      proposal.push_back(tables_[t][index_[t]]);
    return proposal;
  }

  void feedback(const Placed& placed) override {
    if (spec_.threshold.value_or(0) != 0 && placed.feasible && placed.rating != 0) {
      ++inferior_;
      if (placed.rating < best_) {
        best_ = placed.rating;
        inferior_ = 0;
      }
      if (inferior_ > *spec_.threshold) {
        index_.clear();
        return;
      }
    }
    std::vector<std::int64_t> largest(4, 0);
    std::optional<std::size_t> chosen;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (index_[t] + 1 >= tables_[t].size()) continue;
      const std::vector<std::int64_t> storage = key(space_.options()[tables_[t][index_[t]]]);
      if (storage > largest) {
        largest = storage;
        chosen = t;
      }
    }
    if (chosen) {
      ++index_[*chosen];
    } else {
      index_.clear();
    }
  }

 private:
  static std::vector<std::int64_t> key(const ShardingOption& option) {
    std::vector<std::int64_t> key(4, 0);
    for (std::uint32_t i = 0; i < option.num_shards(); ++i) {
      const Storage storage = option.shard_cost(i).storage;
      key[0] = std::max(key[0], storage.hbm.value());
      key[1] += storage.hbm.value();
      key[2] = std::max(key[2], storage.ddr.value());
      key[3] += storage.ddr.value();
    }
    return key;
  }

  const SearchSpace& space_;
  const ProposerSpec& spec_;
  std::vector<Indices> tables_;
  Indices index_;
  double best_ = kInfinity;
  std::int64_t inferior_ = 0;
};

// Proposes the proposals of a list.
class Listed : public Proposer {
 public:
  std::optional<Indices> propose() override {
    if (next_ == proposals_.size()) return std::nullopt;
    return proposals_[next_];
  }
  void feedback(const Placed&) override { ++next_; }

 protected:
  std::vector<Indices> proposals_;

 private:
  std::size_t next_ = 0;
};

class Uniform final : public Listed {
 public:
  Uniform(const SearchSpace& space, const ProposerSpec& spec) {
    const std::size_t num_tables = by_table(space, all_of(space)).size();
    std::vector<ShardingType> types;
    for (const ShardingOption& option : space.options()) {
      if (std::find(types.begin(), types.end(), option.sharding_type) == types.end()) {
        types.push_back(option.sharding_type);
      }
    }
    for (const ShardingType type : types) {
      Indices of_type;
      for (std::size_t i = 0; i < space.size(); ++i) {
        if (space.options()[i].sharding_type == type) of_type.push_back(i);
      }
      const auto tables = best_first(space, by_table(space, of_type), spec.use_depth);
      if (tables.size() != num_tables) continue;
      Indices proposal;
      for (const Indices& options : tables)
        proposal.push_back(options.front());
      proposals_.push_back(proposal);
    }
  }
};

class Grid final : public Listed {
 public:
  Grid(const SearchSpace& space, const ProposerSpec& spec)
      : tables_(best_first(space, by_table(space, all_of(space)), true)) {
    double product = 1;
    for (const Indices& options : tables_)
      product *= static_cast<double>(options.size());
    Indices chosen;
    if (product <= static_cast<double>(spec.max_proposals)) extend(chosen);
  }

 private:
  void extend(Indices& chosen) {
    if (chosen.size() == tables_.size()) {
      proposals_.push_back(chosen);
      return;
    }
    for (const std::size_t option : tables_[chosen.size()]) {
      chosen.push_back(option);
      extend(chosen);
      chosen.pop_back();
    }
  }

  std::vector<Indices> tables_;
};

class DynamicProgramming final : public Listed {
 public:
  DynamicProgramming(const SearchSpace& space, const Topology& available,
                     const ProposerSpec& spec) {
    Indices order = all_of(space);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return total_storage(space.options()[a]).hbm < total_storage(space.options()[b]).hbm;
    });
    const std::vector<Indices> tables = by_table(space, order);
    Indices smallest;
    for (const Indices& options : tables)
      smallest.push_back(options.front());
    proposals_.push_back(smallest);

    const auto bins =
        static_cast<std::size_t>(std::max<std::int64_t>(spec.hbm_bins_per_device, 1)) *
        available.world_size();
    const double bin_size =
        static_cast<double>(available.total_storage().hbm.value()) / static_cast<double>(bins);
    if (bin_size == 0) return;
    // For each memory bin: the least time found so far, the memory of that state, and its options.
    std::vector<State> states(1, State{0, 0, {}});
    for (std::size_t t = 0; t < tables.size(); ++t) {
      std::vector<State> next(bins);
      for (const std::size_t option : tables[t]) {
        const double hbm =
            static_cast<double>(total_storage(space.options()[option]).hbm.value()) / bin_size;
        for (const State& state : states) {
          if (!(state.perf < kInfinity)) continue;
          const double memory = state.memory + hbm;
          if (!(memory < static_cast<double>(bins))) continue;
          auto place = static_cast<std::int64_t>(memory);
          // As in a Python list, a negative index counts from the end.
          if (place < 0) place += static_cast<std::int64_t>(bins);
          if (place < 0) return;
          State& at = next[static_cast<std::size_t>(place)];
          const double perf = state.perf + total_perf(space.options()[option]);
          if (!(at.perf > perf)) continue;
          at = State{perf, memory, state.chosen};
          at.chosen.push_back(option);
        }
      }
      states = std::move(next);
    }
    for (auto state = states.rbegin(); state != states.rend(); ++state) {
      if (state->perf < kInfinity) proposals_.push_back(state->chosen);
    }
  }

 private:
  struct State {
    double perf = kInfinity;
    double memory = kInfinity;
    Indices chosen;
  };
};

std::unique_ptr<Proposer> make_proposer(const SearchSpace& space, const Topology& available,
                                        const ProposerSpec& spec) {
  switch (spec.type) {
    case ProposerSpec::Type::kGreedy:
      return std::make_unique<Greedy>(space, spec);
    case ProposerSpec::Type::kUniform:
      return std::make_unique<Uniform>(space, spec);
    case ProposerSpec::Type::kGrid:
      return std::make_unique<Grid>(space, spec);
    case ProposerSpec::Type::kDynamicProgramming:
      return std::make_unique<DynamicProgramming>(space, available, spec);
    case ProposerSpec::Type::kScaleup:
      break;
  }
  return nullptr;
}

// The key of a proposal in the cache: its options sorted, each replaced by the first option of
// equal content.
Indices cache_key(const SearchSpace& space, const Indices& proposal) {
  Indices key;
  for (const std::size_t option : proposal) {
    std::size_t first = 0;
    while (!(space.options()[first] == space.options()[option]))
      ++first;
    key.push_back(first);
  }
  std::sort(key.begin(), key.end());
  return key;
}

}  // namespace

Outcome plan(const SearchSpace& space, const Topology& available) {
  Outcome outcome;
  outcome.best_rating = 9223372036854775807.0;
  std::map<Indices, Placed> cache;
  const auto& specs = space.problem().spec().proposers;
  for (std::size_t p = 0; p < specs.size(); ++p) {
    const std::unique_ptr<Proposer> proposer = make_proposer(space, available, specs[p]);
    while (const std::optional<Indices> proposal = proposer->propose()) {
      Record record{p, *proposal, false, {}};
      const auto [known, added] = cache.try_emplace(cache_key(space, *proposal));
      if (!added) {
        record.cached = true;
        record.placed = {known->second.feasible, known->second.rating, {}};
      } else {
        Proposal options;
        for (const std::size_t i : *proposal)
          options.push_back(&space.options()[i]);
        record.placed = known->second = place(space.problem(), available, options);
        ++outcome.num_proposals;
        if (record.placed.feasible) {
          ++outcome.num_plans;
          if (record.placed.rating < outcome.best_rating) {
            outcome.best_rating = record.placed.rating;
            outcome.best = outcome.proposals.size();
          }
        } else {
          Storage total;
          for (const ShardingOption* option : options)
            total += total_storage(*option);
          if (!outcome.lowest_failed || total < *outcome.lowest_failed)
            outcome.lowest_failed = total;
        }
      }
      proposer->feedback(record.placed);
      outcome.proposals.push_back(std::move(record));
    }
  }
  return outcome;
}

std::vector<Indices> proposals(const SearchSpace& space, const Topology& available,
                               const ProposerSpec& spec) {
  std::vector<Indices> all;
  const std::unique_ptr<Proposer> proposer = make_proposer(space, available, spec);
  while (const std::optional<Indices> proposal = proposer->propose()) {
    all.push_back(*proposal);
    proposer->feedback({});
  }
  return all;
}

}  // namespace shardwright::test_support::naive
