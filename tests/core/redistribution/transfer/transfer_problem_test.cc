#include "core/redistribution/transfer/transfer_problem.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::transfer_problem_test {

using namespace shardwright;
using namespace shardwright::redistribution;
using test_support::layout_of;
using test_support::mesh_of;
using test_support::tensor_of;

namespace {

TransferSpec small() {
  return {{mesh_of("a", {2}, 0), mesh_of("b", {2}, 4)},
          {tensor_of("w", {4, 2}, layout_of(0, {"S(0)"}, 2), layout_of(1, {"R"}, 2)),
           tensor_of("b", {4}, layout_of(0, {"R"}, 1), layout_of(1, {"R"}, 1)),
           tensor_of("v", {4, 2}, layout_of(0, {"S(0)"}, 2), layout_of(1, {"R"}, 2))},
          {}};
}

std::string error_of(TransferSpec spec) {
  const auto problem = TransferProblem::make(std::move(spec));
  return problem.ok() ? "" : problem.error().to_string();
}

}  // namespace

TEST_CASE("transfer problem: equal tensors are one group, and unused meshes add no rank") {
  TransferSpec spec = small();
  spec.meshes.push_back(mesh_of("unused", {2}, 100));
  const TransferProblem problem = test_support::problem_of(spec);
  REQUIRE(problem.groups().size() == 2);
  CHECK(problem.groups()[0].tensors == std::vector<std::uint32_t>{0, 2});
  CHECK(problem.groups()[1].tensors == std::vector<std::uint32_t>{1});
  CHECK(problem.ranks() == std::vector<Rank>{0, 1, 4, 5});
  const Box lower = problem.box(problem.groups()[0].shape, problem.groups()[0].source, 1);
  CHECK(num_elements(lower) == 4);
  CHECK(lower[0] == Interval{2, 4});
}

TEST_CASE("transfer problem: whatever distinguishes tensors makes a group of its own") {
  TransferSpec spec = small();
  spec.tensors.resize(1);
  const auto add = [&](auto change) {
    TransferTensor tensor = spec.tensors.front();
    tensor.name = "t" + std::to_string(spec.tensors.size());
    change(tensor);
    spec.tensors.push_back(std::move(tensor));
  };
  add([](TransferTensor& tensor) { tensor.item_bytes = 2; });
  add([](TransferTensor& tensor) { tensor.shape = {4, 3}; });
  add([](TransferTensor& tensor) { tensor.source = layout_of(0, {"S(1)"}, 2); });
  add([](TransferTensor& tensor) { tensor.target.rounding = Rounding::kBalanced; });
  add([](TransferTensor& tensor) { tensor.target.mesh = 0; });
  CHECK(test_support::problem_of(spec).groups().size() == 6);
}

TEST_CASE("transfer problem: hosts are numbered by ranks") {
  TransferSpec spec = small();
  spec.hosts = TransferHosts{4, 1, 1};
  const TransferProblem problem = test_support::problem_of(spec);
  CHECK(problem.host_of(3) == 0);
  CHECK(problem.host_of(4) == 1);
}

TEST_CASE("transfer problem: errors name the place in a file") {
  const auto with = [](auto change) {
    TransferSpec spec = small();
    change(spec);
    return error_of(std::move(spec));
  };
  CHECK(error_of(small()).empty());
  CHECK(with([](TransferSpec& s) { s.meshes[1].name = "a"; }) ==
        "/meshes: two meshes are called \"a\"");
  CHECK(with([](TransferSpec& s) {
          s.meshes[0].shape.assign(9, 1);
        }).starts_with("/meshes/a/shape: a mesh has at most 8 axes"));
  CHECK(with([](TransferSpec& s) {
          s.tensors[0].item_bytes = 0;
        }).starts_with("/tensors/0/data_type"));
  CHECK(with([](TransferSpec& s) {
          s.tensors[0].shape = {1 << 30, 1 << 30};
        }).starts_with("/tensors/0/shape: a tensor has at most 2^48 elements"));
  CHECK(with([](TransferSpec& s) {
          s.tensors[0].shape = {std::int64_t{1} << 47, 1};
          s.tensors[0].item_bytes = 32;
          s.tensors[2].shape = {std::int64_t{1} << 47, 1};
        }).starts_with("/tensors: all tensors together exceed 2^52 bytes"));
  CHECK(with([](TransferSpec& s) {
          s.tensors[1].source.mesh = 2;
        }).starts_with("/tensors/1/source/mesh"));
  CHECK(with([](TransferSpec& s) {
          s.tensors[1].source = layout_of(0, {"S(1)"}, 2);
        }).starts_with("/tensors/1/source/placements/0: the tensor has no such dimension"));
  CHECK(with([](TransferSpec& s) {
          s.tensors[1].target = layout_of(0, {"R", "S(0)"}, 1);
        }).starts_with("/tensors/1/target/placements/1: no such mesh axis"));
}

}  // namespace shardwright::transfer_problem_test
