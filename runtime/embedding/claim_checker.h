// Compares what a plan file claims with what was recomputed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/problem/storage.h"
#include "runtime/embedding/verify.h"
#include "search/budget.h"

namespace shardwright {

// Counts claims and lists violations in a Verification. Keeps a reference to it.
// Thread safety: one thread at a time.
class ClaimChecker {
 public:
  // Other planners may add times in another order, so doubles agree within this, relatively.
  static constexpr double kTolerance = 1e-9;
  static bool is_close(double a, double b);

  // `root` is where the file lies in a larger one; findings name places in the file.
  explicit ClaimChecker(Verification& result, std::string root = {})
      : result_(result), root_(std::move(root)) {}

  // A place in the file, from one in the larger file.
  std::string place(std::string where) const;

  // Counts a claim that is compared by other means.
  void count() { ++result_.claims; }
  // Lists a violation.
  void report(std::string where, std::string message);
  // Lists a claim that could not be checked.
  void not_verified(std::string where, std::string message);
  // Lists what the check of a certificate found, if that is anything: as not verified if the check
  // did not end, else as a violation that begins with `refusal`. `searches`: those that the check of
  // the certificate repeats. `budget`: of the check.
  void take_proof(const std::string& where, const std::string& refusal,
                  const std::optional<std::string>& wrong, std::size_t searches,
                  const Budget& budget);
  // Says that so many searches of all plans were repeated.
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

}  // namespace shardwright
