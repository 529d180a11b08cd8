// The linear program of plans over single ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "search/budget.h"
#include "search/embedding/best/bound/ranks/rank_domain.h"
#include "search/embedding/best/bound/ranks/rank_model.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/linear_program.h"

namespace shardwright::embedding {

// A value counts as whole within this, the solver's tolerance.
inline constexpr double kWholeTolerance = 1e-6;

// Minimises the rating. A table takes parts of choices, a choice has parts of its shards on ranks,
// and every rank has the load and the memory that these take. A node of a tree only changes bounds,
// so that a solution starts from the last one.
// Thread safety: one thread at a time. Refers to its arguments.
class RankProgram {
 public:
  // With what `root` leaves open: the domain of a node must be a part of it.
  RankProgram(const RankModel& model, const RankDomain& root, const BoundParameters& parameters,
              Budget& budget);

  // The same program on its own, with the same solution.
  RankProgram copy() const { return *this; }

  // Returns false if there is no solution, or none was found, or if it rates above the limit. The
  // multipliers may show that there is none.
  bool solve(const RankDomain& domain, Budget& budget);
  void set_limit(double rating) { program_.set_objective_limit(rating / model_.target()); }

  // Of the last solution.
  std::vector<CapacityMultipliers> multipliers() const;
  double share(std::uint32_t choice) const;
  // How much of the choice has a shard on each rank.
  std::vector<double> on_ranks(std::uint32_t choice) const;
  // Returns true if every share and every number of shards is whole.
  bool is_whole() const;

  using Basis = LinearProgram::Basis;
  Basis basis() const { return program_.basis(); }
  void set_basis(const Basis& basis) {
    if (!basis.empty()) program_.set_basis(basis);
  }

 private:
  RankProgram(const RankProgram& other)
      : model_(other.model_),
        parameters_(other.parameters_),
        program_(other.program_.copy()),
        choices_(other.choices_) {}

  // A part of a choice: all of it, or its shards of one run in one place.
  struct Column {
    std::size_t index = 0;  // in the program
    ClassSet place = 0;     // a rank, a host, or all ranks
    double most = 1;
    bool is_share = true;    // its value is a part of the choice
    bool has_shards = true;  // it takes load and memory of its place
    bool is_extra = false;   // they are what larger shards take beyond the smallest one
    bool is_on = true;
  };
  // The shards of one choice on a rank, or blocks on a host, less its share there.
  struct HeldRow {
    std::size_t row = 0;
    ClassSet place = 0;
    bool is_on = false;
  };
  struct OfChoice {
    std::vector<Column> columns;
    std::vector<HeldRow> held;
    // Of every run, or of every host and run: its shards, less those of the share.
    std::vector<std::size_t> links;
  };

  std::size_t row_of_load(std::size_t rank) const { return rank * (1 + model_.tiers().size()); }
  std::size_t row_of_table(std::size_t table) const {
    return row_of_load(model_.num_ranks()) + table;
  }
  bool needs_links(const RankChoice& choice) const;
  std::vector<ClassSet> places_of(const RankChoice& choice) const;
  void add_rows(const RankDomain& root);
  void add_slack();
  void spend(std::size_t pivots, Budget& budget) const;
  void add_columns(std::uint32_t choice);
  void add_linked_columns(std::uint32_t choice);
  std::vector<LinearProgram::Entry> add_extras(std::uint32_t choice, ClassSet place);
  void add_column(std::uint32_t choice, Column column, std::vector<LinearProgram::Entry> entries,
                  const RankShards* shards);
  bool is_open(const RankChoice& choice, const Column& column, const RankPlaces& own) const;

  const RankModel& model_;
  const BoundParameters& parameters_;
  LinearProgram program_;
  std::vector<OfChoice> choices_;
};

}  // namespace shardwright::embedding
