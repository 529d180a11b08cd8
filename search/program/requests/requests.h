// Inputs and outputs of a program whose tensors are in another placement than operators want.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/program/program.h"
#include "core/status.h"

namespace shardwright::program {

// One operator wants one input in another placement than it has.
// Thread safety: a value.
struct Request {
  OpId anchor;  // operators go before it: the consumer, or control flow around it
  OpId consumer;
  VarId var;
  std::uint32_t wish = 0;  // index into `wishes`
  MeshId source_mesh;      // the tensor's mesh, or the consumer's mesh if that is part of a union
  OpRole role = OpRole::kForward;
};

// A placement that requests share: what the first of them receives, later ones may use. `epoch` is
// the number of writes to the variable before it.
// Thread safety: a value.
struct Wish {
  VarId var;
  std::uint32_t epoch = 0;
  MeshId mesh;
  DimsMapping dims_mapping;  // in best mode without axes of one rank
  PartialAxes partial;       // axes that may stay partial; none for operators
  // False for consumers on a union, which are served one by one.
  bool is_shared = true;
  std::vector<std::uint32_t> requests;  // in program order
};

// An output whose tensor is on another mesh than the operator.
struct OutputRequest {
  OpId op;
  VarId var;
};

// Thread safety: a value.
struct Requests {
  std::vector<Request> requests;  // in program order
  std::vector<Wish> wishes;
  std::vector<OutputRequest> outputs;               // in program order
  std::unordered_set<std::string> generated_names;  // names that look generated
  // The first feed of every level of detail. It says where sequences end.
  std::map<std::int32_t, VarId> lod_feeds;
  std::vector<Shape> shapes;  // by variable; empty if Variable::shape is the whole shape
  std::uint64_t items_scanned = 0;
};

// The mapping that counts: in best mode, axes of one rank split nothing.
inline DimsMapping settled(const Program& program, bool compat, MeshId mesh,
                           const DimsMapping& mapping) {
  return compat ? mapping : effective_mapping(program.mesh(mesh), mapping);
}

// Walks the program once. Consumers inside control flow are served before it, unless the tensor is
// written inside. Errors: kInvalidInput if a tensor on a union of meshes is split, a condition is
// not replicated, an output's mapping differs from its tensor's, an input's mapping does not fit
// its mesh, a batch dimension is open, or a tensor is too large.
// In compat mode, tensors without dimensions are left where they are, as by Paddle's Resharder,
// unless they are partial, which it does not know. O(operators + variables + arguments).
Result<Requests> find_requests(const Program& program, bool compat);

}  // namespace shardwright::program
