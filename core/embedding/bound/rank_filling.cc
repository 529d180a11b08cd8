#include "core/embedding/bound/rank_filling.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr std::uint32_t kMostFilledRanks = 64;
constexpr std::size_t kMostOfTable = 512;
constexpr std::size_t kMostPlacements = std::size_t{1} << 13;

constexpr double kMust = std::numeric_limits<double>::infinity();  // a gain that cannot be left out
constexpr std::uint32_t kNoPlacement = std::numeric_limits<std::uint32_t>::max();

std::uint64_t bit(Rank rank) { return std::uint64_t{1} << rank; }

// Calls visit(rank) for each rank in the bit set `ranks`.
template <class Visit>
void each_rank(std::uint64_t ranks, const Visit& visit) {
  for (; ranks != 0; ranks &= ranks - 1)
    visit(static_cast<std::size_t>(std::countr_zero(ranks)));
}

}  // namespace

// Thread safety: one thread at a time. Refers to its arguments.
class TablePlacements::Maker {
 public:
  Maker(const std::vector<RankTraits>& ranks, std::uint32_t ranks_per_host,
        const RankPriceSet& prices, TablePlacements& made)
      : ranks_(ranks),
        num_ranks_(static_cast<Rank>(ranks.size())),
        ranks_per_host_(ranks_per_host),
        prices_(prices),
        made_(made),
        taken_(ranks.size()) {}

  // Returns false if there are too many placements.
  bool add_table(const ChoicesOfTable& table) {
    const std::uint32_t begin = made_.first_.back();
    for (const TableChoice& choice : table.choices) {
      if (!add_choice(choice)) return false;
    }
    std::sort(made_.placements_.begin() + begin, made_.placements_.end(),
              [](const PlacedShards& a, const PlacedShards& b) {
                return a.cost != b.cost ? a.cost < b.cost : a.first_part < b.first_part;
              });
    made_.first_.push_back(static_cast<std::uint32_t>(made_.placements_.size()));
    return true;
  }

 private:
  struct Taken {
    std::uint32_t shards = 0;
    double load = 0;
    PerTier<double> bytes = {};
  };

  bool add_choice(const TableChoice& choice) {
    choice_ = &choice;
    const Rank reach = choice.form == Form::kOneHost ? ranks_per_host_ : num_ranks_;
    for (Rank first = 0; first + reach <= num_ranks_; first += reach) {
      first_ = first;
      end_ = first + reach;
      if (!place(0, 0, first)) return false;
    }
    return true;
  }

  // Places the rest of the choice, from shard or block number `done` of the group on.
  bool place(std::size_t group, std::uint32_t done, Rank least) {
    if (group >= choice_->shards.size()) return add();
    const EqualShards& shards = choice_->shards[group];
    const std::uint32_t width = choice_->width(ranks_per_host_);
    if (done == shards.count) return place(group + width, 0, first_);
    const auto [begin, end] = shards.places(std::max(least, first_), end_);
    for (std::size_t at = begin; at < end; ++at) {
      const Rank rank = shards.ranks[at];
      if (!has_all(group, width, rank)) continue;
      for (std::uint32_t i = 0; i < width; ++i) {
        take(rank + i, choice_->shards[group + i], 1);
        order_.push_back(rank + i);
      }
      const bool is_done = place(group, done + 1, rank);
      for (std::uint32_t i = 0; i < width; ++i)
        take(rank + i, choice_->shards[group + i], -1);
      order_.resize(order_.size() - width);
      if (!is_done) return false;
    }
    return true;
  }

  // Returns true if all shards of a block may be on the host.
  bool has_all(std::size_t group, std::uint32_t width, Rank rank) const {
    for (std::uint32_t i = 1; i < width; ++i) {
      const EqualShards& shards = choice_->shards[group + i];
      if (shards.place_on(rank + i) == shards.ranks.size()) return false;
    }
    return true;
  }

  void take(Rank rank, const EqualShards& shards, int times) {
    Taken& own = taken_[rank];
    own.shards += static_cast<std::uint32_t>(times);
    own.load += times * shards.load;
    for (const MemoryTier tier : kMemoryTiers)
      own.bytes[tier] += times * shards.bytes[tier];
    if (own.shards == 0) own = {};
  }

