#include "search/embedding/best/moves/considered_choices.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kPriceRounding = 1e-9;  // relative, of sums over all tables

}  // namespace

bool ConsideredChoices::may_be_below(std::uint32_t choice, double rating) const {
  const SearchContext& context = state_->context();
  return context.fits(choice) &&
         context.fastest(state_->model().choices()[choice].max_load) < rating;
}

void ConsideredChoices::set_rating(double rating, double part) {
  const SearchContext& context = state_->context();
  const ChoiceModel& model = state_->model();
  least_priced_.clear();
  double slack = rating * context.speed() + context.priced_capacity();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t index = model.first_choice(table);
    for (const Choice& choice : model.choices(table)) {
      if (may_be_below(index++, rating)) least = std::min(least, context.priced(choice));
    }
    least_priced_.push_back(least);
    slack -= least;
  }
  slack = part * slack + rating * kPriceRounding;
  considered_.clear();
  first_considered_.assign(1, 0);
  open_tables_.clear();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    std::uint32_t index = model.first_choice(table);
    for (const Choice& choice : model.choices(table)) {
      if (may_be_below(index, rating) && context.priced(choice) <= least_priced_[table] + slack)
        considered_.push_back(index);
      ++index;
    }
    const auto end = static_cast<std::uint32_t>(considered_.size());
    const std::uint32_t begin = first_considered_.back();
    first_considered_.push_back(end);
    const bool settled =
        begin == end || (end == begin + 1 && considered_[begin] == state_->choice(table));
    if (!settled || state_->chosen(table).reach != Reach::kAllRanks)
      open_tables_.push_back(static_cast<std::uint32_t>(table));
  }
}

std::uint32_t ConsideredChoices::draw(std::size_t table, std::uint32_t current,
                                      RandomGenerator& random) const {
  const std::uint32_t begin = first_considered_[table];
  if (count(table) == 0) return current;
  const std::uint32_t choice = considered_[begin + random.below(count(table))];
  if (choice != current || count(table) == 1) return choice;
  return considered_[begin + random.below(count(table))];
}

}  // namespace shardwright::embedding
