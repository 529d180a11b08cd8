// Where operators of a program want tensors placed otherwise than they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/program/program.h"
#include "core/status.h"

namespace shardwright::program {

// One operator wants one input in another placement.
// Thread safety: a value.
struct Request {
  OpId anchor;  // where operators go: the consumer, or control flow around it
  OpId consumer;
  VarId var;
  std::uint32_t wish = 0;  // index into `wishes`
  MeshId source_mesh;      // the tensor's mesh; of a tensor on a union, the consumer's part of it
  OpRole role = OpRole::kForward;
};

// A placement that requests share: what one of them gets, later ones may use. `epoch` counts the
// writes to the variable before it.
// Thread safety: a value.
struct Wish {
  VarId var;
  std::uint32_t epoch = 0;
  MeshId mesh;
  DimsMapping dims_mapping;
  PartialAxes partial;                  // what may stay partial; nothing for operators
  bool is_shared = true;                // consumers on a union mesh are served one by one
  std::vector<std::uint32_t> requests;  // in program order
};

// An output whose tensor lives on other ranks than the operator.
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
  // The first feed of every level of detail; it says where sequences end.
  std::map<std::int32_t, VarId> lod_feeds;
  std::vector<Shape> shapes;  // by variable; empty if the variable says its whole shape itself
  std::uint64_t items_scanned = 0;
};

// Walks the program once. Consumers inside control flow are served before it, unless the tensor is
// written inside. Errors: kInvalidInput if a tensor on a union mesh is split, a condition is not
// replicated, an output's mapping differs from its tensor's, or the batch size is missing.
// O(operators + variables + arguments).
Result<Requests> find_requests(const Program& program, std::optional<std::int64_t> batch_size);

}  // namespace shardwright::program
