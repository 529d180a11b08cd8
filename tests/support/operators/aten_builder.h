// Builds small graphs of PyTorch's operators for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

// Thread safety: one thread at a time.
class AtenBuilder {
 public:
  using Words = std::vector<std::string>;
  struct Entry {
    Words outputs;
    Words inputs;
    std::int64_t divides = 0;
  };

  static operators::AtenTensor tensor(std::vector<std::int64_t> shape,
                                      operators::AtenType type = operators::AtenType::kFloat32);

  // Reads a placement: "R", "S1", "P", "Pavg", "Pmax", "Pmin", or "-" for none.
  static operators::MaybeAxisPlacement word(const std::string& text);

  std::uint32_t rule(const std::vector<Entry>& entries);
  // The rule of a placeholder allows replication and a shard of every dimension.
  std::uint32_t placeholder(operators::AtenRole role, const std::string& target,
                            std::vector<std::int64_t> shape);
  std::uint32_t node(const std::string& op, std::vector<std::uint32_t> inputs,
                     std::vector<std::int64_t> shape, const std::vector<Entry>& entries);
  // The last node that was added.
  operators::AtenNode& last() { return spec.nodes.back(); }
  void output(std::uint32_t node, operators::AtenOutputRole role, const std::string& target);

  std::uint32_t mm(std::uint32_t a, std::uint32_t b);
  // Adds one tensor, or two of equal shapes. Partial sums pass through.
  std::uint32_t pointwise(std::vector<std::uint32_t> inputs);
  std::uint32_t transpose(std::uint32_t matrix);  // a view
  // Reduces dimension 1 of a matrix to one element.
  std::uint32_t reduce(const std::string& op, const std::string& partial, std::uint32_t matrix);
  // Subtracts a matrix of one column from a matrix with as many rows.
  std::uint32_t subtract_column(std::uint32_t matrix, std::uint32_t column);

  operators::AtenGraph make() const { return operators::AtenGraph::make(spec).value(); }

  operators::AtenGraphSpec spec;
};

// y = x w1 w2 with the gradients of both weights: 12 nodes.
operators::AtenGraphSpec two_layer_training(std::int64_t batch = 8, std::int64_t width = 4);

// A training step of about `operators` operators, whose tensors have extents from 2 to 9. It has
// products, pointwise operators, views, sums and maxima of rows, gradients and a tangent.
operators::AtenGraphSpec random_training_graph(Random& random, std::size_t operators);

// A chain of at most `most_nodes` products and pointwise operators. Extents are small powers of
// two. Some graphs have views, tensors with several consumers, and gradients.
operators::AtenGraphSpec random_aten_graph(Random& random, std::size_t most_nodes);

}  // namespace shardwright::test_support
