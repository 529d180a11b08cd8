#include "search/embedding/best/bound/tree/pins.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

// Thread safety: one thread at a time. Refers to its arguments.
class PinSearch {
 public:
  struct Found {
    std::vector<std::uint32_t> tables;
    std::vector<std::uint32_t> sizes;
  };

  PinSearch(const BoundRows& rows, double target, const Domain& domain, const Pins& pins)
      : rows_(rows),
        domain_(domain),
        limit_(rows.classes().load_limit(0, target) * (1 + kBoundRounding)),
        room_(as_doubles(rows.classes()[0].room)),
        num_pinned_(pins.tables.size()),
        ranks_left_(rows.model().world_size()) {
    for (std::size_t i = 0; i < num_pinned_; ++i)
      take(pins.tables[i], pins.sizes[i]);
    for (std::uint32_t table = 0; table < rows.model().num_tables(); ++table)
      add_table(table);
  }

  Found find(const PinParameters& parameters) {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.size > b.size; });
    Found found;
    for (const Candidate& candidate : candidates_) {
      if (num_pinned_ + found.tables.size() >= parameters.most_pins) break;
      if (candidate.num_shards > ranks_left_ || !is_alone(candidate.table)) continue;
      take(candidate.table, candidate.num_shards);
      found.tables.push_back(candidate.table);
      found.sizes.push_back(candidate.num_shards);
    }
    return found;
  }

 private:
  struct Candidate {
    std::uint32_t table = 0;
    std::uint32_t num_shards = 0;
    double size = 0;  // of the smallest shard, as a part of a rank
  };

  // Calls `visit` with the open choices of a table.
  template <class Visit>
  void each_open(std::uint32_t table, const Visit& visit) const {
    const ChoiceModel& model = rows_.model();
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      if (domain_[model.first_choice(table) + i] != 0) visit(model.first_choice(table) + i);
    }
  }

  void add_table(std::uint32_t table) {
    std::optional<BoundRow> least;  // on every rank
    Candidate candidate{table, 0, 1};
    bool on_all_ranks = true;
    bool on_some_ranks = !rows_.is_pinned(table);
    each_open(table, [&](std::uint32_t choice) {
      const BoundRow& first = rows_.rows_of(choice).front();
      const std::uint32_t num_shards = rows_.model().choices()[choice].num_shards;
      on_all_ranks &= first.in_class;
      on_some_ranks &=
          !first.in_class && (candidate.num_shards == 0 || candidate.num_shards == num_shards);
      candidate.num_shards = num_shards;
      if (!least) least = first;
      least->load = std::min(least->load, first.load);
      for (const MemoryTier tier : kMemoryTiers)
        least->bytes[tier] = std::min(least->bytes[tier], first.bytes[tier]);
      for (const BoundRow& row : rows_.rows_of(choice))
        candidate.size = std::min(candidate.size, size_of(row));
    });
    if (!least) return;
    if (on_all_ranks) {
      load_ += least->load;
      for (const MemoryTier tier : kMemoryTiers)
        bytes_[tier] += least->bytes[tier];
    } else if (on_some_ranks) {
      candidates_.push_back(candidate);
    }
  }

  double size_of(const BoundRow& row) const {
    double size = row.load / limit_;
    for (const MemoryTier tier : kMemoryTiers) {
      if (row.bytes[tier] > 0) size = std::max(size, row.bytes[tier] / room_[tier]);
    }
    return size;
  }

  void take(std::uint32_t table, std::uint32_t num_shards) {
    ranks_left_ -= num_shards;
    each_open(table, [&](std::uint32_t choice) {
      const std::span<const BoundRow> rows = rows_.rows_of(choice);
      pinned_.insert(pinned_.end(), rows.begin(), rows.end());
    });
  }

  bool exclude_each_other(const BoundRow& a, const BoundRow& b) const {
    return a.load + b.load + load_ >= limit_ ||
           std::any_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
             return a.bytes[tier] + b.bytes[tier] + bytes_[tier] > room_[tier];
           });
  }

  // Whatever choice the table has, no two of its shards fit on one rank, nor does one beside those
  // of the pinned tables.
  bool is_alone(std::uint32_t table) const {
    bool is_alone = true;
    each_open(table, [&](std::uint32_t choice) {
      const std::span<const BoundRow> own = rows_.rows_of(choice);
      for (std::size_t i = 0; i < own.size() && is_alone; ++i) {
        for (std::size_t j = i; j < own.size(); ++j)
          is_alone &= (i == j && own[i].need == 1) || exclude_each_other(own[i], own[j]);
        for (const BoundRow& other : pinned_)
          is_alone &= exclude_each_other(own[i], other);
      }
    });
    return is_alone;
  }

  const BoundRows& rows_;
  const Domain& domain_;
  double limit_;
  PerTier<double> room_;
  std::size_t num_pinned_;
  std::uint32_t ranks_left_;  // without a pinned shard
  double load_ = 0;           // on every rank, by tables that are on all of them
  PerTier<double> bytes_ = {};
  std::vector<Candidate> candidates_;
  std::vector<BoundRow> pinned_;  // rows of the pinned tables
};

