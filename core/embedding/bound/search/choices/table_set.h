// A set of tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardwright::embedding {

// Positions in all_choices(), as bits. Sets of one search have the same size.
// Thread safety: a value.
class TableSet {
 public:
  explicit TableSet(std::size_t tables = 0) : words_((tables + kBits - 1) / kBits) {}

  bool contains(std::size_t table) const { return (words_[table / kBits] & bit(table)) != 0; }
  void insert(std::size_t table) { words_[table / kBits] |= bit(table); }
  void erase(std::size_t table) { words_[table / kBits] &= ~bit(table); }

  bool intersects(const TableSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  // Returns true if both sets have the same of `these` tables.
  bool agrees_on(const TableSet& these, const TableSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (((words_[i] ^ other.words_[i]) & these.words_[i]) != 0) return false;
    }
    return true;
  }
  const std::vector<std::uint64_t>& words() const { return words_; }
  void insert_all(const TableSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] |= other.words_[i];
  }

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(std::size_t table) { return std::uint64_t{1} << table % kBits; }

  std::vector<std::uint64_t> words_;
};

}  // namespace shardwright::embedding