  bool add() {
    PlacedShards own;
    own.choice = choice_;
    own.first_part = static_cast<std::uint32_t>(made_.parts_.size());
    own.first_shard = static_cast<std::uint32_t>(made_.ranks_.size());
    made_.ranks_.insert(made_.ranks_.end(), order_.begin(), order_.end());
    for (Rank rank = 0; rank < num_ranks_; ++rank) {
      const Taken& taken = taken_[rank];
      if (taken.shards == 0) continue;
      double price = prices_[rank].load * taken.load;
      for (const MemoryTier tier : kMemoryTiers)
        price += prices_[rank][tier] * taken.bytes[tier];
      made_.parts_.push_back({rank, taken.load * ranks_[rank].scale, taken.bytes, price});
      own.ranks |= std::uint64_t{1} << rank;
      own.cost += price;
    }
    own.end_part = static_cast<std::uint32_t>(made_.parts_.size());
    own.end_shard = static_cast<std::uint32_t>(made_.ranks_.size());
    made_.placements_.push_back(own);
    return made_.placements_.size() - made_.first_.back() <= kMostOfTable &&
           made_.placements_.size() <= kMostPlacements;
  }

  const std::vector<RankTraits>& ranks_;
  Rank num_ranks_;
  std::uint32_t ranks_per_host_;
  const RankPriceSet& prices_;
  TablePlacements& made_;
  // Of the placement that is made.
  const TableChoice* choice_ = nullptr;
  Rank first_ = 0;  // where it may be
  Rank end_ = 0;
  std::vector<Taken> taken_;  // by rank
  std::vector<Rank> order_;   // by shard
};

std::optional<TablePlacements> TablePlacements::make(const std::vector<ChoicesOfTable>& tables,
                                                     const std::vector<RankTraits>& ranks,
                                                     std::uint32_t ranks_per_host,
                                                     const RankPriceSet& prices, StepLimit& limit) {
  if (ranks.size() > kMostFilledRanks) return std::nullopt;
  TablePlacements made;
  Maker maker(ranks, ranks_per_host, prices, made);
  const bool all = std::all_of(tables.begin(), tables.end(),
                               [&](const ChoicesOfTable& own) { return maker.add_table(own); });
  limit.spend(made.parts_.size());
  if (!all) return std::nullopt;
  return made;
}

RankFilling::RankFilling(const TablePlacements& placements, const std::vector<RankTraits>& ranks,
                         const RankPriceSet& prices, double target, StepLimit& limit)
    : placements_(placements),
      target_(target),
      limit_(limit),
      placement_of_(placements.num_tables(), kNoPlacement),
      avoided_(placements.num_tables(), 0) {
  double all = 0;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    Room own;
    own.load = target * (1 + kSumSlack);
    own.worth = prices[rank].load * target / ranks[rank].scale;
    for (const MemoryTier tier : kMemoryTiers) {
      own.bytes[tier] = std::max(0.0, ranks[rank].bytes[tier]);
      own.worth += prices[rank][tier] * own.bytes[tier];
    }
    all += own.worth;
    room_.push_back(own);
  }
  slack_ = all * kSumSlack;
  frames_.resize(ranks.size() + 2);
  Frame& root = frames_[0];
  for (std::uint32_t table = 0; table < placements.num_tables(); ++table) {
    Open own{table, static_cast<std::uint32_t>(root.left.size()), 0};
    for (std::uint32_t p = placements.first(table); p < placements.first(table + 1); ++p)
      root.left.push_back(p);
    own.end = static_cast<std::uint32_t>(root.left.size());
    root.open.push_back(own);
  }
}

bool RankFilling::fits(const PlacedShards& placement) const {
  for (const PlacedPart& part : placements_.parts(placement)) {
    const Room& own = room_[part.rank];
    if (part.load > own.load) return false;
    for (const MemoryTier tier : kMemoryTiers) {
      if (part.bytes[tier] > own.bytes[tier]) return false;
    }
  }
  return true;
}

void RankFilling::take(const PlacedShards& placement) {
  for (const PlacedPart& part : placements_.parts(placement)) {
    Room& own = room_[part.rank];
    before_.push_back(own);
    own.load -= part.load;
    for (const MemoryTier tier : kMemoryTiers)
      own.bytes[tier] -= part.bytes[tier];
    own.worth -= part.price;
  }
}

