#include "search/embedding/best/merging_search.h"

#include <cmath>
#include <utility>

namespace shardwright::embedding {

MergingSearch::MergingSearch(const SearchContext& context, std::uint64_t seed,
                             const BestParameters& parameters)
    : context_(&context), seed_(seed), parameters_(parameters) {}

bool MergingSearch::is_due(std::uint64_t work_done) const {
  const MergingParameters& merging = parameters_.merging;
  if (!parameters_.methods.merging) return false;
  if (context_->model().num_tables() > merging.most_tables) return false;
  if (work_done < merging.begin_work) return false;
  const auto since = static_cast<double>(work_done - merging.begin_work);
  return static_cast<double>(all_work_) <= merging.part_of_work * since;
}

// The choices of all plans.
ChoiceModel MergingSearch::merged_model(const Allocation& best_known) const {
  const ChoiceModel& model = context_->model();
  std::vector<std::vector<ChoiceRun>> runs(model.choices().size());
  const auto add = [&](const Allocation& plan) {
    for (const std::uint32_t choice : plan.choice) {
      const auto own = model.runs(model.choices()[choice]);
      runs[choice].assign(own.begin(), own.end());
    }
  };
  for (const Allocation& plan : plans_)
    add(plan);
  add(best_known);
  return model.relaxed(runs);
}

// Precondition: the merged model has its choices.
Allocation MergingSearch::in_merged(Allocation own) const {
  for (std::uint32_t& choice : own.choice)
    choice = *merged_->model.choice_of(context_->model().choices()[choice].option);
  return own;
}

RatedAllocation MergingSearch::in_model(RatedAllocation own) const {
  if (!merged_) return own;
  for (std::uint32_t& choice : own.allocation.choice)
    choice = *context_->model().choice_of(merged_->model.choices()[choice].option);
  return own;
}

void MergingSearch::begin_round(const Plan& best_known, const Budget& budget) {
  if (lanes_) return;
  known_ = best_known;
  const Allocation best = *to_allocation(context_->model(), best_known);
  if (plans_.size() >= parameters_.merging.plans)
    merged_ = std::make_unique<Merged>(merged_model(best), context_->pricing(), budget);
  // No two searches draw the same numbers, nor do they draw those of the other lanes.
  constexpr std::uint64_t kSeedFactor = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t seed = seed_ ^ (kSeedFactor * (num_ended_ + 1));
  const SearchContext& context = merged_ ? merged_->context : *context_;
  lanes_ = std::make_unique<SearchLanes>(context, seed, parameters_);
  lanes_->set_reference(merged_ ? in_merged(best) : best);
}

// A copy: it outlives the lanes.
FoundAllocation MergingSearch::best_of_lanes(std::size_t first_lane) const {
  FoundAllocation found = lanes_->best_of_all(best_, first_lane);
  if (found.rated != nullptr) {
    found.received = std::make_shared<const RatedAllocation>(in_model(*found.rated));
    found.rated = found.received.get();
  }
  return found;
}

double MergingSearch::length() const {
  const MergingParameters& merging = parameters_.merging;
  const double length = static_cast<double>(merging.first_work) *
                        std::pow(merging.work_growth, static_cast<double>(num_merged_));
  return merged_ ? merging.merged_factor * length : length;
}

void MergingSearch::end() {
  if (merged_) {
    plans_.clear();
    ++num_merged_;
  }
  ++num_ended_;
  if (best_) plans_.push_back(std::move(best_->allocation));
  best_.reset();
  own_work_ = 0;
  lanes_.reset();
  merged_.reset();
}

void MergingSearch::take_in(const RatedAllocation* found, std::uint64_t own_work,
                            std::uint64_t all_work, PlanCopies& copies) {
  own_work_ += own_work;
  all_work_ += all_work;
  if (found != nullptr) {
    best_ = *found;
    known_ = to_plan(context_->model(), found->allocation, *known_, copies);
    lanes_->offer({*known_, found->rating, found->peak_hbm_bytes});
  }
  if (static_cast<double>(own_work_) >= length()) end();
}

}  // namespace shardwright::embedding
