#include "tests/core/embedding/bound/proofs.h"

namespace shardwright::bound_proofs {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

namespace {

// Three tables of 2 ms on two ranks. The Lagrangian bound is 3 ms, the pattern bound 4 ms.
SpaceBuilder three_tables() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 2, 10);
  return builder;
}

SpaceBuilder equal_tables() {
  SpaceBuilder builder(spec(3, 2, 2));
  for (std::size_t table = 0; table < 3; ++table)
    builder.add(table, kTableWise, 1, 2, 10).add(table, kRowWise, 2, 1.5, 5);
  return builder;
}

BoundNode branch_on_count(std::vector<TableId> tables, std::uint32_t count,
                          std::vector<OptionDomain> first_child) {
  BoundNode node;
  node.is_leaf = false;
  node.tables = std::move(tables);
  node.count = count;
  node.first_child = std::move(first_child);
  return node;
}

}  // namespace

BoundNode leaf(std::vector<CapacityMultipliers> multipliers) {
  BoundNode node;
  node.multipliers = std::move(multipliers);
  return node;
}

BoundNode branch(std::size_t table, std::vector<OptionDomain> first_child) {
  BoundNode node;
  node.is_leaf = false;
  node.tables = {TableId(table)};
  node.first_child = std::move(first_child);
  return node;
}

ProblemSpec spec(std::size_t tables, std::int64_t world, std::int64_t local) {
  ProblemSpec spec = problem_spec(tables, world, local);
  spec.topology.hbm_cap_bytes = 100;
  spec.topology.ddr_cap_bytes = 100;
  return spec;
}

Proof lagrangian_proof() {
  return {three_tables().take(), {3 * kLess, {0, 0}, {leaf({{1, 0, 0}})}}};
}

Proof pattern_proof() {
  BoundNode node = leaf({{0.5, 0, 0}});
  for (std::size_t i = 0; i < 3; ++i)
    node.shard_duals.push_back({OptionId(i), 0, 1});
  node.max_pattern_values = {1 + 1e-9};
  return {three_tables().take(), {4 * kLess, {0, 0}, {node}}};
}

Proof branch_by_options() {
  auto space = SpaceBuilder(spec(3, 2, 2))
                   .add(0, kTableWise, 1, 4, 10)
                   .add(0, kRowWise, 2, 3, 5)
                   .add(1, kTableWise, 1, 4, 10)
                   .add(2, kTableWise, 1, 1, 10)
                   .take();
  return {
      space,
      {4.5 * kLess, {0, 0}, {branch(0, {{OptionId(0), 1}}), leaf({{1, 0, 0}}), leaf({{1, 0, 0}})}}};
}

Proof reduced_by_common_use() {
  auto space = SpaceBuilder(spec(2, 2, 2))
                   .add(0, kRowWise, 2, 3, 10)
                   .add(1, kTableWise, 1, 2, 10)
                   .add(1, kRowWise, 2, 1.9, 10)
                   .take();
  return {space, {4.9 * kLess, {0, 0}, {leaf({{0, 0, 0}})}}};
}

Proof branch_by_places() {
  ProblemSpec uneven = spec(2, 2, 2);
  uneven.calibration.rank_time = {1, 2};
  auto space = SpaceBuilder(std::move(uneven))
                   .add(0, kTableWise, 1, 3, 10)
                   .add(1, kTableWise, 1, 2, 10)
                   .add(1, kColumnWise, 2, 1.5, 5)
                   .take();
  // If the first table is on rank 0, the Lagrangian bound is 3.6 ms. On rank 1 it rates 6 ms.
  return {space,
          {3.6 * kLess,
           {0, 1},
           {branch(0, {{OptionId(0), 1}}), leaf({{2, 0, 0}, {1, 0, 0}}),
            leaf({{1, 0, 0}, {0, 0, 0}})}}};
}

Proof branch_by_count() {
  BoundNode packed = leaf({{0.5, 0, 0}});
  for (const std::size_t option : {0U, 2U, 4U})
    packed.shard_duals.push_back({OptionId(option), 0, 1});
  packed.max_pattern_values = {1 + 1e-9};
  return {equal_tables().take(),
          {3.5 * kLess,
           {0, 0},
           {branch_on_count({TableId(0), TableId(1), TableId(2)}, 1, {{OptionId(1), 1}}),
            leaf({{1, 0, 0}}), packed}}};
}

Proof branch_by_count_of_two() {
  Proof proof = branch_by_count();
  std::vector<BoundNode>& nodes = proof.certificate.nodes;
  nodes[0].count = 2;
  nodes.insert(nodes.begin() + 2, {branch(0, {{OptionId(1), 1}}), leaf({{1, 0, 0}})});
  return proof;
}

}  // namespace shardwright::bound_proofs
