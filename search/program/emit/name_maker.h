// Names of generated variables.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace shardwright::program {

// Makes "key_0", "key_1", ... for every key, as Paddle's unique_name does.
// Thread safety: one thread at a time.
class NameMaker {
 public:
  // Skips the names in `taken`, which must outlive this.
  explicit NameMaker(const std::unordered_set<std::string>& taken) : taken_(&taken) {}
  std::string make(const std::string& key);
  // The same for a key that is used only once. Saves an entry unless its first name is taken.
  std::string make_sole(std::string key);

 private:
  const std::unordered_set<std::string>* taken_;
  std::unordered_map<std::string, std::uint64_t> next_;
};

}  // namespace shardwright::program
