#include "search/embedding/best/best_search.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/caches/check_load_factors.h"
#include "search/embedding/best/processes/messages.h"
#include "search/embedding/best/processes/open_proof_message.h"
#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {
namespace {

// What a process says that hears what the proof does.
constexpr char kListens = 1;

// Returns true if a table has no choice whose shards fit on any rank.
bool is_hopeless(const SearchContext& context) {
  const ChoiceModel& model = context.model();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    bool any = false;
    for (std::uint32_t i = 0; i < model.choices(table).size() && !any; ++i)
      any = context.fits(model.first_choice(table) + i);
    if (!any) return true;
  }
  return false;
}

bool in_model_order(const ChoiceModel& model, const Plan& plan) {
  if (plan.size() != model.num_tables()) return false;
  for (std::size_t table = 0; table < plan.size(); ++table) {
    if (plan[table].option->table != model.table(table)) return false;
  }
  return true;
}

}  // namespace

BestSearch::BestSearch(const ChoiceModel& model, std::uint64_t seed, bool prove,
                       const BestParameters& parameters, const Budget& budget, SearchGroup* group)
    : parameters_(parameters),
      context_(model, parameters.pricing, budget),
      hopeless_(is_hopeless(context_)),
      group_(group),
      proves_(prove),
      proof_(model, prove, parameters, budget, group),
      lanes_(context_, seed, parameters),
      merging_(context_, seed, parameters),
      round_work_(parameters_.lanes.first_round_work),
      suggestions_(model, parameters.lanes) {
  first_lane_ = proof_.num_lanes();
  lane_work_.resize(first_lane_ + lanes_.size());
}

Status BestSearch::set_open_proof(std::string_view message) {
  BoundProver* const prover = proof_.prover();
  if (prover == nullptr) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(OpenProof open,
                               open_proof_of(message, context_.model(), prover->model()));
  if (!prover->begin_from(std::move(open)))
    return invalid_input("", "this proof is of another model of the ranks");
  return {};
}

std::optional<std::string> BestSearch::open_proof() const {
  BoundProver* const prover = proof_.prover();
  if (prover == nullptr || is_done() || !prover->has_open_proof()) return std::nullopt;
  return to_message(prover->open_proof(), context_.model(), parameters_.lanes.most_kept_bytes);
}

void BestSearch::offer(const Plan& start) {
  const ChoiceModel& model = context_.model();
  const std::optional<Allocation> allocation = to_allocation(model, start);
  if (!allocation) return;
  lanes_.set_reference(*allocation);
  AllocationState state(context_);
  state.assign(*allocation);
  if (!state.all_good()) return;
  const Plan* const base = known_ ? &*known_ : in_model_order(model, start) ? &start : nullptr;
  known_ = base != nullptr ? to_plan(model, *allocation, *base, copies_)
                           : to_plan(model, *allocation, copies_);
  lanes_.add_start({*known_, state.max_load(), state.peak_hbm()});
}

bool BestSearch::is_proved() const {
  return proves_ && best_ && bound_ >= aim() * (1 - parameters_.bound.optimality_gap);
}

// A plan within the gap of a proof may still get better: the search does not end while plans do.
bool BestSearch::goes_on() const {
  return is_improving_ && bound_ < aim() * (1 - parameters_.lanes.nothing_better);
}

// Returns true if there is nothing left to find or to prove.
bool BestSearch::is_done() const {
  if (certified_) return true;
  if (certifies_) return false;
  if (is_proved() && !solving_ && !goes_on()) return true;
  return solved_ && (!best_ || !proves_ || proof_finished_);
}

