#include "search/embedding/best/whole/whole_outlook.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

WholeOutlook::WholeOutlook(const WholeModel& model, const WholeState& state, double below)
    : model_(&model), state_(&state), prices_(model), places_of_(model.tables().size()) {
  for (Rank rank = 0; rank < model.num_ranks(); ++rank) {
    WholePrices::add(slack_, WholePrices::kRounding,
                     prices_.worth(rank, below, state.usable_bytes(rank)));
  }
}

bool WholeOutlook::price_within(const WholeTable& table, const WholeChoice& choice, Rank first,
                                Rank end, double below, Priced& sum) {
  sum.fill(0);
  double product = 1;
  std::uint32_t ranks = 0;
  const std::uint64_t ranks_before = places_.ranks;
  const std::vector<std::uint8_t>* const open = table.has_groups ? &open_ : nullptr;
  const std::uint32_t size = model_->pieces_per_place(choice);
  const bool apart = table.distinct || choice.reach == Reach::kAllRanks;
  for (std::uint32_t piece = choice.first_piece; piece < choice.end_piece; piece += size) {
    if (!price_pieces(table, choice, piece, first, end, open, below, sum)) {
      places_.ranks = ranks_before;
      return false;
    }
    product *= places_.ways;
    ranks = apart ? ranks + places_.least_ranks : std::max(ranks, places_.least_ranks);
  }
  places_.ways = product;
  places_.least_ranks = ranks;
  return true;
}

bool WholeOutlook::price_choice(const WholeTable& table, const WholeChoice& choice, double below,
                                Priced& sum) {
  const std::uint32_t size = table.bond == Bond::kRank ? 1
                             : choice.on_one_host      ? model_->ranks_per_host()
                                                       : model_->num_ranks();
  if (size == model_->num_ranks()) return price_within(table, choice, 0, size, below, sum);
  double ways = 0;
  std::uint32_t ranks = model_->num_ranks();
  sum.fill(kInfinity);
  Priced here;
  for (Rank first = 0; first + size <= model_->num_ranks(); first += size) {
    if (!price_within(table, choice, first, first + size, below, here)) continue;
    ways += places_.ways;
    ranks = std::min(ranks, places_.least_ranks);
    WholePrices::take_least(sum, here);
  }
  places_.ways = ways;
  places_.least_ranks = ranks;
  return ways > 0;
}

bool WholeOutlook::price_table(std::size_t index, std::uint64_t decided, double below,
                               Priced& least) {
  const WholeTable& table = model_->tables()[index];
  if (table.has_groups) state_->find_open(index, decided, open_);
  least.fill(kInfinity);
  places_.ranks = 0;
  double ways = 0;
  std::uint32_t ranks = model_->num_ranks();
  Priced sum;
  for (std::uint32_t c = table.first_choice; c < table.end_choice; ++c) {
    if (!price_choice(table, model_->choices()[c], below, sum)) continue;
    ways += places_.ways;
    ranks = std::min(ranks, places_.least_ranks);
    WholePrices::take_least(least, sum);
  }
  places_.ways = ways;
  places_.least_ranks = ranks;
  return ways > 0;
}

// Tables that are kept apart need ranks or hosts of their own.
bool WholeOutlook::can_be_apart(const WholeModel::Group& group, std::uint64_t remaining) const {
  std::uint32_t needed = 0;
  std::uint64_t ranks = 0;
  for (std::size_t table = 0; table < places_of_.size(); ++table) {
    if ((remaining & group.tables) >> table == 0) break;
    if (((remaining & group.tables) >> table & 1) == 0) continue;
    needed += (places_of_[table].least_ranks + group.ranks_per_place - 1) / group.ranks_per_place;
    ranks |= places_of_[table].ranks;
  }
  const std::uint64_t place = ~std::uint64_t{0} >> (64 - group.ranks_per_place);
  std::uint32_t places = 0;
  for (Rank first = 0; first < model_->num_ranks(); first += group.ranks_per_place)
    places += (ranks >> first & place) != 0 ? 1U : 0U;
  return needed <= places;
}

bool WholeOutlook::look(std::uint64_t remaining, double below, View& view) {
  const std::uint64_t all = (std::uint64_t{1} << model_->tables().size()) - 1;
  Priced needed{};
  Priced of_next{};
  double fewest = kInfinity;
  std::uint64_t useful = 0;
  for (std::size_t table = 0; table < model_->tables().size(); ++table) {
    if ((remaining >> table & 1) == 0) continue;
    Priced least;
    if (!price_table(table, all & ~remaining, below, least)) return false;
    WholePrices::add(needed, 1, least);
    places_of_[table] = places_;
    useful |= places_.ranks;
    if (!(places_.ways < fewest)) continue;
    fewest = places_.ways;
    view.next = table;
    of_next = least;
  }
  view.later = needed;
  WholePrices::add(view.later, -1, of_next);
  for (const WholeModel::Group& group : model_->groups()) {
    if (!group.together && !can_be_apart(group, remaining)) return false;
  }
  view.left.fill(0);
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank) {
    if ((useful >> rank & 1) == 0) continue;
    WholePrices::add(
        view.left, 1,
        prices_.worth(rank, below - state_->rank(rank).load, state_->usable_bytes(rank)));
  }
  return !is_too_much(needed, view.left);
}

}  // namespace shardwright::embedding
