// Picks the nodes of blocks: the sets of nodes whose strategies the local search changes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/solver_parameters.h"
#include "search/random.h"

namespace shardwright::operators {

enum class BlockKind : std::uint8_t {
  kBall,     // breadth first around a node
  kWindow,   // consecutive nodes
  kHolders,  // several small balls around nodes that hold memory
  kFollow,   // a node that changes, and nodes that must change with it
  kStiff,    // around a node of high cost, along pairs whose costs vary most
};

struct BlockShape {
  BlockKind kind = BlockKind::kBall;
  std::uint32_t size = 0;
  std::size_t max_table = 0;  // limit of tables of the block's solver, in entries
};

// The memory of one worker, and the block that was picked. Thread safety: one thread at a time.
struct BlockScratch {
  explicit BlockScratch(const ChoiceGraph& graph);

  std::vector<std::uint32_t> block;
  std::vector<std::uint32_t> choice;  // after kFollow: the state's choice with the changes
  ConsistentDomains domains;
  std::size_t consistent = 0;  // number of first removals that hold for every choice
  std::vector<std::uint8_t> seen;
  std::vector<std::pair<double, std::uint32_t>> frontier;
};

// Picks blocks of a graph, which must outlive the picker.
// Thread safety: const members may be called from any thread.
class BlockPicker {
 public:
  explicit BlockPicker(const ChoiceGraph& graph, const BlockPickerParameters& parameters = {});

  // Sets scratch.block. Equal states, shapes and keys give the same nodes. Returns false if the
  // shape gives no block for this key.
  bool pick(const SearchState& state, const BlockShape& shape, BlockScratch& scratch,
            std::uint64_t key) const;

 private:
  void grow_ball(BlockScratch& scratch, std::uint32_t start, std::size_t size,
                 RandomGenerator& random) const;
  void grow_around_holders(BlockScratch& scratch, std::size_t size, RandomGenerator& random) const;
  void grow(BlockScratch& scratch, std::uint32_t start, std::size_t size,
            RandomGenerator& random) const;
  void grow_stiff(const SearchState& state, BlockScratch& scratch, std::size_t size,
                  RandomGenerator& random) const;
  double cost_around(const SearchState& state, std::uint32_t n) const;
  bool follow(const SearchState& state, const BlockShape& shape, BlockScratch& scratch,
              RandomGenerator& random) const;
  std::uint32_t best_left(const SearchState& state, const BlockScratch& scratch,
                          std::uint32_t n) const;

  const ChoiceGraph& graph_;
  BlockPickerParameters parameters_;
  std::vector<double> stiffness_;  // by node and arc: how much the costs of the pair vary
  std::vector<std::size_t> first_arc_{0};
};

// Draws arms (shapes of blocks) in proportion to their gain per unit of work. Gains and work of
// recent batches count more. Every arm gets at least the fraction ArmParameters::least_share of the
// blocks. An arm whose blocks take more work than the mean gets this fraction of the work instead,
// unless its last block was long ago. Thread safety: const members may be called from any thread.
class BlockArms {
 public:
  // `any_holders`: some node holds memory. If false, there are no arms with blocks around holders.
  BlockArms(const ArmParameters& parameters, bool any_holders);

  const BlockShape& shape(std::uint32_t arm) const { return arms_[arm].shape; }

  // Computes the shares that draw() uses. Call it before each batch.
  void update_shares();
  std::uint32_t draw(RandomGenerator& random) const;

  // Lets past gains and work count less. Call it once per batch.
  void fade();
  void add_block(std::uint32_t arm, double work) {
    arms_[arm].blocks += 1;
    arms_[arm].work += work;
  }
  void add_gain(std::uint32_t arm, double gain) { arms_[arm].gain += gain; }

 private:
  struct Arm {
    BlockShape shape;
    double gain;
    double blocks;
    double work;
  };

  void add(BlockKind kind, std::uint32_t size, std::size_t max_table);

  double fade_;
  double least_share_;
  double forgotten_;
  std::vector<Arm> arms_;
  std::vector<double> shares_;  // by arm: its share plus those of the arms before it
};

}  // namespace shardwright::operators
