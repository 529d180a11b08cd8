// Immutable versions of programs, which share pages of operators and variables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.h"
#include "core/cow.h"
#include "core/ids.h"
#include "core/program/dist_attr.h"

namespace shardwright::program {

// An immutable sequence of values with dense indices. Copying is O(1) and does not allocate. A
// PersistentVector (core/cow.h) has a fixed size and copies a tree path per change. A PagedTable
// can grow and copies each changed page once per batch, which is cheaper for many changes.
// Thread safety: a value; versions that share pages may be used from different threads.
template <class T>
class PagedTable {
 public:
  static constexpr std::size_t kPageSize = 128;

  PagedTable() = default;

  std::size_t size() const { return size_; }
  const T& operator[](std::size_t i) const {
    SHARDWRIGHT_DCHECK(i < size_);
    return (*(*pages_)[i / kPageSize])[i % kPageSize];
  }
  // The page of element i. Two versions share the page if and only if the identities are equal.
  Identity identity(std::size_t i) const { return (*pages_)[i / kPageSize].get(); }
  Identity identity() const { return pages_.get(); }

  class Editor;

 private:
  using Page = std::array<T, kPageSize>;
  using Pages = std::vector<std::shared_ptr<const Page>>;

  PagedTable(std::shared_ptr<const Pages> pages, std::size_t size)
      : pages_(std::move(pages)), size_(size) {}

  std::shared_ptr<const Pages> pages_;
  std::size_t size_ = 0;
};

// A base table with changes. Reads see the changes; the base table stays as it is. Changes have the
// strong guarantee: on bad_alloc nothing has changed. Cost: O(pages) for the first change, then
// O(1), plus a copy of a page at its first change.
// Thread safety: one thread at a time.
template <class T>
class PagedTable<T>::Editor {
 public:
  explicit Editor(PagedTable base) : base_(std::move(base)), size_(base_.size_) {}

  std::size_t size() const { return size_; }
  bool changed() const { return !owned_.empty(); }

  const T& operator[](std::size_t i) const {
    SHARDWRIGHT_DCHECK(i < size_);
    if (owned_.empty()) return base_[i];
    return (*pages_[i / kPageSize])[i % kPageSize];
  }
  T& edit(std::size_t i) {
    SHARDWRIGHT_DCHECK(i < size_);
    return own(i / kPageSize)[i % kPageSize];
  }
  void push_back(T value) {
    if (size_ % kPageSize == 0) {
      unshare();
      auto page = std::make_shared<Page>();
      pages_.reserve(grown(pages_.size(), pages_.capacity()));
      owned_.reserve(grown(owned_.size(), owned_.capacity()));
      owned_.push_back(page.get());
      pages_.push_back(std::move(page));
    }
    own(size_ / kPageSize)[size_ % kPageSize] = std::move(value);
    ++size_;
  }

  // Returns the table with the changes. The editor must not be used afterwards.
  PagedTable finish() && {
    if (owned_.empty()) return base_;
    auto pages = std::make_shared<const Pages>(pages_.begin(), pages_.end());
    return PagedTable(std::move(pages), size_);
  }

 private:
  static std::size_t grown(std::size_t size, std::size_t capacity) {
    return size < capacity ? capacity : 2 * size + 1;
  }

  // Copies the list of pages, but not the pages.
  void unshare() {
    if (!pages_.empty() || base_.pages_ == nullptr) return;
    std::vector<Page*> owned(base_.pages_->size(), nullptr);
    Pages pages(*base_.pages_);
    pages_ = std::move(pages);
    owned_ = std::move(owned);
  }
  Page& own(std::size_t page) {
    unshare();
    if (owned_[page] == nullptr) {
      auto copy = std::make_shared<Page>(*pages_[page]);
      owned_[page] = copy.get();
      pages_[page] = std::move(copy);
    }
    return *owned_[page];
  }

  PagedTable base_;
  Pages pages_;
  std::vector<Page*> owned_;  // by page; null if shared
  std::size_t size_;
};

using OpId = Id<struct OpTag>;
using VarId = Id<struct VarTag>;
using BlockId = Id<struct BlockTag>;
using MeshId = Id<struct MeshTag>;
using GroupId = Id<struct GroupTag>;

enum class OpRole : std::uint8_t { kForward, kBackward, kOptimize, kLoss, kDistributed };
std::string_view to_name(OpRole role);
std::span<const std::string_view> op_role_names();

// A tensor of the program. Every rank of its mesh holds a part of it.
// Thread safety: a value.
struct Variable {
  std::string name;
  Shape shape;  // whole tensor; a first extent of -1 is the global batch size
  DataType type = DataType::kFloat32;
  MeshId mesh;  // invalid without a placement: only one rank knows the variable
  DimsMapping dims_mapping;
  PartialAxes partial;
  BlockId block{0};
  // Level of detail: the nesting depth of sequences. Messages do not carry where sequences end.
  std::int32_t lod_level = 0;
  bool is_feed = false;
  bool is_parameter = false;
  bool is_local = false;  // `shape` is the shape of one rank's part

  bool is_open() const { return !shape.empty() && shape[0] == -1; }
};

// A variable that an operator reads or writes, and the dims mapping that the operator requires.
// Thread safety: a value.
struct Argument {
  VarId var;
  std::int32_t position = 0;
  DimsMapping dims_mapping;
};

// The value of an attribute.
// Thread safety: a value.
class AttributeValue : public std::variant<std::int64_t, std::vector<std::int64_t>, std::string> {
 public:
  using variant::variant;
  AttributeValue(AttributeValue&&) = default;
  AttributeValue& operator=(AttributeValue&&) = default;
  ~AttributeValue() = default;
  // If copying the alternative throws, a variant of libstdc++ 12 destroys an alternative that it
  // does not hold. The alternative is therefore copied first and then moved in.
  AttributeValue(const AttributeValue& other) : AttributeValue(copy_of(other)) {}
  AttributeValue& operator=(const AttributeValue& other) { return *this = AttributeValue(other); }

