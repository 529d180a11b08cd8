// Turns the steps of a rank into operators.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/edit_log.h"
#include "core/program/program.h"
#include "core/program/reshard_plan.h"

namespace shardwright::program {

// Makes the names "key_0", "key_1", ... of every key, as Paddle's unique_name does.
// Thread safety: one thread at a time.
class NameMaker {
 public:
  // Skips the names in `taken`, which must outlive this.
  explicit NameMaker(const std::unordered_set<std::string>& taken) : taken_(&taken) {}
  std::string make(const std::string& key);
  // As make(), for a key that is used only once. Stores a counter only if the first name is taken.
  std::string make_sole(std::string key);

 private:
  const std::unordered_set<std::string>* taken_;
  std::unordered_map<std::string, std::uint64_t> next_;
};

// The process groups and their ring ids, the same for all ranks. One pass over the plans in program
// order fills the table before any rank emits operators.
// Thread safety: const members may be called from any thread.
class GroupTable {
 public:
  // In compat mode, messages and collectives of the same two ranks share a group, as in Paddle's
  // Resharder. If `known` has several groups of the same ranks, the first is used.
  GroupTable(Communication known, bool compat) : known_(std::move(known)), compat_(compat) {
    for (const ProcessGroup& group : known_.groups) {
      const auto ranks = group.ranks.view();
      rings_.try_emplace(key({ranks.begin(), ranks.end()}, group.is_point_to_point), group.ring_id);
    }
  }

  void add(const ReshardPlan& plan) {
    for (const auto& [rank, steps] : plan.ranks) {
      for (const Step& step : steps) {
        if (is_collective(step.kind)) add(step.group, false);
        if (step.kind == StepKind::kSend || step.kind == StepKind::kRecv) {
          add({step.src, step.dst}, true);
        }
      }
    }
  }
  // Adds the groups of messages only, in the order of their receivers.
  void add_by_receiver(const ReshardPlan& plan) {
    for (const auto& [rank, steps] : plan.ranks) {
      for (const Step& step : steps) {
        if (step.kind == StepKind::kRecv) add({step.src, step.dst}, true);
      }
    }
  }
  void add(std::vector<Rank> ranks, bool point_to_point) {
    const auto [at, fresh] =
        rings_.try_emplace(key(std::move(ranks), point_to_point), known_.next_ring_id);
    if (!fresh) return;
    known_.groups.push_back({SharedArray<Rank>(at->first.first), point_to_point, at->second});
    ++known_.next_ring_id;
  }

  // Precondition: the group was added.
  std::int64_t ring_id(const std::vector<Rank>& ranks, bool point_to_point) const {
    const auto at = rings_.find(key(ranks, point_to_point));
    SHARDWRIGHT_CHECK(at != rings_.end());
    return at->second;
  }
  const Communication& communication() const { return known_; }

 private:
  using Key = std::pair<std::vector<Rank>, bool>;
  Key key(std::vector<Rank> ranks, bool point_to_point) const {
    return {std::move(ranks), point_to_point && !compat_};
  }

  Communication known_;
  bool compat_;
  std::map<Key, std::int64_t> rings_;
};

// Limit of the pieces of a split; each piece is a variable of about 0.4 kB. Beyond the limit a part
// is sliced. Even placements need no more pieces than a mesh has ranks. Uneven placements may have
// only one row in common, so that every row would be a piece.
inline constexpr std::int64_t kMaxPieces = std::int64_t{1} << 16;

// Where operators are inserted, and the tensor that they take.
struct EmitSite {
  OpId anchor;                   // operators go before the anchor, or after it if `into` is valid
  VarId source;                  // this rank's tensor; invalid if it holds none
  VarId into;                    // variable for the result; invalid: make a new one
  std::uint64_t source_key = 0;  // key of caches: equal for equal contents
  std::string base_name;         // of the tensor, for generated names
  Shape local_shape;             // of the source on this rank
  DataType type = DataType::kFloat32;
  std::int32_t lod_level = 0;
  VarId lod_feed;  // gives received tensors their level of detail; invalid: not needed
  OpRole role = OpRole::kForward;
  BlockId block{0};

  bool is_bool() const { return type == DataType::kBool; }
};

// A variable of the program, with the shape of its part on this rank.
struct LocalTensor {
  VarId var;
  Shape shape;
};

// The operators that emitters combine. Each member inserts its operators at the current site and
// returns the variable that they write. Thread safety: one thread at a time.
class OpBuilder {
 public:
  OpBuilder(EditLog& log, const std::unordered_set<std::string>& taken)
      : log_(log), names_(taken) {}

  // Sets the current site, which must outlive its use.
  void begin(const EmitSite& site);
  const EmitSite& site() const { return *site_; }
  // The operator that was inserted last, or else the anchor. Precondition: the site has `into`.
  OpId last() const { return *after_; }

  std::string new_name(const std::string& key) { return names_.make(key); }
  // Returns a name such as Paddle's layers give their outputs: "type@RESHARD_0.tmp_0".
  std::string new_layer_name(const char* type);
  DataType type_of(const LocalTensor& tensor) const { return log_.var(tensor.var).type; }

