// Turns one rank's steps into operators of its program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/program/edit_log.h"
#include "search/program/group_table.h"

namespace shardwright::program {

// The names that a program has for generated variables, "key_0", "key_1", ...
// Thread safety: one thread at a time.
class NameMaker {
 public:
  // `taken` must outlive this; its names are passed over.
  explicit NameMaker(const std::unordered_set<std::string>& taken) : taken_(&taken) {}
  std::string make(const std::string& key);
  // The same for a key that is used once.
  std::string make_sole(std::string key);

 private:
  const std::unordered_set<std::string>* taken_;
  std::unordered_map<std::string, std::uint64_t> next_;
};

// Where operators go and what they start from.
struct EmitSite {
  OpId anchor;                   // operators go before it, or after it where `into` is valid
  VarId source;                  // what the rank holds; invalid where it holds nothing
  VarId into;                    // what the result is written to; invalid: a new variable
  std::uint64_t source_key = 0;  // equal for equal contents: what caches remember
  std::string base_name;         // of the tensor
  Shape local_shape;             // of the source on this rank
  DataType type = DataType::kFloat32;
  std::int32_t lod_level = 0;
  VarId lod_feed;  // where the level is not 0: what received tensors are reset from
  OpRole role = OpRole::kForward;
  BlockId block{0};
};

// Thread safety: one thread at a time.
class Emitter {
 public:
  // In compat mode gathers, sends and receives are remembered per tensor and whole slices become
  // assigns, as upstream has it.
  Emitter(EditLog& log, const GroupTable& groups, const std::unordered_set<std::string>& taken,
          bool compat)
      : log_(log), groups_(groups), names_(taken), compat_(compat) {}

  // The variable that holds the result; nothing where the steps leave none (a rank that only
  // sends).
  std::optional<VarId> emit(const EmitSite& site, const std::vector<Step>& steps);

  // The last operator that the last emit() inserted after its anchor; the anchor if it inserted
  // none.
  OpId last() const { return *after_; }

 private:
  struct Tensor {
    VarId var;
    Shape shape;
  };

  void apply(const Step& step);
  void gather(const Step& step);
  void concat_gather(const Step& step);
  void all_reduce(const Step& step);
  void reduce_scatter(const Step& step);
  void finish_reduction(const Step& step);
  void all_to_all(const Step& step);
  void send(const Step& step);
  void recv(const Step& step);
  void concat(const Step& step);
  void slice(const Step& step);
  void zero(const Step& step);

  Tensor create(std::string name, Shape shape, DataType type);
  OpId insert(std::string type, std::vector<VarId> inputs, std::vector<VarId> outputs,
              Attributes attributes);
  Tensor unary(std::string op_type, const Tensor& input, std::string name, Shape shape,
               DataType type, Attributes attributes);
  Tensor cast(const Tensor& tensor, DataType from, DataType to);
  std::vector<Tensor> split(const Tensor& tensor, std::size_t dim, std::int64_t count,
                            const std::string& key);
  Tensor join(const std::vector<Tensor>& tensors, std::size_t dim);
  Tensor box(const Tensor& tensor, const Part& part, const std::string& name);
  Tensor transpose(const Tensor& tensor, std::size_t dim);
  std::string layer(const char* type);
  bool is_bool() const { return site_->type == DataType::kBool; }
  bool remembers() const { return compat_ && !site_->into.valid(); }

  EditLog& log_;
  const GroupTable& groups_;
  NameMaker names_;
  bool compat_;

  const EmitSite* site_ = nullptr;
  std::optional<OpId> after_;  // insert after this instead of before the site's anchor
  Tensor current_;
  bool has_result_ = false;
  bool is_direct_ = false;  // what is received is the result
  std::vector<Tensor> pieces_;

  std::map<std::pair<std::uint64_t, std::vector<Rank>>, std::vector<Tensor>> gathered_;
  std::map<std::pair<std::uint64_t, Rank>, bool> sent_;
  std::map<std::pair<std::uint64_t, Rank>, Tensor> received_;
};

}  // namespace shardwright::program
