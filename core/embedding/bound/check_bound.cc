#include "core/embedding/bound/check_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_options.h"
#include "core/embedding/bound/certified_classes.h"
#include "core/embedding/bound/leaf_check.h"
#include "core/embedding/bound/open_options.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/load_factors.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// Limits on the depth of a tree and on the number of saved options. Every level saves the previous
// options of the tables that it restricts.
constexpr std::size_t kMaxDepth = 10'000;
constexpr std::size_t kMostKept = std::size_t{1} << 24;

// The step limits of a check: in total, and for searches for plans, whose steps take up to ten
// times as long.
struct CheckSteps {
  std::uint64_t all = 0;
  std::uint64_t of_searches = 0;
};

// Best mode only makes certificates within these limits.
CheckSteps steps_of_check(const BoundCertificate& certificate, std::uint64_t work_limit) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 26;
  constexpr std::uint64_t kOfNode = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 29;  // about two seconds
  // Step limits of best mode's searches at the root and at a node:
  constexpr std::uint64_t kLeastOfSearches = std::uint64_t{1} << 25;
  constexpr std::uint64_t kOfSearchOfNode = std::uint64_t{1} << 16;
  constexpr std::uint64_t kMostOfSearches = std::uint64_t{1} << 27;  // about five seconds
  const std::uint64_t nodes = certificate.nodes.size();
  CheckSteps steps;
  steps.all = std::min({work_limit, kMost, kLeast + kOfNode * nodes});
  steps.of_searches =
      std::min({steps.all, kMostOfSearches, kLeastOfSearches + kOfSearchOfNode * nodes});
  return steps;
}

bool are_valid(const std::vector<CapacityMultipliers>& multipliers, std::size_t classes) {
  const auto is_valid = [](const CapacityMultipliers& own) {
    return own.load >= 0 && own.hbm >= 0 && own.ddr >= 0 && own.ssd >= 0 &&
           std::isfinite(own.load + own.hbm + own.ddr + own.ssd);
  };
  return multipliers.size() == classes &&
         std::all_of(multipliers.begin(), multipliers.end(), is_valid);
}

// Checks a certificate whose proof is a search.
std::optional<std::string> check_by_search(const SearchSpace& space, const Topology& available,
                                           const BoundCertificate& certificate,
                                           const PlanGoal& goal, std::uint64_t work_limit,
                                           const std::function<bool()>& is_stopped) {
  const std::vector<std::uint32_t>& classes = certificate.class_of_rank;
  if (classes.size() != available.world_size()) return "the rank classes do not match the topology";
  const std::uint32_t last = *std::max_element(classes.begin(), classes.end());
  // The time of a step grows with the number of sets of prices.
  constexpr std::size_t kMostPrices = 8;
  if (last >= classes.size() || certificate.nodes.size() > kMostPrices)
    return "the prices do not match the topology";
  std::vector<RankPriceSet> prices;
  for (const BoundNode& leaf : certificate.nodes) {
    if (!leaf.is_leaf || !are_valid(leaf.multipliers, last + 1))
      return "a leaf lacks valid multipliers for every rank class";
    prices.push_back(prices_by_rank(leaf.multipliers, classes));
  }
  const std::uint64_t steps = steps_of_check(certificate, work_limit).of_searches;
  switch (find_plan_below(goal, space, available, std::move(prices), steps, is_stopped).answer) {
    case FoundPlan::Answer::kNoneExists:
      return std::nullopt;
    case FoundPlan::Answer::kFound:
      return "there is a plan below the bound";
    case FoundPlan::Answer::kTooLarge:
      return "the problem is too large to try all plans";
    case FoundPlan::Answer::kGivenUp:
      break;
  }
  return std::string(kProofTooLong);
}

// Walks the tree and keeps the options of the current node.
// Thread safety: one thread at a time.
class TreeChecker {
 public:
  // `classes` are the rank classes to which `options` refers.
  TreeChecker(CertifiedClasses& classes, OpenOptions options, const std::vector<BoundNode>& nodes,
              double target, const CheckSteps& most_steps, const std::function<bool()>& is_stopped)
      : classes_(classes),
        options_(std::move(options)),
        target_(target),
        nodes_(nodes),
        work_left_(most_steps.all),
        search_left_(most_steps.of_searches),
        is_stopped_(is_stopped),
        limit_(work_left_, is_stopped) {}

  std::optional<std::string> run() {
    if (!visit_nodes()) return error_;
    if (next_ != nodes_.size()) return "the tree has nodes that belong to no parent";
    return std::nullopt;
  }

 private:
  // An inner node on the path from the root to the current node.
  struct Branch {
    const BoundNode* node;
    std::size_t above;            // mark before the node
    std::size_t reduced;          // mark after the node's own drops
    std::vector<UniformUse> use;  // by class
    bool is_in_second_child = false;
  };

  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  // Checks the nodes in preorder. Restores the options on the way up.
  bool visit_nodes() {
    std::vector<Branch> path;
    while (descend_to_leaf(path)) {
      for (; !path.empty() && path.back().is_in_second_child; path.pop_back()) {
        options_.restore(path.back().above);
        classes_.set_uniform_use(path.back().use);
      }
      if (path.empty()) return true;
      Branch& branch = path.back();
      branch.is_in_second_child = true;
      options_.restore(branch.reduced);
      classes_.set_uniform_use(branch.use);
      if (!restrict_to_child(branch, false)) return false;
    }
    return false;
  }

