// Reads the rows of recorded costs for both tests of them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/redistribution/cost/nccl_costs.h"
#include "runtime/io/file.h"

namespace shardwright::test_support {

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

inline nlohmann::json load(const std::string& name) {
  return nlohmann::json::parse(
      require(read_file("tests/golden/redistribution/" + name + ".json.gz")));
}

inline redistribution::NcclConfig config_of(const std::string& architecture,
                                            std::int64_t gpus_per_node) {
  if (architecture == "a100") return redistribution::a100_nccl_config(gpus_per_node);
  if (architecture == "h100") return redistribution::h100_nccl_config(gpus_per_node);
  REQUIRE(architecture == "gb200");
  return redistribution::gb200_nccl_config(gpus_per_node);
}

// null stands for an impossible redistribution.
inline double microseconds_of(const nlohmann::json& recorded) {
  return recorded.is_null() ? std::numeric_limits<double>::infinity() : recorded.get<double>();
}

}  // namespace shardwright::test_support
