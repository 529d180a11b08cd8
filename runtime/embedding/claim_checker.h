// Compares what a plan file claims with what verification recomputed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/verify.h"
#include "search/budget.h"

namespace shardwright {

// Counts compared claims and lists violations in a Verification, which must outlive the checker.
// Thread safety: one thread at a time.
class ClaimChecker {
 public:
  // Relative tolerance for doubles: another planner may have added the same times in another order.
  static constexpr double kTolerance = 1e-9;
  static bool is_close(double a, double b);

  // `root` is the JSON pointer of the plan if the plan is a part of a larger file. Findings name
  // places relative to the plan.
  explicit ClaimChecker(Verification& result, std::string root = {})
      : result_(result), root_(std::move(root)) {}

  // Removes the root from a JSON pointer of the larger file.
  std::string place(std::string where) const;

  // Counts a claim that the caller compares itself.
  void count() { ++result_.claims; }
  void report(std::string where, std::string message);
  // Lists a claim that could not be checked.
  void not_verified(std::string where, std::string message);
  // Lists the outcome of the check of a certificate. `wrong` is why the check refused the
  // certificate, or nullopt if it was accepted. A check that ran out of time, or that refused an
  // older form, is listed as not verified. Any other refusal is a violation whose message begins
  // with `refusal`. The check repeated `searches` searches over all plans.
  void take_proof(const std::string& where, const std::string& refusal,
                  const std::optional<std::string>& wrong, std::size_t searches,
                  const Budget& budget);
  // Lists that the check repeated `searches` searches over all plans; nothing if `searches` is 0.
  void repeated(const std::string& where, std::size_t searches);
  void differs(const std::string& where, const std::string& claimed, const std::string& found);

  Verification& result() { return result_; }

  // Counts a claim and lists a violation if the two values differ. `claimed` as a list has the
  // bytes of [HBM, DDR] or [HBM, DDR, SSD]; each element is a claim.
  void compare(const std::string& where, std::int64_t claimed, std::int64_t found);
  void compare(const std::string& where, const std::string& claimed, const std::string& found);
  void compare(const std::string& where, double claimed, double found);
  void compare(const std::string& where, const std::vector<std::int64_t>& claimed,
               const embedding::Storage& found);

  // Compares claimed[rank] with found(rank) for every rank. An empty list claims nothing.
  template <class Value, class Function>
  void compare_by_rank(const char* key, const std::vector<Value>& claimed, const Function& found) {
    if (claimed.empty()) return;
    const std::string where = std::string("/") + key;
    const std::size_t ranks = result_.evaluation.storage_by_rank.size();
    if (claimed.size() != ranks) {
      report(where, "must have one entry per rank (" + std::to_string(ranks) + "), has " +
                        std::to_string(claimed.size()));
      return;
    }
    for (std::size_t rank = 0; rank < ranks; ++rank)
      compare(where + "/" + std::to_string(rank), claimed[rank], found(rank));
  }

 private:
  Verification& result_;
  std::string root_;
};

// Returns true if the file says that no plan exists. Returns false if the file says only that no
// plan was found. Precondition: the file has an `error`.
bool claims_absence(const PlanDocument& document);

// Checks a file without a plan. If the file claims that no plan exists, proves the claim again:
// with the certificate if the file has one, otherwise by trying all plans (find_any_plan). Reports
// a violation if a plan exists, if the certificate proves nothing, or if `error` contradicts
// itself. If the proof exceeds its own limits or the budget, lists the claim as not verified.
// `available` is the topology after reservation and margin.
void check_absence_claim(const embedding::SearchSpace& space, const embedding::Topology& available,
                         const PlanDocument& document, const Budget& budget, ClaimChecker& claims);

// Checks a file whose problem reserves more memory than a rank has, so that no plan exists.
void check_negative_reservation(const PlanDocument& document, ClaimChecker& claims);

}  // namespace shardwright