// All plans of a small model were tried: that is a proof if the check can repeat it. A round of its
// own comes after the one in which the search ended, because another lane, of any process, may have
// found the best plan in that one.
void BestSearch::certify_search(const Budget& budget) {
  BoundCertificate certificate;
  certificate.by_search = true;
  certificate.bound = best_->rating * (1 - parameters_.lanes.search_proof_gap);
  certificate.class_of_rank.resize(context_.model().world_size());
  std::iota(certificate.class_of_rank.begin(), certificate.class_of_rank.end(), 0U);
  certificate.nodes = *search_proof_;
  const ChoiceModel& model = context_.model();
  certificate.load_factors = load_factors_of(model.pool().space());
  if (certificate.bound > proof_.prover()->bound() &&
      !check_bound(model.pool().space(), model.available(), certificate,
                   parameters_.lanes.search_check_steps,
                   [&] { return budget.interrupted().has_value(); }))
    by_search_ = std::move(certificate);
}

// By how much the rating fell over the last 1 / parts of the work; infinite if there was no plan
// before. Precondition: there is a best plan.
double BestSearch::recent_fall(std::uint64_t work, std::uint64_t parts) const {
  const auto recent = std::find_if(steps_.begin(), steps_.end(), [&](const ImprovementStep& step) {
    return step.work >= work / parts * (parts - 1);
  });
  if (recent == steps_.begin()) return std::numeric_limits<double>::infinity();
  return std::prev(recent)->rating - best_->rating;
}

std::uint64_t BestSearch::proof_share(std::uint64_t work) const {
  const LaneParameters& lanes = parameters_.lanes;
  if (!best_ || merges_) return lanes.proof_share;
  if (recent_fall(work, lanes.recent_parts) > lanes.progress * (best_->rating - bound()))
    return lanes.proof_share;
  const bool is_calm = work > best_since_ + lanes.calm_work;
  const BoundProver* const prover = proof_.prover();
  const bool is_rising = work <= bound_since_ + lanes.stuck_work ||
                         (prover != nullptr && prover->is_rank_tree_rising());
  return is_calm && is_rising ? lanes.calm_proof_share : lanes.settled_proof_share;
}

std::size_t BestSearch::propose(std::size_t, const Budget& budget) {
  if (hopeless_ || is_done()) return 0;
  if (merges_) merging_.begin_round(best_->plan, budget);
  round_bound_ = bound();
  return lane_work_.size();
}

void BestSearch::count_by_process(const std::vector<std::uint64_t>& lane_work) {
  const std::vector<std::uint64_t> work = proof_.count(lane_work);
  process_span_ += *std::max_element(work.begin(), work.end());
  own_work_ += work[proof_.own_process()];
}

// The lanes of the proof begin first: their rounds are the longest.
void BestSearch::evaluate(std::size_t, unsigned, std::size_t begin, std::size_t end,
                          const Budget& budget) {
  for (std::size_t lane = begin; lane < end; ++lane) {
    lane_work_[lane] = 0;
    if (certifies_ || !proof_.is_own(lane) || budget.interrupted()) continue;
    if (lane < first_lane_) {
      Budget own = budget;
      proof_.run_lane(lane, work_of_round(), own);
      lane_work_[lane] = own.work_done() - budget.work_done();
    } else if (!solved_) {
      SearchLanes& lanes = merges_ ? merging_.lanes() : lanes_;
      lane_work_[lane] = lanes.run(lane - first_lane_, work_of_round(), round_bound_, budget);
    }
  }
}

FoundAllocation BestSearch::best_of_own_lanes() const {
  return merges_ ? merging_.best_of_lanes(first_lane_) : lanes_.best_of_all(best_, first_lane_);
}

void BestSearch::publish(const RatedAllocation& found) {
  const ChoiceModel& model = context_.model();
  known_ = known_ ? to_plan(model, found.allocation, *known_, copies_)
                  : to_plan(model, found.allocation, copies_);
  best_ = RatedPlan{*known_, found.rating, found.peak_hbm_bytes};
  lanes_.set_reference(found.allocation);
}

void BestSearch::suggest_to_lane(std::vector<SuggestedStart> suggestions) {
  suggestions_.add(std::move(suggestions));
  if (std::optional<SuggestedStart> next = suggestions_.take()) lanes_.suggest(*std::move(next));
}

