#include "search/embedding/compat/embedding_search.h"

#include <algorithm>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

// A plan must rate below this. Source: MAX_SIZE, torchrec/distributed/planner/constants.py.
constexpr double kWorstRating = 9223372036854775807.0;

}  // namespace

EmbeddingSearch::EmbeddingSearch(OptionPool& pool, const Topology& available, unsigned workers,
                                 bool trace, SearchParts parts, const ProposalWork& work)
    : pool_(&pool),
      available_(available),
      parts_(std::move(parts)),
      source_(pool, available_, parts_, work),
      keep_trace_(trace),
      work_(work),
      needs_ratings_(trace || source_.uses_ratings()),
      evaluators_(workers + 1),
      batches_{CandidateBatch(pool), CandidateBatch(pool), CandidateBatch(pool),
               CandidateBatch(pool)} {
  best_.rating = kWorstRating;
}

std::size_t EmbeddingSearch::propose(std::size_t slot, const Budget& budget) {
  CandidateBatch& batch = batches_[slot];
  if (!source_.propose(batch, budget)) return 0;
  batch.rating_to_beat = best_.rating;
  batch.clear_best();
  if (keep_trace_) batch.ranks_sha1.assign(batch.candidates.size(), std::string());
  return batch.candidates.size();
}

// The thread that first uses an evaluator makes it, so that workers share no cache lines.
ProposalEvaluator& EmbeddingSearch::evaluator(std::size_t worker) {
  auto& evaluator = evaluators_[worker];
  if (!evaluator) evaluator = std::make_unique<ProposalEvaluator>(*pool_, available_, parts_);
  return *evaluator;
}

void EmbeddingSearch::evaluate(std::size_t slot, unsigned worker, std::size_t begin,
                               std::size_t end, const Budget& budget) {
  if (budget.interrupted()) return;
  CandidateBatch& batch = batches_[slot];
  const auto wanted = [&](std::size_t i) {
    return batch.candidates[i].is_new && !budget.interrupted();
  };
  evaluator(worker).evaluate(batch, begin, end, needs_ratings_, budget, wanted,
                             [&](const ProposalLane& lane, const ProposalOutcome& outcome) {
                               const std::size_t i = lane.taken();
                               batch.candidates[i].outcome = outcome;
                               batch.candidates[i].done = true;
                               if (keep_trace_ && outcome.feasible)
                                 batch.ranks_sha1[i] = lane.ranks_sha1();
                             });
}

bool EmbeddingSearch::synchronize(std::size_t slot, Budget& budget) {
  CandidateBatch& batch = batches_[slot];
  if (!has_gap_) {
    const std::size_t taken_in = take_in(batch, budget);
    if (taken_in < batch.candidates.size()) source_.withdraw(batch, taken_in);
  }
  source_.retire(batch);
  return true;
}

// Takes in candidates in order and returns their number. Ends after the candidate at which the
// proposer stops and, if every outcome is needed, before the first candidate without an outcome.
std::size_t EmbeddingSearch::take_in(CandidateBatch& batch, Budget& budget) {
  best_.index = BestCandidate::kNone;
  lowest_failed_.index = BestCandidate::kNone;
  bool go_on = true;
  std::size_t i = 0;
  for (; i < batch.candidates.size() && go_on; ++i) {
    const CandidateBatch::Candidate& candidate = batch.candidates[i];
    if (candidate.is_new && candidate.done) count(batch, i, budget);
    const ProposalOutcome* const outcome = source_.cache().outcome(candidate.entry);
    if (outcome == nullptr) {
      // The search was interrupted before this candidate was evaluated. Later candidates that were
      // evaluated still count, unless a trace or a proposer needs every outcome.
      has_gap_ = needs_ratings_;
      if (has_gap_) break;
      continue;
    }
    if (keep_trace_) add_to_trace(batch, i, *outcome);
    go_on = source_.feedback(batch, i, *outcome);
  }
  if (best_.index != BestCandidate::kNone) keep_best(batch);
  if (lowest_failed_.index != BestCandidate::kNone)
    batch.proposals.expand(lowest_failed_.index, lowest_failed_.options);
  return i;
}

// Counts an evaluated candidate, and stores its outcome for proposals with the same options.
void EmbeddingSearch::count(const CandidateBatch& batch, std::size_t index, Budget& budget) {
  const CandidateBatch::Candidate& candidate = batch.candidates[index];
  const ProposalBatch::Step& step = batch.proposals.step(index);
  budget.spend(step.work(work_));
  ++num_proposals_;
  source_.cache().set_outcome(candidate.entry, candidate.outcome);
  if (candidate.outcome.feasible) {
    ++num_plans_;
    if (candidate.outcome.rating >= best_.rating) return;
    best_.rating = candidate.outcome.rating;
    best_.index = index;
  } else {
    if (lowest_failed_.storage && !(step.storage < *lowest_failed_.storage)) return;
    lowest_failed_.storage = step.storage;
    lowest_failed_.index = index;
  }
}

// Takes the best candidate as the workers saved it. If they saved a candidate that was not taken
// in, places the best candidate again.
void EmbeddingSearch::keep_best(CandidateBatch& batch) {
  if (batch.best().index == best_.index) {
    std::swap(best_, batch.best());
  } else {
    best_ = evaluator(evaluators_.size() - 1).evaluate_one(batch, best_.index);
  }
  publish(best_.options, best_.ranks);
}

// Makes the proposal the best plan: copies the assignments that differ from the best plan so far.
void EmbeddingSearch::publish(std::span<const OptionId> options, std::span<const Rank> ranks) {
  const auto ranks_of = [&](std::size_t i) {
    const OptionRow& row = pool_->row(options[i]);
    const bool stored = row.partition_by != PartitionBy::kUniform;
    return ranks.subspan(stored ? row.rank_slot : 0, stored ? row.num_shards : 0);
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

void EmbeddingSearch::add_to_trace(CandidateBatch& batch, std::size_t index,
                                   const ProposalOutcome& outcome) {
  const ProposalBatch::Step& step = batch.proposals.step(index);
  const auto changes = batch.proposals.changes(step);
  ProposalRecord record;
  record.proposer = batch.proposer;
  record.full = step.full;
  record.changes.assign(changes.begin(), changes.end());
  record.cached = !batch.candidates[index].is_new;
  record.feasible = outcome.feasible;
  if (outcome.feasible) record.rating = outcome.rating;
  if (!record.cached) record.ranks_sha1 = std::move(batch.ranks_sha1[index]);
  trace_.push_back(std::move(record));
}

}  // namespace shardwright::embedding
