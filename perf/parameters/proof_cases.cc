#include "perf/parameters/proof_cases.h"

#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "core/embedding/bound/check_bound.h"
#include "perf/support/best_case.h"
#include "runtime/io/file.h"
#include "search/embedding/bound/bound_prover.h"

namespace shardwright::perf {
namespace {

double best_known_rating(const std::string& name) {
  const std::string text = require(read_file("tests/golden/embedding/milp.json.gz"));
  const nlohmann::json rows = nlohmann::json::parse(text);
  for (const auto& item : rows.items()) {
    if (item.key() == name || item.key().rfind(name + "_", 0) == 0)
      return item.value().at("milp").get<double>();
  }
  std::fprintf(stderr, "perf_parameters: no rating of case \"%s\" is recorded\n", name.c_str());
  std::exit(2);
}

}  // namespace

ProofOutcome prove_case(const std::string& name, std::uint64_t work,
                        const embedding::BoundParameters& parameters) {
  const double rating = best_known_rating(name);
  const BestCase golden(name);
  embedding::BoundProver prover(golden.choices, parameters);
  Budget budget;
  prover.run(work, rating, budget);
  ProofOutcome outcome;
  outcome.proved = prover.proves(rating);
  outcome.accepted =
      !embedding::check_bound(golden.pool.space(), golden.reserved.topology, prover.certificate());
  outcome.gap = 1 - prover.bound() / rating;
  outcome.work = budget.work_done();
  return outcome;
}

}  // namespace shardwright::perf
