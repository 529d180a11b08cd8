#include "runtime/embedding/verify.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/claim_checker.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/machine_facts.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/io/json/json_writer.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/model/shard_layout.h"
#include "search/embedding/questions/plan_of_entries.h"

namespace shardwright {
namespace {

using embedding::Evaluation;
using embedding::OptionFinder;
using embedding::Plan;
using embedding::Problem;
using embedding::Rank;
using embedding::SearchSpace;
using embedding::ShardingOption;
using embedding::Storage;

std::string element(const char* key, std::size_t i) {
  return std::string("/") + key + "/" + std::to_string(i);
}

// One call of verify_plan().
// Thread safety: one thread at a time.
class Verifier {
 public:
  Verifier(std::shared_ptr<const Problem> problem, const PlanDocument& document,
           const Budget& budget)
      : problem_(std::move(problem)), document_(document), budget_(budget), claims_(result_) {}

  Result<Verification> run(std::shared_ptr<const SearchSpace> space) {
    check_problem_hash(space.get());
    const Result<embedding::Reservation> reservation = reserve_embedding(*problem_);
    check_reservation(reservation);
    if (!reservation.ok()) {
      check_negative_reservation(document_, claims_);
      return std::move(result_);
    }
    auto options = options_of_mode(std::move(space));
    if (!options.ok()) {
      if (options.error().code != ErrorCode::kStopped) return options.error();
      claims_.not_verified("", "the check was stopped before the options were known");
      return std::move(result_);
    }
    space = std::move(options).value();
    if (document_.search_space_size) {
      claims_.compare("/search_space_size", *document_.search_space_size,
                      static_cast<std::int64_t>(space->size()));
    }
    result_.search_space = space;
    result_.reservation = *reservation;
    if (!document_.plan) {
      check_absence_claim(*space, reservation->topology, document_, budget_, claims_);
      return std::move(result_);
    }
    if (document_.failure) claims_.report("/error", "the file holds both a plan and an error");
    result_.has_plan = true;
    OptionFinder finder(space);
    if (!rebuild(finder)) return std::move(result_);
    const Plan plan = Plan::make(finder.owner(), options_, ranks_);
    result_.plan = plan;
    result_.evaluation = embedding::evaluate(*problem_, reservation->topology, plan);
    for (const embedding::Violation& violation : result_.evaluation.violations) {
      claims_.report("/plan", violation.message);
    }
    claims_.count();
    check_entries();
    check_sums();
    check_memory_parts(*reservation);
    if (document_.ranks_sha1) {
      claims_.compare("/plan_ranks_sha1", *document_.ranks_sha1, embedding::ranks_sha1(plan));
    }
    if (document_.plan_hash)
      claims_.compare("/plan_hash", *document_.plan_hash, plan_hash(*problem_, plan));
    check_lower_bound();
    check_certificate(*space, reservation->topology);
    check_improvements();
    return std::move(result_);
  }

 private:
  // Returns the options of the document's mode, made from `given` or else from TorchRec's.
  Result<std::shared_ptr<const SearchSpace>> options_of_mode(
      std::shared_ptr<const SearchSpace> given) const {
    PlanningExecutor executor(0);
    if (!given) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(given, embedding::enumerate(problem_, executor, budget_));
    }
    if (document_.mode != PlanMode::kBest) return given;
    return embedding::with_load_factors(std::move(given), executor, budget_);
  }

  // Accepts the problem's hash with and without the search space. The plan of an enumerated problem
  // may be checked against a search space, whose costs are then compared one by one.
  void check_problem_hash(const SearchSpace* given) {
    if (!document_.problem_hash) return;
    claims_.count();
    const ProblemIdentity own = identify(*problem_);
    if (*document_.problem_hash == own.hash) return;
    result_.given_search_space = given != nullptr;
    const ProblemIdentity found = given != nullptr ? identify(*problem_, given) : own;
    if (*document_.problem_hash == found.hash) return;
    const auto machine = other_machine(document_, *problem_);
    const std::string parts = differing_parts(document_.problem_parts, found.parts);
    claims_.report("/problem_hash",
                   machine ? "the problem differs in " + parts + ": " + *machine
                           : "the plan was made for another problem, which differs in " + parts);
    result_.other_machine = machine.has_value();
  }