// Returns nothing unless it is good and better than the best plan.
std::optional<RatedAllocation> BestSearch::rated(Allocation allocation) {
  AllocationState state(context_);
  state.assign(allocation);
  RatedAllocation found{std::move(allocation), state.max_load(), state.peak_hbm()};
  if (!state.all_good() || (best_ && !is_better(found, *best_))) return std::nullopt;
  return found;
}

// The best one of the plan that the proof found below its target and of suggestions in which every
// table has a place. Precondition: there is a proof.
std::optional<RatedAllocation> BestSearch::found_by_proof(
    const std::vector<SuggestedStart>& suggestions) {
  std::optional<RatedAllocation> best;
  const auto consider = [&](std::optional<RatedAllocation> found) {
    if (found && (!best || is_better(*found, *best))) best = std::move(found);
  };
  if (const std::optional<Plan> plan = proof_.prover()->take_found()) {
    if (std::optional<Allocation> allocation = to_allocation(context_.model(), *plan))
      consider(rated(*std::move(allocation)));
  }
  for (const SuggestedStart& suggestion : suggestions) {
    if (suggestion.num_unplaced(context_.model()) == 0) consider(rated(suggestion.start));
  }
  return best;
}

// In process 0.
ProofReport BestSearch::report_of_proof(const Budget& budget) {
  ProofReport proof;
  if (proof_.prover() == nullptr) return proof;
  if (best_) proof_.prover()->end_round();
  if (certifies_ && search_proof_ && best_) certify_search(budget);
  proof.is_certified = by_search_.has_value();
  proof.bound = by_search_ ? by_search_->bound : proof_.prover()->bound();
  proof.is_finished = proof_.prover()->finished();
  proof.suggestions = proof_.prover()->take_suggestions();
  proof.found = found_by_proof(proof.suggestions);
  return proof;
}

RoundReport BestSearch::report_of_round(const Budget& budget) {
  RoundReport report;
  report.found = best_of_own_lanes();
  report.lane_work = lane_work_;
  report.stopped = budget.interrupted();
  report.neighbourhoods = lanes_.report(!solved_);
  proof_.report(report);
  return report;
}

// The report of all processes. If one has left, the search ends with what this one found.
RoundReport BestSearch::join_reports(RoundReport own, const Allocation* known) {
  if (is_alone()) return own;
  const auto messages = group_->all_gather(to_message(own, known, proof_.tree_model()));
  for (std::size_t process = 0; messages && process < messages->size(); ++process) {
    if (process == group_->process()) continue;
    std::optional<RoundReport> other =
        report_of(context_.model(), (*messages)[process], known, proof_.tree_model());
    if (!other || other->lane_work.size() != lane_work_.size()) {
      group_->leave();
      break;
    }
    add_report(*std::move(other), own);
  }
  if (is_alone() && !own.stopped) own.stopped = StopReason::kCancelled;
  return own;
}

// Tells the others, or hears from process 0. Returns false if a process has left.
bool BestSearch::exchange_verdict(Verdict& verdict, const Allocation* known) {
  if (is_alone() || !proves_) return true;
  const bool speaks = group_->process() == 0;
  const auto messages = group_->all_gather(speaks ? to_message(verdict, known, proof_.tree_model())
                                                  : std::string(1, kListens));
  if (!messages) return false;
  if (speaks) return true;
  auto heard = verdict_of(context_.model(), messages->front(), known, proof_.tree_model());
  if (!heard) {
    group_->leave();
    return false;
  }
  verdict = *std::move(heard);
  return true;
}

// Returns what is better than the best plan; null if there is nothing.
const RatedAllocation* BestSearch::take_in_merging(const RoundReport& round) {
  const auto first = round.lane_work.begin();
  const auto first_own = first + static_cast<std::ptrdiff_t>(first_lane_);
  const RatedAllocation* const found = round.found.rated;
  merging_.take_in(found, std::accumulate(first_own, round.lane_work.end(), std::uint64_t{0}),
                   std::accumulate(first, round.lane_work.end(), std::uint64_t{0}), copies_);
  return found != nullptr && is_better(*found, *best_) ? found : nullptr;
}

