// Hosts ordered by the summed time of their devices; sums are updated only on request.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/compat/placement/device_tree.h"

namespace shardwright::embedding {

// A host, ordered by (summed time, index).
struct HostKey {
  double perf_ms = 0;
  std::uint32_t host = 0;

  friend bool operator<(const HostKey& a, const HostKey& b) {
    return a.perf_ms != b.perf_ms ? a.perf_ms < b.perf_ms : a.host < b.host;
  }
};

// The summed time of every host. Placing on a device marks its host. refresh() sums the devices of
// marked hosts from zero, in TorchRec's order.
// Thread safety: none; one per worker. Allocates in the constructor only.
class HostLoads {
 public:
  explicit HostLoads(std::uint32_t hosts) : tree_(hosts), perf_(hosts, 0.0), known_(hosts + 1, 0) {
    touched_.reserve(hosts);
    reset();
  }

  // All hosts have changed.
  void reset() {
    touched_.clear();
    for (std::uint32_t host = 0; host < perf_.size(); ++host) {
      known_[host] = 0;
      touched_.push_back(host);
    }
  }
  // For ranks on no host, `host` is the number of hosts.
  void touch(std::uint32_t host) {
    if (known_[host] == 0) return;
    known_[host] = 0;
    touched_.push_back(host);
  }

  // Brings all sums up to date; `sum(host)` adds up a host's devices.
  template <class Sum>
  void refresh(const Sum& sum) {
    const bool all = touched_.size() == perf_.size();
    for (const std::uint32_t host : touched_) {
      perf_[host] = sum(host);
      known_[host] = 1;
      if (all) {
        tree_.set(host, perf_[host]);
      } else {
        tree_.update(host, perf_[host]);
      }
    }
    if (all) tree_.rebuild();
    touched_.clear();
  }

  // The functions below require refreshed sums.
  HostKey key(std::uint32_t host) const { return {perf_[host], host}; }
  HostKey first() const { return key(tree_.winner()); }

 private:
  DeviceTree tree_;
  std::vector<double> perf_;
  // One more than there are hosts, for the ranks on none. It is never known, so never touched.
  // 32 bits, although a flag would do: a char may alias anything, so after each store to an array
  // of char the compiler would have to reload all other members.
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace shardwright::embedding
