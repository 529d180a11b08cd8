#include "search/program/requests/control_flow.h"

#include <algorithm>
#include <utility>

namespace shardwright::program {

void ControlFlow::enter(OpId op) {
  Enclosing enclosing{op, {}};
  std::vector<VarId>& written = enclosing.written;
  collect_written(program_.op(op).sub_block, written);
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  for (const VarId var : written)
    write(var);
  enclosing_.push_back(std::move(enclosing));
}

void ControlFlow::leave() {
  for (const VarId var : enclosing_.back().written)
    write(var);
  enclosing_.pop_back();
}

void ControlFlow::collect_written(BlockId block, std::vector<VarId>& written) const {
  for (OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
    const Operation& op = program_.op(id);
    for (const Argument& output : op.outputs)
      written.push_back(output.var);
    if (op.sub_block.valid()) collect_written(op.sub_block, written);
  }
}

OpId ControlFlow::anchor_of(OpId consumer, VarId var) const {
  OpId anchor = consumer;
  for (std::size_t i = enclosing_.size(); i-- > 0;) {
    const std::vector<VarId>& written = enclosing_[i].written;
    if (std::binary_search(written.begin(), written.end(), var)) break;
    anchor = enclosing_[i].op;
  }
  return anchor;
}

}  // namespace shardwright::program