  // Follows first children from the next node to a leaf and checks the leaf.
  bool descend_to_leaf(std::vector<Branch>& path) {
    for (;;) {
      if (next_ >= nodes_.size()) return fail("the tree lacks a node");
      const BoundNode& node = nodes_[next_++];
      const std::size_t above = options_.mark();
      if (!drop_options(node)) return false;
      if (node.is_leaf) {
        if (!visit_leaf(node)) return false;
        options_.restore(above);
        return true;
      }
      if (!(node.uniform_split ? can_split(node) : has_equal_tables(node))) return false;
      path.push_back({&node, above, options_.mark(), classes_.uniform_use()});
      if (!restrict_to_child(path.back(), true)) return false;
      if (path.size() == kMaxDepth || options_.num_kept() > kMostKept)
        return fail("the tree is too deep");
    }
  }

  // Subtracts the steps of `walks` passes over all options from the steps left.
  bool spend(std::uint64_t walks) {
    const std::uint64_t steps = walks * options_.space().size();
    limit_.hear_stop();
    if (steps > work_left_) return fail(std::string(kProofTooLong));
    work_left_ -= steps;
    return true;
  }

  bool drop_options(const BoundNode& node) {
    constexpr std::size_t kMostFixing = 64;
    if (node.fixing.size() > kMostFixing) return fail("a node has too many multipliers");
    if (!spend(drop_by_common_use(options_))) return false;
    for (const std::vector<CapacityMultipliers>& multipliers : node.fixing) {
      if (!are_valid(multipliers, options_.classes().size()))
        return fail("a node lacks valid multipliers for every rank class");
      drop_by_reduced_costs(options_, multipliers);
      if (!spend(1 + drop_by_common_use(options_))) return false;
    }
    return true;
  }

  bool can_split(const BoundNode& node) {
    const UniformSplit& split = *node.uniform_split;
    if (!node.tables.empty() || !node.first_child.empty())
      return fail("a node divides tables and what uniform options use");
    if (split.rank_class >= classes_.uniform_use().size())
      return fail("a node splits a rank class that has no part for uniform options");
    const bool is_valid = split.tier ? split.at == std::floor(split.at) &&
                                           split.at <= static_cast<double>(kMaxRankBytes)
                                     : std::isfinite(split.at);
    return split.at >= 0 && is_valid ? true : fail("a node splits a rank class at no valid use");
  }

  // Limits uniform options to at most `split.at` in the first child, at least in the second.
  void split_class(const UniformSplit& split, bool is_first) {
    std::vector<UniformUse> use = classes_.uniform_use();
    use[split.rank_class].restrict_to(split, is_first);
    classes_.set_uniform_use(use);
  }

  bool has_equal_tables(const BoundNode& node) {
    if (node.tables.empty() || node.count < 1 || node.count > node.tables.size())
      return fail("a node branches on a number of tables that it does not have");
    for (std::size_t i = 0; i < node.tables.size(); ++i) {
      if (node.tables[i].index() >= options_.num_tables())
        return fail("a node branches on a table that does not exist");
      if (i == 0) continue;
      if (node.tables[i].index() <= node.tables[i - 1].index())
        return fail("a node branches on tables that are not in order");
      if (!options_.are_equal(node.tables[0].index(), node.tables[i].index()))
        return fail("a node branches on tables that are not equal");
    }
    return true;
  }

  // Returns the classes that an option of the first table keeps in the child.
  std::uint32_t kept_classes(const BoundNode& node, const OpenOption& domain, bool is_first) {
    std::uint32_t kept = 0;
    for (const OptionDomain& child : node.first_child)
      kept |= child.option == domain.option ? child.classes & domain.classes : 0;
    if (kept != 0 && kept != domain.classes && !options_.lies_on_one_side(domain, kept))
      fail("a node divides the domain of an option that may lie on both sides");
    return is_first ? kept : domain.classes & ~kept;
  }

  bool restrict_to_child(const Branch& branch, bool is_first) {
    const BoundNode& node = *branch.node;
    if (node.uniform_split) {
      split_class(*node.uniform_split, is_first);
      return true;
    }
    std::vector<std::uint32_t> kept;
    for (const OpenOption& domain : options_.of_table(node.tables.front().index()))
      kept.push_back(kept_classes(node, domain, is_first));
    if (!error_.empty()) return false;
    const std::size_t begin = is_first ? 0 : node.count - 1;
    const std::size_t end = is_first ? node.count : node.tables.size();
    for (std::size_t i = begin; i < end; ++i)
      options_.restrict_to(node.tables[i].index(), kept);
    return true;
  }