  void check_reservation(const Result<embedding::Reservation>& reservation) {
    if (!reservation.ok()) {
      if (document_.plan) claims_.report("", "no plan can be: " + reservation.error().message);
      return;
    }
    if (!document_.reserved_topology) return;
    const ReservedTopology& claimed = *document_.reserved_topology;
    const std::vector<Storage>& found = reservation->topology.storage();
    const std::string where =
        std::string("/reserved_topology/") + (claimed.uniform ? "uniform" : "per_rank");
    if (!claimed.uniform && claimed.per_rank.size() != found.size()) {
      if (!claimed.per_rank.empty()) claims_.report(where, "must have one entry per rank");
      return;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t before = result_.violations.size();
      const std::string at = claimed.uniform ? where : where + "/" + std::to_string(i);
      claims_.compare(at, claimed.per_rank[claimed.uniform ? 0 : i], found[i]);
      // One finding is enough for all ranks.
      if (claimed.uniform && result_.violations.size() > before) break;
    }
    if (claimed.world_size) {
      claims_.compare("/reserved_topology/world_size", *claimed.world_size,
                      static_cast<std::int64_t>(found.size()));
    }
    if (!claimed.dense_storage.empty() && reservation->dense_storage) {
      claims_.compare("/reserved_topology/dense_storage", claimed.dense_storage,
                      *reservation->dense_storage);
    }
    if (!claimed.kjt_storage.empty() && reservation->kjt_storage) {
      claims_.compare("/reserved_topology/kjt_storage", claimed.kjt_storage,
                      *reservation->kjt_storage);
    }
  }

  // Finds the option and the ranks of every entry. Returns false if an entry has none.
  bool rebuild(OptionFinder& finder) {
    bool complete = true;
    for (std::size_t i = 0; i < document_.plan->size(); ++i) {
      const PlanEntry& entry = (*document_.plan)[i];
      const Result<const ShardingOption*> option = finder.find_option(entry);
      if (!option.ok()) {
        claims_.report(element("plan", i), option.error().message);
        complete = false;
        continue;
      }
      options_.push_back(*option);
      if (entry.ranks.size() != (*option)->num_shards()) {
        claims_.report(element("plan", i) + "/ranks",
                       "table \"" + entry.table + "\" has " +
                           std::to_string((*option)->num_shards()) + " shards, the file has " +
                           std::to_string(entry.ranks.size()) + " ranks");
        complete = false;
      }
      for (const std::int64_t rank : entry.ranks) {
        if (rank < 0 || rank >= problem_->topology().world_size()) {
          claims_.report(element("plan", i) + "/ranks",
                         "table \"" + entry.table + "\" is on rank " + std::to_string(rank) +
                             ", which does not exist");
          complete = false;
          break;
        }
        ranks_.push_back(static_cast<Rank>(rank));
      }
    }
    return complete;
  }

  void check_layout(const std::string& where, const PlanEntry& entry,
                    const ShardingOption& option) {
    if (entry.layout) {
      claims_.count();
      if (!(*entry.layout == *option.layout))
        claims_.report(where + "/layout", "table \"" + entry.table + "\" is not cut so");
    }
    if (!entry.element_bits) return;
    const embedding::TensorShape shape =
        tensor_shape(problem_->table(option.table), problem_->spec().sharder.type);
    claims_.compare(where + "/element_bits", *entry.element_bits, embedding::element_bits(shape));
  }

  void check_entries() {
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const PlanEntry& entry = (*document_.plan)[i];
      const Storage total = options_[i]->total_storage();
      const std::string where = element("plan", i);
      check_layout(where, entry, *options_[i]);
      if (entry.hbm_bytes) claims_.compare(where + "/hbm", *entry.hbm_bytes, total.hbm.value());
      if (entry.ddr_bytes) claims_.compare(where + "/ddr", *entry.ddr_bytes, total.ddr.value());
      if (entry.ssd_bytes) claims_.compare(where + "/ssd", *entry.ssd_bytes, total.ssd.value());
      if (entry.perf_ms)
        claims_.compare(where + "/perf", *entry.perf_ms, options_[i]->total_perf().value());
    }
  }

  void check_sums() {
    const Evaluation& e = result_.evaluation;
    if (document_.best_rating) claims_.compare("/best_rating", *document_.best_rating, e.rating);
    claims_.compare_by_rank("plan_perf_by_rank", document_.perf_ms_by_rank,
                            [&](std::size_t rank) { return e.perf_ms_by_rank[rank]; });
    claims_.compare_by_rank("plan_hbm_by_rank", document_.hbm_bytes_by_rank,
                            [&](std::size_t rank) { return e.storage_by_rank[rank].hbm.value(); });
    claims_.compare_by_rank("plan_ddr_by_rank", document_.ddr_bytes_by_rank,
                            [&](std::size_t rank) { return e.storage_by_rank[rank].ddr.value(); });
    claims_.compare_by_rank("plan_ssd_by_rank", document_.ssd_bytes_by_rank,
                            [&](std::size_t rank) { return e.storage_by_rank[rank].ssd.value(); });
  }

