// A small model as a search of all its plans reads it: where every shard may be, table by table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/context/search_context.h"

namespace shardwright::embedding {

// Consecutive shards of a choice that are interchangeable: equal costs, the same allowed ranks. Of
// a choice that fills hosts, the shards with the same rank within its host; `local_world_size`
// pieces in a row are a block, and their `count` is that of equal blocks.
struct WholePiece {
  double load = 0;
  PerTier<double> bytes = {};  // exact
  std::uint32_t count = 0;
};

struct WholeChoice {
  std::uint32_t choice = 0;  // of the choice model
  Reach reach = Reach::kDevice;
  bool on_one_host = false;  // all shards, by the sharding type or by a rule
  std::uint32_t first_piece = 0;
  std::uint32_t end_piece = 0;
};

struct WholeTable {
  std::uint32_t table = 0;  // of the choice model
  std::uint32_t first_choice = 0;
  std::uint32_t end_choice = 0;
  Bond bond = Bond::kNone;
  bool distinct = false;
  bool has_groups = false;
  // Other tables with the same choices and the same rules: they are interchangeable.
  std::uint64_t alike = 0;
};

// The tables of the model, the largest first, and what a plan below `below` may choose for each. A
// choice is left out if a shard has no rank: by the rules, by memory, by its own load, or since the
// tables that it is kept together with cannot follow it. It is also left out if another choice of
// as many shards costs no more and may be wherever it may be. Thread safety: immutable. Refers to
// the context.
class WholeModel {
 public:
  WholeModel(const SearchContext& context, double below);

  const SearchContext& context() const { return *context_; }
  const ChoiceModel& model() const { return context_->model(); }
  std::uint32_t num_ranks() const { return num_ranks_; }
  std::uint32_t ranks_per_host() const { return model().local_world_size(); }
  // Returns true if a table has no choice left.
  bool is_hopeless() const { return hopeless_; }

  // How many pieces in a row are placed at once: those of a block, or one.
  std::uint32_t pieces_per_place(const WholeChoice& choice) const {
    return choice.reach == Reach::kWholeHosts ? ranks_per_host() : 1;
  }

  std::span<const WholeTable> tables() const { return tables_; }
  std::span<const WholeChoice> choices() const { return choices_; }
  std::span<const WholePiece> pieces() const { return pieces_; }
  bool allows(std::uint32_t piece, Rank rank) const {
    return allowed_[piece * num_ranks_ + rank] != 0;
  }

  // Tables to be kept together or apart. Sets of tables are bits by position in tables().
  struct Group {
    bool together = false;
    std::uint32_t ranks_per_place = 1;
    std::uint64_t tables = 0;
  };
  std::span<const Group> groups() const { return groups_; }

 private:
  void order_tables();
  void add_table(std::size_t table, double below);
  void add_choice(std::uint32_t table, std::uint32_t index, double below);
  bool may_hold(const Choice& choice, const ShardUse& shard, Rank rank, double below) const;
  void join_equal_pieces(std::uint32_t size);
  void find_groups();
  bool filter_group(const Group& group);
  bool may_be_in(const WholeTable& table, const WholeChoice& choice, Rank first,
                 std::uint32_t count) const;
  bool filter_choices();
  void forget_ample_memory(MemoryTier tier);
  void drop_dominated();
  bool dominates(const WholeChoice& a, const WholeChoice& b) const;
  void mark_equal_tables();
  bool are_equal(const WholeTable& a, const WholeTable& b) const;
  bool has_place(const WholeTable& table, const WholeChoice& choice) const;

  const SearchContext* context_;
  std::uint32_t num_ranks_;
  bool hopeless_ = false;
  std::vector<std::uint32_t> order_;
  std::vector<WholeTable> tables_;
  std::vector<WholeChoice> choices_;
  std::vector<WholePiece> pieces_;
  std::vector<std::uint8_t> allowed_;  // by piece and rank
  std::vector<Group> groups_;
};

}  // namespace shardwright::embedding
