// The lanes of best mode that prove: which of them work in a round, and how much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "search/budget.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Only the first lane works until there is a large tree to share. Without a proof there are no
// lanes.
// Thread safety: run() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the model.
class ProofLanes {
 public:
  // `budget` is only asked whether it was interrupted.
  ProofLanes(const ChoiceModel& model, bool prove, const BestParameters& parameters,
             const Budget& budget);

  // Null without a proof.
  BoundProver* prover() const { return prover_.get(); }
  std::size_t size() const { return num_lanes_; }

  // What the proof of this aim does in the next round, with at most `share` of the work, in lanes
  // that look for plans. `round_work`: of such a lane, in the next round or more.
  void begin_round(double aim, std::uint64_t share, std::uint64_t round_work);
  // The proof does nothing in the next round.
  void rest() { share_ = num_working_ = 0; }
  // What all lanes of the proof may do in this round, in lanes that look for plans.
  std::uint64_t share() const { return share_; }
  // A round of a lane: `round_work` is what a lane has that looks for plans.
  void run(std::size_t lane, std::uint64_t round_work, Budget& budget);
  // Takes note of what the first lane did in a round of so much work.
  void end_round(std::uint64_t first_lane_work, std::uint64_t round_work);

 private:
  std::uint64_t most_alone() const;
  std::uint64_t share_of_tree(std::uint64_t share) const;

  LaneParameters parameters_;
  std::unique_ptr<BoundProver> prover_;
  std::size_t num_lanes_;
  std::uint64_t share_ = 0;        // of all lanes, in this round
  std::size_t num_working_ = 0;    // none, the first one, or all
  std::uint64_t share_alone_ = 0;  // of the lane that works alone, before it makes up
  std::uint64_t ahead_ = 0;        // what that lane did beyond its share
};

}  // namespace shardwright::embedding