void RankFilling::give_back(const PlacedShards& placement) {
  const auto parts = placements_.parts(placement);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    room_[part->rank] = before_.back();
    before_.pop_back();
  }
}

// Keeps the placements on open ranks that fit there. Returns false if a table has no placement
// left, or if all tables together exceed the budget.
bool RankFilling::keep_possible(const std::vector<Open>& before,
                                const std::vector<std::uint32_t>& left_before, Frame& frame) {
  const auto least_before = [&](const Open& was) {
    return placements_[left_before[was.first]].cost;
  };
  frame.open.clear();
  frame.left.clear();
  frame.budget = 0;
  for (Rank rank = 0; rank < room_.size(); ++rank)
    frame.budget += (closed_ & bit(rank)) == 0 ? room_[rank].worth : 0;
  for (const Open& was : before) {
    if (placement_of_[was.table] != kNoPlacement) continue;
    if (was.first == was.end) return false;
    frame.budget -= least_before(was);
  }
  for (const Open& was : before) {
    if (placement_of_[was.table] != kNoPlacement) continue;
    Open own{was.table, static_cast<std::uint32_t>(frame.left.size()), 0};
    limit_.spend(1 + (was.end - was.first) / 8);
    const std::uint64_t no_more = closed_ | avoided_[was.table];
    for (std::uint32_t i = was.first; i < was.end; ++i) {
      const PlacedShards& placement = placements_[left_before[i]];
      if ((placement.ranks & no_more) == 0 && fits(placement)) frame.left.push_back(left_before[i]);
    }
    own.end = static_cast<std::uint32_t>(frame.left.size());
    if (own.first == own.end) return false;
    frame.open.push_back(own);
    frame.budget -= least(frame, own) - least_before(was);
    if (frame.budget < -slack_) return false;
  }
  return true;
}

// Places tables with a single placement left, until there are no more such tables. Returns false if
// a table is left without a placement.
bool RankFilling::place_forced(Frame& frame) {
  const auto is_forced = [](const Open& own) { return own.end - own.first == 1; };
  while (std::any_of(frame.open.begin(), frame.open.end(), is_forced)) {
    for (const Open& own : frame.open) {
      if (!is_forced(own)) continue;
      const PlacedShards& placement = placements_[frame.left[own.first]];
      if (!fits(placement)) return false;
      take(placement);
      placement_of_[own.table] = frame.left[own.first];
      forced_.push_back(own.table);
    }
    open_before_.swap(frame.open);
    left_before_.swap(frame.left);
    if (!keep_possible(open_before_, left_before_, frame)) return false;
  }
  return true;
}

bool RankFilling::is_promising() const {
  constexpr double kMostEmpty = 2;  // ranks
  double worth = 0;
  for (const Room& own : room_)
    worth += own.worth;
  if (worth == 0) return false;
  double budget = worth;
  for (const Open& own : frames_[0].open)
    budget -= own.first < own.end ? least(frames_[0], own) : 0;
  return budget * static_cast<double>(room_.size()) <= kMostEmpty * worth;
}

RankFilling::Answer RankFilling::run() {
  fill_next(0);
  if (is_found_) return Answer::kFound;
  return limit_.is_over() ? Answer::kGivenUp : Answer::kNoneExists;
}

// Filters the placements, places forced tables, and fills one of the open ranks.
void RankFilling::fill_next(std::size_t depth) {
  const Frame& before = frames_[depth];
  Frame& frame = frames_[depth + 1];
  if (!keep_possible(before.open, before.left, frame)) return;
  const std::size_t num_forced = forced_.size();
  if (place_forced(frame)) {
    if (frame.open.empty()) {
      accept();
    } else if (choose_rank(frame)) {
      fill(depth + 1, 0);
    }
  }
  if (is_found_) return;
  for (; forced_.size() > num_forced; forced_.pop_back()) {
    std::uint32_t& own = placement_of_[forced_.back()];
    give_back(placements_[own]);
    own = kNoPlacement;
  }
}

