#include "core/redistribution/transfer/check_transfer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json_pointer.h"
#include "core/redistribution/transfer/port_loads.h"

namespace shardwright::redistribution {
namespace {

struct Cut {
  std::size_t dim = 0;
  std::int64_t at = 0;
};

// Returns the median of the boundaries inside `whole`, in the dimension with most of them.
std::optional<Cut> best_cut(const std::vector<Box>& boxes, const Box& whole) {
  std::size_t dim = 0;
  std::vector<std::int64_t> most;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    std::vector<std::int64_t> inside;
    for (const Box& box : boxes) {
      if (box[d].begin > whole[d].begin) inside.push_back(box[d].begin);
      if (box[d].end < whole[d].end) inside.push_back(box[d].end);
    }
    if (inside.size() > most.size()) {
      most = std::move(inside);
      dim = d;
    }
  }
  if (most.empty()) return std::nullopt;
  const auto middle = most.begin() + static_cast<std::ptrdiff_t>(most.size() / 2);
  std::nth_element(most.begin(), middle, most.end());
  return Cut{dim, *middle};
}

bool fill(std::vector<Box> boxes, const Box& whole) {
  const std::optional<Cut> cut = best_cut(boxes, whole);
  // No box ends inside `whole`, so each box equals `whole`.
  if (!cut) return boxes.size() == 1;
  std::vector<Box> after;
  std::vector<Box> before;
  for (Box& box : boxes) {
    if (box[cut->dim].end > cut->at) {
      after.push_back(box);
      after.back()[cut->dim].begin = std::max(box[cut->dim].begin, cut->at);
    }
    if (box[cut->dim].begin < cut->at) {
      box[cut->dim].end = std::min(box[cut->dim].end, cut->at);
      before.push_back(std::move(box));
    }
  }
  Box first = whole;
  Box second = whole;
  first[cut->dim].end = second[cut->dim].begin = cut->at;
  boxes.clear();
  return fill(std::move(before), first) && fill(std::move(after), second);
}

}  // namespace

bool covers_exactly(std::vector<Box> boxes, const Box& whole) {
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(),
                             [](const Box& box) { return num_elements(box) == 0; }),
              boxes.end());
  if (num_elements(whole) == 0) return boxes.empty();
  for (const Box& box : boxes) {
    for (std::size_t dim = 0; dim < whole.size(); ++dim) {
      if (box[dim].begin < whole[dim].begin || box[dim].end > whole[dim].end) return false;
    }
  }
  return fill(std::move(boxes), whole);
}

namespace {

Error wrong(std::string where, std::string message) {
  return Error{ErrorCode::kVerificationFailed, std::move(message), std::move(where)};
}

// The device of each rank of a mesh: its index in RankMesh::ranks.
using Devices = std::unordered_map<Rank, std::size_t>;

std::vector<Devices> devices_of(const TransferProblem& problem) {
  std::vector<Devices> all;
  for (const RankMesh& mesh : problem.meshes()) {
    Devices& devices = all.emplace_back();
    for (std::size_t i = 0; i < mesh.ranks.size(); ++i)
      devices.emplace(mesh.ranks[i], i);
  }
  return all;
}

bool is_within(const Box& inner, const Box& outer) {
  if (inner.size() != outer.size()) return false;
  for (std::size_t dim = 0; dim < inner.size(); ++dim) {
    const bool inside = outer[dim].begin <= inner[dim].begin && inner[dim].end <= outer[dim].end;
    if (!inside || inner[dim].begin >= inner[dim].end) return false;
  }
  return true;
}

Status check_piece(const TransferProblem& problem, const std::vector<Devices>& devices, Rank from,
                   bool passed_on, const TransferPiece& piece, const std::string& place) {
  if (piece.group >= problem.groups().size()) return wrong(place, "there is no such group");
  const TensorGroup& group = problem.groups()[piece.group];
  const std::size_t tensors = group.tensors.size();
  if (piece.count == 0 || piece.first > tensors || piece.count > tensors - piece.first) {
    return wrong(place, "the group does not have these tensors");
  }
  const TensorLayout& layout = passed_on ? group.target : group.source;
  const auto device = devices[layout.mesh].find(from);
  if (device == devices[layout.mesh].end() ||
      !is_within(piece.box, problem.box(group.shape, layout, device->second))) {
    return wrong(place, "rank " + std::to_string(from) + " does not " +
                            (passed_on ? "want" : "hold") + " these elements");
  }
  return {};
}

Status check_pieces(const TransferProblem& problem, const TransferPlan& plan) {
  const std::vector<Devices> devices = devices_of(problem);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    const std::string place = entry_place("transfers", i);
    for (const Rank rank : {transfer.from, transfer.to}) {
      const auto& ranks = problem.ranks();
      if (!std::binary_search(ranks.begin(), ranks.end(), rank))
        return wrong(place, "there is no rank " + std::to_string(rank));
    }
    if (i > 0) {
      const Transfer& before = plan.transfers[i - 1];
      if (std::pair(before.from, before.to) >= std::pair(transfer.from, transfer.to))
        return wrong(place, "transfers are not in the order of their ranks");
    }
    if (transfer.passed_on < 0 || (transfer.passed_on > 0 && transfer.from == transfer.to))
      return wrong(place + "/passed_on", "a rank passes on to others only");
    std::int64_t bytes = 0;
    for (std::size_t j = 0; j < transfer.pieces.size(); ++j) {
      const TransferPiece& piece = transfer.pieces[j];
      const bool passed_on = bytes >= transfer.bytes - transfer.passed_on;
      SHARDWRIGHT_RETURN_IF_ERROR(check_piece(problem, devices, transfer.from, passed_on, piece,
                                              place + "/pieces/" + std::to_string(j)));
      bytes += num_elements(piece.box) * piece.count * problem.groups()[piece.group].item_bytes;
    }
    if (bytes != transfer.bytes || bytes == 0)
      return wrong(place + "/bytes", "the pieces have " + std::to_string(bytes) + " bytes");
  }
  return {};
}

