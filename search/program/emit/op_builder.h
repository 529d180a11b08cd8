// Inserts single operators into the edit log of one rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/program/edit_log.h"
#include "core/program/part.h"
#include "search/program/emit/name_maker.h"

namespace shardwright::program {

// Every piece of a split is a variable of the program, about 0.4 kB. Even shares make no more
// pieces than a mesh has ranks. Uneven shares may overlap in one row, and then every row would be a
// piece: a part that would be one of more pieces than this is sliced.
inline constexpr std::int64_t kMaxPieces = std::int64_t{1} << 16;

// Where operators are inserted, and the tensor that they start from.
struct EmitSite {
  OpId anchor;                   // operators go before it, or after it if `into` is valid
  VarId source;                  // what this rank holds; invalid if it holds nothing
  VarId into;                    // the variable for the result; invalid for a new one
  std::uint64_t source_key = 0;  // the key of caches: equal for equal contents
  std::string base_name;         // of the tensor, for generated names
  Shape local_shape;             // of the source on this rank
  DataType type = DataType::kFloat32;
  std::int32_t lod_level = 0;
  VarId lod_feed;  // received tensors take their level of detail from it; invalid if they need none
  OpRole role = OpRole::kForward;
  BlockId block{0};

  bool is_bool() const { return type == DataType::kBool; }
};

// A variable of the program and the shape that it has on this rank.
struct LocalTensor {
  VarId var;
  Shape shape;
};

// The operators that emitters combine. Each member inserts its operators at the current site and
// returns the variable that they write.
// Thread safety: one thread at a time.
class OpBuilder {
 public:
  OpBuilder(EditLog& log, const std::unordered_set<std::string>& taken)
      : log_(log), names_(taken) {}

  // Sets the current site, which must outlive its use.
  void begin(const EmitSite& site);
  const EmitSite& site() const { return *site_; }
  // The operator that was inserted last, or the anchor. Precondition: the site has `into`.
  OpId last() const { return *after_; }

  std::string new_name(const std::string& key) { return names_.make(key); }
  // The name of the output of a framework layer: "type@RESHARD_0.tmp_0".
  std::string new_layer_name(const char* type);
  DataType type_of(const LocalTensor& tensor) const { return log_.var(tensor.var).type; }

  LocalTensor create(std::string name, const Shape& shape, DataType type);
  void insert(std::string type, const std::vector<VarId>& inputs, const std::vector<VarId>& outputs,
              Attributes attributes);
  // An operator with one input and one output.
  LocalTensor unary(std::string op_type, const LocalTensor& input, std::string name,
                    const Shape& shape, DataType type, Attributes attributes);
  LocalTensor cast(const LocalTensor& tensor, DataType from, DataType to);
  void cast_into(const LocalTensor& tensor, VarId into, DataType from, DataType to);
  std::vector<LocalTensor> split(const LocalTensor& tensor, std::size_t dim, std::int64_t count,
                                 const std::string& key);
  LocalTensor join(const std::vector<LocalTensor>& tensors, std::size_t dim);
  // Cuts a box out of the tensor. The result is called `name` unless it is one output of several.
  LocalTensor cut_box(const LocalTensor& tensor, const Part& part, const std::string& name);
  // Swaps dimensions `dim` and 0.
  LocalTensor swap_with_first(const LocalTensor& tensor, std::size_t dim);

 private:
  EditLog& log_;
  NameMaker names_;
  const EmitSite* site_ = nullptr;
  std::optional<OpId> after_;  // insert after this operator instead of before the anchor
};

}  // namespace shardwright::program
