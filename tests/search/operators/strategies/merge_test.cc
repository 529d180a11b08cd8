// Merging of nodes: the strategies that follow, the costs that are added or dropped, and the edges
// that remain, in order.
#include "search/operators/strategies/merge.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace shardwright::merge_test {

namespace {

using namespace shardwright::operators;

constexpr std::uint32_t kNone = MergedGraph::kNone;

// A graph whose edges a test adds one by one.
struct Graph {
  std::vector<std::uint32_t> num_strategies;
  std::vector<bool> may_merge;
  std::vector<CostEdge> edges;
  MatrixPool pool;

  void connect(std::uint32_t from, std::uint32_t to, std::vector<double> entries) {
    edges.push_back(
        {from, to, pool.intern({num_strategies[from], num_strategies[to], std::move(entries)})});
  }
  MergedGraph merge() { return merge_nodes(num_strategies, may_merge, edges, pool); }
};

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const MergedGraph& merged) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const CostEdge& edge : merged.edges)
    pairs.emplace_back(edge.first, edge.second);
  return pairs;
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

}  // namespace

TEST_CASE(
    "merge: a strategy implies the last of the cheapest ones, and takes over its row of costs") {
  Graph graph{{2, 3, 2}, {false, true, false}, {}, {}};
  graph.connect(0, 1,
                {5, 1, 1,  //
                 0, 7, 3});
  graph.connect(1, 2,
                {10, 11,  //
                 20, 21,  //
                 30, 31});
  const MergedGraph merged = graph.merge();
  CHECK(merged.follows == std::vector<std::uint32_t>{kNone, 0, kNone});
  CHECK(merged.extra[0] == std::vector<double>{1, 0});
  CHECK(merged.extra[1].empty());
  REQUIRE(pairs_of(merged) == Pairs{{0, 2}});
  CHECK(graph.pool[merged.edges[0].matrix].entries == std::vector<double>{30, 31, 10, 11});
}

TEST_CASE("merge: chains end at their root, and the added costs accumulate") {
  Graph graph{{2, 2, 2, 2}, {false, true, true, true}, {}, {}};
  graph.connect(0, 1, {1, 9, 9, 2});
  graph.connect(1, 2, {9, 4, 8, 9});
  graph.connect(2, 3, {16, 99, 99, 32});
  const MergedGraph merged = graph.merge();
  CHECK(merged.follows == std::vector<std::uint32_t>{kNone, 0, 0, 0});
  CHECK(merged.edges.empty());
  CHECK(merged.extra[2] == std::vector<double>{16, 32});
  CHECK(merged.extra[1] == std::vector<double>{4 + 32, 8 + 16});
  CHECK(merged.extra[0] == std::vector<double>{1 + 4 + 32, 2 + 8 + 16});
}

TEST_CASE("merge: an existing edge is kept and the new one dropped") {
  Graph graph{{1, 1, 1}, {false, true, false}, {}, {}};
  graph.connect(0, 1, {2});
  graph.connect(1, 2, {50});
  graph.connect(0, 2, {3});
  const MergedGraph merged = graph.merge();
  REQUIRE(pairs_of(merged) == Pairs{{0, 2}});
  CHECK(graph.pool[merged.edges[0].matrix].entries == std::vector<double>{3});
}

TEST_CASE("merge: a node with two merged children keeps only the cost of the first") {
  Graph graph{{1, 1, 1}, {false, true, true}, {}, {}};
  graph.connect(0, 1, {2});
  graph.connect(0, 2, {5});
  const MergedGraph merged = graph.merge();
  CHECK(merged.extra[0] == std::vector<double>{2});
  CHECK(merged.follows == std::vector<std::uint32_t>{kNone, 0, 0});
}

TEST_CASE("merge: a node of two parents follows the first, which is merged last") {
  Graph graph{{1, 1, 1, 1}, {false, false, true, false}, {}, {}};
  graph.connect(0, 2, {1});
  graph.connect(1, 2, {2});
  graph.connect(2, 3, {4});
  const MergedGraph merged = graph.merge();
  CHECK(merged.follows == std::vector<std::uint32_t>{kNone, kNone, 0, kNone});
  CHECK(pairs_of(merged) == Pairs{{1, 3}, {0, 3}});
  CHECK(merged.extra[0] == std::vector<double>{1});
  CHECK(merged.extra[1] == std::vector<double>{2});
}

TEST_CASE("merge: kept edges come first, new ones in the order in which they were made") {
  Graph graph{{1, 1, 1, 1, 1, 1}, {false, true, false, true, false, false}, {}, {}};
  graph.connect(0, 1, {0});
  graph.connect(1, 2, {1});
  graph.connect(2, 3, {0});
  graph.connect(3, 4, {2});
  graph.connect(3, 5, {3});
  graph.connect(4, 5, {4});
  CHECK(pairs_of(graph.merge()) == Pairs{{4, 5}, {2, 4}, {2, 5}, {0, 2}});
}

TEST_CASE("merge: without mergeable nodes nothing changes") {
  Graph graph{{2, 1}, {false, false}, {}, {}};
  graph.connect(0, 1, {1, 2});
  const std::size_t matrices = graph.pool.size();
  const MergedGraph merged = graph.merge();
  CHECK(pairs_of(merged) == Pairs{{0, 1}});
  CHECK(merged.edges[0].matrix == graph.edges[0].matrix);
  CHECK(merged.extra == std::vector<std::vector<double>>(2));
  CHECK(graph.pool.size() == matrices);
}

TEST_CASE("merge: equal matrices are one object, and taking all rows in order makes no new one") {
  Graph graph{{2, 2, 2}, {false, true, false}, {}, {}};
  graph.connect(0, 1, {0, 9, 9, 0});
  graph.connect(1, 2, {1, 2, 3, 4});
  const std::size_t matrices = graph.pool.size();
  const MergedGraph merged = graph.merge();
  REQUIRE(merged.edges.size() == 1);
  CHECK(merged.edges[0].matrix == graph.edges[1].matrix);
  CHECK(graph.pool.size() == matrices);
}

TEST_CASE("merge: the matrix pool distinguishes shapes and contents") {
  MatrixPool pool;
  CHECK(pool.intern({1, 2, {1, 2}}) == 0);
  CHECK(pool.intern({2, 1, {1, 2}}) == 1);
  CHECK(pool.intern({1, 2, {2, 1}}) == 2);
  CHECK(pool.intern({1, 2, {1, 2}}) == 0);
  CHECK(pool.size() == 3);
}

TEST_CASE("merge: cheap operators of one operand are mergeable") {
  CHECK(mergeable(OpKind::kRelu));
  CHECK(mergeable(OpKind::kGetitem));
  CHECK(mergeable(OpKind::kSoftmax));
  CHECK_FALSE(mergeable(OpKind::kTanh));
  CHECK_FALSE(mergeable(OpKind::kSum));
  CHECK_FALSE(mergeable(OpKind::kAdaptiveAvgPool2d));
  CHECK_FALSE(mergeable(OpKind::kOutput));
  CHECK_FALSE(mergeable(OpKind::kAdd));
}

}  // namespace shardwright::merge_test
