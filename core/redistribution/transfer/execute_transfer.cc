#include "core/redistribution/transfer/execute_transfer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardwright::redistribution {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The part of a tensor that a rank holds.
struct Shard {
  Box box;
  std::int64_t item_bytes = 1;
  Bytes bytes;
};

using Shards = std::map<std::pair<Rank, std::uint32_t>, Shard>;  // by rank and tensor

// Calls `function` with the indices of each element of the box, in row-major order.
template <class Function>
void for_each_element(const Box& box, const Function& function) {
  if (num_elements(box) == 0) return;
  Shape at;
  for (const Interval& interval : box)
    at.push_back(interval.begin);
  for (;;) {
    function(at);
    std::size_t dim = box.size();
    while (dim > 0 && ++at[dim - 1] == box[dim - 1].end) {
      at[dim - 1] = box[dim - 1].begin;
      --dim;
    }
    if (dim == 0) return;
  }
}

std::int64_t row_major(const Box& box, const Shape& at) {
  std::int64_t index = 0;
  for (std::size_t dim = 0; dim < box.size(); ++dim)
    index = index * box[dim].size() + at[dim] - box[dim].begin;
  return index;
}

// Returns byte number `index` of a tensor. Source: the finaliser of SplitMix64.
std::uint8_t truth(std::uint32_t tensor, std::int64_t index) {
  std::uint64_t x = (std::uint64_t{tensor} << 40) + static_cast<std::uint64_t>(index) + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint8_t>(x ^ (x >> 31));
}

// Calls `function` with each byte of the shard and its correct value.
template <class Function>
void with_truth(const Shape& shape, std::uint32_t tensor, Shard& shard, const Function& function) {
  const Box all = whole(shape);
  std::size_t place = 0;
  for_each_element(shard.box, [&](const Shape& at) {
    const std::int64_t first = row_major(all, at) * shard.item_bytes;
    for (std::int64_t i = 0; i < shard.item_bytes; ++i)
      function(shard.bytes[place++], truth(tensor, first + i));
  });
}

// Returns the source shards or the target shards. All bytes of target shards are wrong at first.
Shards shards_of(const TransferProblem& problem, bool target) {
  Shards shards;
  for (const TensorGroup& group : problem.groups()) {
    const TensorLayout& layout = target ? group.target : group.source;
    const std::vector<Rank>& ranks = problem.meshes()[layout.mesh].ranks;
    for (std::size_t device = 0; device < ranks.size(); ++device) {
      Shard shard{problem.box(group.shape, layout, device), group.item_bytes, {}};
      shard.bytes.resize(static_cast<std::size_t>(num_elements(shard.box) * group.item_bytes));
      for (const std::uint32_t tensor : group.tensors) {
        with_truth(group.shape, tensor, shard, [&](std::uint8_t& byte, std::uint8_t right) {
          byte = target ? static_cast<std::uint8_t>(~right) : right;
        });
        shards[{ranks[device], tensor}] = shard;
      }
    }
  }
  return shards;
}

// Calls `function` with each byte of the rank's shards that the transfer's stream contains, in
// order. Bytes that are passed on are in `wanted`, all others in `held`.
template <class Function>
void for_each_byte(const TransferProblem& problem, const Transfer& transfer, Rank rank,
                   Shards& held, Shards& wanted, const Function& function) {
  std::int64_t left = transfer.bytes - transfer.passed_on;
  for (const TransferPiece& piece : transfer.pieces) {
    const TensorGroup& group = problem.groups()[piece.group];
    Shards& shards = left > 0 ? held : wanted;
    left -= num_elements(piece.box) * piece.count * group.item_bytes;
    for (std::uint32_t i = 0; i < piece.count; ++i) {
      Shard& shard = shards.at({rank, group.tensors[piece.first + i]});
      for_each_element(piece.box, [&](const Shape& at) {
        const std::int64_t first = row_major(shard.box, at) * shard.item_bytes;
        for (std::int64_t byte = 0; byte < shard.item_bytes; ++byte)
          function(shard.bytes[static_cast<std::size_t>(first + byte)]);
      });
    }
  }
}

// Returns the stream with the bytes that the sender has now.
Bytes gather(const TransferProblem& problem, const Transfer& transfer, Shards& sources,
             Shards& targets) {
  Bytes stream;
  for_each_byte(problem, transfer, transfer.from, sources, targets,
                [&](std::uint8_t byte) { stream.push_back(byte); });
  return stream;
}

void scatter(const TransferProblem& problem, const Transfer& transfer, const Bytes& received,
             Shards& targets) {
  std::size_t next = 0;
  for_each_byte(problem, transfer, transfer.to, targets, targets, [&](std::uint8_t& byte) {
    if (next < received.size()) byte = received[next++];
  });
}

// Sends the runs of one round. Ranks pass on only bytes that they had before the round.
void send_round(const TransferProblem& problem, const TransferPlan& plan, std::int64_t round,
                Shards& sources, Shards& targets, std::vector<Bytes>& received) {
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    for (const MessageRun& run : plan.transfers[i].runs) {
      if (run.round != round) continue;
      running.push_back(i);
      const Bytes sent = gather(problem, plan.transfers[i], sources, targets);
      const std::size_t begin = received[i].size();
      const std::size_t end = std::min(sent.size(), begin + static_cast<std::size_t>(run.bytes));
      received[i].insert(received[i].end(), sent.begin() + static_cast<std::ptrdiff_t>(begin),
                         sent.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  for (const std::size_t i : running)
    scatter(problem, plan.transfers[i], received[i], targets);
}

Status compare(const TransferProblem& problem, Shards& targets) {
  for (auto& [key, shard] : targets) {
    const TransferTensor& tensor = problem.tensors()[key.second];
    bool right = true;
    with_truth(tensor.shape, key.second, shard,
               [&](std::uint8_t byte, std::uint8_t wanted) { right = right && byte == wanted; });
    if (right) continue;
    return Error{
        ErrorCode::kVerificationFailed,
        "rank " + std::to_string(key.first) + " has a wrong byte of " + quoted(tensor.name), ""};
  }
  return {};
}

}  // namespace

Status execute_transfer(const TransferProblem& problem, const TransferPlan& plan) {
  Shards sources = shards_of(problem, false);
  Shards targets = shards_of(problem, true);
  std::vector<Bytes> received(plan.transfers.size());
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.from == transfer.to)
      scatter(problem, transfer, gather(problem, transfer, sources, targets), targets);
  }
  for (std::int64_t round = 0; round < plan.rounds; ++round)
    send_round(problem, plan, round, sources, targets, received);
  return compare(problem, targets);
}

}  // namespace shardwright::redistribution
