// The hash of a plan's ranks, compared with the hash of the same ranks written as text.
#include "core/embedding/ranks_sha1.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/random.h"

namespace shardwright::ranks_sha1_test {

namespace {

using namespace shardwright::embedding;
using shardwright::Sha1;
using shardwright::test_support::OptionStore;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

std::string naive(const std::vector<std::vector<Rank>>& options) {
  std::string text;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (i > 0) text += ';';
    for (std::size_t s = 0; s < options[i].size(); ++s) {
      if (s > 0) text += ',';
      text += std::to_string(options[i][s]);
    }
  }
  Sha1 sha1;
  sha1.update(text);
  return sha1.hex(16);
}

}  // namespace

TEST_CASE("ranks sha1: joins shards by commas and options by semicolons") {
  OptionStore store;
  const std::vector<const ShardingOption*> options{
      &store.add_even(TableId(0), ShardingType::kTableWise, 1),
      &store.add_even(TableId(1), ShardingType::kColumnWise, 2),
      &store.add_even(TableId(2), ShardingType::kRowWise, 4)};
  const Plan plan = Plan::make(nullptr, options, std::vector<Rank>{3, 1, 2, 0, 1, 2, 3});
  // Source: Python, hashlib.sha1(b"3;1,2;0,1,2,3").hexdigest()[:16].
  CHECK(ranks_sha1(plan) == "429462bc48b94d85");
}

TEST_CASE("ranks sha1: without options it is the hash of the empty text") {
  CHECK(ranks_sha1(Plan()) == "da39a3ee5e6b4b0d");
}

TEST_CASE("ranks sha1: is the hash of the text, however long it is") {
  for (const std::uint64_t seed : seeds({1, 2, 3, 4})) {
    CAPTURE(seed);
    Random random(seed);
    for (int round = 0; round < 50; ++round) {
      std::vector<std::vector<Rank>> options(random.below(5));
      RanksSha1 sha1;
      for (std::vector<Rank>& ranks : options) {
        ranks.resize(1 + random.below(1000));
        if (random.below(2) == 0) {
          std::iota(ranks.begin(), ranks.end(), Rank{0});
          sha1.option_in_rank_order(static_cast<std::uint32_t>(ranks.size()));
        } else {
          for (Rank& rank : ranks)
            rank = static_cast<Rank>(random.next() >> random.below(64));
          sha1.option(ranks);
        }
      }
      REQUIRE(sha1.finish() == naive(options));
    }
  }
}

}  // namespace shardwright::ranks_sha1_test
