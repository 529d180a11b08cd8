// Which division of a node raises the bound most, from the linear program and from experience.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "search/embedding/best/bound/ranks/rank_domain.h"
#include "search/embedding/best/bound/ranks/rank_model.h"
#include "search/embedding/best/bound/ranks/rank_program.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// A division that the solution of the linear program has in neither child.
struct RankCandidate {
  RankDivision division;
  double first = 0;     // how much of the table is in the first child
  double estimate = 0;  // the larger the better
};

// Pseudocosts: by how much the children of a division raised the bound, per part of a table that
// had to move.
// Thread safety: a value.
class RankExperience {
 public:
  // Of a table: by rank, or by the number of choices in the first child.
  using Kind = std::pair<std::uint32_t, std::size_t>;
  struct Tried {
    std::array<double, 2> gain{};
    std::array<std::uint32_t, 2> times{};

    void add(const Tried& other);
  };

  // Null if there is none.
  const Tried* of(const Kind& kind) const;
  const Tried& of_all() const { return all_; }
  void learn(const Kind& kind, bool is_first, double gain);
  void add(const RankExperience& other);
  // The same mean gains, as if each division had been tried once.
  RankExperience tried_once() const;

 private:
  std::map<Kind, Tried> by_kind_;
  Tried all_;
};

// Divisions of a table that were not tried yet gain the mean of all.
// Source: Achterberg, Koch, Martin, "Branching rules revisited" (2005).
// Thread safety: one thread at a time. Refers to its arguments.
class RankBranching {
 public:
  // `known`: what others have learned.
  RankBranching(const RankModel& model, const RankProgram& program, const RankExperience& known,
                const RankTreeParameters& parameters)
      : model_(model), program_(program), known_(known), parameters_(parameters) {}

  // For the last solution of the program, the most promising first. `named` as for rank_orbits().
  std::vector<RankCandidate> candidates(const RankDomain& domain,
                                        const std::vector<ClassSet>& named) const;

  // What the children gain, as an estimate: first child, second child.
  std::array<double, 2> gains(const RankCandidate& candidate) const;
  void learn(const RankCandidate& candidate, bool is_first, double gain);
  // Returns true if such divisions were tried often enough to know what they gain.
  bool is_reliable(const RankCandidate& candidate) const;
  // What is new since the last call.
  RankExperience take_learned() { return std::exchange(learned_, {}); }

  double score(const std::array<double, 2>& gains) const;

 private:
  using Kind = RankExperience::Kind;
  using Tried = RankExperience::Tried;

  static Kind kind_of(const RankDivision& division) {
    return {division.table, division.first_child.size()};
  }
  Tried tried(const Kind& kind) const;
  void add_by_rank(std::uint32_t table, const std::vector<double>& on, const RankDomain& domain,
                   const std::vector<ClassSet>& orbits, std::vector<RankCandidate>& found) const;
  void add_by_choice(std::uint32_t table, bool by_memory, const std::vector<double>& shares,
                     const RankDomain& domain, std::vector<RankCandidate>& found) const;
  double size_of(std::uint32_t choice, bool by_memory) const;

  const RankModel& model_;
  const RankProgram& program_;
  const RankExperience& known_;
  const RankTreeParameters& parameters_;
  RankExperience learned_;
};

}  // namespace shardwright::embedding
