// Branch and bound over all plans of a small model: the optimum, or the proof that there is none.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/whole/whole_model.h"
#include "search/embedding/best/whole/whole_outlook.h"
#include "search/embedding/best/whole/whole_state.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

struct WholeAnswer {
  bool better = false;    // `allocation` is the best one found, and below
  bool complete = false;  // none is better, by more than WholeSearch::kLeastGain
  Allocation allocation;
  std::uint64_t work = 0;
  std::vector<BoundNode> prices;  // that ended branches, if complete: leaves by rank
};

// Depth-first, table by table, the one with the fewest places next, and shard by shard. A branch
// ends if a rule is broken, if a rank is too full, or if the outlook for the remaining tables is
// bad. The last shards go where they add the least.
//
// What the best plan from a state on rates depends on the remaining tables, on what the ranks hold,
// and on the least choices of tables that are interchangeable with decided ones. So a state that
// was tried is not tried again, nor one that differs by interchangeable ranks or hosts.
//
// Symmetry breaking: of ranks that are alike for all that follows, only the first is tried;
// interchangeable shards go to ranks in ascending order; of interchangeable tables, those that are
// decided later take no smaller choice. Each of the first two replaces a way to place one table by
// another one from which an equivalent state follows. Thread safety: one thread at a time. Refers
// to its arguments.
class WholeSearch {
 public:
  static constexpr double kLeastGain = 1e-11;  // relative; less is rounding
  static constexpr std::uint32_t kMostTables = 63;
  static constexpr std::uint32_t kMostRanks = 64;

  // Looks for plans that rate below `below`, in at most about `work` updates of a rank.
  // Precondition: the model has at most kMostTables tables and kMostRanks ranks.
  static WholeAnswer solve(const SearchContext& context, double below, std::uint64_t work,
                           const Budget& budget);

 private:
  using Priced = WholeOutlook::Priced;

  struct Placed {
    std::uint32_t choice = 0;  // of the whole model
    std::vector<Rank> ranks;
  };
  // A table while it is decided.
  struct Level {
    std::size_t table = 0;
    WholeState::Future future;
    Priced later;                    // the least that all later tables cost
    std::vector<Priced> rest;        // the least that pieces from the i-th on cost, and the end;
                                     // of blocks, by first piece
    std::vector<std::uint8_t> open;  // by rank, if the table has groups
    bool is_last = false;
  };
  // Shards of one choice on their way to ranks, or blocks on their way to hosts.
  struct Step {
    std::uint32_t choice = 0;
    std::uint32_t piece = 0;
    std::uint32_t size = 1;  // pieces that are placed at once
    std::uint32_t done = 0;  // shards of the piece, or blocks, that are placed
    Rank first = 0;          // ranks within reach
    Rank end = 0;
  };

  WholeSearch(const WholeModel& model, double below, std::uint64_t work, const Budget& budget);

  bool is_cut();
  void visit(std::uint64_t remaining);
  WholeDigest digest(std::uint64_t remaining);
  std::uint32_t least_choice(std::size_t table) const;
  void visit_table(std::uint64_t remaining, const WholeOutlook::View& view);
  void visit_choice(std::uint32_t index);
  void visit_within(std::uint32_t index, Rank first, Rank end);
  bool can_pay(const Step& step) const;
  bool may_take(std::uint32_t piece, Rank rank) const;
  bool may_take_all(const Step& step, Rank first) const;
  double load_with(const Step& step, Rank first) const;
  bool has_earlier_twin(const Step& step, Rank first) const;
  void visit_shards(const Step& step);
  void place_last(const Step& step);
  void place(const Step& step, Rank first);
  void keep_best();

  const WholeModel* model_;
  WholeState state_;
  double below_;
  WholeOutlook outlook_;
  const Budget* budget_;
  Priced left_{};  // what the ranks that can still take a shard are worth
  WholeSeen seen_;
  std::vector<Level> levels_;
  std::vector<std::size_t> path_;  // tables in the order of decisions
  std::vector<Placed> placed_;     // by table
  std::vector<Placed> best_;
  std::vector<std::pair<double, Rank>> order_;  // of ranks still to try; a stack
  std::vector<WholeRank> before_;               // ranks as they were; a stack
  bool found_ = false;
  bool cut_ = false;
  std::uint64_t updates_ = 0;
  std::uint64_t end_of_work_;
  std::uint64_t next_check_ = 0;
};

}  // namespace shardwright::embedding
