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

// Thread safety: one thread at a time. Refers to the program.
class ControlFlow {
 public:
  explicit ControlFlow(const Program& program)
      : program_(program), epochs_(program.var_capacity(), 0) {}

  // The number of writes to a variable so far. Two reads with equal epochs see the same value.
  std::uint32_t epoch(VarId var) const { return epochs_[var.index()]; }
  void write(VarId var) { ++epochs_[var.index()]; }

  // Enters and leaves the block that an operator runs. Variables that the block writes get a new
  // epoch inside it, and another one after it. O(operators of the block).
  void enter(OpId op);
  void leave();

  // The operator before which operators that serve a consumer are inserted: the outermost control
  // flow around the consumer whose block does not write the variable, or the consumer.
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

// Thread safety: immutable; const members may be called from any thread.
class MeshRelations {
 public:
  // O(meshes^2 x ranks).
  explicit MeshRelations(const Program& program);

  // Equal meshes have one canonical id.
  MeshId canonical(MeshId mesh) const { return canonical_[mesh.index()]; }
  // Returns true for the mesh of all ranks if the program also has smaller meshes. A tensor on this
  // mesh counts as a tensor on the union of the smaller meshes.
  bool is_union(MeshId mesh) const { return is_union_[mesh.index()]; }
  // The smaller meshes within this mesh that are no unions. Empty unless these meshes cover it.
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
  MeshId source_mesh;        // the tensor's mesh; on a union, the consumer's mesh within it
  OpRole role = OpRole::kForward;
};

// A placement of a tensor that several requests share: later requests may use the copy of the
// first. `epoch` is the number of writes to the variable before it.
// Thread safety: a value.
struct Demand {
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
  std::vector<Demand> demands;
  std::vector<OutputRequest> outputs;               // in program order
  std::unordered_set<std::string> generated_names;  // names that look generated
  // The first feed of every level of detail, which gives the ends of sequences.
  std::map<std::int32_t, VarId> lod_feeds;
  std::vector<Shape> shapes;  // by variable; empty if Variable::shape is the whole shape
  std::uint64_t items_scanned = 0;
};

// The effective mapping: in best mode, without axes of one rank, as they split nothing.
inline DimsMapping settled(const Program& program, bool compat, MeshId mesh,
                           const DimsMapping& mapping) {
  return compat ? mapping : effective_mapping(program.mesh(mesh), mapping);
}

// Walks the program once. Consumers inside control flow are served before it, unless the tensor is
// written inside. Errors: kInvalidInput if a tensor on a union of meshes is split, a condition is
// not replicated, an output's mapping differs from its tensor's, an input's mapping does not fit
// its mesh, a batch dimension is open, or a tensor is too large.
// In compat mode, tensors without dimensions are not moved, as in Paddle's Resharder, unless they
// are partial (Paddle's Resharder has no partial tensors). O(operators + variables + arguments).
Result<Requests> find_requests(const Program& program, bool compat);

// Fills `generated_names`, `lod_feeds` and `shapes`, and counts the variables.
// Errors: kInvalidInput if a batch dimension is open, or if a tensor is too large. O(variables).
Status scan_variables(const Program& program, Requests& found);

}  // namespace shardwright::program
