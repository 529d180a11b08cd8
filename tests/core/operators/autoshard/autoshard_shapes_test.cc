#include "core/operators/autoshard/autoshard_graph.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardwright::operators::autoshard::autoshard_shapes_test {
namespace {

using Shape = std::vector<std::int64_t>;

// Makes a graph of placeholders with the shapes `read`, and an operator that reads all of them.
// Returns the error of check_shapes(), or "".
std::string refusal(OpKind kind, const std::vector<Shape>& read, const Shape& shape) {
  std::vector<OpSpec> specs;
  OpSpec last;
  for (std::size_t i = 0; i < read.size(); ++i) {
    OpSpec& spec = specs.emplace_back();
    spec.name = "x" + std::to_string(i);
    spec.shape = read[i];
    last.args.push_back(spec.name);
  }
  last.name = "y";
  last.kind = kind;
  last.shape = shape;
  specs.push_back(std::move(last));
  const auto graph = Graph::make(std::move(specs));
  REQUIRE(graph.ok());
  const Status checked = check_shapes(*graph);
  return checked.ok() ? "" : checked.error().to_string();
}

bool fits(OpKind kind, const std::vector<Shape>& read, const Shape& shape) {
  return refusal(kind, read, shape).empty();
}

TEST_CASE("autoshard shapes: those of PyTorch's operators fit, and no others") {
  CHECK(fits(OpKind::kElementwise, {{2, 3}}, {2, 3}));
  CHECK(fits(OpKind::kElementwise, {{2, 1}, {3}, {1, 1}}, {2, 3}));
  CHECK(fits(OpKind::kElementwise, {{2, 3}, {5}}, {2, 3}));  // such as a mask
  CHECK_FALSE(fits(OpKind::kElementwise, {{2, 3}}, {3, 2}));
  CHECK(fits(OpKind::kBinary, {{4, 1, 3}, {2, 1}}, {4, 2, 3}));
  CHECK(fits(OpKind::kBinary, {{}}, {}));
  CHECK_FALSE(fits(OpKind::kBinary, {{2, 3}, {2}}, {2, 3}));
  CHECK_FALSE(fits(OpKind::kBinary, {{2, 3}, {2, 3}}, {2}));
  CHECK(fits(OpKind::kSoftmax, {{2, 3}}, {2, 3}));
  CHECK_FALSE(fits(OpKind::kLayerNorm, {{2, 3}}, {2}));
  CHECK(fits(OpKind::kView, {{2, 6}}, {3, 4}));
  CHECK_FALSE(fits(OpKind::kView, {{2, 6}}, {3, 5}));
  CHECK(fits(OpKind::kPermute, {{2, 3, 4}}, {4, 2, 3}));
  CHECK_FALSE(fits(OpKind::kTranspose, {{2, 6}}, {3, 4}));
}

TEST_CASE("autoshard shapes: products of matrices, batches and vectors are torch.matmul's") {
  CHECK(fits(OpKind::kMatmul, {{2, 3}}, {2, 7}));  // times the operator's weight
  CHECK_FALSE(fits(OpKind::kMatmul, {{2, 3}}, {3, 7}));
  CHECK_FALSE(fits(OpKind::kMatmul, {{2, 3}}, {7}));
  CHECK_FALSE(fits(OpKind::kMatmul, {{}}, {}));
  CHECK(fits(OpKind::kMatmul, {{2, 3}, {3, 5}}, {2, 5}));
  CHECK(fits(OpKind::kMatmul, {{4, 1, 2, 3}, {6, 3, 5}}, {4, 6, 2, 5}));
  CHECK(fits(OpKind::kMatmul, {{3}, {3}}, {}));
  CHECK(fits(OpKind::kMatmul, {{2, 3}, {3}}, {2}));
  CHECK(fits(OpKind::kMatmul, {{3}, {4, 3, 5}}, {4, 5}));
  CHECK_FALSE(fits(OpKind::kMatmul, {{2, 3}, {4, 5}}, {2, 5}));
  CHECK_FALSE(fits(OpKind::kMatmul, {{4, 2, 3}, {5, 3, 5}}, {4, 2, 5}));
  CHECK(refusal(OpKind::kMatmul, {{2, 3}, {3, 5}}, {5, 2}) ==
        "/graph/2/shape: matmul of \"x0\" of shape [2, 3] and \"x1\" of shape [3, 5] does not give "
        "[5, 2]: the last extent of the first factor is the last but one of the second, and the "
        "result has the other two; correct one of the shapes");
}

}  // namespace
}  // namespace shardwright::operators::autoshard::autoshard_shapes_test
