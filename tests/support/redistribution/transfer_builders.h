// Builds problems of tensor transfers for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/redistribution/placement/placement_notation.h"
#include "core/redistribution/transfer/transfer_problem.h"

namespace shardwright::test_support {

// A mesh of consecutive ranks that begins with `first`.
inline redistribution::RankMesh mesh_of(std::string name, redistribution::MeshShape shape,
                                        redistribution::Rank first) {
  std::vector<redistribution::Rank> ranks(
      static_cast<std::size_t>(redistribution::num_devices(shape)));
  std::iota(ranks.begin(), ranks.end(), first);
  return {std::move(name), std::move(shape), std::move(ranks)};
}

inline redistribution::TensorLayout layout_of(std::uint32_t mesh,
                                              const std::vector<std::string>& words,
                                              std::size_t num_dims) {
  const auto placement = redistribution::read_words(words, num_dims);
  REQUIRE(placement.ok());
  return {mesh, *placement, redistribution::Rounding::kCeil};
}

// A tensor of one byte per element.
inline redistribution::TransferTensor tensor_of(std::string name,
                                                std::initializer_list<std::int64_t> shape,
                                                const redistribution::TensorLayout& source,
                                                const redistribution::TensorLayout& target) {
  return {std::move(name), redistribution::Shape(shape), 1, source, target};
}

inline redistribution::TransferProblem problem_of(redistribution::TransferSpec spec) {
  auto problem = redistribution::TransferProblem::make(std::move(spec));
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::move(problem).value();
}

}  // namespace shardwright::test_support
