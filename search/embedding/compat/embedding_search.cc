#include "search/embedding/compat/embedding_search.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

// No plan is better than this. Source: MAX_SIZE, torchrec/distributed/planner/constants.py.
constexpr double kWorstRating = 9223372036854775807.0;

std::vector<std::unique_ptr<Proposer>> make_proposers(const SearchParts& parts,
                                                      const OptionPool& pool,
                                                      const Topology& available) {
  std::vector<std::unique_ptr<Proposer>> proposers;
  for (const SearchParts::MakeProposer& make : parts.proposers) {
    proposers.push_back(make(pool, available));
    SHARDWRIGHT_CHECK(proposers.back() != nullptr);
  }
  if (!proposers.empty()) return proposers;
  for (const ProposerSpec& spec : pool.problem().spec().proposers) {
    proposers.push_back(make_proposer(spec, pool, available, parts.cost_model.get()));
  }
  return proposers;
}

}  // namespace

EmbeddingSearch::EmbeddingSearch(OptionPool& pool, const Topology& available, unsigned workers,
                                 bool trace, SearchParts parts)
    : pool_(&pool),
      available_(available),
      parts_(std::move(parts)),
      proposers_(make_proposers(parts_, pool, available_)),
      keep_trace_(trace),
      needs_ratings_(trace),
      batch_(pool),
      best_rating_(kWorstRating) {
  for (const auto& proposer : proposers_) {
    needs_ratings_ = needs_ratings_ || proposer->uses_ratings();
  }
  evaluators_.resize(workers);
}

std::uint64_t EmbeddingSearch::proposals_at_most() const {
  std::uint64_t sum = 0;
  for (const auto& proposer : proposers_)
    sum += proposer->proposals_at_most();
  return sum;
}

std::size_t EmbeddingSearch::propose(const Budget& budget) {
  while (proposer_ < proposers_.size()) {
    if (first_ == batch_.size()) refill();
    if (take_slice(budget)) return slice_size_;
    batch_.reset();
    first_ = 0;
    ++proposer_;
  }
  return 0;
}

void EmbeddingSearch::refill() {
  const std::uint64_t placements =
      batch_.empty() ? pool_->tables().size() : batch_.step(batch_.size() - 1).num_placements;
  batch_.advance();
  Proposer& proposer = *proposers_[proposer_];
  const std::size_t limit = std::clamp<std::uint64_t>(
      kBatchPlacements / std::max<std::uint64_t>(placements, 1), kMinBatch, kMaxBatch);
  proposer.propose(std::min(proposer.look_ahead(), limit), *pool_, batch_);
  if (!parts_.proposers.empty()) check_batch();
  first_ = 0;
  evaluated_.assign(batch_.size(), Evaluated());
  for (const auto& evaluator : evaluators_) {
    if (evaluator) evaluator->invalidate();
  }
}

// A proposer of the caller may be wrong; the partitioners rely on one option of every table.
void EmbeddingSearch::check_batch() const {
  std::vector<OptionId> options;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    batch_.expand(i, options);
    SHARDWRIGHT_CHECK(options.size() == pool_->tables().size());
    seen.assign(pool_->problem().tables().size(), false);
    for (const OptionId id : options) {
      SHARDWRIGHT_CHECK(id.index() < pool_->size() && !seen[pool_->row(id).table]);
      seen[pool_->row(id).table] = true;
    }
  }
}

// Ends the slice where the work limit ends: a proposal counts its shards, however it turns out.
// Those that turn out to be known cost nothing; the next slice then goes on from here.
bool EmbeddingSearch::take_slice(const Budget& budget) {
  std::uint64_t planned = 0;
  slice_size_ = 0;
  while (first_ + slice_size_ < batch_.size() && budget.work_left(planned)) {
    planned += batch_.step(first_ + slice_size_++).num_shards;
  }
  return slice_size_ > 0;
}

// Made by the thread that uses it first, so that no two workers' scratch shares a cache line.
ProposalEvaluator& EmbeddingSearch::evaluator(unsigned worker) {
  auto& evaluator = evaluators_[worker];
  if (!evaluator) evaluator = std::make_unique<ProposalEvaluator>(*pool_, available_, parts_);
  return *evaluator;
}

void EmbeddingSearch::evaluate(unsigned worker, std::size_t begin, std::size_t end,
                               const Budget& budget) {
  begin += first_;
  end += first_;
  const auto wanted = [&](std::size_t i) {
    return cache_.find(batch_.step(i).key) == nullptr && !budget.interrupted();
  };
  evaluator(worker).evaluate(batch_, begin, end, best_rating_, needs_ratings_, wanted,
                             [this](const ProposalLane& lane, const ProposalOutcome& outcome) {
                               Evaluated& evaluated = evaluated_[lane.taken()];
                               evaluated.outcome = outcome;
                               if (keep_trace_ && outcome.feasible)
                                 evaluated.ranks_sha1 = lane.ranks_sha1();
                               evaluated.done = true;
                             });
}

