// A table of pages that versions share. A batch of changes copies each page that it touches once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/cow.h"

namespace shardwright::program {

// An immutable sequence of values with dense indices. Copying is O(1) and does not allocate.
// PersistentVector (core/cow.h) copies a path per change and has a fixed size. This copies a page
// per batch, which is cheaper for thousands of changes at once, and can grow.
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
  // The page of element i. Two versions have the same identity if and only if they share the page.
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

// Changes on top of a table, which stays as it is. Reads see the changes.
// Members that change something have the strong guarantee: on bad_alloc nothing has changed.
// Cost: O(pages) for the first change; then O(1), plus a page that is copied when it is first
// touched.
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

}  // namespace shardwright::program
