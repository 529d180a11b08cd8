#include "search/redistribution/transfer/senders/sender_choice.h"

#include <algorithm>
#include <utility>

#include "core/redistribution/transfer/port_loads.h"
#include "search/redistribution/transfer/balance/balance.h"
#include "search/redistribution/transfer/senders/choice_graphs.h"
#include "search/redistribution/transfer/senders/host_senders.h"

namespace shardwright::redistribution {
namespace {

using Kind = TransferPort::Kind;

// How much of each need comes from its own host, and from which other hosts the rest comes.
struct HostShares {
  std::vector<std::vector<SenderShare>> within;  // by need
  std::vector<std::vector<HostShare>> between;   // by need
  double time = 0;                               // of the busiest port that was chosen
  std::vector<TransferBound> bounds;
};

class SenderChooser {
 public:
  SenderChooser(const TransferProblem& problem, const Demands& demands, const Budget& budget,
                std::uint64_t& work)
      : problem_(problem), demands_(demands), budget_(budget), work_(work) {}

  std::optional<SenderChoice> run() {
    const TransferBound receivers = busiest_receiver(problem_, demands_);
    auto chosen = choose_hosts(Within::kAll);
    if (!chosen) return std::nullopt;
    add_bound(receivers, chosen->bounds);
    const double others = std::max(proved(problem_, receivers), time_between_);
    if (demands_.num_hosts > 1 && time_within_ > others) {
      auto evened = choose_hosts(Within::kEven);
      if (!evened) return std::nullopt;
      chosen->bounds.insert(chosen->bounds.end(), evened->bounds.begin(), evened->bounds.end());
      if (evened->time < chosen->time) {
        chosen->within = std::move(evened->within);
        chosen->between = std::move(evened->between);
      }
    }
    if (!add_ranks_of_hosts(*chosen)) return std::nullopt;
    return SenderChoice{std::move(chosen->within), std::move(chosen->bounds)};
  }

 private:
  std::optional<HostShares> choose_hosts(Within mode) {
    HostShares shares;
    shares.within.resize(demands_.needs.size());
    shares.between.resize(demands_.needs.size());
    const ChoiceGraph within = graph_within_hosts(problem_, demands_, mode);
    const auto inside = balance(within.graph, within.weights, budget_, work_);
    if (!inside) return std::nullopt;
    std::vector<std::int64_t> outside;
    for (const Need& need : demands_.needs)
      outside.push_back(need.bytes);
    for_each_amount(within, *inside, [&](std::size_t need, TransferPort port, std::int64_t bytes) {
      if (port.kind != Kind::kSend) return;
      shares.within[need].push_back({static_cast<std::uint32_t>(port.number), bytes});
      outside[need] -= bytes;
    });
    const ChoiceGraph between = graph_between_hosts(problem_, demands_, outside);
    const auto links = balance(between.graph, between.weights, budget_, work_);
    if (!links) return std::nullopt;
    for_each_amount(between, *links, [&](std::size_t need, TransferPort port, std::int64_t bytes) {
      shares.between[need].push_back({static_cast<std::uint32_t>(port.number), bytes});
    });
    const TransferBound incoming = busiest_host_in(problem_, demands_, outside);
    time_within_ = inside->level;
    time_between_ = std::max(links->level, proved(problem_, incoming));
    shares.time = std::max(time_within_, time_between_);
    if (mode == Within::kAll) add_bound(incoming, shares.bounds);
    if (mode == Within::kAll) add_bound(bound_of(between, *links), shares.bounds);
    // Of senders alone a bound holds only if no other host could send instead.
    if (mode == Within::kEven || demands_.num_hosts == 1)
      add_bound(bound_of(within, *inside), shares.bounds);
    return shares;
  }

  TransferBound bound_of(const ChoiceGraph& choice, const Balance& balance) const {
    return redistribution::bound_of(problem_, demands_, choice, balance.busiest_ports);
  }
  static void add_bound(TransferBound bound, std::vector<TransferBound>& bounds) {
    if (bound.bytes > 0) bounds.push_back(std::move(bound));
  }

  // Divides what a host sends to others among its ranks, and adds these shares.
  bool add_ranks_of_hosts(HostShares& shares) {
    const HostSenders senders(demands_, shares.between);
    const std::vector<double> equal(senders.graph().num_ports, 1);
    const auto ranks = balance(senders.graph(), equal, budget_, work_);
    if (!ranks) return false;
    senders.assign(*ranks, shares.within);
    return true;
  }

  const TransferProblem& problem_;
  const Demands& demands_;
  const Budget& budget_;
  std::uint64_t& work_;
  double time_within_ = 0;   // of the last choice
  double time_between_ = 0;  // of the last choice
};

}  // namespace

std::optional<SenderChoice> choose_senders(const TransferProblem& problem, const Demands& demands,
                                           const Budget& budget, std::uint64_t& work) {
  return SenderChooser(problem, demands, budget, work).run();
}

}  // namespace shardwright::redistribution
