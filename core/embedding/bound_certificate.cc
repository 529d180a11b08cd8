#include "core/embedding/bound_certificate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/directed_rounding.h"
#include "core/embedding/rank_worth.h"

namespace shardwright::embedding {
namespace {

// The rating of a plan as `evaluate` adds it may be below the exact sum, relatively by less than
// this.
constexpr double kRatingSlack = 1e-9;

// `count` shards of one run that are in one class of ranks.
struct Spread {
  std::uint32_t rank_class = 0;
  std::uint32_t run = 0;
  std::uint32_t count = 0;
};

class Checker {
 public:
  Checker(const SearchSpace& space, const Topology& available, const BoundCertificate& certificate,
          std::uint64_t work_limit)
      : space_(space), available_(available), certificate_(certificate), work_left_(work_limit) {}

  std::optional<std::string> run() {
    if (!std::isfinite(certificate_.bound)) return "the bound is not a finite number";
    if (certificate_.bound <= 0) return std::nullopt;  // no rating is below zero
    target_ = multiply_up(certificate_.bound, 1 + kRatingSlack);
    if (!make_classes()) return "the classes of ranks do not match the topology";
    group_options();
    std::size_t next = 0;
    if (!visit(next)) return error_;
    if (next != certificate_.nodes.size()) return "the tree has nodes that belong to nothing";
    return std::nullopt;
  }

 private:
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  bool make_classes() {
    const auto& of_rank = certificate_.class_of_rank;
    if (of_rank.size() != available_.world_size() || of_rank.empty()) return false;
    const std::uint32_t last = *std::max_element(of_rank.begin(), of_rank.end());
    if (last >= of_rank.size() || last >= 31) return false;
    size_.assign(last + 1, 0);
    room_.assign(last + 1, Storage());
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      const Storage& room = available_.storage()[rank];
      ++size_[of_rank[rank]];
      room_[of_rank[rank]].hbm = std::max(room_[of_rank[rank]].hbm, room.hbm);
      room_[of_rank[rank]].ddr = std::max(room_[of_rank[rank]].ddr, room.ddr);
    }
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      const std::size_t host = rank / available_.local_world_size();
      if (host == classes_of_host_.size()) classes_of_host_.push_back(0);
      classes_of_host_[host] |= std::uint32_t{1} << of_rank[rank];
    }
    everywhere_ = (std::uint32_t{1} << (last + 1)) - 1;
    return true;
  }

