// A proof that goes on from the tree that another one left.
#include "search/embedding/best/processes/open_proof_message.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/random.h"
#include "tests/support/embedding/bound_model.h"
#include "tests/support/embedding/six_kinds.h"
#include "tests/support/embedding/small_models.h"

namespace shardwright::open_proof_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

constexpr std::uint64_t kStep = 2'000;
constexpr std::size_t kAll = 1'000'000'000;

// The small tree that comes first would end the proof, and it is not kept.
BoundParameters kept_tree() {
  BoundParameters parameters;
  parameters.targets.early_tree_work = 0;
  return parameters;
}

// Work until the proof has ended, or until there is a tree of so many nodes.
std::uint64_t run_until(BoundProver& prover, std::size_t nodes) {
  Budget budget;
  while (!prover.finished()) {
    prover.run(kStep, kRatingOfSixKinds, budget);
    if (prover.has_open_proof() && prover.open_proof().tree.tree_size >= nodes) break;
  }
  return budget.work_done();
}

std::uint64_t finish(BoundProver& prover) { return run_until(prover, kAll); }

// A proof with a tree that is half done.
struct HalfDone {
  HalfDone() : model(tables_of_six_kinds()) {
    BoundProver whole(model.choices, kept_tree());
    whole_work = finish(whole);
    bound = whole.bound();
    BoundProver prover(model.choices, kept_tree());
    first_work = run_until(prover, 9);
    REQUIRE_FALSE(prover.finished());
    open = prover.open_proof();
    certificate = prover.certificate();
  }

  std::string message(std::size_t most_bytes = kAll) const {
    return to_message(open, model.choices, most_bytes);
  }
  Result<OpenProof> read(const std::string& text) const {
    return open_proof_of(text, model.choices, model.choices);
  }
  bool is_taken(OpenProof other) const {
    BoundProver prover(model.choices, kept_tree());
    return prover.begin_from(std::move(other));
  }

  BoundModel model;
  std::uint64_t whole_work = 0;
  std::uint64_t first_work = 0;
  double bound = 0;
  OpenProof open;
  BoundCertificate certificate;
};

}  // namespace

TEST_CASE("open proof: another run takes less work, and what it proves holds") {
  const HalfDone half;
  Result<OpenProof> read = half.read(half.message());
  REQUIRE(read.ok());
  CHECK(read->tree.nodes.size() == half.open.tree.nodes.size());
  BoundProver prover(half.model.choices, kept_tree());
  prover.begin_from(half.certificate);
  REQUIRE(prover.begin_from(*std::move(read)));
  CHECK(prover.has_open_proof());
  const std::uint64_t work = finish(prover);
  CHECK(prover.bound() >= half.bound * (1 - 1e-9));
  const SearchSpace& space = *half.model.space;
  CHECK(check_bound(space, space.problem().topology(), prover.certificate()).value_or("") == "");
  // A proof from its certificate alone does again what the tree has.
  BoundProver anew(half.model.choices, kept_tree());
  anew.begin_from(half.certificate);
  CHECK(work < finish(anew));
}

TEST_CASE("open proof: leaves beyond the most bytes are open again") {
  const HalfDone half;
  const auto closed = [](const OpenProof& open) {
    std::size_t count = 0;
    for (const TreePart::Node& node : open.tree.nodes)
      count += node.first_child == BoundTree::kNone && node.proved > 0 ? 1 : 0;
    return count;
  };
  const auto read = half.read(half.message());
  const auto first = half.read(half.message(0));
  REQUIRE(read.ok());
  REQUIRE(first.ok());
  CHECK(closed(*read) == closed(half.open));
  CHECK(closed(*read) > 1);
  CHECK(closed(*first) == 1);
  CHECK(half.message(0).size() < half.message().size());
}

TEST_CASE("open proof: other versions, other models and damage are told apart") {
  const HalfDone half;
  const std::string good = half.message();
  std::string other_version = good;
  ++other_version[0];
  CHECK(half.read(other_version).error().message ==
        "another version of shardwright left this proof");
  const BoundModel other(forty_tables(60));
  const auto of_other = open_proof_of(good, other.choices, other.choices);
  REQUIRE_FALSE(of_other.ok());
  CHECK(of_other.error().message == "this proof is about other options or costs");
  for (std::size_t size = good.size() - 100; size < good.size(); ++size)
    CHECK(half.read(good.substr(0, size)).error().message == "this proof is damaged");
  CHECK_FALSE(half.read(good + '\0').ok());
}

TEST_CASE("open proof: nodes, branches and pins that cannot be are refused") {
  const HalfDone half;
  CHECK(half.is_taken(half.open));
  OpenProof twice = half.open;
  twice.tree.nodes.back().id = twice.tree.nodes.front().id;
  CHECK_FALSE(half.is_taken(twice));
  OpenProof cut = half.open;
  cut.tree.nodes.pop_back();
  CHECK_FALSE(half.is_taken(cut));
  OpenProof no_table = half.open;
  no_table.tree.nodes.front().branch.tables = {107};
  CHECK_FALSE(half.is_taken(no_table));
  OpenProof no_choice = half.open;
  no_choice.tree.nodes.front().branch.first_child.front().first += 1000;
  CHECK_FALSE(half.is_taken(no_choice));
  OpenProof too_many = half.open;
  too_many.tree.nodes.front().branch.count = 200;
  CHECK_FALSE(half.is_taken(too_many));
  OpenProof no_class = half.open;
  no_class.tree.nodes.front().fixing.emplace_back(7);
  CHECK_FALSE(half.is_taken(no_class));
  OpenProof no_pins = half.open;
  no_pins.view = RankView::kPinned;
  no_pins.pins.reset();
  CHECK_FALSE(half.is_taken(no_pins));
  OpenProof no_stage = half.open;
  no_stage.schedule.stage = 3;
  CHECK_FALSE(half.is_taken(no_stage));
}

TEST_CASE("open proof: whatever bytes are changed, it is refused or the proof goes on") {
  const HalfDone half;
  const std::string good = half.message();
  RandomGenerator random(19);
  std::size_t taken = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    std::string changed = good;
    // Most lie in the tree; the first hundred bytes are version, digest, ratings and schedule.
    const std::size_t within = i % 3 == 0 ? 200 : good.size();
    changed[random.below(within)] ^= static_cast<char>(1U << random.below(8));
    Result<OpenProof> read = half.read(changed);
    BoundProver prover(half.model.choices, kept_tree());
    if (!read.ok() || !prover.begin_from(*std::move(read))) {
      ++refused;
      continue;
    }
    ++taken;
    Budget budget;
    prover.run(kStep, kRatingOfSixKinds, budget);
    CHECK(prover.bound() >= 0);
  }
  CHECK(taken > 50);
  CHECK(refused > 50);
}

}  // namespace shardwright::open_proof_test
