// When tables that are nearly equal are tried as equal ones.
#pragma once

#include <limits>
#include <optional>

#include "search/embedding/best/bound/coarse/coarse_proof.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// One proof for a rating, and another one when the rating has fallen.
// Thread safety: one thread at a time. Refers to the parameters.
class CoarseSchedule {
 public:
  explicit CoarseSchedule(const BoundParameters& parameters) : parameters_(parameters) {}

  bool is_due(double rating, double bound, double goal) const {
    const CoarseParameters& own = parameters_.coarse;
    return proof_ || (rating < rating_ * (1 - own.rating_fall) && bound < goal &&
                      goal - bound < own.most_gap * goal);
  }
  // The one in progress, or a new one. Precondition: it is due. The rows must outlive it.
  CoarseProof& proof(const BoundRows& rows, double rating, double bound, double goal) {
    if (!proof_) {
      rating_ = rating;
      proof_.emplace(rows, bound, goal, parameters_);
    }
    return *proof_;
  }
  void end() { proof_.reset(); }

 private:
  const BoundParameters& parameters_;
  double rating_ = std::numeric_limits<double>::infinity();  // of the last proof
  std::optional<CoarseProof> proof_;
};

}  // namespace shardwright::embedding
