#include "search/program/emit/name_maker.h"

#include <utility>

namespace shardwright::program {

std::string NameMaker::make(const std::string& key) {
  std::uint64_t& next = next_[key];
  for (;;) {
    std::string name = key + "_" + std::to_string(next++);
    if (!taken_->contains(name)) return name;
  }
}

std::string NameMaker::make_sole(std::string key) {
  key += "_0";
  if (!taken_->contains(key)) return key;
  key.resize(key.size() - 2);
  next_[key] = 1;
  return make(key);
}

}  // namespace shardwright::program
