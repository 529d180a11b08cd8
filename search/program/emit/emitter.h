// Turns the steps of one rank into operators of its program.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/program/edit_log.h"
#include "core/program/reshard_plan.h"
#include "search/program/emit/collectives.h"
#include "search/program/emit/group_table.h"
#include "search/program/emit/messages.h"
#include "search/program/emit/op_builder.h"

namespace shardwright::program {

// Keeps the current tensor, and the pieces for the next concat, from step to step.
// Thread safety: one thread at a time. Refers to its arguments.
class Emitter {
 public:
  // In compat mode, gathers, sends and receives are cached per tensor, and concats join two pieces
  // at a time, as in Paddle's Resharder. Generated names skip the names in `taken`.
  Emitter(EditLog& log, const GroupTable& groups, const std::unordered_set<std::string>& taken,
          bool compat)
      : ops_(log, taken),
        collectives_(ops_, groups, compat),
        messages_(ops_, groups, compat),
        compat_(compat) {}

  // Returns the variable that holds the result. Empty if there is no result, as for a rank that
  // only sends.
  std::optional<VarId> emit(const EmitSite& site, const std::vector<Step>& steps);

  // The last operator that the previous emit() inserted, or its anchor if it inserted none.
  // Precondition: its site had `into`.
  OpId last() const { return ops_.last(); }

 private:
  void apply(const Step& step);
  void finish(const LocalTensor& result);
  void gather(const Step& step);
  void keep(const Step& step);
  void concat(const Step& step);
  LocalTensor join_pairwise(const Step& step);
  void zero(const Step& step);
  LocalTensor cut_box(const Part& part);

  OpBuilder ops_;
  CollectiveEmitter collectives_;
  MessageEmitter messages_;
  bool compat_;
  LocalTensor current_;
  std::vector<LocalTensor> pieces_;
  bool has_result_ = false;
  bool receives_result_ = false;  // the only received message is the result
};

}  // namespace shardwright::program
