// Compares what a plan file claims with what was recomputed.
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

// Counts claims and lists violations in a Verification. Keeps a reference to it.
// Thread safety: one thread at a time.
class ClaimChecker {
 public:
  // The relative tolerance of doubles: other planners may add times in another order.
  static constexpr double kTolerance = 1e-9;
  static bool is_close(double a, double b);

  // `root` is the JSON pointer of the plan in a larger file; findings name places in the plan.
  explicit ClaimChecker(Verification& result, std::string root = {})
      : result_(result), root_(std::move(root)) {}

  // Turns a place in the larger file into a place in the plan.
  std::string place(std::string where) const;

  // Counts a claim that is compared by other means.
  void count() { ++result_.claims; }
  // Lists a violation.
  void report(std::string where, std::string message);
  // Lists a claim that could not be checked.
  void not_verified(std::string where, std::string message);
  // Lists the outcome of the check of a certificate. `wrong`: why the check refused the
  // certificate, or empty. A check that did not end or refused an older form is listed as not
  // verified, any other refusal as a violation that begins with `refusal`. `searches`: the number
  // of searches over all plans that the check repeats.
  void take_proof(const std::string& where, const std::string& refusal,
                  const std::optional<std::string>& wrong, std::size_t searches,
                  const Budget& budget);
  // Lists that `searches` searches over all plans were repeated.
  void repeated(const std::string& where, std::size_t searches);
  void differs(const std::string& where, const std::string& claimed, const std::string& found);

  Verification& result() { return result_; }

  // Counts a claim and lists a violation if it differs. Sizes are [HBM, DDR], or
  // [HBM, DDR, SSD].
  void compare(const std::string& where, std::int64_t claimed, std::int64_t found);
  void compare(const std::string& where, const std::string& claimed, const std::string& found);
  void compare(const std::string& where, double claimed, double found);
  void compare(const std::string& where, const std::vector<std::int64_t>& claimed,
               const embedding::Storage& found);

  // Compares `claimed` with found(rank) for every rank; an empty list claims nothing.
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

// Returns true if the file says that no plan exists, rather than that none was found.
bool claims_absence(const PlanDocument& document);

// Checks a file without a plan. If it claims that no plan exists, proves that again: by the
// certificate, or else by trying all plans (find_any_plan). Reports a violation if a plan exists,
// if the certificate proves nothing, or if `error` contradicts itself; lists the claim as not
// verified if neither way ends within its limits and those of the budget. `available` is the
// topology after reservation and margin.
void check_absence_claim(const embedding::SearchSpace& space, const embedding::Topology& available,
                         const PlanDocument& document, const Budget& budget, ClaimChecker& claims);

// Checks a file whose problem reserves more than its memory, which proves that no plan exists.
void check_negative_reservation(const PlanDocument& document, ClaimChecker& claims);

}  // namespace shardwright