  bool visit_leaf(const BoundNode& leaf) {
    if (options_.any_table_is_closed()) return true;
    if (!are_valid(leaf.multipliers, options_.classes().size())) {
      return fail("a leaf lacks valid multipliers for every rank class");
    }
    if (!leaf.whole_multipliers.empty() && !are_valid(leaf.whole_multipliers, classes_.num_whole()))
      return fail("a leaf has prices of whole ranks that are not those of its rank classes");
    if (!spend(1)) return false;
    std::optional<std::string> wrong;
    if (leaf.by_search) {
      wrong = search_leaf(leaf);
    } else {
      wrong = leaf.shard_duals.empty() ? check_lagrangian_leaf(options_, leaf)
                                       : check_pattern_leaf(options_, leaf, limit_);
    }
    return wrong ? fail(std::move(*wrong)) : true;
  }

  std::optional<std::string> search_leaf(const BoundNode& leaf) {
    // Reading an option for a search takes as long as this many steps of the search.
    constexpr std::uint64_t kStepsOfOption = 8;
    search_left_ -= std::min(search_left_, kStepsOfOption * options_.space().size());
    const std::uint64_t most = std::min(work_left_, search_left_);
    std::uint64_t left = most;
    auto wrong = check_search_leaf(options_, leaf, target_, left, is_stopped_);
    work_left_ -= most - left;
    search_left_ -= most - left;
    return wrong;
  }

  CertifiedClasses& classes_;
  OpenOptions options_;
  double target_;
  const std::vector<BoundNode>& nodes_;
  std::uint64_t work_left_;
  std::uint64_t search_left_;                // part of work_left_ for searches
  const std::function<bool()>& is_stopped_;  // may be empty
  StepLimit limit_;                          // of work_left_
  std::size_t next_ = 0;
  std::string error_;
};

}  // namespace

std::optional<double> unreachable_rating(const SearchSpace& space) {
  const ProblemSpec& spec = space.problem().spec();
  std::vector<double> most(space.problem().tables().size(), 0);
  for (const ShardingOption& option : space.options()) {
    double load = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const double shard = load_of(option.costs[run], spec.perf_model);
      load = add_up(load, multiply_up(option.layout->extents[run].count, shard));
    }
    // No valid plan has a cost that is negative or not finite.
    if (std::isfinite(load))
      most[option.table.index()] = std::max(most[option.table.index()], load);
  }
  double slowest = 1;
  for (const double scale : spec.calibration.rank_time)
    slowest = std::max(slowest, scale);
  double sum = 1;
  for (const double load : most)
    sum = add_up(sum, load);
  const double rating = 2 * multiply_up(sum, slowest);
  constexpr double kMost = 1e200;
  if (!(rating < kMost)) return std::nullopt;
  return rating;
}

std::optional<std::string> check_absence(const SearchSpace& space, const Topology& available,
                                         BoundCertificate certificate, std::uint64_t work_limit,
                                         const std::function<bool()>& is_stopped) {
  const std::optional<double> rating = unreachable_rating(space);
  if (!rating) return "the costs of the options are too large";
  certificate.bound = *rating;
  return check_bound(space, available, certificate, work_limit, is_stopped);
}

std::optional<std::string> check_bound(const SearchSpace& space, const Topology& available,
                                       const BoundCertificate& certificate,
                                       std::uint64_t work_limit,
                                       const std::function<bool()>& is_stopped) {
  if (certificate.is_older_form) return std::string(kProofOfOlderForm);
  if (!std::isfinite(certificate.bound)) return "the bound is not a finite number";
  if (certificate.bound <= 0) return std::nullopt;  // no rating is below zero
  if (auto wrong = check_load_factors(space, certificate.load_factors)) return wrong;
  const double target = multiply_up(certificate.bound, 1 + kRatingSlack);
  if (certificate.by_search)
    return check_by_search(space, available, certificate, {target, nullptr}, work_limit,
                           is_stopped);
  auto classes = CertifiedClasses::make(space.problem().spec(), available, certificate, target);
  if (!classes) return "the rank classes do not match the topology";
  OpenOptions options(space, available, *classes, is_stopped);
  if (!options.is_complete()) return std::string(kProofTooLong);
  if (!options.can_be_apart()) return "an option has no smallest shard in a rank class";
  return TreeChecker(*classes, std::move(options), certificate.nodes, target,
                     steps_of_check(certificate, work_limit), is_stopped)
      .run();
}

std::optional<std::string> check_move_bound(const SearchSpace& space, const Topology& available,
                                            const HeldPlan& held,
                                            const BoundCertificate& certificate,
                                            std::uint64_t work_limit,
                                            const std::function<bool()>& is_stopped) {
  if (!std::isfinite(certificate.bound)) return "the bound is not a finite number";
  if (!certificate.by_search) return "a bound of rating and moves is proved by search only";
  if (certificate.bound <= 0) return std::nullopt;  // rating and moves are never negative
  if (auto wrong = check_load_factors(space, certificate.load_factors)) return wrong;
  const double target = multiply_up(certificate.bound, 1 + kRatingSlack);
  return check_by_search(space, available, certificate, {target, &held}, work_limit, is_stopped);
}

}  // namespace shardwright::embedding
