// Random transfers: every plan moves the right bytes, and no choice of senders has a lower bound.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "core/redistribution/transfer/check_transfer.h"
#include "core/redistribution/transfer/execute_transfer.h"
#include "core/redistribution/transfer/port_loads.h"
#include "search/redistribution/transfer/plan_transfer.h"
#include "tests/support/random.h"
#include "tests/support/redistribution/random_transfer.h"

namespace shardwright::transfer_property_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using test_support::Random;
using test_support::random_transfer;
using Kind = TransferPort::Kind;

namespace {

TransferPlan planned(const TransferProblem& problem, const TransferLimits& limits) {
  auto result = plan_transfer(problem, limits);
  REQUIRE(result.ok());
  const Status status = check_transfer(problem, result->plan);
  CHECK_MESSAGE(status.ok(), status.error().to_string());
  return std::move(result).value().plan;
}

TransferLimits random_limits(Random& random) {
  const auto message = static_cast<std::int64_t>(1 + random.below(40));
  return {message, message + static_cast<std::int64_t>(random.below(40))};
}

bool contains(const Box& box, const std::vector<std::int64_t>& at) {
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    if (at[dim] < box[dim].begin || at[dim] >= box[dim].end) return false;
  }
  return true;
}

// Bytes of one copy of the elements that receivers lack, by the set of holders and the set of
// receivers. Bit i of a set is rank i.
using Wanted = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

void add_element(const TransferProblem& problem, const TensorGroup& group,
                 const std::vector<std::int64_t>& at, Wanted& wanted) {
  std::uint32_t holders = 0;
  const std::vector<Rank>& sources = problem.meshes()[group.source.mesh].ranks;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (contains(problem.box(group.shape, group.source, i), at)) holders |= 1U << sources[i];
  }
  const std::vector<Rank>& targets = problem.meshes()[group.target.mesh].ranks;
  std::uint32_t receivers = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (contains(problem.box(group.shape, group.target, i), at)) receivers |= 1U << targets[i];
  }
  receivers &= ~holders;
  if (receivers != 0) {
    wanted[{holders, receivers}] +=
        group.item_bytes * static_cast<std::int64_t>(group.tensors.size());
  }
}

Wanted wanted_of(const TransferProblem& problem) {
  Wanted wanted;
  for (const TensorGroup& group : problem.groups()) {
    std::vector<std::int64_t> at(group.shape.size(), 0);
    for (std::int64_t n = num_elements(group.shape); n > 0; --n) {
      add_element(problem, group, at, wanted);
      for (std::size_t dim = at.size(); dim-- > 0 && ++at[dim] == group.shape[dim];)
        at[dim] = 0;
    }
  }
  return wanted;
}

// Returns the best bound of a receiver or a set of senders. Receivers may pass elements on, but the
// first copy must come from a holder.
double best_bound(const Wanted& wanted, std::size_t ranks) {
  std::vector<std::int64_t> received(ranks, 0);
  for (const auto& [key, bytes] : wanted) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      received[rank] += (key.second >> rank & 1U) != 0 ? bytes : 0;
  }
  double best = 0;
  for (const std::int64_t bytes : received)
    best = std::max(best, static_cast<double>(bytes));
  for (std::uint32_t set = 1; set < 1U << ranks; ++set) {
    std::int64_t bytes = 0;
    for (const auto& [key, more] : wanted) {
      if ((key.first & ~set) != 0) continue;
      bytes += more * ((key.second & ~set) == 0 ? __builtin_popcount(key.second) : 1);
    }
    best = std::max(best, static_cast<double>(bytes) / __builtin_popcount(set));
  }
  return best;
}

// Returns the best bound of a set of ports.
double best_port_bound(const TransferProblem& problem) {
  std::vector<TransferPort> all;
  std::int64_t last = -1;
  for (const Rank rank : problem.ranks()) {
    all.push_back({Kind::kSend, rank});
    all.push_back({Kind::kReceive, rank});
    const std::int64_t host = problem.host_of(rank);
    if (host != last) all.push_back({Kind::kHostOut, host});
    if (host != last) all.push_back({Kind::kHostIn, host});
    last = host;
  }
  double best = 0;
  for (std::uint32_t set = 1; set < 1U << all.size(); ++set) {
    TransferBound bound;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (set >> i & 1U) bound.ports.push_back(all[i]);
    }
    bound.bytes = passing_bytes(problem, bound.ports);
    best = std::max(best, proved(problem, bound));
  }
  return best;
}

}  // namespace

TEST_CASE("transfer: random plans are right byte by byte, and no set of ranks has a better bound") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3})) {
    CAPTURE(seed);
    Random random(seed);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      const TransferProblem problem = random_transfer(random, {});
      const TransferPlan plan = planned(problem, random_limits(random));
      const Status executed = execute_transfer(problem, plan);
      CHECK_MESSAGE(executed.ok(), executed.error().to_string());
      const Wanted wanted = wanted_of(problem);
      // Loads are whole bytes, so the bound may be up to one byte less.
      const double best = best_bound(wanted, 8);
      CHECK(proved(problem, plan) <= best * (1 + 1e-12));
      CHECK(proved(problem, plan) > best - 1);
    }
  }
}

TEST_CASE("transfer: where tensors can be cut finely, the busiest rank meets the bound") {
  for (const std::uint64_t seed : test_support::seeds({4, 5})) {
    CAPTURE(seed);
    Random random(seed);
    for (int round = 0; round < 300; ++round) {
      CAPTURE(round);
      test_support::TransferSizes sizes;
      sizes.multiple = 997;
      const TransferProblem problem = random_transfer(random, sizes);
      const TransferPlan plan = planned(problem, {});
      const double most = busiest(problem, port_loads(problem, plan));
      // A cut may be off by half of a thousand rows, and one rank may send to all needs.
      CHECK(most <= proved(problem, plan) * 1.01 + 1000);
      CHECK(most >= proved(problem, plan));
    }
  }
}

TEST_CASE("transfer: with hosts, plans are right byte by byte and bounds hold") {
  for (const std::uint64_t seed : test_support::seeds({6, 7})) {
    CAPTURE(seed);
    Random random(seed);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      test_support::TransferSizes sizes;
      sizes.hosts = true;
      const TransferProblem problem = random_transfer(random, sizes);
      const TransferPlan plan = planned(problem, random_limits(random));
      const Status executed = execute_transfer(problem, plan);
      CHECK_MESSAGE(executed.ok(), executed.error().to_string());
      CHECK(busiest(problem, port_loads(problem, plan)) >= proved(problem, plan) * (1 - 1e-12));
    }
  }
}

TEST_CASE("transfer: with hosts, no set of ports proves much more than the plan") {
  for (const std::uint64_t seed : test_support::seeds({8})) {
    CAPTURE(seed);
    Random random(seed);
    double worst = 1;
    for (int round = 0; round < 40; ++round) {
      CAPTURE(round);
      test_support::TransferSizes sizes;
      sizes.ranks = 4;
      sizes.multiple = 997;
      sizes.hosts = true;
      const TransferProblem problem = random_transfer(random, sizes);
      const TransferPlan plan = planned(problem, {});
      const double best = best_port_bound(problem);
      CHECK(proved(problem, plan) <= best * (1 + 1e-12));
      if (best > 1000) worst = std::max(worst, busiest(problem, port_loads(problem, plan)) / best);
    }
    MESSAGE("busiest port over the best bound of any set of ports: ", worst);
    CHECK(worst < 1.01);
  }
}

}  // namespace shardwright::transfer_property_test
