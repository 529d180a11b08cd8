// Files of the domain `program` that are refused: each error has a place and a helpful message.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"
#include "tests/support/malformed.h"

namespace shardwright::malformed_programs_test {

namespace {

using namespace shardwright;
using nlohmann::json;
using test_support::check_malformed;
using test_support::check_no_json;
using test_support::golden_json;

// Reads and plans a case, and returns the error of either step.
std::string case_error(const std::string& text) {
  const auto cases = read_reshard_cases(text);
  if (!cases.ok()) return cases.error().to_string();
  for (const ReshardCaseDocument& one : *cases) {
    const auto answer = reshard_tensor(one.request, {});
    if (!answer.ok()) return answer.error().to_string();
  }
  return "";
}

std::string program_error(const std::string& text) {
  const auto programs = read_programs(text);
  if (!programs.ok()) return programs.error().to_string();
  for (const ProgramDocument& document : *programs) {
    program::ReshardOptions options;
    options.ranks = document.ranks;
    const auto result = reshard_program(document.program, options, 1);
    if (!result.ok()) return result.error().to_string();
  }
  return "";
}

}  // namespace

TEST_CASE("malformed reshard cases: errors name the place and explain") {
  check_no_json(case_error);
  check_malformed(
      json::parse(R"([{"shape": [4], "dtype": "float32",
                       "src": {"mesh": [2], "ids": [0, 1], "dims_mapping": [0]},
                       "dst": {"mesh": [2], "ids": [0, 1], "dims_mapping": [-1]}}])"),
      case_error,
      {
          {"/0", "{}", "/0: the key \"shape\" is missing"},
          {"/0/src", "1", "/0/src: expected an object"},
          {"/0/srcc", "{}", "/0/srcc: unknown key \"srcc\"; did you mean \"src\"?"},
          {"/0/dtype", "\"flot32\"",
           "/0/dtype: unknown data type \"flot32\"; did you mean \"float32\"?"},
          {"/0/shape", "[-3]",
           "/0/shape/0: an extent cannot be -3; write the number of elements of the whole tensor"},
          {"/0/shape", "[0]", "/0/shape/0: an extent cannot be 0"},
          {"/0/shape", "[1,1,1,1,1,1,1,1,1,1]", "/0/shape: a tensor has at most 9 dimensions"},
          {"/0/shape", "[9223372036854775807]", "/shape: a tensor has at most 2^48 elements"},
          {"/0/src/dims_mapping", "[5]", "/src/dims_mapping/0: the mesh has no axis 5"},
          {"/0/src/dims_mapping", "[40]",
           "/0/src/dims_mapping/0: must be a mesh axis or -1, not 40"},
          {"/0/src/dims_mapping", "[0, 0]",
           "/src/dims_mapping: has 2 entries for a tensor of 1 dimension"},
          {"/0/src/dims_mapping", "-", "/0/src: the key \"dims_mapping\" is missing"},
          {"/0/src/ids", "[0, 0]", "/0/src/ids: rank 0 occurs twice"},
          {"/0/src/ids", "[0, -1]", "/0/src/ids/1: a rank is between 0 and 2^30, not -1"},
          {"/0/src/mesh", "[3]", "/0/src/ids: a mesh of this shape has 3 ranks, not 2"},
          {"/0/src/mesh", "[0]", "/0/src/mesh: the extent of an axis"},
          {"/0/src/partial", "{\"0\": \"sum\"}", "/src/partial: axis 0 already splits a dimension"},
          {"/0/dst/partial", "{\"3\": \"sum\"}", "/dst/partial: the mesh has no axis 3"},
          {"/0/dst/partial", "{\"9\": \"sum\"}",
           "/0/dst/partial/9: \"9\" is not the number of a mesh axis"},
          {"/0/dst/partial", "{\"0\": \"summ\"}",
           "/0/dst/partial/0: unknown reduction \"summ\"; did you mean"},
      });
  check_malformed(
      json::parse(R"([{"mesh": [2, 2], "shape": [4], "src": [0], "dst": [-1]}])"), case_error,
      {
          {"/0/dst", "[3]", "/0/dst/0: the mesh has no axis 3"},
          {"/0/src", "[0, 1]", "/0/src: has 2 entries for a tensor of 1 dimension"},
          {"/0/src_partial", "[7]", "/0/src_partial: the mesh has no axis 7"},
          {"/0/src_partial", "[77]", "/0/src_partial/0: the mesh has no axis 77"},
          {"/0/src_partial", "[0]", "/0/src_partial: axis 0 already splits a dimension"},
          {"/0/mesh", "[2, 0]", "/0/mesh: an axis has at least one rank"},
          {"/0/mesh", "[1024, 1024]", "every rank gets operators of its own"},
          {"/0/mesh", "[2048, 1024]", "/0/mesh: an axis has at least one rank"},
      });
}

