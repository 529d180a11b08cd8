// What a node of a tree over ranks leaves open.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/ranks/rank_model.h"

namespace shardwright::embedding {

// The ranks where a choice may have shards, and those where it has one. None: it is excluded.
struct RankPlaces {
  ClassSet may = 0;
  ClassSet held = 0;
};

// By choice of the rank model.
using RankDomain = std::vector<RankPlaces>;

// How a node is divided: either by the choices of a table, which the first child may use and the
// second one not, or by a rank, on which the table has a shard in the first child, while it has
// none on any rank of the orbit in the second one.
struct RankDivision {
  std::uint32_t table = 0;
  std::vector<std::uint32_t> first_child;  // choices; empty if it divides by a rank
  std::uint32_t rank = 0;
  ClassSet orbit = 0;
};

// All choices, wherever there is room for a shard.
RankDomain whole_domain(const RankModel& model);

void restrict_to_child(const RankModel& model, const RankDivision& division, bool is_first,
                       RankDomain& domain);

// Removes the places where a shard does not fit beside what every plan of the node has there: the
// least shard of every table that has one there with all of its choices. Returns false if a table
// has no choice left.
bool remove_misfits(const RankModel& model, double target, RankDomain& domain, Budget& budget);

// The ranks that a plan may exchange with each one: equal ranks of a host, or of hosts with equal
// ranks. `named`: what the divisions on the way to the node say of ranks.
std::vector<ClassSet> rank_orbits(const RankModel& model, const std::vector<ClassSet>& named);

}  // namespace shardwright::embedding
