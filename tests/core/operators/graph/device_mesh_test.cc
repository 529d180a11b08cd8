// Device meshes: defaults, derived sizes, and every input that is refused.
#include "core/operators/graph/sharding_spec.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace shardwright::device_mesh_test {

namespace {

using namespace shardwright::operators;

// Returns the place that the error names, or "accepted" if there is no error.
std::string refused_at(DeviceMeshSpec spec) {
  const auto mesh = DeviceMesh::make(std::move(spec));
  if (mesh.ok()) return "accepted";
  CHECK(mesh.error().code == shardwright::ErrorCode::kInvalidInput);
  CHECK_FALSE(mesh.error().message.empty());
  return mesh.error().where;
}

}  // namespace

TEST_CASE("device mesh: alpha and beta are 1 where not given") {
  const auto mesh = DeviceMesh::make({{2, 3}, {}, {}, {}}).value();
  CHECK(mesh->num_axes() == 2);
  CHECK(mesh->num_devices() == 6);
  CHECK(mesh->alpha(1) == 1.0);
  CHECK(mesh->beta(0) == 1.0);
  CHECK(mesh->flat_alpha() == 1.0);
}

TEST_CASE("device mesh: the flattened mesh has the largest alpha and beta") {
  const auto mesh = DeviceMesh::make({{2, 3, 4}, {1, 5, 2}, {0.25, 0.125, 0.5}, {}}).value();
  CHECK(mesh->flat_alpha() == 5.0);
  CHECK(mesh->flat_beta() == 0.5);
  CHECK(mesh->alpha(2) == 2.0);
}

TEST_CASE("device mesh: devices along a set of axes multiply") {
  const auto mesh = DeviceMesh::make({{2, 3, 5}, {}, {}, {}}).value();
  CHECK(mesh->devices_along(0) == 1);
  CHECK(mesh->devices_along(0b001) == 2);
  CHECK(mesh->devices_along(0b010) == 3);
  CHECK(mesh->devices_along(0b101) == 10);
  CHECK(mesh->devices_along(0b111) == 30);
}

TEST_CASE("device mesh: bad descriptions are refused with their place") {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  CHECK(refused_at({{}, {}, {}, {}}) == "/shape");
  CHECK(refused_at({{1, 1, 1, 1, 1, 1, 1, 1, 1}, {}, {}, {}}) == "/shape");
  CHECK(refused_at({{2, 0}, {}, {}, {}}) == "/shape/1");
  CHECK(refused_at({{65536, 65536}, {}, {}, {}}) == "/shape");
  CHECK(refused_at({{2, 2}, {1}, {}, {}}) == "/alpha");
  CHECK(refused_at({{2, 2}, {1, -1}, {}, {}}) == "/alpha/1");
  CHECK(refused_at({{2, 2}, {1e200, 1.1e200}, {}, {}}) == "/alpha/1");
  CHECK(refused_at({{2, 2}, {}, {kInfinite, 1}, {}}) == "/beta/0");
  CHECK(refused_at({{2, 2}, {}, {1, std::nan("")}, {}}) == "/beta/1");
  CHECK(refused_at({{2, 2}, {}, {1, 1, 1}, {}}) == "/beta");
  CHECK(refused_at({{2, 2}, {}, {}, {0, 1, 2}}) == "/device_ids");
  CHECK(refused_at({{2, 2}, {}, {}, {0, 1, 2, 1}}) == "/device_ids");
}

TEST_CASE("device mesh: the largest meshes and any order of devices are accepted") {
  CHECK(refused_at({{32768, 65536}, {}, {}, {}}) == "accepted");
  CHECK(refused_at({{1, 2, 1, 2, 1, 2, 1, 2}, {}, {}, {}}) == "accepted");
  CHECK(refused_at({{2, 2}, {0, 0}, {0, 0}, {7, 5, 6, 4}}) == "accepted");
}

}  // namespace shardwright::device_mesh_test
