// TorchRec at commit a48cef79 (October 2025), of which the golden answers are.
#include "core/embedding/releases/known_releases.h"
#include "core/embedding/releases/sharder_offers.h"

namespace shardwright::embedding {

ReleaseRules rules_of_a48cef79() {
  ReleaseRules rules;
  rules.sharding_types = base_sharding_types;
  rules.compute_kernels = base_compute_kernels;
  rules.guards_type = base_guards_type;
  rules.guards_kernel = base_guards_kernel;
  return rules;
}

}  // namespace shardwright::embedding