  LocalTensor create(std::string name, const Shape& shape, DataType type);
  void insert(std::string type, const std::vector<VarId>& inputs, const std::vector<VarId>& outputs,
              Attributes attributes);
  // Inserts an operator with one input and one output.
  LocalTensor unary(std::string op_type, const LocalTensor& input, std::string name,
                    const Shape& shape, DataType type, Attributes attributes);
  LocalTensor cast(const LocalTensor& tensor, DataType from, DataType to);
  void cast_into(const LocalTensor& tensor, VarId into, DataType from, DataType to);
  std::vector<LocalTensor> split(const LocalTensor& tensor, std::size_t dim, std::int64_t count,
                                 const std::string& key);
  LocalTensor join(const std::vector<LocalTensor>& tensors, std::size_t dim);
  // Cuts a box out of the tensor. The result has the name `name`, except if it is one of several
  // outputs of a split.
  LocalTensor cut_box(const LocalTensor& tensor, const Part& part, const std::string& name);
  // Swaps dimensions `dim` and 0.
  LocalTensor swap_with_first(const LocalTensor& tensor, std::size_t dim);

 private:
  EditLog& log_;
  NameMaker names_;
  const EmitSite* site_ = nullptr;
  std::optional<OpId> after_;  // insert after this operator; empty: before the anchor
};

// Emits collectives. Paddle's collectives do not support booleans, so booleans are sent as 64-bit
// integers. Most collectives split or join only dimension 0, so other dimensions are swapped with
// it before and after. Thread safety: one thread at a time. Refers to its arguments.
class CollectiveEmitter {
 public:
  // In compat mode, gathers are cached per tensor and group, as in Paddle's Resharder.
  CollectiveEmitter(OpBuilder& ops, const GroupTable& groups, bool compat)
      : ops_(ops), groups_(groups), compat_(compat) {}

  // Returns the gathered tensor, or its pieces if Step::need_split is set.
  std::vector<LocalTensor> gather(const Step& step, const LocalTensor& input);
  LocalTensor concat_gather(const Step& step, const LocalTensor& input);
  LocalTensor all_reduce(const Step& step, const LocalTensor& input);
  LocalTensor reduce_scatter(const Step& step, const LocalTensor& input);
  LocalTensor all_to_all(const Step& step, const LocalTensor& input);

 private:
  LocalTensor finish_reduction(const Step& step, const LocalTensor& reduced);
  LocalTensor from_bool(const LocalTensor& tensor);
  LocalTensor to_bool(const LocalTensor& tensor);

  OpBuilder& ops_;
  const GroupTable& groups_;
  bool compat_;
  std::map<std::pair<std::uint64_t, std::vector<Rank>>, std::vector<LocalTensor>> gathered_;
};

// Emits sends and receives. Paddle's do not support booleans, so booleans are sent as 64-bit
// integers. Thread safety: one thread at a time. Refers to its arguments.
class MessageEmitter {
 public:
  // In compat mode, sends and receives for inputs are cached per tensor and partner, as in Paddle's
  // Resharder: a tensor is sent to a partner only once.
  MessageEmitter(OpBuilder& ops, const GroupTable& groups, bool compat)
      : ops_(ops), groups_(groups), compat_(compat) {}

  void send(const Step& step, const LocalTensor& input);
  // `is_result`: the received tensor is the result of the plan.
  LocalTensor receive(const Step& step, bool is_result);

 private:
  bool caches() const { return compat_ && !ops_.site().into.valid(); }
  LocalTensor receive_new(const Step& step, bool is_result);

  OpBuilder& ops_;
  const GroupTable& groups_;
  bool compat_;
  std::map<std::pair<std::uint64_t, Rank>, bool> sent_;
  std::map<std::pair<std::uint64_t, Rank>, LocalTensor> received_;
};

// Emits the operators of a rank's steps. Keeps the current tensor and the pieces that the next
// concat joins. Thread safety: one thread at a time. Refers to its arguments.
class Emitter {
 public:
  // In compat mode, gathers, sends and receives are cached per tensor, and concats join two pieces
  // at a time, as in Paddle's Resharder. Generated names skip the names in `taken`.
  Emitter(EditLog& log, const GroupTable& groups, const std::unordered_set<std::string>& taken,
          bool compat)
      : ops_(log, taken),
        collectives_(ops_, groups, compat),
        messages_(ops_, groups, compat),
        compat_(compat) {}

  // Returns the variable that holds the result. Empty if the rank gets no result, for example
  // because it only sends.
  std::optional<VarId> emit(const EmitSite& site, const std::vector<Step>& steps);

  // The last operator that the previous emit() inserted; if it inserted none, the anchor of its
  // site. Precondition: that site had `into`.
  OpId last() const { return ops_.last(); }

 private:
  void apply(const Step& step);
  void finish(const LocalTensor& result);
  void gather(const Step& step);
  void keep(const Step& step);
  void concat(const Step& step);
  LocalTensor join_pairwise(const Step& step);
  void zero(const Step& step);
  LocalTensor cut_box(const Part& part);

  OpBuilder ops_;
  CollectiveEmitter collectives_;
  MessageEmitter messages_;
  bool compat_;
  LocalTensor current_;
  std::vector<LocalTensor> pieces_;
  bool has_result_ = false;
  bool receives_result_ = false;  // the result is the only message received
};

}  // namespace shardwright::program
