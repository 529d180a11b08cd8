// Simulated annealing over choices and ranks whose cost includes what moves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/questions/replan/move_parameters.h"
#include "search/embedding/questions/replan/move_state.h"
#include "search/random.h"

namespace shardwright::embedding {

enum class MovesCount : std::uint8_t {
  kInCost,      // a cost is the largest load plus the moves
  kAmongEqual,  // a cost is the largest load; of equal ones the allocation that moves less is
                // better
};

// An allocation that breaks no rule and fits.
struct CostedAllocation {
  Allocation allocation;
  double cost = 0;
  double moved = 0;  // what its moves cost
};

// A cooling minimises the excess of all loads over a target, plus the moves. If the target is the
// largest load of the best allocation, no allocation has a smaller sum than that one's cost; lower
// targets pull all ranks down.
// Thread safety: one thread at a time. Refers to the context and the costs.
class MoveAnnealer {
 public:
  // `home`: where tables return to, the old plan kept.
  MoveAnnealer(const SearchContext& context, const MoveCosts& costs, const Allocation& home,
               MovesCount moves_count, std::uint64_t seed, const ReplanMoveParameters& parameters);

  // Takes the allocation as the best one if it is feasible and better.
  void offer(const Allocation& allocation);
  // The best feasible allocation so far.
  const std::optional<CostedAllocation>& best() const { return best_; }

  struct Cooling {
    double target = 0;
    double hot = 0;  // temperatures, in units of the rating
    double cold = 0;
    double scale = 1;  // a cost that is large, for what must not be
    std::uint64_t steps = 0;
  };
  // Cools from `start`. Ends early if the budget is interrupted or too small for the work.
  void cool(const Allocation& start, const Cooling& cooling, const Budget& budget);

  std::uint64_t work() const { return parameters_.work_per_update * state_.work(); }

 private:
  struct Pick {
    std::uint32_t table = 0;
    std::uint32_t slot = 0;
  };

  Pick pick();
  Rank draw_busy();
  std::uint32_t draw_choice(std::uint32_t table);
  std::uint32_t draw_breadth();
  Window window_of(const Slot& slot) const;
  void begin_unit(std::uint32_t table);
  double go_home(std::uint32_t table);
  double change_choice(std::uint32_t table);
  double change_unit(std::uint32_t table);
  double shift(std::uint32_t slot);
  double shift_all(std::uint32_t table, Rank from, Rank to);
  double swap(std::uint32_t slot);
  double eject(std::uint32_t slot);
  double try_step();
  bool is_better(double load) const;
  void note_if_better();

  ReplanMoveParameters parameters_;
  const SearchContext* context_;
  const Allocation* home_;
  MovesCount moves_count_;
  RandomGenerator random_;
  MoveState state_;
  std::vector<std::vector<std::uint32_t>> fitting_;  // choices by table
  std::vector<Replacement> members_;
  Rank busiest_ = 0;  // when the best allocation was last compared
  std::optional<CostedAllocation> best_;
};

}  // namespace shardwright::embedding