 private:
  static AttributeValue copy_of(const variant& other) {
    return std::visit([](auto member) { return AttributeValue(std::move(member)); }, other);
  }
};
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

// An operator.
// Thread safety: a value.
struct Operation {
  std::int64_t number = -1;  // number in the file
  std::string type;
  MeshId mesh;  // invalid if it was inserted for one rank only
  OpRole role = OpRole::kForward;
  bool is_inserted = false;  // by a resharding
  bool is_gradient_clip = false;
  BlockId sub_block;  // the block that a control-flow operator runs; otherwise invalid
  VarId condition;    // of a control-flow operator; otherwise invalid
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  Attributes attributes;
};

// Ranks that communicate. Operators name the group by its ring id.
// Thread safety: a value.
struct ProcessGroup {
  SharedArray<Rank> ranks;
  bool is_point_to_point = false;
  std::int64_t ring_id = 0;
};

// How the ranks of a program communicate.
// Thread safety: a value.
struct Communication {
  std::vector<ProcessGroup> groups;
  std::int64_t next_ring_id = 0;  // for the next new group; above all ring ids in use
  // recv_v2 lists the variable that it writes as an input, too. Paddle's Resharder passes this
  // input, but Paddle's operator does not have it and drops it.
  bool recv_has_input = true;
};

// A sequence of operators.
// Thread safety: a value.
struct Block {
  BlockId parent;  // invalid for block 0
  OpId first;
  OpId last;
  std::uint64_t num_ops = 0;
  std::uint64_t num_vars = 0;
};

// The description of a program. Ids are indices into these lists.
struct ProgramSpec {
  std::string name;
  std::vector<ProcessMesh> meshes;
  std::vector<Variable> vars;
  std::vector<std::pair<BlockId, Operation>> ops;  // in program order within every block
  std::vector<BlockId> block_parents;              // of blocks 1, 2, ...; block 0 has no parent
  Communication communication;
};

// One version of a program. The operators of a block form a list linked by ids, so an insertion
// changes only its neighbours. Copying is O(1). Versions share every block, operator, variable and
// page that a commit did not change. Equal identities show what is shared.
// Thread safety: a value; versions may be used from different threads.
class Program {
 public:
  // Checks the references and links the blocks. Errors: kInvalidInput with a place like "/ops/3".
  static Result<Program> make(ProgramSpec spec);

  const std::string& name() const { return *name_; }
  const std::vector<ProcessMesh>& meshes() const { return *meshes_; }
  const ProcessMesh& mesh(MeshId id) const { return (*meshes_)[id.index()]; }
  const Communication& communication() const { return *communication_; }
  const std::vector<ProcessGroup>& groups() const { return communication_->groups; }

  std::size_t num_blocks() const { return blocks_.size(); }
  const Block& block(BlockId id) const { return *blocks_[id.index()]; }

  // Ids are below the capacity. Ids of removed operators and variables are not reused; has()
  // returns false for them.
  std::size_t op_capacity() const { return ops_.size(); }
  std::size_t var_capacity() const { return vars_.size(); }
  bool has(OpId id) const { return id.index() < ops_.size() && ops_[id.index()].op != nullptr; }
  bool has(VarId id) const { return id.index() < vars_.size() && vars_[id.index()].var != nullptr; }
  const Operation& op(OpId id) const { return *ops_[id.index()].op; }
  const Variable& var(VarId id) const { return *vars_[id.index()].var; }
  BlockId block_of(OpId id) const { return ops_[id.index()].block; }
  OpId next(OpId id) const { return ops_[id.index()].next; }  // invalid at the end
  OpId previous(OpId id) const { return ops_[id.index()].previous; }

  // The operators that read a variable, each once; operators of older versions first.
  SharedArray<OpId> uses(VarId id) const { return vars_[id.index()].uses; }

  // Returns the program with the batch size in place of every first extent of -1. Errors:
  // kInvalidInput at "/vars/<index>" if a tensor gets too large, or if a variable is local to a
  // rank (is_local) and the batch does not split evenly over its ranks. O(variables + pages).
  Result<Program> with_batch_size(std::int64_t batch_size) const;

  // The placement of a variable. Precondition: it has a mesh.
  DistAttr placement(VarId id) const;

  Identity identity(OpId id) const { return ops_[id.index()].op.get(); }
  Identity identity(VarId id) const { return vars_[id.index()].var.get(); }
  Identity identity(BlockId id) const { return blocks_[id.index()].get(); }
  Identity op_page(OpId id) const { return ops_.identity(id.index()); }

 private:
  friend class EditLog;
  friend class UseEdits;

  struct OpSlot {
    std::shared_ptr<const Operation> op;
    OpId previous;
    OpId next;
    BlockId block;
  };
  struct VarSlot {
    std::shared_ptr<const Variable> var;
    SharedArray<OpId> uses;
  };
  using Ops = PagedTable<OpSlot>;
  using Vars = PagedTable<VarSlot>;
  using Blocks = PersistentVector<std::shared_ptr<const Block>>;

  std::shared_ptr<const std::string> name_;
  std::shared_ptr<const std::vector<ProcessMesh>> meshes_;
  std::shared_ptr<const Communication> communication_;
  Blocks blocks_;
  Ops ops_;
  Vars vars_;
};

}  // namespace shardwright::program
