#include "search/embedding/questions/replan/moves/move_tree.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kWorkPerCheck = 8192;  // of the budget
constexpr std::size_t kPriced = 1;             // the set with the best prices

}  // namespace

MoveTree::MoveTree(AllocationState& state, const MoveCosts& costs, PriceBound& bound)
    : state_(&state),
      costs_(&costs),
      bound_(&bound),
      prices_{RankPrices(state.model().world_size()), RankPrices(state.model().world_size()),
              RankPrices(state.model().world_size())} {
  for (const std::size_t set : {std::size_t{1}, std::size_t{2}}) {
    std::fill(prices_[set].load.begin(), prices_[set].load.end(),
              1 / static_cast<double>(state.model().world_size()));
  }
}

bool MoveTree::is_cut() {
  if (work_ >= next_check_) {
    next_check_ = work_ + kWorkPerCheck;
    interrupted_ = interrupted_ || budget_->interrupted();
  }
  return interrupted_ || work_ >= end_of_work_;
}

// Tentatively.
void MoveTree::take_away() {
  for (const Item& item : items_) {
    if (state_->has_choice(item.table)) state_->take_away(item.table);
  }
  work_ += state_->num_tentative();
}

// What the shards from each on take at least, wherever the ones before are.
void MoveTree::add_rest(TreeChoice& choice) {
  const Choice& chosen = state_->model().choices()[choice.choice];
  choice.first_rest = rest_.size();
  if (chosen.reach == Reach::kAllRanks) return;
  const std::uint32_t world = state_->model().world_size();
  rest_.resize(rest_.size() + chosen.num_shards + 1);
  for (std::uint32_t shard = chosen.num_shards; shard > 0; --shard) {
    for (std::size_t set = 0; set < kPrices; ++set) {
      double least = kNever;
      for (Rank rank = 0; rank < world; ++rank)
        least = std::min(least, bound_->price(choice.choice, shard - 1, rank, prices_[set]));
      rest_[choice.first_rest + shard - 1][set] = rest_[choice.first_rest + shard][set] + least;
    }
  }
  work_ += std::uint64_t{chosen.num_shards} * world;
}

void MoveTree::add_item(std::uint32_t table) {
  const ChoiceModel& model = state_->model();
  Item& item = items_.emplace_back();
  item.table = table;
  for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
    const std::uint32_t index = model.first_choice(table) + i;
    const double fastest = state_->context().fastest(model.choices()[index].max_load);
    if (!state_->context().fits(index) || fastest >= below_) continue;
    TreeChoice choice{index, {}, 0};
    for (std::size_t set = 0; set < kPrices; ++set)
      choice.least[set] = bound_->least(index, prices_[set], nullptr);
    if (choice.least[0] == kNever) continue;
    add_rest(choice);
    item.choices.push_back(choice);
  }
  std::stable_sort(item.choices.begin(), item.choices.end(),
                   [](const TreeChoice& a, const TreeChoice& b) {
                     return a.least[kPriced] < b.least[kPriced];
                   });
}

void MoveTree::find_symmetry() {
  const ChoiceModel& model = state_->model();
  last_holding_.assign(model.world_size(), 0);
  symmetric_.assign(items_.size() + 1, 1);
  hosts_matter_.assign(items_.size() + 1, 0);
  for (std::size_t depth = items_.size(); depth > 0; --depth) {
    const Item& item = items_[depth - 1];
    bool symmetric = symmetric_[depth] != 0 && !model.rules().constrains(model.table(item.table));
    bool hosts = hosts_matter_[depth] != 0;
    for (const TreeChoice& choice : item.choices) {
      const Choice& chosen = model.choices()[choice.choice];
      const bool in_order = chosen.reach >= Reach::kWholeHosts;
      symmetric = symmetric && !(in_order && chosen.num_runs > 1);
      hosts = hosts || chosen.reach == Reach::kHost || chosen.reach == Reach::kWholeHosts;
    }
    symmetric_[depth - 1] = symmetric ? 1 : 0;
    hosts_matter_[depth - 1] = hosts ? 1 : 0;
  }
  for (std::size_t depth = 0; depth < items_.size(); ++depth) {
    for (const Rank rank : costs_->holders(items_[depth].table))
      last_holding_[rank] = static_cast<std::uint32_t>(depth + 1);
  }
}

// Takes the tables away, finds prices for what is left, and sorts the tables by their least price.
void MoveTree::prepare(const TreeProblem& problem, const Budget& budget) {
  items_.clear();
  rest_.clear();
  for (const std::uint32_t table : problem.tables) {
    items_.emplace_back();
    items_.back().table = table;
  }
  take_away();
  const std::span<const RankLoad> ranks = state_->ranks();
  UseOfRanks fixed(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    fixed.load[rank] = ranks[rank].load;
    fixed.bytes[rank] = as_doubles(ranks[rank].held());
  }
  const std::uint64_t before = bound_->work();
  bound_->raise(problem.tables, fixed, 0, below_, problem.price_steps, prices_[kPriced], budget);
  items_.clear();
  for (const std::uint32_t table : problem.tables)
    add_item(table);
  work_ += bound_->work() - before;
  const auto size = [](const Item& item) {
    return item.choices.empty() ? kNever : item.choices.front().least[kPriced];
  };
  std::stable_sort(items_.begin(), items_.end(),
                   [&](const Item& a, const Item& b) { return size(a) > size(b); });
  for (std::size_t i = items_.size(); i > 1; --i) {
    Item& item = items_[i - 2];
    item.rest = items_[i - 1].rest;
    for (std::size_t set = 0; set < kPrices; ++set) {
      double least = kNever;
      for (const TreeChoice& choice : items_[i - 1].choices)
        least = std::min(least, choice.least[set]);
      item.rest[set] += least;
    }
  }
  find_symmetry();
}