  // The options of every table that could be part of a plan below the target and that no other
  // option replaces. If a plan with a replaced option rated below the target, so would the one with
  // the other.
  void group_options() {
    allowed_.assign(space_.problem().tables().size(), {});
    spread_.resize(space_.size());
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const OptionId id(i);
      spread_[i] = spread_of(space_.option(id));
      allowed_[space_.option(id).table.index()].push_back({id, everywhere_});
    }
    for (std::vector<BoundPart>& options : allowed_) {
      std::vector<BoundPart> kept;
      for (const BoundPart& part : options) {
        if (is_possible(part.option) && !is_replaced(part.option, options)) kept.push_back(part);
      }
      tables_.push_back(!options.empty());
      options = std::move(kept);
    }
  }

  double load(const ShardCost& cost) const {
    return space_.problem().spec().perf_model == PerfModel::kPerf
               ? cost.perf.total().value()
               : static_cast<double>(cost.storage.hbm.value());
  }

  std::vector<Spread> spread_of(const ShardingOption& option) const {
    std::vector<Spread> spread;
    if (!is_on_all_ranks(option, available_)) return spread;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> count;
    std::uint32_t rank = 0;
    for (std::uint32_t run = 0; run < option.costs.size(); ++run) {
      for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k) {
        ++count[{certificate_.class_of_rank[rank++], run}];
      }
    }
    for (const auto& [key, shards] : count)
      spread.push_back({key.first, key.second, shards});
    return spread;
  }

  bool is_possible(OptionId id) const {
    const ShardingOption& option = space_.option(id);
    const auto fits = [&](const ShardCost& cost, std::uint32_t c) {
      return cost.storage.fits_in(room_[c]);
    };
    for (const ShardCost& cost : option.costs) {
      if (load(cost) >= target_) return false;
      bool somewhere = !spread_[id.index()].empty();
      for (std::uint32_t c = 0; c < room_.size() && !somewhere; ++c)
        somewhere = fits(cost, c);
      if (!somewhere) return false;
    }
    return std::all_of(
        spread_[id.index()].begin(), spread_[id.index()].end(),
        [&](const Spread& part) { return fits(option.costs[part.run], part.rank_class); });
  }

  bool is_replaced(OptionId id, const std::vector<BoundPart>& options) const {
    const ShardingOption& own = space_.option(id);
    return std::any_of(options.begin(), options.end(), [&](const BoundPart& part) {
      const OptionId other = part.option;
      if (other == id || !replaces(space_.option(other), own)) return false;
      return other < id || !replaces(own, space_.option(other));
    });
  }

  bool replaces(const ShardingOption& a, const ShardingOption& b) const {
    const auto no_dearer = [&](const ShardCost& x, const ShardCost& y) {
      return load(x) <= load(y) && x.storage.fits_in(y.storage);
    };
    if (a.num_shards() == 1 && is_free(a, available_)) {
      for (std::size_t run = 0; run < b.costs.size(); ++run) {
        if (b.layout->extents[run].count > 0 && no_dearer(a.costs[0], b.costs[run])) return true;
      }
      return false;
    }
    const bool alike = is_free(a, available_) == is_free(b, available_) &&
                       is_on_all_ranks(a, available_) == is_on_all_ranks(b, available_) &&
                       fills_hosts(a, available_) == fills_hosts(b, available_);
    if (!alike || a.num_shards() != b.num_shards()) return false;
    std::size_t i = 0;
    std::size_t j = 0;
    std::uint32_t end_a = 0;
    std::uint32_t end_b = 0;
    for (std::uint32_t shard = 0; shard < a.num_shards();) {
      while (end_a <= shard)
        end_a += a.layout->extents[i++].count;
      while (end_b <= shard)
        end_b += b.layout->extents[j++].count;
      if (!no_dearer(a.costs[i - 1], b.costs[j - 1])) return false;
      shard = std::min(end_a, end_b);
    }
    return true;
  }

  // Visits the node at `next` and everything below it.
  bool visit(std::size_t& next) {
    if (next >= certificate_.nodes.size()) return fail("the tree lacks a node");
    const BoundNode& node = certificate_.nodes[next++];
    if (node.is_leaf) return check_leaf(node);
    if (node.table.index() >= allowed_.size()) return fail("the tree cuts a table that is none");
    std::vector<BoundPart>& own = allowed_[node.table.index()];
    const std::vector<BoundPart> before = own;
    for (const bool inside : {true, false}) {
      own.clear();
      for (const BoundPart& part : before) {
        std::uint32_t kept = 0;
        for (const BoundPart& cut : node.parts)
          kept |= cut.option == part.option ? cut.classes & part.classes : 0;
        if (kept != 0 && kept != part.classes && !is_in_one_place(part, kept)) {
          return fail("the tree cuts an option at places that it may span");
        }
        if (!inside) kept = part.classes & ~kept;
        if (kept != 0) own.push_back({part.option, kept});
      }
      if (!visit(next)) return false;
    }
    own = before;
    return true;
  }

  // Whether all shards are either within the classes `inside` or within the others of the part.
  bool is_in_one_place(const BoundPart& part, std::uint32_t inside) const {
    const ShardingOption& option = space_.option(part.option);
    if (is_on_all_ranks(option, available_)) return false;
    if (is_free(option, available_)) return option.num_shards() == 1;
    if (fills_hosts(option, available_) && option.num_shards() != available_.local_world_size()) {
      return false;
    }
    return std::all_of(classes_of_host_.begin(), classes_of_host_.end(), [&](std::uint32_t host) {
      const std::uint32_t own = host & part.classes;
      return (own & inside) == 0 || (own & ~inside) == 0;
    });
  }

  bool check_leaf(const BoundNode& leaf) {
    for (std::size_t t = 0; t < allowed_.size(); ++t) {
      if (tables_[t] && allowed_[t].empty()) return true;  // nothing left for this table
    }
    const auto valid = [](const RankPrices& prices) {
      return prices.load >= 0 && prices.hbm >= 0 && prices.ddr >= 0 &&
             std::isfinite(prices.load + prices.hbm + prices.ddr);
    };
    if (leaf.prices.size() != size_.size() ||
        !std::all_of(leaf.prices.begin(), leaf.prices.end(), valid)) {
      return fail("a leaf lacks valid prices for every class of ranks");
    }
    return leaf.shards.empty() ? check_prices(leaf) : check_worths(leaf);
  }

  // What a shard takes, at the prices of a class.
  double paid(const ShardCost& cost, const RankPrices& prices) const {
    double sum = multiply_down(prices.load, load(cost));
    sum = add_down(sum, multiply_down(prices.hbm, static_cast<double>(cost.storage.hbm.value())));
    return add_down(sum, multiply_down(prices.ddr, static_cast<double>(cost.storage.ddr.value())));
  }

  bool check_prices(const BoundNode& leaf) {
    double worth = 0;
    for (const std::vector<BoundPart>& options : allowed_) {
      double least = options.empty() ? 0 : std::numeric_limits<double>::infinity();
      for (const BoundPart& part : options)
        least = std::min(least, paid_for(part, leaf.prices));
      worth = add_down(worth, least);
    }
    double capacity = 0;
    for (std::size_t c = 0; c < size_.size(); ++c) {
      capacity = add_up(capacity, multiply_up(size_[c], all_of(leaf.prices[c], c)));
    }
    return worth > capacity || fail("the prices of a leaf do not exclude a plan below the bound");
  }

  double paid_for(const BoundPart& own, const std::vector<RankPrices>& prices) const {
    const OptionId id = own.option;
    const ShardingOption& option = space_.option(id);
    double sum = 0;
    for (const Spread& part : spread_[id.index()]) {
      sum = add_down(
          sum, multiply_down(part.count, paid(option.costs[part.run], prices[part.rank_class])));
    }
    if (!spread_[id.index()].empty()) return sum;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < prices.size(); ++c) {
        if (!is_in(own, c) || !option.costs[run].storage.fits_in(room_[c])) continue;
        least = std::min(least, paid(option.costs[run], prices[c]));
      }
      sum = add_down(sum, multiply_down(option.layout->extents[run].count, least));
    }
    return sum;
  }

  static bool is_in(const BoundPart& part, std::size_t c) { return (part.classes >> c & 1) != 0; }

  // What a rank of class c can pay.
  double all_of(const RankPrices& prices, std::size_t c) const {
    double sum = multiply_up(prices.load, target_);
    sum = add_up(sum, multiply_up(prices.hbm, static_cast<double>(room_[c].hbm.value())));
    return add_up(sum, multiply_up(prices.ddr, static_cast<double>(room_[c].ddr.value())));
  }

  bool check_worths(const BoundNode& leaf) {
    if (leaf.most_worth.size() != size_.size()) {
      return fail("a leaf does not say what a rank's shards are worth at most");
    }
    std::map<std::pair<OptionId, std::uint32_t>, double> worth;
    for (const ShardWorth& shard : leaf.shards) {
      if (!(shard.worth >= 0) || !std::isfinite(shard.worth))
        return fail("a shard's worth is none");
      worth[{shard.option, shard.run}] = shard.worth;
    }
    const auto worth_of = [&](OptionId id, std::uint32_t run) {
      const auto found = worth.find({id, run});
      return found == worth.end() ? 0.0 : found->second;
    };
    double sum = 0;
    for (const std::vector<BoundPart>& options : allowed_) {
      double least = options.empty() ? 0 : std::numeric_limits<double>::infinity();
      for (const BoundPart& part : options)
        least = std::min(least, worth_of_all(part.option, worth_of));
      sum = add_down(sum, least);
    }
    double capacity = 0;
    for (std::size_t c = 0; c < size_.size(); ++c)
      capacity = add_up(capacity, multiply_up(size_[c], leaf.most_worth[c]));
    if (!(sum > capacity))
      return fail("the worths of a leaf do not exclude a plan below the bound");
    for (std::uint32_t c = 0; c < size_.size(); ++c) {
      if (!check_class(leaf, c, worth_of)) return false;
    }
    return true;
  }

  template <class WorthOf>
  double worth_of_all(OptionId id, const WorthOf& worth_of) const {
    const ShardingOption& option = space_.option(id);
    double sum = 0;
    for (std::uint32_t c = 0; c < size_.size() && is_on_all_ranks(option, available_); ++c)
      sum = add_down(sum, multiply_down(size_[c], worth_of(id, c)));
    if (is_on_all_ranks(option, available_)) return sum;
    if (fills_hosts(option, available_)) return multiply_down(option.num_shards(), worth_of(id, 0));
    for (std::uint32_t run = 0; run < option.costs.size(); ++run) {
      sum = add_down(sum, multiply_down(option.layout->extents[run].count, worth_of(id, run)));
    }
    return sum;
  }

  // No set of shards that a rank of class c can hold is worth more than the leaf says.
  template <class WorthOf>
  bool check_class(const BoundNode& leaf, std::uint32_t c, const WorthOf& worth_of) {
    RankWorth rank(target_, room_[c], leaf.prices[c]);
    for (const std::vector<BoundPart>& options : allowed_) {
      rank.begin_table();
      for (const BoundPart& part : options) {
        if (is_in(part, c) && !add_holdings(rank, part.option, c, worth_of)) {
          return fail("a leaf has too many ways to fill a rank");
        }
      }
    }
    switch (rank.check(leaf.most_worth[c], work_left_)) {
      case RankWorth::Answer::kHolds:
        return true;
      case RankWorth::Answer::kExceeded:
        return fail("a rank can hold shards worth more than a leaf says");
      case RankWorth::Answer::kGivenUp:
        break;
    }
    return fail("what a rank can hold takes too long to check");
  }

  // All that one rank can hold of an option.
  template <class WorthOf>
  bool add_holdings(RankWorth& rank, OptionId id, std::uint32_t c, const WorthOf& worth_of) const {
    const ShardingOption& option = space_.option(id);
    const auto held = [&](const ShardCost& cost, double worth) {
      return Holding{worth, load(cost), cost.storage.hbm.value(), cost.storage.ddr.value()};
    };
    if (is_on_all_ranks(option, available_)) {
      Holding least = held(option.costs[spread_[id.index()].front().run], worth_of(id, c));
      bool any = false;
      for (const Spread& part : spread_[id.index()]) {
        if (part.rank_class != c) continue;
        const Holding one = held(option.costs[part.run], worth_of(id, c));
        least = any ? lesser(least, one) : one;
        any = true;
      }
      return !any || rank.add({least}, {1});
    }
    std::vector<Holding> runs;
    std::vector<std::uint32_t> counts;
    for (std::uint32_t run = 0; run < option.costs.size(); ++run) {
      if (option.layout->extents[run].count == 0) continue;
      runs.push_back(held(option.costs[run], worth_of(id, run)));
      counts.push_back(option.layout->extents[run].count);
    }
    if (fills_hosts(option, available_)) {
      Holding least = runs.front();
      for (const Holding& run : runs)
        least = lesser(least, run);
      least.worth = worth_of(id, 0);
      return rank.add({least}, {option.num_shards() / available_.local_world_size()});
    }
    return rank.add(runs, counts);
  }

  const SearchSpace& space_;
  const Topology& available_;
  const BoundCertificate& certificate_;
  std::uint64_t work_left_;
  double target_ = 0;
  std::vector<std::uint32_t> size_;  // ranks, by class
  std::vector<Storage> room_;        // by class
  std::vector<bool> tables_;         // that have options at all
  std::vector<std::uint32_t> classes_of_host_;
  std::uint32_t everywhere_ = 0;
  std::vector<std::vector<BoundPart>> allowed_;  // by table, in the box at hand
  std::vector<std::vector<Spread>> spread_;      // by option; empty unless on all ranks
  std::string error_;
};

}  // namespace

std::optional<std::string> check_bound(const SearchSpace& space, const Topology& available,
                                       const BoundCertificate& certificate,
                                       std::uint64_t work_limit) {
  return Checker(space, available, certificate, work_limit).run();
}

}  // namespace shardwright::embedding