// Bytes by round and rank.
using RoundLoads = std::map<std::pair<std::int64_t, Rank>, std::int64_t>;

Status check_runs(const TransferPlan& plan, const Transfer& transfer, const std::string& place,
                  RoundLoads& sent, RoundLoads& received) {
  std::int64_t left = transfer.from == transfer.to ? 0 : transfer.bytes;
  std::int64_t last = -1;
  for (const MessageRun& run : transfer.runs) {
    if (run.round <= last || run.round >= plan.rounds)
      return wrong(place + "/runs", "rounds do not ascend, or exceed their number");
    last = run.round;
    if (run.bytes < 1 || run.bytes > left)
      return wrong(place + "/runs", "the runs have not as many bytes as the pieces");
    left -= run.bytes;
    sent[{run.round, transfer.from}] += run.bytes;
    received[{run.round, transfer.to}] += run.bytes;
  }
  if (left != 0) return wrong(place + "/runs", "the runs do not carry all bytes");
  return {};
}

Status check_rounds(const TransferPlan& plan) {
  if (plan.message_bytes < 1 || plan.message_bytes > plan.memory_bytes)
    return wrong("/message_bytes", "a message has at least one byte and fits the memory");
  RoundLoads sent;
  RoundLoads received;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_runs(plan, plan.transfers[i], entry_place("transfers", i), sent, received));
  }
  for (const RoundLoads* loads : {&sent, &received}) {
    for (const auto& [key, bytes] : *loads) {
      if (bytes <= plan.memory_bytes) continue;
      return wrong("/memory_bytes", "rank " + std::to_string(key.second) + " needs " +
                                        std::to_string(bytes) + " bytes in round " +
                                        std::to_string(key.first));
    }
  }
  return {};
}

Box with_tensors(std::int64_t first, std::int64_t count, const Box& box) {
  Box all{{first, first + count}};
  all.insert(all.end(), box.begin(), box.end());
  return all;
}

Status check_cover(const TransferProblem& problem, const TransferPlan& plan) {
  std::map<std::pair<std::uint32_t, Rank>, std::vector<Box>> arriving;
  for (const Transfer& transfer : plan.transfers) {
    for (const TransferPiece& piece : transfer.pieces) {
      arriving[{piece.group, transfer.to}].push_back(
          with_tensors(piece.first, piece.count, piece.box));
    }
  }
  for (std::uint32_t g = 0; g < problem.groups().size(); ++g) {
    const TensorGroup& group = problem.groups()[g];
    const auto tensors = static_cast<std::int64_t>(group.tensors.size());
    const std::vector<Rank>& ranks = problem.meshes()[group.target.mesh].ranks;
    for (std::size_t device = 0; device < ranks.size(); ++device) {
      const auto boxes = arriving.find({g, ranks[device]});
      const Box wanted = problem.box(group.shape, group.target, device);
      std::vector<Box> got;
      if (boxes != arriving.end()) {
        got = std::move(boxes->second);
        arriving.erase(boxes);
      }
      if (covers_exactly(std::move(got), with_tensors(0, tensors, wanted))) continue;
      return wrong("/groups/" + std::to_string(g), "rank " + std::to_string(ranks[device]) +
                                                       " does not get each element exactly once");
    }
  }
  if (arriving.empty()) return {};
  return wrong("/groups/" + std::to_string(arriving.begin()->first.first),
               "rank " + std::to_string(arriving.begin()->first.second) +
                   " gets elements of a tensor that it does not want");
}