TreeAnswer MoveTree::solve(const TreeProblem& problem, const Budget& budget) {
  below_ = problem.below;
  budget_ = &budget;
  found_ = interrupted_ = false;
  end_of_work_ = work_ + problem.work;
  prepare(problem, budget);
  placed_.resize(std::max(placed_.size(), items_.size()));
  best_.clear();
  Priced sum{};
  double load = 0;
  for (std::size_t set = 0; set < kPrices; ++set) {
    sum[set] = -bound_->capacity(prices_[set]);
    for (Rank rank = 0; rank < state_->model().world_size(); ++rank) {
      const RankLoad& at = state_->ranks()[rank];
      load = std::max(load, at.load);
      sum[set] += prices_[set].of(rank, at.load, as_doubles(at.held()));
    }
  }
  visit(0, sum, load);
  state_->take_back();
  return {found_, !is_cut(), below_};
}

bool MoveTree::may_be_below(const Priced& sum, double load) const {
  if (sum[0] + load >= below_) return false;
  for (std::size_t set = 1; set < kPrices; ++set) {
    if (sum[set] >= below_) return false;
  }
  return true;
}

bool MoveTree::add(Rank rank, const ShardUse& use, double moved, Priced& sum, double& load) {
  state_->add(rank, use);
  ++work_;
  const RankLoad& at = state_->ranks()[rank];
  if (!at.fits() || state_->rules().broken() > 0) return false;
  load = std::max(load, at.load);
  const double own = state_->scaled(rank, use.load);
  for (std::size_t set = 0; set < kPrices; ++set) {
    sum[set] += prices_[set].of(rank, own, as_doubles(use.storage)) + moved;
  }
  return sum[0] + load < below_;
}

void MoveTree::visit(std::size_t depth, const Priced& sum, double load) {
  if (is_cut()) return;
  if (depth == items_.size()) {
    const double cost = sum[0] + load;
    if (cost >= below_) return;
    best_.assign(placed_.begin(), placed_.begin() + static_cast<std::ptrdiff_t>(depth));
    found_ = true;
    below_ = cost;
    return;
  }
  const Item& item = items_[depth];
  for (const TreeChoice& choice : item.choices) {
    if (is_cut()) return;
    ++work_;
    Priced then = sum;
    for (std::size_t set = 0; set < kPrices; ++set)
      then[set] += choice.least[set] + item.rest[set];
    if (may_be_below(then, load)) visit_choice(depth, choice, sum, load);
  }
}

void MoveTree::visit_choice(std::size_t depth, const TreeChoice& choice, const Priced& sum,
                            double load) {
  const ChoiceModel& model = state_->model();
  const Choice& chosen = model.choices()[choice.choice];
  placed_[depth].table = items_[depth].table;
  placed_[depth].choice = choice.choice;
  placed_[depth].ranks.clear();
  if (chosen.reach == Reach::kAllRanks) {
    const std::size_t mark = state_->num_tentative();
    Priced then = sum;
    bool open = true;
    Rank rank = 0;
    for (const ChoiceRun& run : model.runs(chosen)) {
      const ShardUse use{run.load, run.storage};
      for (std::uint32_t k = 0; k < run.count && open; ++k, ++rank)
        open = add(rank, use, costs_->cost(choice.choice, rank, rank), then, load);
    }
    Priced with_rest = then;
    for (std::size_t set = 0; set < kPrices; ++set)
      with_rest[set] += items_[depth].rest[set];
    if (open && may_be_below(with_rest, load)) visit(depth + 1, then, load);
    return state_->take_back(mark);
  }
  if (chosen.reach == Reach::kWholeHosts) return visit_blocks(depth, choice, 0, sum, load);
  if (chosen.reach == Reach::kDevice)
    return visit_shards(depth, choice, 0, {0, model.world_size()}, sum, load);
  const std::uint32_t local = model.local_world_size();
  for (std::uint32_t host = 0; host < model.num_hosts(); ++host) {
    if (!has_earlier_twin_host(host, depth))
      visit_shards(depth, choice, 0, {host * local, local}, sum, load);
  }
}

bool MoveTree::have_same(Rank a, Rank b, std::size_t depth) const {
  const RankLoad& one = state_->ranks()[a];
  const RankLoad& other = state_->ranks()[b];
  const ChoiceModel& model = state_->model();
  return one.load == other.load && one.held() == other.held() && last_holding_[a] <= depth &&
         last_holding_[b] <= depth && model.room()[a] == model.room()[b] &&
         model.time_scale(a) == model.time_scale(b);
}