void RankFilling::accept() {
  std::vector<double> loads(room_.size(), 0);
  for (const std::uint32_t placement : placement_of_) {
    for (const PlacedPart& part : placements_.parts(placements_[placement]))
      loads[part.rank] += part.load;
  }
  rating_ = *std::max_element(loads.begin(), loads.end());
  is_found_ = rating_ < target_;
}

// Adds what ranks gain from a table, and counts the table on every rank where it may, but need not,
// lie. Placements come in ascending order of cost, so the first one without a rank is the cheapest.
void RankFilling::add_gains(const Frame& frame, const Open& open) {
  const double cheapest = least(frame, open);
  std::uint64_t touched = 0;        // ranks of any placement so far
  std::uint64_t always = ~closed_;  // ranks of all placements so far
  for (std::uint32_t i = open.first; i < open.end; ++i) {
    const PlacedShards& placement = placements_[frame.left[i]];
    const double more = placement.cost - cheapest;
    if (more > frame.budget + slack_) break;
    limit_.spend(1);
    each_rank(placement.ranks & ~touched, [&](std::size_t rank) {
      gains_[rank].of_table = (always >> rank & 1) != 0 ? -kMust : 0;
    });
    each_rank(always & touched & ~placement.ranks, [&](std::size_t rank) {
      gains_[rank].of_table = std::max(gains_[rank].of_table, -more);
    });
    touched |= placement.ranks;
    always &= placement.ranks;
    for (const PlacedPart& part : placements_.parts(placement)) {
      Gains& own = gains_[part.rank];
      own.of_table = std::max(own.of_table, part.price - more);
      ++own.num_placements;
    }
  }
  each_rank(touched, [&](std::size_t rank) {
    gains_[rank].sum += gains_[rank].of_table;
    gains_[rank].num_free += (always >> rank & 1) != 0 ? 0 : 1;
  });
}

// Chooses the open rank with the fewest tables that are free to be on it or not. Returns false if
// tables leave more of a rank empty than the budget allows.
bool RankFilling::choose_rank(Frame& frame) {
  gains_.assign(room_.size(), Gains());
  for (const Open& open : frame.open)
    add_gains(frame, open);
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max();
  for (Rank rank = 0; rank < room_.size(); ++rank) {
    if ((closed_ & bit(rank)) != 0) continue;
    if (frame.budget - room_[rank].worth + gains_[rank].sum < -slack_) return false;
    if (gains_[rank].num_free >= fewest) continue;
    fewest = gains_[rank].num_free;
    frame.rank = rank;
  }
  limit_.spend(frame.open.size());
  find_candidates(frame);
  find_orbit(frame);
  return true;
}

// Lists the tables that can lie on the rank: those that must, then the others, the largest first.
void RankFilling::find_candidates(Frame& frame) const {
  frame.candidates.clear();
  for (const Open& open : frame.open) {
    Candidate own{open, true, -kMust, -kMust};
    const double cheapest = least(frame, open);
    for (std::uint32_t i = open.first; i < open.end; ++i) {
      const PlacedShards& placement = placements_[frame.left[i]];
      const double more = placement.cost - cheapest;
      if (more > frame.budget + slack_) break;
      if ((placement.ranks & bit(frame.rank)) == 0) {
        own.must = false;
        own.best = std::max(own.best, -more);
        continue;
      }
      for (const PlacedPart& part : placements_.parts(placement)) {
        if (part.rank != frame.rank) continue;
        own.most = std::max(own.most, part.price);
        own.best = std::max(own.best, part.price - more);
      }
    }
    if (own.most > -kMust) frame.candidates.push_back(own);
  }
  std::stable_sort(frame.candidates.begin(), frame.candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.must != b.must ? a.must : a.most > b.most;
                   });
  frame.best_from.assign(frame.candidates.size() + 1, 0);
  for (std::size_t i = frame.candidates.size(); i > 0; --i)
    frame.best_from[i - 1] = frame.best_from[i] + frame.candidates[i - 1].best;
}

void RankFilling::find_orbit(Frame& frame) const {
  frame.are_all_out = true;
  frame.orbit = bit(frame.rank);
  for (Rank other = 0; other < room_.size(); ++other) {
    if (other != frame.rank && (closed_ & bit(other)) == 0 && are_alike(frame, frame.rank, other))
      frame.orbit |= bit(other);
  }
}