// The check of a certificate has no other way to count an option whose shards lie on all ranks.
bool has_smallest_shard(std::span<const ChoiceRun> runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const ChoiceRun& own) {
    return own.count > 0 && std::all_of(runs.begin(), runs.end(), [&](const ChoiceRun& other) {
             return other.count == 0 ||
                    (own.load <= other.load && own.storage.fits_in(other.storage));
           });
  });
}

bool can_exchange_ranks(const ChoiceModel& model) {
  return std::all_of(model.choices().begin(), model.choices().end(), [&](const Choice& choice) {
    return choice.reach != Reach::kAllRanks || has_smallest_shard(model.runs(choice));
  });
}

}  // namespace

Domain root_domain(const BoundRows& rows, double target) {
  const ChoiceModel& model = rows.model();
  const TableKinds& kinds = rows.kinds();
  Domain domain(model.choices().size(), 0);
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    const std::uint32_t begin = model.first_choice(table);
    const std::uint32_t end = model.first_choice(table + 1);
    const std::uint32_t like = kinds.first_of(kinds.kind_of(table));
    if (like != table) {
      std::copy_n(domain.begin() + model.first_choice(like), end - begin, domain.begin() + begin);
      continue;
    }
    for (std::uint32_t choice = begin; choice < end; ++choice) {
      if (rows.is_possible(choice, target))
        domain[choice] = rows.classes().everywhere(model.choices()[choice]);
    }
  }
  return domain;
}

BoundRows pinned_rows(const ChoiceModel& model, const Pins& pins) {
  return BoundRows(model, RankClasses(model, pins.sizes), pins.tables);
}

void pin(const BoundRows& rows, const Pins& pins, double target, Domain& domain, Budget& budget) {
  ClassSet own = 1;
  for (const Pins::Step& step : pins.steps) {
    fix_choices(rows, target, step.fixing, domain, budget);
    for (const std::uint32_t table : step.tables) {
      const std::uint32_t first = rows.model().first_choice(table);
      for (std::uint32_t i = 0; i < rows.model().choices(table).size(); ++i)
        domain[first + i] &= own;
      own <<= 1;
    }
  }
}

Pins find_pins(const ChoiceModel& model, double target, const BoundParameters& parameters,
               Budget& budget) {
  Pins pins;
  if (!can_exchange_ranks(model)) return pins;
  double unpinned = 0;  // bound
  while (!budget.interrupted()) {
    const BoundRows rows = pinned_rows(model, pins);
    // The class of all other ranks was the last one; those that were divided off it are like it.
    for (Pins::Step& step : pins.steps) {
      for (std::vector<CapacityMultipliers>& multipliers : step.fixing)
        multipliers.resize(rows.classes().size(), multipliers.back());
    }
    Domain domain = root_domain(rows, target);
    pin(rows, pins, target, domain, budget);
    DomainReduction reduced = reduce_domain(rows, target, domain, parameters.aggregate, budget);
    if (pins.steps.empty()) unpinned = reduced.bound;
    pins.gain = reduced.excluded ? 1 : (reduced.bound - unpinned) / (target - unpinned);
    budget.spend(model.choices().size());
    const PinSearch::Found found = PinSearch(rows, target, domain, pins).find(parameters.pins);
    if (reduced.excluded || found.tables.empty()) break;
    pins.tables.insert(pins.tables.end(), found.tables.begin(), found.tables.end());
    pins.sizes.insert(pins.sizes.end(), found.sizes.begin(), found.sizes.end());
    pins.steps.push_back({std::move(reduced.fixing), found.tables});
  }
  return pins;
}

}  // namespace shardwright::embedding
