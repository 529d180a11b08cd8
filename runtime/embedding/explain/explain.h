// The public entry for explaining: what every table could have been, or why nothing fits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

// A part of the time of a rank.
enum class PerfPart : std::uint8_t {
  kForwardCompute,
  kForwardComms,
  kBackwardCompute,
  kBackwardComms,
  kPrefetchCompute
};
const char* to_name(PerfPart part);

// What a rank lacks for a shard.
struct MemoryLack {
  embedding::Rank rank = 0;
  bool hbm = true;  // otherwise DDR
  std::int64_t bytes = 0;
};

// One option of a table, exchanged for the one that the plan uses; every other table stays.
struct OptionCost {
  enum class Standing : std::uint8_t {
    kChosen,
    kPossible,
    kTooLarge,  // `lack` says where
    kNoPlace,   // the placement rules in `excluded_by` leave no place
    kExcluded,  // the constraints in `excluded_by` do not offer it
  };
  Standing standing = Standing::kPossible;
  const embedding::ShardingOption* option = nullptr;
  std::vector<embedding::Rank> ranks;  // of its shards; of the chosen one those of the plan
  // Of the plan with this option, memory aside for kTooLarge: ms, or bytes for the storage model.
  // Within 1e-9 of what the verifier adds up; one that is so close to the plan's counts as equal.
  // Not for kNoPlace.
  std::optional<double> rating;
  double rating_change = 0;          // against the plan
  embedding::Rank busiest_rank = 0;  // that the rating is of
  std::optional<PerfPart> part;      // of the busiest rank's time that changes most with it
  double part_change_ms = 0;
  double time_ms = 0;                    // summed over the shards
  embedding::Storage storage;            // likewise
  std::optional<MemoryLack> lack;        // also of excluded ones
  std::vector<std::string> excluded_by;  // JSON pointers in the problem file
};

struct TableExplanation {
  embedding::TableId table;
  // The chosen one first, then possible ones by rating and time, then the others.
  std::vector<OptionCost> options;
  // Why the chosen one, in sentences.
  std::vector<std::string> reasons;
};

// The smallest change of one kind that makes the problem feasible: a plan for the changed problem
// was found, and the verifier accepts it.
struct Remedy {
  enum class Kind : std::uint8_t {
    kRanks,
    kHosts,
    kHbm,
    kDdr,
    kBatchSize,
    kReservation,
    kConstraint,
  };
  Kind kind = Kind::kRanks;
  // Ranks, hosts, bytes per rank, samples per rank or the fraction reserved; unused for
  // kConstraint.
  double from = 0;
  double to = 0;
  double step = 0;
  bool each_rank_adds = false;  // from and to are what every rank has more (memory by rank)
  std::string constraint;       // JSON pointer of what to drop
  std::string flags;            // of the command; empty where it has none
  double rating = 0;            // of the plan that was found, which need not be the best
  // One step less: proved impossible; otherwise planning finds nothing.
  bool less_is_impossible = false;
};
const char* to_name(Remedy::Kind kind);

// A kind of change that does not help, and how far it was tried.
struct VainRemedy {
  Remedy::Kind kind = Remedy::Kind::kRanks;
  std::string message;
};

struct Infeasibility {
  enum class Kind : std::uint8_t {
    kReservation,  // leaves a rank less than nothing
    kTable,        // one table fits nowhere
    kTogether,     // tables that must share a rank or host
    kTotal,        // more than all ranks have
    kPacking,      // fits in total, not side by side
    kRules,        // placement rules leave a table no place
    kSearch,       // the search ended for another reason
  };
  Kind kind = Kind::kSearch;
  bool proved = false;  // otherwise planning found nothing
  std::string message;  // with names and bytes
  // A set of tables that does not fit a machine of its own, in the order of the problem. Where
  // `irreducible` is set, a plan was found and verified without any one of them.
  std::vector<embedding::TableId> tables;
  bool irreducible = false;
  // What the reason is about, at the least, and what there is after reservation; of rank 0 with its
  // reservation for kReservation. Absent where nothing is proved.
  std::optional<std::int64_t> needed_bytes;
  std::optional<std::int64_t> available_bytes;
  std::vector<Remedy> remedies;
  std::vector<VainRemedy> in_vain;
};
const char* to_name(Infeasibility::Kind kind);

struct Explanation {
  std::shared_ptr<const embedding::Problem> problem;
  // Of the plan that is explained; without one, of the planning that failed.
  EmbeddingPlanResult result;
  std::vector<TableExplanation> tables;        // in the order of the problem; where there is a plan
  std::optional<Infeasibility> infeasibility;  // where there is none
  std::shared_ptr<const void> owner;           // keeps the options alive
  std::uint64_t plannings = 0;                 // problems that were planned
  double total_s = 0;
};

struct ExplainOptions {
  PlanOptions plan;                  // how to plan, and how suggestions are tested
  std::optional<std::string> table;  // explain this one alone
};

// Explains the plan in `entries`, or the one that planning finds; where there is none, why, and
// which changes help. The options of a table are rated by what they change, not by planning anew:
// O(options x shards x ranks) at worst. Suggestions are tested by planning with `options.plan`
// until a first plan is found.
// Errors: kInvalidInput as plan_embedding(), for an unknown table (`where` = "--table"), and for
// entries that are no plan of the problem (`where` = the JSON pointer in the plan file).
// Options and costs are those of `space` where it is given: then nothing is told of options that it
// does not have, and no changes are looked for, since costs of other machines are not known.
// Thread safety: may be called from any number of threads at once.
Result<Explanation> explain_embedding(
    std::shared_ptr<const embedding::Problem> problem,
    const std::optional<std::vector<PlanEntry>>& entries, const ExplainOptions& options,
    std::shared_ptr<const embedding::SearchSpace> space = nullptr);

}  // namespace shardwright
