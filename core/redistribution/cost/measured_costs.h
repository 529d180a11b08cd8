// Costs of collectives that a user measured.
#pragma once

#include <vector>

#include "core/redistribution/cost/collective_costs.h"

namespace shardwright::redistribution {

struct MeasuredRow {
  double bytes = 0;  // as in CollectiveCosts::microseconds
  double microseconds = 0;
};

// The measured times of one collective along one axis, by ascending size.
struct MeasuredTable {
  std::size_t axis = 0;
  Collective collective = Collective::kAllGather;
  std::vector<MeasuredRow> rows;
};

// Interpolates linearly between measured points. Below the first point, the time is the time of the
// first point, because latency dominates small messages. Above the last point, the line through the
// last two points continues. An axis of one device costs nothing unless it has a table.
// Thread safety: const members may be called from any thread.
class MeasuredCosts final : public CollectiveCosts {
 public:
  // Errors (kInvalidInput; the message names the axis, the collective and the row): those of
  // check_mesh; at `/tables`, an axis that the mesh does not have; no table or two tables of one
  // axis and collective; fewer than two rows; sizes that do not ascend; numbers that are negative
  // or not finite; a last row that takes less time than the row before.
  static Result<MeasuredCosts> make(MeshShape mesh, std::vector<MeasuredTable> tables);

  // O(log rows).
  double microseconds(Collective collective, std::size_t axis, double bytes) const override;

 private:
  MeasuredCosts(MeshShape mesh, std::vector<MeasuredTable> tables);

  std::vector<std::vector<MeasuredRow>> rows_;  // by axis and collective; empty without a table
};

}  // namespace shardwright::redistribution
