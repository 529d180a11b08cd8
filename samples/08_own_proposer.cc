// How do I make the planner try combinations of my own?
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/embedding/planner.h"
#include "search/embedding/compat/proposal_lane.h"

using namespace shardwright;
using embedding::OptionId;
using embedding::OptionPool;

namespace {

// A rule of thumb: tables below a size are replicated, and the others take their fastest option.
// There is one proposal per size.
class ReplicateSmall final : public embedding::Proposer {
 public:
  explicit ReplicateSmall(const OptionPool& pool) : tables_(sorted_by_perf(pool, true)) {}

  std::size_t look_ahead() const override { return std::numeric_limits<std::size_t>::max(); }
  bool needs_feedback() const override { return false; }
  std::uint64_t proposals_at_most() const override { return kSizes.size(); }

  void propose(std::size_t limit, OptionPool& pool, embedding::ProposalBatch& batch) override {
    while (next_ < kSizes.size() && batch.size() < limit) {
      std::vector<OptionId> options;
      for (const OptionPool::TableOptions& table : tables_) {
        options.push_back(choose(table, pool, kSizes[next_]));
      }
      batch.push_full(options);
      ++next_;
    }
  }

 private:
  inline static const std::vector<std::int64_t> kSizes = {0, kMebibyte, 64 * kMebibyte};

  static OptionId choose(const OptionPool::TableOptions& table, const OptionPool& pool,
                         std::int64_t size) {
    const embedding::Table& of = pool.problem().table(table.table);
    if (of.num_embeddings * of.embedding_dim * 4 < size) {
      for (const OptionId id : table.options) {
        if (pool.row(id).sharding_type == embedding::ShardingType::kDataParallel) return id;
      }
    }
    return table.options.front();
  }

  std::vector<OptionPool::TableOptions> tables_;  // each table's options, fastest first
  std::size_t next_ = 0;
};

embedding::Table make_table(const char* name, std::int64_t rows, std::int64_t columns) {
  embedding::Table table;
  table.name = name;
  table.num_embeddings = rows;
  table.embedding_dim = columns;
  return table;
}

}  // namespace

int main() {
  embedding::ProblemSpec spec;
  spec.topology.world_size = 4;
  spec.tables = {make_table("ads", 4'000'000, 128), make_table("pages", 39'000, 64),
                 make_table("words", 2'500, 64)};
  auto checked = embedding::Problem::make(std::move(spec));
  if (!checked.ok()) return 1;
  const auto problem = std::make_shared<const embedding::Problem>(std::move(checked).value());

  auto parts = std::make_shared<embedding::SearchParts>();
  parts->proposers = {[](const OptionPool& pool, const embedding::Topology&) {
                        return std::make_unique<ReplicateSmall>(pool);
                      },
                      // The built-in proposers implement the same interface.
                      [](const OptionPool& pool, const embedding::Topology& available) {
                        return embedding::make_proposer(embedding::ProposerSpec(), pool, available);
                      }};
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.trace = true;
  options.parts = std::move(parts);
  const auto result = plan_embedding(problem, options);
  if (!result.ok() || !result->plan) return 1;
  for (const embedding::ProposalRecord& proposal : result->trace->proposals) {
    if (proposal.proposer == 0 && proposal.rating) {
      std::printf("our proposal: %.3f ms%s\n", *proposal.rating,
                  *proposal.rating == *result->best_rating ? ", the best of all" : "");
    }
  }
  std::printf("best of %llu proposals: %.3f ms\n",
              static_cast<unsigned long long>(result->num_proposals), *result->best_rating);
  return result->evaluation.valid() ? 0 : 1;
}
