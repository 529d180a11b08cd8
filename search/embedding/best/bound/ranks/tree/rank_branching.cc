#include "search/embedding/best/bound/ranks/tree/rank_branching.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

bool is_divided(double part) { return part > kWholeTolerance && part < 1 - kWholeTolerance; }

}  // namespace

void RankExperience::Tried::add(const Tried& other) {
  for (const std::size_t child : {0U, 1U}) {
    gain[child] += other.gain[child];
    times[child] += other.times[child];
  }
}

const RankExperience::Tried* RankExperience::of(const Kind& kind) const {
  const auto found = by_kind_.find(kind);
  return found != by_kind_.end() ? &found->second : nullptr;
}

void RankExperience::learn(const Kind& kind, bool is_first, double gain) {
  Tried once;
  once.gain[is_first ? 0 : 1] = gain;
  once.times[is_first ? 0 : 1] = 1;
  by_kind_[kind].add(once);
  all_.add(once);
}

void RankExperience::add(const RankExperience& other) {
  for (const auto& [kind, own] : other.by_kind_)
    by_kind_[kind].add(own);
  all_.add(other.all_);
}

RankExperience RankExperience::tried_once() const {
  RankExperience once = *this;
  const auto keep_mean = [](Tried& own) {
    for (const std::size_t child : {0U, 1U}) {
      own.gain[child] /= std::max(1U, own.times[child]);
      own.times[child] = std::min(1U, own.times[child]);
    }
  };
  for (auto& [kind, own] : once.by_kind_)
    keep_mean(own);
  keep_mean(once.all_);
  return once;
}

double RankBranching::score(const std::array<double, 2>& gains) const {
  return std::max(gains[0], parameters_.least_gain) * std::max(gains[1], parameters_.least_gain);
}

RankExperience::Tried RankBranching::tried(const Kind& kind) const {
  Tried sum;
  for (const RankExperience* own : {&known_, &learned_}) {
    if (const Tried* const found = own->of(kind)) sum.add(*found);
  }
  return sum;
}

std::array<double, 2> RankBranching::gains(const RankCandidate& candidate) const {
  Tried all = known_.of_all();
  all.add(learned_.of_all());
  const Tried own = tried(kind_of(candidate.division));
  std::array<double, 2> gains{};
  for (const std::size_t child : {0U, 1U}) {
    const Tried& of = own.times[child] > 0 ? own : all;
    const double mean =
        of.times[child] > 0 ? of.gain[child] / of.times[child] : parameters_.first_gain;
    gains[child] = std::max(mean, parameters_.least_gain) *
                   (child == 0 ? 1 - candidate.first : candidate.first);
  }
  return gains;
}

void RankBranching::learn(const RankCandidate& candidate, bool is_first, double gain) {
  const double unit = std::max(0.0, gain) / (is_first ? 1 - candidate.first : candidate.first);
  learned_.learn(kind_of(candidate.division), is_first, unit);
}

bool RankBranching::is_reliable(const RankCandidate& candidate) const {
  const Tried own = tried(kind_of(candidate.division));
  return std::min(own.times[0], own.times[1]) >= parameters_.reliable_tries;
}

// As a part of what a rank has.
double RankBranching::size_of(std::uint32_t choice, bool by_memory) const {
  const Choice& own = model_.model().choices()[choice];
  return by_memory ? own.bytes.hbm / std::max(1.0, model_.rank(0).room.hbm)
                   : own.load / model_.target();
}

std::vector<RankCandidate> RankBranching::candidates(const RankDomain& domain,
                                                     const std::vector<ClassSet>& named) const {
  const std::vector<ClassSet> orbits = rank_orbits(model_, named);
  std::vector<RankCandidate> found;
  for (std::uint32_t table = 0; table < model_.num_tables(); ++table) {
    std::vector<double> on(model_.num_ranks(), 0);
    std::vector<double> shares;
    double size = 0;
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      shares.push_back(domain[c].may != 0 ? program_.share(c) : 0);
      if (shares.back() <= 0) continue;
      const std::vector<double> own = program_.on_ranks(c);
      for (std::size_t rank = 0; rank < on.size(); ++rank)
        on[rank] += own[rank];
      size += shares.back() * (size_of(c, false) + size_of(c, true));
    }
    const std::size_t before = found.size();
    add_by_rank(table, on, domain, orbits, found);
    for (std::size_t i = before; i < found.size(); ++i)
      found[i].estimate = std::min(found[i].first, 1 - found[i].first) * size;
    for (const bool by_memory : {false, true})
      add_by_choice(table, by_memory, shares, domain, found);
  }
  for (RankCandidate& own : found) {
    const bool is_known = tried(kind_of(own.division)).times[0] > 0;
    const double by_size = is_known ? 1 : 1 + parameters_.size_weight * own.estimate;
    own.estimate = score(gains(own)) * by_size;
  }
  std::stable_sort(found.begin(), found.end(), [](const RankCandidate& a, const RankCandidate& b) {
    return a.estimate > b.estimate;
  });
  return found;
}

void RankBranching::add_by_rank(std::uint32_t table, const std::vector<double>& on,
                                const RankDomain& domain, const std::vector<ClassSet>& orbits,
                                std::vector<RankCandidate>& found) const {
  for (std::uint32_t rank = 0; rank < on.size(); ++rank) {
    if (!is_divided(on[rank])) continue;
    bool differ = false;
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      const bool is_free = domain[c].may != 0 && !has_rank(domain[c].held, rank);
      differ |= is_free && model_.choices()[c].reach != Reach::kAllRanks;
    }
    if (differ) found.push_back({{table, {}, rank, orbits[rank]}, on[rank]});
  }
}

// The smaller choices in the first child, wherever the solution mixes smaller and larger ones. The
// estimate is by how much their sizes differ.
void RankBranching::add_by_choice(std::uint32_t table, bool by_memory,
                                  const std::vector<double>& shares, const RankDomain& domain,
                                  std::vector<RankCandidate>& found) const {
  const std::uint32_t begin = model_.first_choice(table);
  std::vector<std::pair<double, std::uint32_t>> sizes;
  double total = 0;
  for (std::uint32_t c = begin; c < model_.end_choice(table); ++c) {
    if (domain[c].may == 0) continue;
    sizes.emplace_back(size_of(c, by_memory), c);
    total += shares[c - begin] * sizes.back().first;
  }
  std::sort(sizes.begin(), sizes.end());
  double first = 0;
  double size = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const double share = shares[sizes[i].second - begin];
    first += share;
    size += share * sizes[i].first;
    if (!is_divided(first) || sizes[i + 1].first <= sizes[i].first) continue;
    RankCandidate own;
    own.division.table = table;
    own.first = first;
    for (std::size_t k = 0; k <= i; ++k)
      own.division.first_child.push_back(sizes[k].second);
    own.estimate = std::min(first, 1 - first) * ((total - size) / (1 - first) - size / first);
    found.push_back(std::move(own));
  }
}

}  // namespace shardwright::embedding
