// Converts XLA's form of the problem (requests) into cost instances.
#include "core/operators/instance/sharding_request.h"

#include <doctest/doctest.h>

namespace shardwright::lower_request_test {

using namespace shardwright::operators;

namespace {

// One node with two strategies. The first strategy takes a departure.
ShardingRequest one_node() {
  ShardingRequest request;
  request.computation = {{1, 2}};
  request.communication = {{0, 0}};
  request.memory = {{0, 0}};
  request.departures = {{1, 0}};
  request.follows = {{}};
  request.live = {{0}};
  return request;
}

}  // namespace

TEST_CASE("lower request: limits of departures beyond any number of bytes") {
  for (const double most : {-1e300, -1.0, 0.0, 1.0, 1e300}) {
    CAPTURE(most);
    ShardingRequest request = one_node();
    request.max_departures = most;
    const auto lowered = lower(request);
    REQUIRE(lowered.ok() == (most >= 0));
    if (!lowered.ok()) CHECK(lowered.error().where == "/max_departures");
  }
  ShardingRequest request = one_node();
  request.departures = {{1e300, 0}};
  request.max_departures = 1;
  CHECK(lower(request).ok());
}

}  // namespace shardwright::lower_request_test
