#include "runtime/embedding/claim_checker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/embedding/bound/bound_certificate.h"
#include "runtime/io/json/json_number.h"

namespace shardwright {

bool ClaimChecker::is_close(double a, double b) {
  return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::string ClaimChecker::place(std::string where) const {
  if (where.starts_with(root_)) where.erase(0, root_.size());
  return where;
}

void ClaimChecker::report(std::string where, std::string message) {
  result_.violations.push_back({place(std::move(where)), std::move(message)});
}

void ClaimChecker::not_verified(std::string where, std::string message) {
  result_.not_verified.push_back({std::move(where), std::move(message)});
}

void ClaimChecker::take_proof(const std::string& where, const std::string& refusal,
                              const std::optional<std::string>& wrong, std::size_t searches,
                              const Budget& budget) {
  if (!wrong) return repeated(where, searches);
  if (*wrong == embedding::kProofOfOlderForm) return not_verified(where, *wrong);
  if (*wrong != embedding::kProofTooLong) return report(where, refusal + *wrong);
  const std::optional<StopReason> stop = budget.interrupted();
  not_verified(where, stop ? "the check was stopped by " + std::string(text_of(*stop)) : *wrong);
}

void ClaimChecker::repeated(const std::string& where, std::size_t searches) {
  if (searches == 0) return;
  result_.repeated.push_back({place(where), std::to_string(searches) +
                                                (searches == 1 ? " search" : " searches") +
                                                " of all plans, by the engine that proofs use"});
}

void ClaimChecker::differs(const std::string& where, const std::string& claimed,
                           const std::string& found) {
  report(where, "the file says " + claimed + ", recomputed " + found);
}

void ClaimChecker::compare(const std::string& where, std::int64_t claimed, std::int64_t found) {
  count();
  if (claimed != found) differs(where, std::to_string(claimed), std::to_string(found));
}

void ClaimChecker::compare(const std::string& where, const std::string& claimed,
                           const std::string& found) {
  count();
  if (claimed != found) differs(where, claimed, found);
}

void ClaimChecker::compare(const std::string& where, double claimed, double found) {
  count();
  if (!is_close(claimed, found)) differs(where, json_number(claimed), json_number(found));
}

void ClaimChecker::compare(const std::string& where, const std::vector<std::int64_t>& claimed,
                           const embedding::Storage& found) {
  for (std::size_t i = 0; i < claimed.size(); ++i)
    compare(where + "/" + std::to_string(i), claimed[i], found[embedding::kMemoryTiers[i]].value());
}

}  // namespace shardwright
