// TorchRec's LuusJaakolaSearch: random probes around the best point, in a shrinking range.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>

namespace shardwright::embedding {

// Minimises a function of one variable over [left, right] in at most `max_iterations` probes. The
// random stream is that of torch.Generator().manual_seed(42) with torch.rand in single precision.
// Source: LuusJaakolaSearch, torchrec/distributed/planner/utils.py.
class LuusJaakolaSearch {
 public:
  LuusJaakolaSearch(double left, double right, int max_iterations, std::optional<double> left_cost);

  // Returns the next probe, or nothing at the end. `cost` is that of the last probe and is ignored
  // in the first call.
  std::optional<double> next(double cost);

  // Tells the search that every point from `right` on costs infinitely much.
  void shrink_right(double right);

 private:
  double clamp(double x) const { return x < left_ ? left_ : x > right_ ? right_ : x; }
  double uniform(double a, double b);

  double left_;
  double right_;
  int iteration_ = -1;
  int max_iterations_;
  std::mt19937 generator_{42};
  double best_ = 0;
  double best_cost_ = 0;
  double probe_ = std::numeric_limits<double>::quiet_NaN();
  bool left_known_;
  bool right_known_ = false;
  double range_;
};

}  // namespace shardwright::embedding
