#include "search/embedding/compat/proposal_source.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

// Shards to place per batch: 0.1 to 3 ms of work for one thread. Shorter batches spend more time on
// the O(tables) cost of their first proposals. Longer batches would be too few to overlap proposing
// and evaluating in a search of 1,000 proposals.
constexpr std::uint64_t kBatchPlacements = 1 << 18;
// Least number of proposals per batch, and the number in the first batch.
constexpr std::size_t kMinBatch = 64;
// Largest number of proposals per batch, of at least 120 bytes each.
constexpr std::size_t kMaxBatch = 2048;

// Largest number of entries for which the cache reserves memory, of 56 bytes each.
constexpr std::uint64_t kMaxReserved = 1 << 15;

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

ProposalSource::ProposalSource(OptionPool& pool, const Topology& available,
                               const SearchParts& parts, const ProposalWork& work)
    : pool_(&pool),
      work_(work),
      proposers_(make_proposers(parts, pool, available)),
      are_custom_(!parts.proposers.empty()) {
  cache_.reserve(std::min<std::uint64_t>(proposals_at_most(), kMaxReserved));
}

bool ProposalSource::uses_ratings() const {
  return std::any_of(proposers_.begin(), proposers_.end(),
                     [](const auto& proposer) { return proposer->uses_ratings(); });
}

std::uint64_t ProposalSource::proposals_at_most() const {
  std::uint64_t sum = 0;
  for (const auto& proposer : proposers_)
    sum += proposer->proposals_at_most();
  return sum;
}

bool ProposalSource::propose(CandidateBatch& batch, const Budget& budget) {
  if (!budget.work_left(planned_work_) || !fill(batch)) return false;
  admit(batch, budget);
  batch.serial = next_serial_++;
  planned_work_ += batch.planned_work;
  ++on_their_way_;
  return true;
}

// Asks the proposers in turn for the next batch. Returns false if there is no batch now.
bool ProposalSource::fill(CandidateBatch& batch) {
  for (; proposer_ < proposers_.size(); ++proposer_, last_ = nullptr) {
    Proposer& proposer = *proposers_[proposer_];
    if (proposer.needs_feedback() && on_their_way_ > 0) return false;
    const std::size_t limit = batch_limit(proposer);
    if (last_ == nullptr) {
      batch.proposals.reset();
    } else {
      batch.proposals.continue_from(*last_);
    }
    batch.proposals.reserve(std::min<std::uint64_t>(limit, proposer.proposals_at_most()));
    proposer.propose(limit, *pool_, batch.proposals);
    last_ = &batch.proposals;
    if (batch.proposals.empty()) continue;
    if (are_custom_) check(batch.proposals);
    last_placements_ = batch.proposals.step(batch.proposals.size() - 1).num_placements;
    batch.proposer = static_cast<std::uint32_t>(proposer_);
    return true;
  }
  return false;
}

std::size_t ProposalSource::batch_limit(const Proposer& proposer) const {
  if (next_serial_ == 1) return std::min(proposer.look_ahead(), kMinBatch);
  const std::uint64_t placements =
      last_ == nullptr ? pool_->tables().size() : std::max<std::uint64_t>(last_placements_, 1);
  return std::min<std::size_t>(
      proposer.look_ahead(),
      std::clamp<std::uint64_t>(kBatchPlacements / placements, kMinBatch, kMaxBatch));
}

// Checks the proposals of a caller's proposer, because partitioners rely on one option per table.
void ProposalSource::check(const ProposalBatch& proposals) const {
  std::vector<OptionId> options;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    proposals.expand(i, options);
    SHARDWRIGHT_CHECK(options.size() == pool_->tables().size());
    seen.assign(pool_->problem().tables().size(), false);
    for (const OptionId id : options) {
      SHARDWRIGHT_CHECK(id.index() < pool_->size() && !seen[pool_->row(id).table]);
      seen[pool_->row(id).table] = true;
    }
  }
}

// Makes candidates of the proposals, up to the proposal that reaches the work limit. Only new
// proposals count as work.
void ProposalSource::admit(CandidateBatch& batch, const Budget& budget) {
  batch.known_before = cache_.size();
  batch.planned_work = 0;
  batch.candidates.clear();
  const std::size_t size = batch.proposals.size();
  batch.candidates.reserve(size);
  while (batch.candidates.size() < size && budget.work_left(planned_work_ + batch.planned_work)) {
    const ProposalBatch::Step& step = batch.proposals.step(batch.candidates.size());
    const auto [entry, is_new] = cache_.insert(step.key);
    batch.candidates.push_back({entry, is_new, false, {}});
    if (is_new) batch.planned_work += step.work(work_);
  }
}

bool ProposalSource::feedback(const CandidateBatch& batch, std::size_t index,
                              const ProposalOutcome& outcome) {
  Proposer& proposer = *proposers_[batch.proposer];
  return !proposer.needs_feedback() ||
         proposer.feedback({outcome, batch.proposals.step(index).storage.hbm.value()});
}

void ProposalSource::withdraw(const CandidateBatch& batch, std::size_t taken_in) {
  const auto rest = batch.candidates.begin() + static_cast<std::ptrdiff_t>(taken_in);
  const auto kept = std::count_if(batch.candidates.begin(), rest,
                                  [](const auto& candidate) { return candidate.is_new; });
  cache_.truncate(batch.known_before + static_cast<std::size_t>(kept));
}

void ProposalSource::retire(const CandidateBatch& batch) {
  planned_work_ -= batch.planned_work;
  --on_their_way_;
}

}  // namespace shardwright::embedding