// Returns the round of byte number `at` of the stream.
std::int64_t round_of(const Transfer& transfer, std::int64_t at) {
  for (const MessageRun& run : transfer.runs) {
    if (at < run.bytes) return run.round;
    at -= run.bytes;
  }
  return -1;  // the rank keeps this byte
}

// Calls function(piece, offset of its first byte, offset after its last byte).
template <class Function>
void for_each_piece(const TransferProblem& problem, const Transfer& transfer,
                    const Function& function) {
  std::int64_t begin = 0;
  for (const TransferPiece& piece : transfer.pieces) {
    const std::int64_t end =
        begin + num_elements(piece.box) * piece.count * problem.groups()[piece.group].item_bytes;
    function(piece, begin, end);
    begin = end;
  }
}

// By group and rank: the round in which each box arrives. Its first dimension counts tensors.
using Arrivals = std::map<std::pair<std::uint32_t, Rank>, std::map<Box, std::int64_t>>;

Arrivals arrivals_of(const TransferProblem& problem, const TransferPlan& plan) {
  Arrivals arrivals;
  for (const Transfer& transfer : plan.transfers) {
    for_each_piece(
        problem, transfer, [&](const TransferPiece& piece, std::int64_t, std::int64_t end) {
          arrivals[{piece.group, transfer.to}][with_tensors(piece.first, piece.count, piece.box)] =
              round_of(transfer, end - 1);
        });
  }
  return arrivals;
}

// Returns the round in which all elements of the box have arrived. Precondition: they do arrive.
std::int64_t arrival_of(const std::map<Box, std::int64_t>& arrivals, const Box& box) {
  const auto same = arrivals.find(box);
  if (same != arrivals.end()) return same->second;
  std::int64_t last = -1;
  for (const auto& [other, round] : arrivals) {
    if (overlap(other, box)) last = std::max(last, round);
  }
  return last;
}

// Precondition: check_cover().
Status check_passing(const TransferProblem& problem, const TransferPlan& plan) {
  Arrivals arrivals;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    if (transfer.passed_on == 0) continue;
    if (arrivals.empty()) arrivals = arrivals_of(problem, plan);
    if (problem.host_of(transfer.from) != problem.host_of(transfer.to))
      return wrong(entry_place("transfers", i), "a rank passes on within its host only");
    bool early = false;
    for_each_piece(problem, transfer,
                   [&](const TransferPiece& piece, std::int64_t begin, std::int64_t) {
                     if (begin < transfer.bytes - transfer.passed_on) return;
                     const Box box = with_tensors(piece.first, piece.count, piece.box);
                     early = early || round_of(transfer, begin) <=
                                          arrival_of(arrivals[{piece.group, transfer.from}], box);
                   });
    if (early) return wrong(entry_place("transfers", i), "passes on what has not arrived");
  }
  return {};
}

}  // namespace

Status check_transfer(const TransferProblem& problem, const TransferPlan& plan) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_pieces(problem, plan));
  SHARDWRIGHT_RETURN_IF_ERROR(check_rounds(plan));
  SHARDWRIGHT_RETURN_IF_ERROR(check_cover(problem, plan));
  SHARDWRIGHT_RETURN_IF_ERROR(check_passing(problem, plan));
  for (std::size_t i = 0; i < plan.bounds.size(); ++i) {
    const std::int64_t bytes = passing_bytes(problem, plan.bounds[i].ports);
    if (bytes == plan.bounds[i].bytes) continue;
    return wrong(entry_place("bounds", i) + "/bytes",
                 std::to_string(bytes) + " bytes must pass through these ports");
  }
  return {};
}

}  // namespace shardwright::redistribution