  void check_memory_parts(const embedding::Reservation& reservation) {
    const std::vector<ClaimedMemory>& claimed = document_.memory_parts_by_rank;
    if (claimed.empty()) return;
    const std::vector<MemoryParts> found = memory_parts(*problem_, reservation, result_.evaluation);
    if (claimed.size() != found.size()) {
      claims_.report("/plan_memory_parts_by_rank", "must have one entry per rank (" +
                                                       std::to_string(found.size()) + "), has " +
                                                       std::to_string(claimed.size()));
      return;
    }
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      const auto check = [&](const char* key, const std::vector<std::int64_t>& part,
                             const Storage& storage) {
        if (part.empty()) return;
        claims_.compare(element("plan_memory_parts_by_rank", rank) + "/" + key, part, storage);
      };
      check("capacity", claimed[rank].capacity, found[rank].capacity);
      check("reservation", claimed[rank].reservation, found[rank].reservation);
      check("reserved", claimed[rank].reserved, found[rank].reserved);
      check("margin", claimed[rank].margin, found[rank].margin);
      check("tables", claimed[rank].tables, found[rank].tables);
      check("free", claimed[rank].free, found[rank].free);
      check("peak", claimed[rank].peak, found[rank].peak());
    }
  }

  void check_lower_bound() {
    if (!document_.lower_bound) {
      if (document_.gap) claims_.report("/gap", "is claimed without a `lower_bound`");
      if (document_.proven_optimal && *document_.proven_optimal)
        claims_.report("/proven_optimal", "is claimed without a `lower_bound`");
      return;
    }
    const double rating = result_.evaluation.rating;
    const double bound = *document_.lower_bound;
    claims_.count();
    if (bound > rating && !ClaimChecker::is_close(bound, rating)) {
      claims_.report("/lower_bound", "exceeds the rating of the plan, so it is no lower bound");
    }
    const double to_bound = gap(rating, bound);
    if (document_.gap && std::abs(*document_.gap - to_bound) > ClaimChecker::kTolerance) {
      claims_.differs("/gap", json_number(*document_.gap), json_number(to_bound));
    }
    if (document_.proven_optimal && *document_.proven_optimal && to_bound > kProvenGap) {
      claims_.report("/proven_optimal", "the gap of " + json_number(to_bound) + " proves nothing");
    }
  }

  // Checks the certificate. A bound without a certificate is a violation.
  void check_certificate(const SearchSpace& space, const embedding::Topology& available) {
    if (!document_.certificate) {
      if (document_.lower_bound) {
        claims_.report("/lower_bound", "is claimed without a `certificate` that proves it");
      }
      return;
    }
    claims_.count();
    if (document_.certificate->excludes_all_plans()) {
      claims_.report("/certificate", "claims that no plan exists, next to a plan");
      return;
    }
    if (document_.lower_bound && !(*document_.lower_bound <= document_.certificate->bound)) {
      claims_.report("/lower_bound", "exceeds the bound of the certificate");
    }
    const auto wrong =
        embedding::check_bound(space, available, *document_.certificate, embedding::kAnySteps,
                               [&] { return budget_.interrupted().has_value(); });
    claims_.take_proof("/certificate", "does not prove its bound: ", wrong,
                       document_.certificate->num_searches(), budget_);
  }

  // Checks that ratings fall, that bounds and work rise, and that the last step is the answer. The
  // last check is skipped for replan(), whose answer may rate higher and move less.
  void check_improvements() {
    const std::vector<embedding::ImprovementStep>& steps = document_.improvements;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string where = element("improvements", i);
      claims_.count();
      if (!(steps[i].rating >= 0) || steps[i].bound > steps[i].rating * (1 + kProvenGap))
        claims_.report(where, "a rating is negative, or its bound exceeds it");
      if (i == 0) continue;
      if (steps[i].work < steps[i - 1].work || steps[i].rating > steps[i - 1].rating ||
          steps[i].bound < steps[i - 1].bound) {
        claims_.report(where, "work and bounds must not fall, ratings must not rise");
      }
    }
    if (steps.empty() || document_.has_migration) return;
    const std::string last = element("improvements", steps.size() - 1);
    claims_.compare(last + "/rating", steps.back().rating, result_.evaluation.rating);
    const double proved = document_.certificate ? document_.certificate->bound : 0;
    if (document_.lower_bound && steps.back().bound > proved * (1 + ClaimChecker::kTolerance))
      claims_.report(last + "/bound", "exceeds the bound that the certificate proves");
  }

  std::shared_ptr<const Problem> problem_;
  const PlanDocument& document_;
  const Budget& budget_;
  std::vector<const ShardingOption*> options_;
  std::vector<Rank> ranks_;
  Verification result_;
  ClaimChecker claims_;
};

}  // namespace

Result<Verification> verify_plan(std::shared_ptr<const Problem> problem,
                                 const PlanDocument& document,
                                 std::shared_ptr<const SearchSpace> search_space,
                                 const Budget& budget) {
  return Verifier(std::move(problem), document, budget).run(std::move(search_space));
}

}  // namespace shardwright
