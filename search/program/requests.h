// Finds the inputs and outputs of a program that must be resharded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/program/program.h"
#include "core/status.h"

namespace shardwright::program {

// Counts the writes to variables, and knows the control flow around the operator that is visited.
// Thread safety: one thread at a time. Refers to the program.
class ControlFlow {
 public:
  explicit ControlFlow(const Program& program)
      : program_(program), epochs_(program.var_capacity(), 0) {}

  // The number of writes to a variable so far. Two reads with equal epochs see the same value.
  std::uint32_t epoch(VarId var) const { return epochs_[var.index()]; }
  void write(VarId var) { ++epochs_[var.index()]; }

  // enter() is called before the block of control-flow operator `op` is visited, leave() after it.
  // The variables that the block writes get a new epoch at both. O(operators of the block).
  void enter(OpId op);
  void leave();

  // Returns the operator before which the operators for a consumer are inserted. This is the
  // outermost control flow around the consumer whose block does not write the variable; if there is
  // none, it is the consumer.
  OpId anchor_of(OpId consumer, VarId var) const;

 private:
  struct Enclosing {
    OpId op;
    std::vector<VarId> written;  // sorted
  };

  void collect_written(BlockId block, std::vector<VarId>& written) const;

  const Program& program_;
  std::vector<std::uint32_t> epochs_;  // by variable
  std::vector<Enclosing> enclosing_;   // outermost first
};

// Which meshes of a program are equal, and which consist of smaller meshes. Thread safety:
// immutable; const members may be called from any thread.
class MeshRelations {
 public:
  // O(meshes^2 x ranks).
  explicit MeshRelations(const Program& program);

  // Returns the same id for equal meshes.
  MeshId canonical(MeshId mesh) const { return canonical_[mesh.index()]; }
  // Returns true for the mesh of all ranks if the program also has smaller meshes (a union). A
  // tensor on it counts as a tensor on the union of the smaller meshes.
  bool is_union(MeshId mesh) const { return is_union_[mesh.index()]; }
  // The smaller meshes within this mesh that are not unions. Empty unless they cover this mesh.
  const std::vector<MeshId>& parts(MeshId mesh) const { return parts_[mesh.index()]; }

 private:
  void find_parts(const Program& program, std::size_t mesh);

  std::vector<MeshId> canonical_;
  std::vector<bool> is_union_;
  std::vector<std::vector<MeshId>> parts_;
};

// An input whose placement differs from the one that its operator (the consumer) needs.
// Thread safety: a value.
struct Request {
  OpId anchor;  // where operators are inserted: the consumer, or control flow around it
  OpId consumer;
  VarId var;
  std::uint32_t demand = 0;  // index into `demands`
  MeshId source_mesh;        // mesh of the tensor; if a union, the consumer's mesh
  OpRole role = OpRole::kForward;
};

// A placement of a tensor that several requests share: later requests may use the copy that was
// made for the first. `epoch`: the number of writes to the variable before the request.
// Thread safety: a value.
struct Demand {
  VarId var;
  std::uint32_t epoch = 0;
  MeshId mesh;
  DimsMapping dims_mapping;  // in best mode without axes of one rank
  PartialAxes partial;       // axes that may stay partial; none for operators
  // False if the consumers are on a union; each of them is then served separately.
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
  std::vector<Demand> demands;
  std::vector<OutputRequest> outputs;               // in program order
  std::unordered_set<std::string> generated_names;  // names that look generated
  // By level of detail (depth of nested sequences): its first feed, which gives their ends.
  std::map<std::int32_t, VarId> lod_feeds;
  std::vector<Shape> shapes;  // by variable; empty if Variable::shape is the whole shape
  std::uint64_t items_scanned = 0;
};

// Returns the mapping that counts: in best mode, without axes of size 1, which split nothing.
inline DimsMapping settled(const Program& program, bool compat, MeshId mesh,
                           const DimsMapping& mapping) {
  return compat ? mapping : effective_mapping(program.mesh(mesh), mapping);
}

// Walks the program once. Inputs of consumers inside control flow are resharded before the control
// flow, unless its block writes the tensor. Errors: kInvalidInput if a tensor on a union of meshes
// is split, a condition is not replicated, an output's mapping differs from its tensor's, an
// input's mapping does not fit its mesh, a batch dimension is open, or a tensor is too large.
// In compat mode, tensors without dimensions are not moved, as in Paddle's Resharder, unless they
// are partial (Paddle's Resharder has no partial tensors). O(operators + variables + arguments).
Result<Requests> find_requests(const Program& program, bool compat);

// Fills `generated_names`, `lod_feeds` and `shapes`, and counts the variables.
// Errors: kInvalidInput if a batch dimension is open, or if a tensor is too large. O(variables).
Status scan_variables(const Program& program, Requests& found);

}  // namespace shardwright::program
