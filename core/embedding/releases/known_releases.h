// One function for every release, each in a file of its own.
#pragma once

#include "core/embedding/releases/release_rules.h"

namespace shardwright::embedding {

ReleaseRules rules_of_a48cef79();
ReleaseRules rules_of_1_9_2();

}  // namespace shardwright::embedding
