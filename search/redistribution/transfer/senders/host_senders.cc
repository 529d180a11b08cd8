#include "search/redistribution/transfer/senders/host_senders.h"

#include <algorithm>
#include <map>

namespace shardwright::redistribution {

HostSenders::HostSenders(const Demands& demands,
                         const std::vector<std::vector<HostShare>>& between) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Stretch>> by_host;
  for (std::size_t i = 0; i < between.size(); ++i) {
    for (const HostShare& share : between[i])
      by_host[{demands.needs[i].holders, share.host}].push_back({i, share.bytes});
  }
  graph_.num_ports = demands.host_of.size();
  graph_.first_arc.push_back(0);
  for (auto& [key, stretches] : by_host) {
    std::int64_t bytes = 0;
    for (const Stretch& stretch : stretches)
      bytes += stretch.bytes;
    for (const std::uint32_t holder : demands.sets[key.first]) {
      if (demands.host_of[holder] == key.second) graph_.arc_port.push_back(holder);
    }
    graph_.demands.push_back(bytes);
    graph_.first_arc.push_back(graph_.arc_port.size());
    stretches_.push_back(std::move(stretches));
  }
}

void HostSenders::assign(const Balance& balance,
                         std::vector<std::vector<SenderShare>>& shares) const {
  for (std::size_t d = 0; d < stretches_.size(); ++d) {
    std::size_t arc = graph_.first_arc[d];
    std::int64_t left = balance.amount[arc];
    for (const Stretch& stretch : stretches_[d]) {
      for (std::int64_t open = stretch.bytes; open > 0;) {
        while (left == 0)
          left = balance.amount[++arc];
        const std::int64_t taken = std::min(open, left);
        shares[stretch.need].push_back({graph_.arc_port[arc], taken});
        open -= taken;
        left -= taken;
      }
    }
  }
}

}  // namespace shardwright::redistribution
