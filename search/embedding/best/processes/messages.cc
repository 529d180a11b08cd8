#include "search/embedding/best/processes/messages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/hash/sha256.h"
#include "search/embedding/best/processes/allocation_message.h"
#include "search/embedding/best/processes/tree_message.h"
#include "search/message.h"

namespace shardwright::embedding {
namespace {

// The first byte of a message. The second digit is the version of the format.
constexpr std::uint8_t kOpening = 0x12;
constexpr std::uint8_t kReport = 0x23;
constexpr std::uint8_t kVerdict = 0x32;

constexpr std::uint8_t kNotStopped = 0xff;

void put(MessageWriter& to, const RatedAllocation& rated, const Allocation* known) {
  to.put(rated.rating);
  to.put(rated.peak_hbm_bytes);
  put(to, rated.allocation, known);
}

std::optional<RatedAllocation> get_rated(MessageReader& from, const ChoiceModel& model,
                                         const Allocation* known) {
  RatedAllocation rated;
  rated.rating = from.get<double>();
  rated.peak_hbm_bytes = from.get<std::int64_t>();
  std::optional<Allocation> allocation = get_allocation(from, model, known);
  if (!allocation) return std::nullopt;
  rated.allocation = *std::move(allocation);
  return rated;
}

void put(MessageWriter& to, const NeighbourhoodReport& report) {
  to.put_flag(report.is_solving);
  to.put_flag(report.is_solved);
  to.put_flag(report.proof.has_value());
  if (!report.proof) return;
  to.put_each(*report.proof, [&](const BoundNode& leaf) { put_leaf(to, leaf); });
}

NeighbourhoodReport get_neighbourhoods(MessageReader& from) {
  NeighbourhoodReport report;
  report.is_solving = from.get_flag();
  report.is_solved = from.get_flag();
  if (from.get_flag()) report.proof = from.get_each<BoundNode>([&] { return get_leaf(from); });
  return report;
}

void put(MessageWriter& to, const ProofReport& proof, const Allocation* known) {
  to.put(proof.bound);
  to.put_flag(proof.is_finished);
  to.put_flag(proof.is_certified);
  to.put_each(proof.suggestions, [&](const SuggestedStart& suggestion) {
    to.put(suggestion.target);
    put_start(to, suggestion.start);
  });
  to.put_flag(proof.found.has_value());
  if (proof.found) put(to, *proof.found, known);
}

std::optional<ProofReport> get_proof(MessageReader& from, const ChoiceModel& model,
                                     const Allocation* known) {
  ProofReport proof;
  proof.bound = from.get<double>();
  proof.is_finished = from.get_flag();
  proof.is_certified = from.get_flag();
  bool good = true;
  proof.suggestions = from.get_each<SuggestedStart>([&] {
    const auto target = from.get<double>();
    std::optional<Allocation> start = get_start(from, model);
    good &= start.has_value();
    return SuggestedStart{start ? *std::move(start) : Allocation(), target};
  });
  if (!good) return std::nullopt;
  if (!from.get_flag()) return proof;
  proof.found = get_rated(from, model, known);
  return proof.found ? std::optional(std::move(proof)) : std::nullopt;
}

void put(MessageWriter& to, const ProofOrder& order, const ChoiceModel& tree_model) {
  to.put(order.share);
  to.put(order.lanes);
  to.put(order.rank_share);
  to.put_all(order.processes);
  to.put_flag(order.start.has_value());
  if (order.start) put(to, *order.start, tree_model);
  to.put_each(order.transfers, [&](const LeafTransfer& transfer) {
    to.put(transfer.to);
    to.put(transfer.from);
  });
}

std::optional<ProofOrder> get_order(MessageReader& from, const ChoiceModel& tree_model) {
  ProofOrder order;
  order.share = from.get<std::uint64_t>();
  order.lanes = from.get<std::uint32_t>();
  order.rank_share = from.get<std::uint64_t>();
  order.processes = from.get_all<std::uint32_t>();
  if (from.get_flag()) {
    order.start = get_tree_start(from, tree_model);
    if (!order.start) return std::nullopt;
  }
  order.transfers = from.get_each<LeafTransfer>([&] {
    const auto to = from.get<std::uint32_t>();
    return LeafTransfer{to, from.get<std::uint32_t>()};
  });
  const auto is_lane = [&](std::uint32_t lane) { return lane < order.lanes; };
  const bool good =
      (order.processes.empty() || order.processes.size() == order.lanes) &&
      std::all_of(order.transfers.begin(), order.transfers.end(),
                  [&](const LeafTransfer& one) { return is_lane(one.to) && is_lane(one.from); });
  return good ? std::optional(std::move(order)) : std::nullopt;
}

void put_ranks(const RankSet* allowed, MessageWriter& to) {
  to.put(static_cast<std::uint64_t>(allowed == nullptr ? 0 : allowed->size()));
  if (allowed == nullptr) return;
  for (const Rank rank : allowed->ranks())
    to.put(rank);
}

// Where the user allows shards.
void put_rules(const ChoiceModel& model, MessageWriter& to) {
  const PlacementRules& rules = model.rules();
  for (const PlacementRules::Group& group : rules.groups()) {
    to.put_flag(group.together);
    to.put(static_cast<std::uint8_t>(group.on));
    for (const TableId table : group.tables)
      to.put(table.value());
  }
  for (std::size_t i = 0; i < model.num_tables() && rules.any(); ++i) {
    const TableId table = model.table(i);
    to.put(rules.max_shards(table));
    to.put_flag(rules.distinct_ranks(table));
    std::uint32_t shards = 1;
    for (const Choice& choice : model.choices(i))
      shards = std::max(shards, choice.num_shards);
    if (rules.same_for_all_shards(table)) shards = 1;
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      put_ranks(rules.allowed(table, shard), to);
  }
}

}  // namespace

std::string fingerprint_of(const ChoiceModel& model) {
  MessageWriter all;
  all.put(model.local_world_size());
  const auto put_storage = [&](const Storage& storage) {
    for (const MemoryTier tier : kMemoryTiers)
      all.put(storage[tier].value());
  };
  for (const Storage& room : model.room())
    put_storage(room);
  for (Rank rank = 0; rank < model.world_size(); ++rank)
    all.put(model.time_scale(rank));
  for (std::size_t table = 0; table < model.num_tables(); ++table)
    all.put(model.first_choice(table));
  for (const Choice& choice : model.choices()) {
    all.put(static_cast<std::uint8_t>(choice.reach));
    for (const ChoiceRun& run : model.runs(choice)) {
      all.put(run.count);
      all.put(run.load);
      put_storage(run.storage);
    }
  }
  put_rules(model, all);
  return sha256_hex(all.take());
}

std::string fingerprint_of(const ChoiceModel& model, const BestSettings& settings,
                           std::optional<std::uint64_t> work_limit) {
  MessageWriter all;
  all.put(settings.seed);
  all.put(settings.lanes);
  all.put(work_limit.value_or(0));
  all.put_text(fingerprint_of(model));
  return sha256_hex(all.take());
}

std::string to_message(const Opening& opening) {
  MessageWriter to;
  to.put(kOpening);
  to.put_text(opening.fingerprint);
  to.put(opening.work_done);
  to.put_flag(opening.prove);
  to.put(opening.bound);
  to.put(static_cast<std::uint32_t>(opening.starts.size()));
  for (const Allocation& start : opening.starts)
    put(to, start, nullptr);
  return to.take();
}

std::string to_message(const RoundReport& report, const Allocation* known,
                       const ChoiceModel& tree_model) {
  MessageWriter to;
  to.put(kReport);
  to.put_all(report.lane_work);
  to.put(report.stopped ? static_cast<std::uint8_t>(*report.stopped) : kNotStopped);
  to.put_flag(report.found.rated != nullptr);
  if (report.found.rated != nullptr) {
    to.put(static_cast<std::uint32_t>(report.found.lane));
    put(to, *report.found.rated, known);
  }
  to.put_flag(report.neighbourhoods.has_value());
  if (report.neighbourhoods) put(to, *report.neighbourhoods);
  to.put_each(report.tree_lanes, [&](const TreeLaneReport& own) {
    to.put(own.lane);
    put(to, own.report, tree_model);
  });
  return to.take();
}

std::string to_message(const Verdict& verdict, const Allocation* known,
                       const ChoiceModel& tree_model) {
  MessageWriter to;
  to.put(kVerdict);
  put(to, verdict.proof, known);
  put(to, verdict.next, tree_model);
  return to.take();
}

std::optional<Opening> opening_of(const ChoiceModel& model, std::string_view message) {
  MessageReader from(message);
  if (from.get<std::uint8_t>() != kOpening) return std::nullopt;
  Opening opening;
  opening.fingerprint = from.get_text();
  opening.work_done = from.get<std::uint64_t>();
  opening.prove = from.get_flag();
  opening.bound = from.get<double>();
  const auto starts = from.get<std::uint32_t>();
  // Starts that do not fit to this model belong to another problem, as the fingerprint says.
  for (std::uint32_t i = 0; i < starts && from.good(); ++i) {
    std::optional<Allocation> start = get_allocation(from, model, nullptr);
    if (!start) return opening;
    opening.starts.push_back(*std::move(start));
  }
  return from.is_complete() ? std::optional(std::move(opening)) : std::nullopt;
}

std::optional<RoundReport> report_of(const ChoiceModel& model, std::string_view message,
                                     const Allocation* known, const ChoiceModel& tree_model) {
  MessageReader from(message);
  if (from.get<std::uint8_t>() != kReport) return std::nullopt;
  RoundReport report;
  report.lane_work = from.get_all<std::uint64_t>();
  const auto stopped = from.get<std::uint8_t>();
  if (stopped != kNotStopped && stopped >= kStopReasonNames.size()) return std::nullopt;
  if (stopped != kNotStopped) report.stopped = static_cast<StopReason>(stopped);
  if (from.get_flag()) {
    report.found.lane = from.get<std::uint32_t>();
    std::optional<RatedAllocation> rated = get_rated(from, model, known);
    if (!rated) return std::nullopt;
    report.found.received = std::make_shared<const RatedAllocation>(*std::move(rated));
    report.found.rated = report.found.received.get();
  }
  if (from.get_flag()) report.neighbourhoods = get_neighbourhoods(from);
  for (auto left = from.get<std::uint32_t>(); left > 0 && from.good(); --left) {
    const auto lane = from.get<std::uint32_t>();
    std::optional<LaneReport> own = get_lane_report(from, tree_model);
    if (!own) return std::nullopt;
    report.tree_lanes.push_back({lane, *std::move(own)});
  }
  return from.is_complete() ? std::optional(std::move(report)) : std::nullopt;
}

std::optional<Verdict> verdict_of(const ChoiceModel& model, std::string_view message,
                                  const Allocation* known, const ChoiceModel& tree_model) {
  MessageReader from(message);
  if (from.get<std::uint8_t>() != kVerdict) return std::nullopt;
  Verdict verdict;
  std::optional<ProofReport> proof = get_proof(from, model, known);
  if (!proof) return std::nullopt;
  verdict.proof = *std::move(proof);
  std::optional<ProofOrder> next = get_order(from, tree_model);
  if (!next) return std::nullopt;
  verdict.next = *std::move(next);
  return from.is_complete() ? std::optional(std::move(verdict)) : std::nullopt;
}

}  // namespace shardwright::embedding
