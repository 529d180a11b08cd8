#include "runtime/embedding/machine_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/embedding/problem/machine_model.h"
#include "core/text/printable.h"
#include "core/units.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::MemoryTier;
using embedding::Problem;
using embedding::Storage;
using embedding::Topology;
using embedding::TopologySpec;

std::optional<std::int64_t> capacity_of(const Topology& topology, MemoryTier tier) {
  const std::int64_t first = topology.storage().front()[tier].value();
  const bool is_uniform =
      std::all_of(topology.storage().begin(), topology.storage().end(),
                  [&](const Storage& rank) { return rank[tier].value() == first; });
  return is_uniform ? std::optional(first) : std::nullopt;
}

std::string quoted(std::string_view word) { return "\"" + std::string(word) + "\""; }

std::string unquoted(const std::string& json) {
  return json.starts_with('"') ? json.substr(1, json.size() - 2) : json;
}

// Returns text such as "hosts of 8 ranks".
std::string phrase(const std::string& fact, const std::string& json) {
  const std::string value = unquoted(json);
  if (fact == "ranks") return value + " ranks";
  if (fact == "ranks_per_host") return "hosts of " + value + " ranks";
  if (fact == "sharding_group_size") return "sharding groups of " + value + " ranks";
  if (fact == "batch_size") return "batches of " + value + " samples";
  if (fact == "torchrec") return "TorchRec " + value;
  if (fact == "costs") return "the measured costs " + value;
  if (fact == "zipf") return "lookups of Zipf exponent " + value;
  double number = 0;
  const char* const end = value.data() + value.size();
  const bool is_number =
      std::from_chars(value.data(), end, number).ptr == end && std::abs(number) < 1e15;
  const auto bytes = [&](double factor) {
    return is_number ? format_bytes(Bytes(std::llround(number * factor))) : value;
  };
  for (const MemoryTier tier : embedding::kMemoryTiers) {
    if (fact == embedding::to_name(tier))
      return bytes(1) + " of " + std::string(embedding::label_of(tier)) + " per rank";
  }
  constexpr double kMsPerSecond = 1000;
  if (fact.ends_with("_bw")) return fact + " " + bytes(kMsPerSecond) + "/s";
  return fact + " " + value;
}

}  // namespace

MachineFacts machine_facts(const Problem& problem) {
  const Topology& topology = problem.topology();
  const TopologySpec& spec = topology.spec();
  MachineFacts facts;
  if (spec.gpu) facts.emplace_back("gpu", quoted(embedding::to_name(*spec.gpu)));
  if (spec.machine) {
    facts.emplace_back("costs", quoted(printable(spec.machine->spec().name) + " (" +
                                       spec.machine->spec().digest + ")"));
    if (problem.spec().zipf != 0)
      facts.emplace_back("zipf", json_number(problem.spec().zipf));
  }
  facts.emplace_back("ranks", std::to_string(spec.world_size));
  facts.emplace_back("ranks_per_host", std::to_string(spec.local_world_size));
  if (topology.num_replicas() > 1)
    facts.emplace_back("sharding_group_size", std::to_string(topology.world_size()));
  facts.emplace_back("device", quoted(embedding::to_name(spec.compute_device)));
  for (const MemoryTier tier : embedding::kMemoryTiers) {
    if (tier == MemoryTier::kSsd && !topology.counts_ssd()) continue;
    if (const auto bytes = capacity_of(topology, tier))
      facts.emplace_back(embedding::to_name(tier), std::to_string(*bytes));
  }
  facts.emplace_back("hbm_mem_bw", json_number(spec.hbm_mem_bw));
  facts.emplace_back("ddr_mem_bw", json_number(spec.ddr_mem_bw));
  facts.emplace_back("hbm_to_ddr_mem_bw", json_number(spec.hbm_to_ddr_mem_bw));
  facts.emplace_back("intra_host_bw", json_number(spec.intra_host_bw));
  facts.emplace_back("inter_host_bw", json_number(spec.inter_host_bw));
  facts.emplace_back("batch_size", std::to_string(problem.batch_size()));
  facts.emplace_back("torchrec", quoted(embedding::to_name(problem.spec().torchrec)));
  return facts;
}

std::optional<std::string> other_machine(const PlanDocument& document, const Problem& problem) {
  if (document.machine.empty()) return std::nullopt;
  const MachineFacts now = machine_facts(problem);
  std::string made_for, instead;
  const auto compare = [&](const MachineFacts& facts, const MachineFacts& others, bool is_file) {
    for (const auto& [fact, value] : facts) {
      const auto other =
          std::find_if(others.begin(), others.end(),
                       [&name = fact](const auto& entry) { return entry.first == name; });
      if (other != others.end() && (other->second == value || !is_file)) continue;
      if (fact == "gpu") continue;  // its figures are compared
      const std::string mine = phrase(fact, value);
      const std::string theirs = other == others.end() ? "none" : phrase(fact, other->second);
      if (mine == theirs) continue;  // bandwidths that differ by rounding
      made_for += (made_for.empty() ? "" : " and ") + (is_file ? mine : theirs);
      instead += (instead.empty() ? "" : " and ") + (is_file ? theirs : mine);
    }
  };
  compare(document.machine, now, true);
  compare(now, document.machine, false);
  if (made_for.empty()) return std::nullopt;
  return "the plan was made for " + made_for + ", the problem as it is given has " + instead;
}

}  // namespace shardwright