// Takes in what all processes found and what the proof says.
void BestSearch::take_in(const ProofReport& proof, const RoundReport& round, Budget& budget) {
  const double bound_before = bound_;
  bound_ = std::max(bound_, proof.bound);
  proof_finished_ = proof.is_finished;
  certified_ = proof.is_certified;
  solving_ = round.neighbourhoods && round.neighbourhoods->is_solving;
  const bool is_solved = round.neighbourhoods && round.neighbourhoods->is_solved;
  certifies_ = proves_ && is_solved && !solved_;
  solved_ = is_solved;
  const RatedAllocation* found = merges_ ? take_in_merging(round) : round.found.rated;
  if (proof.found && (found == nullptr || is_better(*proof.found, *found))) found = &*proof.found;
  if (found != nullptr) {
    publish(*found);
    best_since_ = budget.work_done();
  }
  if (bound_ > bound_before) bound_since_ = budget.work_done();
  if (best_ && (found != nullptr || bound_ > bound_before))
    steps_.push_back({budget.work_done(), best_->rating, bound_});
  const LaneParameters& lanes = parameters_.lanes;
  is_improving_ = best_ && recent_fall(budget.work_done(), lanes.last_parts) >
                               lanes.last_progress * (best_->rating - bound_);
  if (found != nullptr) lanes_.offer(*best_);
  merges_ = best_ && !solved_ && merging_.is_due(budget.work_done());
  suggest_to_lane(proof.suggestions);
}

// What is left of the work is for all lanes of the last rounds. A round as long as the first one is
// not shortened.
void BestSearch::shorten_round(const Budget& budget) {
  const LaneParameters& lanes = parameters_.lanes;
  const std::uint64_t left = budget.most_work_left().value_or(~std::uint64_t{0});
  const std::uint64_t most = left / (lanes.searching() + proof_.share());
  round_work_ = std::min(round_work_, std::max(most, lanes.first_round_work));
}

bool BestSearch::synchronize(std::size_t, Budget& budget) {
  const std::uint64_t round_work = work_of_round();
  round_work_ = std::min(2 * round_work_, parameters_.lanes.most_round_work);
  lanes_.forget_starts();  // every lane has them
  const std::optional<Allocation> known =
      known_ && !is_alone() ? to_allocation(context_.model(), *known_) : std::nullopt;
  const Allocation* const base = known ? &*known : nullptr;
  RoundReport round = join_reports(report_of_round(budget), base);
  if (round.neighbourhoods && round.neighbourhoods->proof)
    search_proof_ = std::move(round.neighbourhoods->proof);
  if (certifies_ && search_proof_ && best_)
    round.lane_work.back() += parameters_.lanes.search_check_work;
  for (const std::uint64_t work : round.lane_work)
    budget.spend(work);
  span_ += *std::max_element(round.lane_work.begin(), round.lane_work.end());
  count_by_process(round.lane_work);
  proof_.take_in(round, round_work);
  Verdict verdict;
  const bool decides = proof_.own_process() == 0;
  if (decides) {
    verdict.proof = report_of_proof(budget);
    take_in(verdict.proof, round, budget);
    if (best_ && !round.stopped && !is_done())
      verdict.next = proof_.next_order(aim(), proof_share(budget.work_done()), work_of_round());
  }
  const bool heard = exchange_verdict(verdict, base);
  if (!decides) take_in(verdict.proof, round, budget);
  proof_.follow(std::move(verdict.next));
  if (is_done()) return false;
  shorten_round(budget);
  stopped_by_ = round.stopped;
  if (!heard && !stopped_by_) stopped_by_ = StopReason::kCancelled;
  return !stopped_by_;
}

}  // namespace shardwright::embedding
