#include "core/operators/aten/aten_plan.h"

#include <doctest/doctest.h>

#include "tests/support/operators/aten_builder.h"

namespace shardwright::overlap_test {

namespace {

using namespace shardwright::operators;
using test_support::AtenBuilder;
using By = Hiding::By;

constexpr OverlapShares kHalf{0.5, 0.5};

}  // namespace

TEST_CASE("overlap: operators hide parameters that they take and gradients that they make") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training()).value();
  const Overlap overlap(graph, {0.9, 0.6});
  // Nodes 0 to 11: w1, w2, x, tangent, x w1, h w2, h^T, gradient 2, w2^T, tangent w2^T, x^T,
  // gradient 1.
  const auto is = [&](const TakenTensor& taken, By by, double share, double part) {
    return overlap.of(taken) == Hiding{by, share, part};
  };
  CHECK(is({4, 0}, By::kNothing, 0, 0));  // x
  CHECK(is({4, 1}, By::kConsumer, 0.9, 1));
  CHECK(is({5, 1}, By::kConsumer, 0.9, 1));
  CHECK(is({8, 0}, By::kNothing, 0, 0));  // a view takes no time
  // Only the gradient of w1 is made from the gradient of h, so the latter may move late.
  CHECK(is({9, 1}, By::kConsumer, 0.9, 64.0 / (64 + 128)));
  CHECK(is({11, 1}, By::kProducer, 0.6, 128.0 / (64 + 128)));
  CHECK(is({9, 0}, By::kNothing, 0, 0));   // the tangent
  CHECK(is({12, 0}, By::kNothing, 0, 0));  // the output
  CHECK(is({13, 0}, By::kProducer, 0.6, 1));
  CHECK(is({14, 0}, By::kProducer, 0.6, 1));
  const Overlap none(graph, {});
  CHECK(none.of({4, 1}) == Hiding());
  const Overlap gradients(graph, {0, 1});
  CHECK(gradients.of({4, 1}) == Hiding());
  CHECK(gradients.of({13, 0}).by == By::kProducer);
}

TEST_CASE(
    "overlap: what depends on parameters alone is hidden, and what only gradients come from") {
  AtenBuilder b;
  const auto w = b.placeholder(AtenRole::kParameter, "w", {8, 8});
  const auto x = b.placeholder(AtenRole::kInput, "x", {8, 8});
  const auto cast = b.pointwise({w});
  const auto transposed = b.transpose(cast);
  const auto y = b.mm(x, transposed);
  const auto mixed = b.mm(y, transposed);
  const auto gradient = b.mm(mixed, y);
  const auto scaled = b.pointwise({gradient});
  const auto turned = b.transpose(scaled);
  b.output(mixed, AtenOutputRole::kOutput, "0");
  b.output(turned, AtenOutputRole::kGradient, "w");
  const AtenGraph graph = b.make();
  const Overlap overlap(graph, kHalf);
  CHECK(overlap.of({cast, 0}).by == By::kConsumer);
  CHECK(overlap.of({transposed, 0}).by == By::kNothing);
  CHECK(overlap.of({y, 0}).by == By::kNothing);
  CHECK(overlap.of({y, 1}).by == By::kConsumer);
  CHECK(overlap.of({mixed, 0}).by == By::kNothing);  // the graph's output depends on it, too
  CHECK(overlap.of({gradient, 0}).by == By::kNothing);
  CHECK(overlap.of({scaled, 0}).by == By::kProducer);
  CHECK(overlap.of({turned, 0}).by == By::kProducer);
  const auto leaves = static_cast<std::uint32_t>(graph.size());
  CHECK(overlap.of({leaves, 0}).by == By::kNothing);
  CHECK(overlap.of({leaves + 1, 0}).by == By::kNothing);  // the output of a view
}

TEST_CASE(
    "overlap: the time of an operator is divided by bytes, so no more is hidden than it takes") {
  AtenBuilder b;
  const auto small = b.placeholder(AtenRole::kParameter, "small", {4, 8});
  const auto large = b.placeholder(AtenRole::kParameter, "large", {8, 24});
  const auto product = b.mm(small, large);
  b.output(product, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  const Overlap overlap(graph, kHalf);
  CHECK(overlap.of({product, 0}).part == 32.0 / (32 + 192));
  CHECK(overlap.of({product, 1}).part == 192.0 / (32 + 192));
  const Hiding& hiding = overlap.of({product, 0});
  CHECK(hiding.hidden_us(2, 70) == 1);     // half of the move
  CHECK(hiding.hidden_us(200, 70) == 10);  // a seventh of the operator's time
}

}  // namespace shardwright::overlap_test
