// How a round of annealing begins if not from the best allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/incumbent/incumbent.h"
#include "search/embedding/best/local/construct.h"
#include "search/embedding/best/moves/annealer.h"
#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/embedding/model/context/priced_choices.h"
#include "search/embedding/model/context/search_context.h"
#include "search/embedding/model/suggested_start.h"

namespace shardwright::embedding {

// The cheapest choices at `price_factor` times the prices of memory that make them just fit.
// Choices on all ranks take load and memory from every rank, and every shard of another table must
// still find a rank beside them, so tables are chosen again until both agree. Returns nothing if
// they do not agree in the end, or if the choices carry more load than all ranks have below the
// target: such an allocation is then unlikely. Time: O(choices) for about a hundred prices, a few
// times over. Returns nothing if the budget (may be null) is interrupted.
std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const ConstructParameters& parameters = {},
                                                        const Budget* budget = nullptr);

// Four ways to a new allocation: the first one of the lane, new choices if memory is scarce,
// choices for a target far below the best rating, and nearer to the bound choices drawn at random.
// Thread safety: one thread at a time. Refers to everything that it is given.
class Restarts {
 public:
  Restarts(AllocationState& state, Annealer& annealer, const Incumbent& incumbent,
           const AnnealingParameters& parameters)
      : state_(&state), annealer_(&annealer), incumbent_(&incumbent), parameters_(&parameters) {}

  // Constructs several allocations, at different limits of shard size and prices of memory, and
  // leaves the best in the state: the one with the least energy on its worst rank. Returns false if
  // the budget was interrupted before there was one; the state is then empty.
  bool construct_first(double bound, std::uint64_t round, const Budget& budget);

  // Returns true if the round starts with new choices that leave memory free, unless others are
  // suggested.
  bool begins_anew(double bound, std::uint64_t round) const;
  // Sets the goal of such a round, near the bound. Returns the rating that choices are considered
  // for.
  double aim_anew(double bound);

  // The next round starts from there.
  void suggest(SuggestedStart suggested) { suggested_ = std::move(suggested); }
  bool has_suggestion() const { return suggested_.has_value(); }

  // Returns true if the round starts with choices for a low target: suggested ones, or others,
  // which depends on the lane and the round.
  bool begins_below(double bound, std::uint32_t lane, std::uint64_t round);
  // Leaves an allocation for such a target in the state and returns the target: the suggested one,
  // the least one with choices the first time, later a random one. Near the bound the choices are
  // drawn at random. If none of the targets tried has choices, or if the budget is
  // interrupted, it changes nothing and returns 0.
  double construct_below(double bound, const Budget& budget);

 private:
  struct Start;
  struct Evenness;

  Evenness evenness_of(const Allocation& made) const;
  std::optional<Evenness> attempt(Start& start, double limit, const ChoiceCost& cost,
                                  StopCheck& stopped);
  void remove_last_single(Start& start, ChoiceCost cost, StopCheck& stopped);

  // The best rating as a multiple of the bound, or of a rating that no choices were found for.
  double above_bound(double bound) const;
  std::vector<std::uint32_t> draw_choices(double limit, const MemoryPrices& prices, double bound,
                                          const Budget& budget);
  double place(Allocation start, double target, StopCheck& stopped);

  AllocationState* state_;
  Annealer* annealer_;
  const Incumbent* incumbent_;
  const AnnealingParameters* parameters_;
  double unlikely_ = 0;  // a rating that no choices were found for
  std::optional<SuggestedStart> suggested_;
};

}  // namespace shardwright::embedding
