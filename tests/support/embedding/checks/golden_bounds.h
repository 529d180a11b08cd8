// Proves bounds of recorded cases against the rating that a MILP solver reached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/check_bound.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/file.h"
#include "search/embedding/bound/bound_prover.h"
#include "search/embedding/compat/storage_reservations.h"
#include "tests/support/embedding/recorded_release.h"

namespace shardwright::test_support {

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

inline nlohmann::json milp_rows() {
  return nlohmann::json::parse(require(read_file("tests/golden/embedding/milp.json.gz")));
}

// Proves a bound with TorchRec's options in `work` units of work and returns 1 - bound / rating.
// Checks that the certificate is accepted, and refused if it claims more than the rating.
inline double proved_gap(const std::string& name, double rating, std::uint64_t work) {
  using namespace embedding;
  const std::string golden = "tests/golden/embedding/";
  const auto problem = std::make_shared<const Problem>(require(Problem::make(require(read_problem(
      require(read_file(golden + "cases/" + name + ".json.gz")), recorded_release())))));
  const auto space = require(
      read_search_space(require(read_file(golden + "answers/" + name + ".json.gz")), problem));
  const Reservation reserved = require(reserve(*problem));
  const OptionPool pool(space);
  const ChoiceModel model(pool, reserved.topology);
  BoundProver prover(model);
  Budget budget;
  while (!prover.finished() && budget.work_done() < work)
    prover.run(1'000'000, rating, budget);
  BoundCertificate certificate = prover.certificate();
  CHECK(check_bound(*space, reserved.topology, certificate).value_or("") == "");
  certificate.bound = rating * (1 + 1e-6);
  CHECK(check_bound(*space, reserved.topology, certificate).has_value());
  return 1 - prover.bound() / rating;
}

}  // namespace shardwright::test_support
