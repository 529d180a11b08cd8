#include "perf/instr/best_regions.h"

#include <cstdint>
#include <memory>
#include <optional>

#include "perf/support/best_case.h"
#include "search/embedding/best/portfolio_search.h"

namespace shardwright::perf {
namespace {

using embedding::AnnealingLane;
using embedding::PortfolioSearch;
using embedding::SearchContext;

constexpr std::uint64_t kProofWork = 4'000'000;
constexpr std::uint64_t kLaneWork = 1'000'000;
constexpr std::uint64_t kRoundsWork = 1'500'000;

struct LaneCase : BestCase {
  explicit LaneCase(const std::string& name) : BestCase(name), context(choices) {}

  SearchContext context;
};

// Spends kProofWork on a proof of a bound. `rating` is the rating of a known plan, in ms.
std::function<Action()> proving(const char* name, double rating) {
  return [name, rating]() -> Action {
    const auto prepared = std::make_shared<const BestCase>(name);
    return [prepared, rating] {
      embedding::BoundProver prover(prepared->choices);
      Budget budget;
      prover.run(kProofWork, rating, budget);
      keep(prover.bound());
    };
  };
}

Action set_up_search() {
  const auto prepared = std::make_shared<const BestCase>("40");
  return [prepared] { keep(SearchContext(prepared->choices).bound()); };
}

// Runs one lane of local search, which begins with its first allocation of shards to ranks.
std::function<Action()> annealing(const char* name) {
  return [name]() -> Action {
    const auto prepared = std::make_shared<const LaneCase>(name);
    return [prepared] {
      AnnealingLane lane(prepared->context, 1, 0);
      lane.run(kLaneWork, prepared->context.bound(), Budget());
      keep(lane.best());
    };
  };
}

// Runs all lanes, including the exchange of plans between them.
Action run_rounds() {
  const auto prepared = std::make_shared<const BestCase>("36");
  return [prepared] {
    PortfolioSearch search(prepared->choices, 1, true);
    InlineExecutor executor;
    Budget budget(kRoundsWork, {});
    explore(search, executor, budget);
    keep(search.best());
  };
}

}  // namespace

std::vector<Region> best_mode_regions() {
  return {
      {"prove_patterns", "case 09: a lower bound, 4,000,000 units of work", proving("09", 9.2211)},
      {"prove_alike_tables", "612 tables of nine kinds, 128 ranks: the same",
       proving("nvidia_synth_large@128", 14.07)},
      {"best_context", "case 40: 500 tables, 16 ranks: prices of memory and a first bound",
       set_up_search},
      {"anneal", "case 36: 100 tables, 16 ranks, 1,000,000 units of work", annealing("36")},
      {"anneal_many_ranks", "case 42: 1,000 tables, 128 ranks, the same", annealing("42")},
      {"best_rounds", "case 36: all lanes and the proof, 1,500,000 units of work", run_rounds},
  };
}

}  // namespace shardwright::perf
