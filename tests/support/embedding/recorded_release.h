// The release of TorchRec that gave the recorded answers of tests/golden/embedding.
#pragma once

#include "runtime/io/embedding/problem_json.h"

namespace shardwright::test_support {

inline ProblemOverrides recorded_release() {
  ProblemOverrides overrides;
  overrides.torchrec = embedding::TorchRecRelease::kA48cef79;
  return overrides;
}

}  // namespace shardwright::test_support