// Returns true if exchanging what is yet to be placed on the two ranks changes nothing.
bool RankFilling::are_alike(const Frame& frame, Rank a, Rank b) const {
  if (room_[a].load != room_[b].load || !(room_[a].bytes == room_[b].bytes)) return false;
  if (gains_[a].num_placements != gains_[b].num_placements) return false;
  return std::all_of(frame.open.begin(), frame.open.end(), [&](const Open& open) {
    const auto first = frame.left.begin() + open.first;
    return std::all_of(first, frame.left.begin() + open.end, [&](std::uint32_t placement) {
      const PlacedShards& own = placements_[placement];
      if ((own.ranks & (bit(a) | bit(b))) == 0) return true;
      limit_.spend(open.end - open.first);
      return has_like(frame, open, own, a, b);
    });
  });
}

// Returns true if the table has a placement that equals `own` with the ranks `a` and `b` exchanged.
bool RankFilling::has_like(const Frame& frame, const Open& open, const PlacedShards& own, Rank a,
                           Rank b) const {
  const auto exchanged = [&](Rank rank) { return rank == a ? b : rank == b ? a : rank; };
  const auto parts = placements_.parts(own);
  return std::any_of(
      frame.left.begin() + open.first, frame.left.begin() + open.end, [&](std::uint32_t p) {
        const auto others = placements_.parts(placements_[p]);
        return others.size() == parts.size() &&
               std::all_of(parts.begin(), parts.end(), [&](const PlacedPart& part) {
                 return std::any_of(others.begin(), others.end(), [&](const PlacedPart& other) {
                   return other.rank == exchanged(part.rank) && other.load == part.load &&
                          other.bytes == part.bytes;
                 });
               });
      });
}

void RankFilling::fill(std::size_t depth, std::size_t candidate) {
  limit_.hear_stop();
  if (is_over()) return;
  Frame& frame = frames_[depth];
  const double budget = frame.budget;
  if (budget - room_[frame.rank].worth + frame.best_from[candidate] < -slack_) return;
  if (candidate == frame.candidates.size()) return close(depth);
  const Open own = frame.candidates[candidate].open;
  const double cheapest = least(frame, own);
  limit_.spend(1);
  const bool were_all_out = std::exchange(frame.are_all_out, false);
  for (std::uint32_t i = own.first; i < own.end && !is_over(); ++i) {
    const PlacedShards& placement = placements_[frame.left[i]];
    const double more = placement.cost - cheapest;
    if (more > budget + slack_) break;
    if ((placement.ranks & bit(frame.rank)) == 0 || !fits(placement)) continue;
    take(placement);
    placement_of_[own.table] = frame.left[i];
    frame.budget = budget - more;
    fill(depth, candidate + 1);
    if (is_found_) return;
    placement_of_[own.table] = kNoPlacement;
    give_back(placement);
  }
  frame.budget = budget;
  frame.are_all_out = were_all_out;
  leave_out(depth, candidate);
}

// Branch in which the table is not on the rank. If no candidate so far is on a rank of the orbit,
// the table is kept off the whole orbit, since the ranks of the orbit are interchangeable.
void RankFilling::leave_out(std::size_t depth, std::size_t candidate) {
  Frame& frame = frames_[depth];
  const double budget = frame.budget;
  const Open own = frame.candidates[candidate].open;
  const std::uint64_t out = frame.are_all_out ? frame.orbit : bit(frame.rank);
  const auto end = frame.left.begin() + own.end;
  const auto left = std::find_if(frame.left.begin() + own.first, end, [&](std::uint32_t p) {
    return (placements_[p].ranks & out) == 0 && fits(placements_[p]);
  });
  if (left == end) return;
  const double rise = placements_[*left].cost - least(frame, own);
  if (rise > budget + slack_) return;
  const std::uint64_t before = std::exchange(avoided_[own.table], avoided_[own.table] | out);
  frame.budget = budget - rise;
  fill(depth, candidate + 1);
  frame.budget = budget;
  avoided_[own.table] = before;
}

void RankFilling::close(std::size_t depth) {
  const std::uint64_t closed = std::exchange(closed_, closed_ | bit(frames_[depth].rank));
  fill_next(depth);
  closed_ = closed;
}

}  // namespace shardwright::embedding
