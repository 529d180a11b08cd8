// Which process has which lane of best mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardwright::embedding {

// The lanes that look for plans stay where they are, because each has a state of its own. Process 0
// has fewer of them than the others, because the proof works there until its tree is shared. The
// lanes that share a tree are dealt out anew for every tree, such that all will have done equally
// much.
// Thread safety: a value.
class LaneDealing {
 public:
  LaneDealing() = default;  // one process
  // `lanes` look for plans, after the `first` ones, which prove. The proof alone works as much as
  // `proof_weight` of them.
  LaneDealing(std::uint32_t processes, std::size_t first, std::size_t lanes,
              std::size_t proof_weight);

  std::uint32_t processes() const { return processes_; }
  // Of a lane that looks for plans.
  std::uint32_t process_of(std::size_t lane) const;
  // The process of every lane of the proof. All together work as much as `weight` lanes that look
  // for plans. What processes have done unequally, by `done`, is made up for while a lane that
  // looks for plans does `catch_up` work. The first one stays in process 0.
  std::vector<std::uint32_t> deal_tree(double weight, std::span<const std::uint64_t> done,
                                       std::uint64_t catch_up) const;

 private:
  std::uint32_t processes_ = 1;
  std::size_t first_ = 0;
  std::size_t lanes_ = 0;
  std::size_t in_first_process_ = 0;  // of the lanes that look for plans
};

}  // namespace shardwright::embedding