TEST_CASE("reshard tensor: a placement without ranks is refused") {
  const program::DistAttr none{program::ProcessMesh(), {-1}, {}};
  const program::DistAttr some{program::ProcessMesh::make({2}, {0, 1}).value(), {-1}, {}};
  const auto error = [](const program::DistAttr& source, const program::DistAttr& target) {
    const auto answer = reshard_tensor({{8}, program::DataType::kFloat32, source, target}, {});
    return answer.ok() ? "" : answer.error().to_string();
  };
  CHECK(error(some, some) == "");
  CHECK(error(none, some) == "/src/mesh: a mesh has at least one rank");
  CHECK(error(some, none) == "/dst/mesh: a mesh has at least one rank");
  CHECK(error(none, none) == "/src/mesh: a mesh has at least one rank");
}

TEST_CASE("malformed programs: errors name the place and explain") {
  check_no_json(program_error);
  check_malformed(
      golden_json("programs/programs"), program_error,
      {
          {"/programs", "{}", "/programs: expected a list of programs"},
          {"/programz", "[]", "/programz: unknown key \"programz\"; did you mean \"programs\"?"},
          {"/programs/0/meshes/0/shape", "[3]",
           "/programs/0/meshes/0/ids: a mesh of this shape has 3"},
          {"/programs/0/meshes/0/ids", "[0, 0]", "/programs/0/meshes/0/ids: rank 0 occurs twice"},
          {"/programs/0/meshes", "[]", "/programs/0/vars/0/mesh: there is no mesh 0; there are 0"},
          {"/programs/0/ranks", "[77]", "/programs/0/ranks/0: no mesh has rank 77"},
          {"/programs/0/ranks", "[0, 0]", "/programs/0/ranks/1: rank 0 occurs twice"},
          {"/programs/0/ranks", "[-1]", "/programs/0/ranks/0: a rank is between 0 and 2^30"},
          {"/programs/0/blocks", "[{\"parent\": 1}]",
           "/programs/0/blocks/0/parent: the parent of block 1"},
          {"/programs/0/vars", "-", "/programs/0: the key \"vars\" is missing"},
          {"/programs/0/vars/1/name", "\"x\"",
           "/programs/0/vars/1/name: two variables are called \"x\""},
          {"/programs/0/vars/0/mesh", "9",
           "/programs/0/vars/0/mesh: there is no mesh 9; there are 1"},
          {"/programs/0/vars/0/local_shape", "[1, 1]",
           "/programs/0/vars/0/local_shape/0: 1 is not the full"},
          {"/programs/0/vars/0/local_shape", "[8]",
           "/programs/0/vars/0/local_shape: has another number"},
          {"/programs/0/vars/0/full_shape", "[1.5, 8]",
           "/programs/0/vars/0/full_shape/0: expected an integer"},
          {"/programs/0/vars/0/full_shape", "[16, -1]",
           "/programs/0/vars/0/full_shape/1: an extent cannot be -1; only the first may be -1, for "
           "the "
           "batch; write the number of elements"},
          {"/programs/0/vars/0/partial", "{\"5\": \"sum\"}",
           "/programs/0/vars/0/partial: the mesh has no axis 5"},
          {"/programs/0/vars/1/full_shape", "[4611686018427387904, 8]",
           "/programs/0/vars/1/local_shape/0: "},
          {"/programs/0/ops/0/type", "-", "/programs/0/ops/0: the key \"type\" is missing"},
          {"/programs/0/ops/0/type", "4", "/programs/0/ops/0/type: expected a text"},
          {"/programs/0/ops/1/id", "9223372036854775807", "/programs/0/ops/1/id: an id is between"},
          {"/programs/0/ops/1/id", "-1", "/programs/0/ops/1/id: an id is between 0 and 2^62"},
          {"/programs/0/ops/1/id", "0", "/programs/0/ops/1: two operators have the id 0"},
          {"/programs/0/ops/0/role", "\"foward\"",
           "/programs/0/ops/0/role: unknown role \"foward\"; did you mean"},
          {"/programs/0/ops/0/block", "3",
           "/programs/0/ops/0/block: there is no block 3; there are 1"},
          {"/programs/0/ops/0/sub_block", "0",
           "/programs/0/ops/0/sub_block: must be a block after"},
          {"/programs/0/ops/0/inputz", "[]",
           "/programs/0/ops/0/inputz: unknown key \"inputz\"; did you mean"},
          {"/programs/0/ops/0/inputs/0/var", "\"zz\"",
           "/programs/0/ops/0/inputs/0/var: there is no variable \"zz\""},
          {"/programs/0/ops/0/inputs/0/arg", "-5",
           "/programs/0/ops/0/inputs/0/arg: a position is not negative"},
          {"/programs/0/ops/0/inputs/0/arg", "1099511627776",
           "/programs/0/ops/0/inputs/0/arg: expected an integer"},
          {"/programs/0/ops/0/inputs/0/dims_mapping", "[0]",
           "/programs/0/ops/0/inputs/0/dims_mapping: has 1 entries"},
          {"/programs/0/ops/0/inputs/0/dims_mapping", "[0, 4]",
           "/programs/0/ops/0/inputs/0/dims_mapping/1: the mesh"},
          {"/programs/0/ops/0/outputs/0/dims_mapping", "[0, -1]",
           "/ops/0/outputs/0: the mapping of output \"y\" must be"},
          {"/programs/0/ops/0/condition", "\"nobody\"",
           "/programs/0/ops/0/condition: there is no variable"},
          {"/programs/0/groups", "[{}]", "/programs/0/groups/0: the key \"ranks\" is missing"},
          {"/programs/0/groups", "[{\"ranks\": []}]",
           "/programs/0/groups/0/ranks: a group has at least one rank"},
          {"/programs/0/groups", "[{\"ranks\": [0, 0]}]",
           "/programs/0/groups/0/ranks: rank 0 occurs twice"},
          {"/programs/0/groups", "[{\"ranks\": [0], \"ring\": 4}]",
           "/programs/0/groups/0/ring: unknown key \"ring\"; did you mean"},
          {"/programs/0/groups", "[{\"ranks\": [0], \"ring_id\": -1}]",
           "/programs/0/groups/0/ring_id: a ring is between 0 and 2^62"},
          {"/programs/0/groups",
           "[{\"ranks\": [0], \"ring_id\": 1}, {\"ranks\": [1], \"ring_id\": 1}]",
           "/programs/0/groups/1/ring_id: two groups have ring 1"},
          {"/programs/0/next_ring_id", "-1",
           "/programs/0/next_ring_id: a ring must not be negative"},
          {"/programs/0/next_ring_id", "9223372036854775807",
           "/programs/0/next_ring_id: a ring is between 0 and 2^62"},
          {"/programs/0/recv_has_input", "1", "/programs/0/recv_has_input: expected"},
      });
}

}  // namespace shardwright::malformed_programs_test