bool MoveTree::has_earlier_twin(Rank rank, Part part, std::size_t depth) const {
  if (symmetric_[depth] == 0) return false;
  const std::uint32_t local = state_->model().local_world_size();
  for (Rank earlier = part.first; earlier < rank; ++earlier) {
    if (!have_same(earlier, rank, depth)) continue;
    if (hosts_matter_[depth] == 0 || earlier / local == rank / local) return true;
  }
  return false;
}

bool MoveTree::has_earlier_twin_host(std::uint32_t host, std::size_t depth) const {
  if (symmetric_[depth] == 0) return false;
  const std::uint32_t local = state_->model().local_world_size();
  for (std::uint32_t earlier = 0; earlier < host; ++earlier) {
    bool twins = true;
    for (std::uint32_t i = 0; i < local && twins; ++i)
      twins = have_same(earlier * local + i, host * local + i, depth);
    if (twins) return true;
  }
  return false;
}

// Interchangeable shards of a table go to ranks in ascending order.
bool MoveTree::is_like_before(std::uint32_t choice, std::uint32_t shard) const {
  if (shard == 0) return false;
  const std::span<const ShardUse> uses = state_->context().shards(choice);
  const ShardUse& a = uses[shard - 1];
  const ShardUse& b = uses[shard];
  return a.table == ShardUse::kUnruled && a.load == b.load && a.storage == b.storage &&
         costs_->are_alike(choice, shard - 1, shard);
}

// Tries ranks in ascending order of what the shard costs there.
void MoveTree::visit_shards(std::size_t depth, const TreeChoice& choice, std::uint32_t shard,
                            Part part, const Priced& sum, double load) {
  const std::span<const ShardUse> uses = state_->context().shards(choice.choice);
  if (shard == uses.size()) return visit(depth + 1, sum, load);
  const std::size_t begin = order_.size();
  const Rank first =
      is_like_before(choice.choice, shard) ? placed_[depth].ranks.back() : part.first;
  for (Rank rank = first; rank < part.first + part.count; ++rank) {
    const RankLoad& at = state_->ranks()[rank];
    if (!at.has_room_for(uses[shard]) || has_earlier_twin(rank, part, depth)) continue;
    const double then = std::max(load, at.load + state_->scaled(rank, uses[shard].load));
    const double moved = costs_->cost(choice.choice, shard, rank);
    if (sum[0] + moved + then < below_) order_.emplace_back(then + moved, rank);
  }
  work_ += 1 + part.count / 2;
  const std::size_t end = order_.size();
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end());
  const Priced& rest = rest_[choice.first_rest + shard + 1];
  for (std::size_t i = begin; i < end && !is_cut(); ++i) {
    const Rank rank = order_[i].second;
    const std::size_t mark = state_->num_tentative();
    Priced then = sum;
    double most = load;
    if (add(rank, uses[shard], costs_->cost(choice.choice, shard, rank), then, most)) {
      Priced with_rest = then;
      for (std::size_t set = 0; set < kPrices; ++set)
        with_rest[set] += rest[set] + items_[depth].rest[set];
      if (may_be_below(with_rest, most)) {
        placed_[depth].ranks.push_back(rank);
        visit_shards(depth, choice, shard + 1, part, then, most);
        placed_[depth].ranks.pop_back();
      }
    }
    state_->take_back(mark);
  }
  order_.resize(begin);
}

// Places the shards block by block, each on a whole host.
void MoveTree::visit_blocks(std::size_t depth, const TreeChoice& choice, std::uint32_t shard,
                            const Priced& sum, double load) {
  const std::span<const ShardUse> uses = state_->context().shards(choice.choice);
  if (shard == uses.size()) return visit(depth + 1, sum, load);
  const std::uint32_t local = state_->model().local_world_size();
  const Priced& rest = rest_[choice.first_rest + shard + local];
  for (std::uint32_t host = 0; host < state_->model().num_hosts() && !is_cut(); ++host) {
    if (has_earlier_twin_host(host, depth)) continue;
    const std::size_t mark = state_->num_tentative();
    Priced then = sum;
    double most = load;
    bool open = true;
    for (std::uint32_t k = 0; k < local && open; ++k) {
      const Rank rank = host * local + k;
      open = add(rank, uses[shard + k], costs_->cost(choice.choice, shard + k, rank), then, most);
    }
    Priced with_rest = then;
    for (std::size_t set = 0; set < kPrices; ++set)
      with_rest[set] += rest[set] + items_[depth].rest[set];
    if (open && may_be_below(with_rest, most)) {
      std::vector<Rank>& ranks = placed_[depth].ranks;
      for (std::uint32_t k = 0; k < local; ++k)
        ranks.push_back(host * local + k);
      visit_blocks(depth, choice, shard + local, then, most);
      ranks.resize(ranks.size() - local);
    }
    state_->take_back(mark);
  }
}

}  // namespace shardwright::embedding
