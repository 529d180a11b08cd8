#include "search/embedding/best/processes/lane_dealing.h"

#include <algorithm>

namespace shardwright::embedding {

LaneDealing::LaneDealing(std::uint32_t processes, std::size_t first, std::size_t lanes,
                         std::size_t proof_weight)
    : processes_(processes), first_(first), lanes_(lanes) {
  const std::size_t fair = (lanes + proof_weight) / processes;
  in_first_process_ = fair - std::min(fair, proof_weight);
}

std::uint32_t LaneDealing::process_of(std::size_t lane) const {
  const std::size_t number = lane - first_;
  if (processes_ == 1 || number < in_first_process_) return 0;
  return static_cast<std::uint32_t>(1 + (number - in_first_process_) % (processes_ - 1));
}

std::vector<std::uint32_t> LaneDealing::deal_tree(double weight,
                                                  std::span<const std::uint64_t> done,
                                                  std::uint64_t catch_up) const {
  std::vector<double> load;
  for (const std::uint64_t work : done)
    load.push_back(static_cast<double>(work) / static_cast<double>(catch_up));
  for (std::size_t lane = first_; lane < first_ + lanes_; ++lane)
    load[process_of(lane)] += 1;
  std::vector<std::uint32_t> dealt;
  for (std::size_t lane = 0; lane < first_; ++lane) {
    const auto least = std::min_element(load.begin(), load.end());
    dealt.push_back(lane == 0 ? 0 : static_cast<std::uint32_t>(least - load.begin()));
    load[dealt.back()] += weight / static_cast<double>(first_);
  }
  return dealt;
}

}  // namespace shardwright::embedding
