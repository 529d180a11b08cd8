#include "core/embedding/releases/release_rules.h"

#include <array>
#include <cstddef>

#include "core/embedding/releases/known_releases.h"

namespace shardwright::embedding {

const ReleaseRules& rules_of(TorchRecRelease release) {
  // In the order of TorchRecRelease.
  static const std::array kRules{rules_of_a48cef79(), rules_of_1_9_2()};
  static_assert(kRules.size() == EnumNames<TorchRecRelease>::kNames.size());
  return kRules[static_cast<std::size_t>(release)];
}

}  // namespace shardwright::embedding
