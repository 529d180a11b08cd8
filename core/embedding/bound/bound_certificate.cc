#include "core/embedding/bound/bound_certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/embedding/bound/bound_options.h"
#include "core/embedding/bound/rank_worth.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// The rating of a plan as `evaluate` adds it may be below the exact sum, relatively by less than
// this.
constexpr double kRatingSlack = 1e-9;
// Of a tree: deeper ones are refused rather than followed.
constexpr std::size_t kMostDepth = 10'000;

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
      : space_(space),
        available_(available),
        certificate_(certificate),
        model_(space.problem().spec().perf_model),
        work_left_(work_limit) {}

  std::optional<std::string> run() {
    if (!std::isfinite(certificate_.bound)) return "the bound is not a finite number";
    if (certificate_.bound <= 0) return std::nullopt;  // no rating is below zero
    target_ = multiply_up(certificate_.bound, 1 + kRatingSlack);
    if (!make_classes()) return "the classes of ranks do not match the topology";
    group_options();
    std::size_t next = 0;
    if (!visit(next, 0)) return error_;
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
    limit_.assign(last + 1, 0);
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      const Storage& room = available_.storage()[rank];
      const std::uint32_t c = of_rank[rank];
      ++size_[c];
      room_[c].hbm = std::max(room_[c].hbm, room.hbm);
      room_[c].ddr = std::max(room_[c].ddr, room.ddr);
      limit_[c] = std::max(limit_[c], limit_of(rank));
    }
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      const std::size_t host = rank / available_.local_world_size();
      if (host == classes_of_host_.size()) classes_of_host_.push_back(0);
      classes_of_host_[host] |= std::uint32_t{1} << of_rank[rank];
    }
    everywhere_ = (std::uint32_t{1} << (last + 1)) - 1;
    return true;
  }

  // The load that a rank of a plan below the target stays below: the rating counts its measured
  // time, not its memory.
  double limit_of(std::size_t rank) const {
    const std::vector<double>& scale = space_.problem().spec().calibration.rank_time;
    if (scale.empty() || model_ == PerfModel::kStorage) return target_;
    return step_up(target_ / scale[rank]);
  }

  // The options of every table that could be part of a plan below the target and that no other
  // option replaces. If a plan with a replaced option rated below the target, so would the one with
  // the other, which may then break a rule: only options without any place are left out for rules,
  // and before all else.
  void group_options() {
    allowed_.assign(space_.problem().tables().size(), {});
    spread_.resize(space_.size());
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const ShardingOption& option = space_.option(OptionId(i));
      spread_[i] = spread_of(option);
      if (!may_have_place(space_.problem().rules(), available_, option)) continue;
      allowed_[option.table.index()].push_back({OptionId(i), everywhere_});
    }
    tables_.assign(allowed_.size(), false);
    for (const ShardingOption& option : space_.options())
      tables_[option.table.index()] = true;
    for (std::vector<BoundPart>& options : allowed_) {
      std::vector<BoundPart> kept;
      for (const BoundPart& part : options) {
        if (is_possible(part.option) && !is_replaced(part.option, options)) kept.push_back(part);
      }
      options = std::move(kept);
    }
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

  // Whether a rank of class c may hold the shard beside nothing else.
  bool fits(const ShardCost& cost, std::uint32_t c) const {
    return load_of(cost, model_) < limit_[c] && cost.storage.fits_in(room_[c]);
  }

  bool is_possible(OptionId id) const {
    const ShardingOption& option = space_.option(id);
    const std::vector<Spread>& spread = spread_[id.index()];
    if (!spread.empty()) {
      return std::all_of(spread.begin(), spread.end(), [&](const Spread& part) {
        return fits(option.costs[part.run], part.rank_class);
      });
    }
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      bool somewhere = option.layout->extents[run].count == 0;
      for (std::uint32_t c = 0; c < room_.size() && !somewhere; ++c)
        somewhere = fits(option.costs[run], c);
      if (!somewhere) return false;
    }
    return true;
  }

  bool is_replaced(OptionId id, const std::vector<BoundPart>& options) const {
    const ShardingOption& own = space_.option(id);
    return std::any_of(options.begin(), options.end(), [&](const BoundPart& part) {
      const OptionId other = part.option;
      if (other == id || !replaces(space_.option(other), own, available_, model_)) return false;
      return other < id || !replaces(own, space_.option(other), available_, model_);
    });
  }

  // Visits the node at `next`, which lies `depth` below the root, and everything below it.
  bool visit(std::size_t& next, std::size_t depth) {
    if (depth > kMostDepth) return fail("the tree is too deep");
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
      if (!visit(next, depth + 1)) return false;
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
    double sum = multiply_down(prices.load, load_of(cost, model_));
    sum = add_down(sum, multiply_down(prices.hbm, rounded_down(cost.storage.hbm.value())));
    return add_down(sum, multiply_down(prices.ddr, rounded_down(cost.storage.ddr.value())));
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
      for (std::uint32_t c = 0; c < prices.size(); ++c) {
        if (!is_in(own, c) || !fits(option.costs[run], c)) continue;
        least = std::min(least, paid(option.costs[run], prices[c]));
      }
      sum = add_down(sum, multiply_down(option.layout->extents[run].count, least));
    }
    return sum;
  }

  static bool is_in(const BoundPart& part, std::size_t c) { return (part.classes >> c & 1) != 0; }

  // What a rank of class c can pay.
  double all_of(const RankPrices& prices, std::size_t c) const {
    double sum = multiply_up(prices.load, limit_[c]);
    sum = add_up(sum, multiply_up(prices.hbm, rounded_up(room_[c].hbm.value())));
    return add_up(sum, multiply_up(prices.ddr, rounded_up(room_[c].ddr.value())));
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
    RankWorth rank(limit_[c], room_[c], leaf.prices[c]);
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
      return Holding{worth, load_of(cost, model_), cost.storage.hbm.value(),
                     cost.storage.ddr.value()};
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
  PerfModel model_;
  std::uint64_t work_left_;
  double target_ = 0;
  std::vector<std::uint32_t> size_;  // ranks, by class
  std::vector<Storage> room_;        // by class
  std::vector<double> limit_;        // of load, by class
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