bool EmbeddingSearch::synchronize(Budget& budget) {
  cache_.reserve(slice_size_);
  std::optional<std::size_t> best;
  std::optional<std::size_t> lowest_failure;
  bool go_on = true;
  for (const std::size_t end = first_ + slice_size_; first_ < end && go_on; ++first_) {
    const std::size_t i = first_;
    const ProposalBatch::Step& step = batch_.step(i);
    const ProposalOutcome* known = cache_.find(step.key);
    if (known == nullptr && !evaluated_[i].done) {  // interrupted here
      // What was found beyond may be the best so far, and then those before were not rated. Only a
      // trace and proposers need proposals without gaps.
      if (needs_ratings_) break;
      continue;
    }
    const bool cached = known != nullptr;
    const ProposalOutcome outcome = cached ? *known : evaluated_[i].outcome;
    if (!cached) {
      budget.spend(step.num_shards);
      ++num_proposals_;
      num_plans_ += outcome.feasible ? 1 : 0;
      if (outcome.feasible && outcome.rating < best_rating_) {
        best_rating_ = outcome.rating;
        best = i;
      }
      if (!outcome.feasible && is_lowest_failure(step)) lowest_failure = i;
      cache_.insert(step.key, outcome);
    }
    if (keep_trace_) add_to_trace(i, cached, outcome);
    go_on = proposers_[proposer_]->feedback({outcome, step.hbm_bytes});
  }
  if (!go_on) first_ = batch_.size();  // withdrawn
  if (best) keep_best(*best);
  if (lowest_failure) batch_.expand(*lowest_failure, lowest_failed_options_);
  return true;
}

// Whether no failed proposal so far asked for less; if so, it becomes the one to beat.
bool EmbeddingSearch::is_lowest_failure(const ProposalBatch::Step& step) {
  const Storage storage{Bytes(step.hbm_bytes), Bytes(step.ddr_bytes)};
  if (lowest_failed_ && !(storage < *lowest_failed_)) return false;
  lowest_failed_ = storage;
  return true;
}

// The worker that found the best proposal has saved its placement, unless a better proposal beyond
// a withdrawn one took its place. The proposal is then placed again.
void EmbeddingSearch::keep_best(std::size_t index) {
  batch_.expand(index, kept_options_);
  const auto owner = std::find_if(evaluators_.begin(), evaluators_.end(),
                                  [&](const auto& each) { return each && each->has_best(index); });
  if (owner != evaluators_.end()) {
    (*owner)->take_best_placement(kept_placement_);
  } else {
    evaluator(0).evaluate_one(batch_, index).save_placement(kept_placement_);
  }
  publish(kept_options_, kept_placement_);
}

// Reads all options and ranks of the proposal and copies the assignments that differ from the best
// plan so far.
void EmbeddingSearch::publish(std::span<const OptionId> options, std::span<const Rank> placement) {
  const auto ranks_of = [&](std::size_t i) {
    const OptionRow& row = pool_->row(options[i]);
    const bool stored = row.partition_by != PartitionBy::kUniform;
    return placement.subspan(stored ? row.rank_slot : 0, stored ? row.num_shards : 0);
  };
  if (!best_plan_ || best_plan_->size() != options.size()) {
    best_plan_ = Plan::generate(pool_->owner(), options.size(), [&](std::size_t i) {
      return Assignment::make(pool_->option(options[i]), ranks_of(i));
    });
    PlanEdit::count_whole(*best_plan_, copies_);
    return;
  }
  PlanEdit edit(*best_plan_);
  for (std::size_t i = 0; i < options.size(); ++i)
    edit.set_if_different(i, pool_->option(options[i]), ranks_of(i));
  best_plan_ = edit.publish(copies_);
}

void EmbeddingSearch::add_to_trace(std::size_t index, bool cached, const ProposalOutcome& outcome) {
  const ProposalBatch::Step& step = batch_.step(index);
  const auto changes = batch_.changes(step);
  TracedProposal traced;
  traced.proposer = static_cast<std::uint32_t>(proposer_);
  traced.full = step.full;
  traced.changes.assign(changes.begin(), changes.end());
  traced.cached = cached;
  traced.outcome = outcome;
  if (!cached) traced.ranks_sha1 = std::move(evaluated_[index].ranks_sha1);
  trace_.push_back(std::move(traced));
}

}  // namespace shardwright::embedding
