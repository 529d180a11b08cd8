// Copy-on-write building blocks: an immutable shared array and a persistent vector. An Identity
// shows whether two values share storage.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/check.h"

namespace shardwright {

// The address of a value's storage. Two values with the same identity share storage; equal contents
// alone do not give equal identities.
using Identity = const void*;

// An immutable array whose copies share one block: a header of 8 bytes, then the elements.
// Copying is O(1) and does not allocate. The empty array has no block.
// Thread safety: a value; copies that share storage may be used from different threads.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

 public:
  SharedArray() = default;
  explicit SharedArray(std::span<const T> elements) : block_(allocate(elements)) {}
  SharedArray(const SharedArray& other) noexcept : block_(other.block_) { retain(); }
  SharedArray(SharedArray&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedArray& operator=(SharedArray other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedArray() { release(); }

  std::span<const T> view() const {
    return block_ == nullptr ? std::span<const T>() : std::span<const T>(elements(), block_->size);
  }
  std::size_t size() const { return block_ == nullptr ? 0 : block_->size; }
  const T& operator[](std::size_t i) const { return elements()[i]; }
  Identity identity() const { return block_; }

 private:
  struct Block {
    std::atomic<std::uint32_t> references;
    std::uint32_t size;
  };
  static constexpr std::size_t kHeader = (sizeof(Block) + alignof(T) - 1) / alignof(T) * alignof(T);

  static Block* allocate(std::span<const T> source) {
    if (source.empty()) return nullptr;
    void* memory = ::operator new(kHeader + source.size_bytes());
    auto* block = new (memory) Block{{1}, static_cast<std::uint32_t>(source.size())};
    std::uninitialized_copy(source.begin(), source.end(),
                            reinterpret_cast<T*>(static_cast<char*>(memory) + kHeader));
    return block;
  }
  const T* elements() const {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(block_) + kHeader);
  }
  void retain() const noexcept {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  void release() noexcept {
    if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      ::operator delete(block_);
    }
  }

  Block* block_ = nullptr;
};

// A persistent vector of fixed size. A change returns a new vector that shares every tree node
// except those on the paths to the changed elements. The tree has a branching factor of 8, so one
// change copies max(1, ceil(log8(size))) nodes of 8 elements or pointers.
// Cost: operator[] O(log8 size), no allocation; set O(8 log8 size) time and bytes, one allocation
// per level; set_all one allocation per node that leads to a change; copy O(1), no allocation.
// Thread safety: a value; versions that share nodes may be used from different threads.
template <class T>
class PersistentVector {
 public:
  PersistentVector() = default;
  PersistentVector(const PersistentVector&) = default;
  PersistentVector& operator=(const PersistentVector&) = default;
  // Leaves `other` empty.
  PersistentVector(PersistentVector&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        depth_(std::exchange(other.depth_, 0)),
        root_(std::move(other.root_)) {}
  PersistentVector& operator=(PersistentVector&& other) noexcept {
    PersistentVector taken(std::move(other));
    std::swap(size_, taken.size_);
    std::swap(depth_, taken.depth_);
    root_.swap(taken.root_);
    return *this;
  }
  ~PersistentVector() = default;

  // Returns a vector of `size` elements. Calls make(0), make(1), ... in index order.
  template <class Make>
  static PersistentVector generate(std::size_t size, const Make& make) {
    PersistentVector vector;
    vector.size_ = size;
    while ((kBranch << (kBits * vector.depth_)) < size)
      ++vector.depth_;
    if (size > 0) vector.root_ = build(vector.depth_, 0, size, make);
    return vector;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const T& operator[](std::size_t i) const {
    SHARDWRIGHT_DCHECK(i < size_);
    const Node* node = root_.get();
    for (unsigned level = depth_; level > 0; --level) {
      node = static_cast<const Inner*>(node)->children[slot(i, level)].get();
    }
    return static_cast<const Leaf*>(node)->elements[slot(i, 0)];
  }

  // An element and its new value.
  struct Change {
    std::size_t index = 0;
    T value;
  };

  // Returns this vector with element i replaced. On bad_alloc this vector is unchanged.
  PersistentVector set(std::size_t i, T value) const {
    Change change{i, std::move(value)};
    return set_all({&change, 1});
  }

  // Returns this vector with several elements replaced. Copies each tree node at most once and
  // moves the values out of `changes`. Precondition: the indices of `changes` ascend without
  // repetition. On bad_alloc this vector is unchanged.
  PersistentVector set_all(std::span<Change> changes) const {
    if (changes.empty()) return *this;
    SHARDWRIGHT_DCHECK(changes.back().index < size_);
    PersistentVector changed = *this;
    changed.root_ = replace(root_.get(), depth_, changes);
    return changed;
  }

  // Returns the number of nodes that set_all(changes) copies. O(changes x log8 size).
  std::size_t nodes_copied(std::span<const Change> changes) const {
    std::size_t nodes = 0;
    for (unsigned level = 0; level <= depth_; ++level) {
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if (i == 0 || node_at(changes[i].index, level) != node_at(changes[i - 1].index, level))
          ++nodes;
      }
    }
    return nodes;
  }
  // Returns the number of nodes of the whole tree.
  std::size_t num_nodes() const {
    std::size_t nodes = 0;
    for (unsigned level = 0; level <= depth_ && size_ > 0; ++level)
      nodes += node_at(size_ - 1, level) + 1;
    return nodes;
  }

  // Identifies the leaf that holds element i. Two vectors share the leaf if their identities are
  // equal.
  Identity identity(std::size_t i) const {
    return static_cast<const void*>(&(*this)[i / kBranch * kBranch]);
  }
  Identity identity() const { return root_.get(); }

 private:
  static constexpr unsigned kBits = 3;
  static constexpr std::size_t kBranch = std::size_t{1} << kBits;

  struct Node {};
  using NodePtr = std::shared_ptr<const Node>;
  struct Inner : Node {
    std::array<NodePtr, kBranch> children;
  };
  struct Leaf : Node {
    std::array<T, kBranch> elements;
  };

  static std::size_t slot(std::size_t i, unsigned level) {
    return (i >> (kBits * level)) & (kBranch - 1);
  }
  // Returns the number, within its level, of the node above element i. Leaves are level 0.
  static std::size_t node_at(std::size_t i, unsigned level) { return i >> (kBits * (level + 1)); }

  template <class Make>
  static NodePtr build(unsigned level, std::size_t begin, std::size_t size, const Make& make) {
    if (level == 0) {
      auto leaf = std::make_shared<Leaf>();
      for (std::size_t i = 0; i < kBranch && begin + i < size; ++i)
        leaf->elements[i] = make(begin + i);
      return leaf;
    }
    auto inner = std::make_shared<Inner>();
    const std::size_t width = std::size_t{1} << (kBits * level);
    for (std::size_t i = 0; i < kBranch && begin + i * width < size; ++i) {
      inner->children[i] = build(level - 1, begin + i * width, size, make);
    }
    return inner;
  }

  static NodePtr replace(const Node* node, unsigned level, std::span<Change> changes) {
    if (level == 0) {
      auto leaf = std::make_shared<Leaf>(*static_cast<const Leaf*>(node));
      for (Change& change : changes)
        leaf->elements[slot(change.index, 0)] = std::move(change.value);
      return leaf;
    }
    auto inner = std::make_shared<Inner>(*static_cast<const Inner*>(node));
    while (!changes.empty()) {
      const std::size_t at = slot(changes.front().index, level);
      std::size_t count = 1;
      while (count < changes.size() && slot(changes[count].index, level) == at)
        ++count;
      NodePtr& child = inner->children[at];
      child = replace(child.get(), level - 1, changes.first(count));
      changes = changes.subspan(count);
    }
    return inner;
  }

  std::size_t size_ = 0;
  unsigned depth_ = 0;
  NodePtr root_;
};

}  // namespace shardwright
