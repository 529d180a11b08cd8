#include "search/program/emit/messages.h"

#include <vector>

namespace shardwright::program {

void MessageEmitter::send(const Step& step, const LocalTensor& input) {
  const EmitSite& site = ops_.site();
  if (caches() && !sent_.try_emplace({site.source_key, step.dst}, true).second) return;
  LocalTensor tensor = input;
  if (!step.local.empty()) {
    tensor = ops_.cut_box(tensor, step.local, ops_.new_name(site.base_name + "@RESHARD"));
  }
  if (site.is_bool()) tensor = ops_.cast(tensor, DataType::kBool, DataType::kInt64);
  ops_.insert(
      "send_v2", {tensor.var}, {},
      {{"ring_id", groups_.ring_id({step.src, step.dst}, true)}, {"peer", std::int64_t{1}}});
}

LocalTensor MessageEmitter::receive(const Step& step, bool is_result) {
  if (!caches()) return receive_new(step, is_result);
  const auto key = std::make_pair(ops_.site().source_key, step.src);
  const auto known = received_.find(key);
  if (known != received_.end()) return known->second;
  LocalTensor tensor = receive_new(step, is_result);
  received_[key] = tensor;
  return tensor;
}

LocalTensor MessageEmitter::receive_new(const Step& step, bool is_result) {
  const EmitSite& site = ops_.site();
  const Shape shape = shape_of(step.part);
  const DataType type = site.is_bool() ? DataType::kInt64 : site.type;
  // Paddle's Resharder does not restore the level of detail of received booleans.
  const bool resets = site.lod_feed.valid() && !(site.is_bool() && caches());
  const bool into = is_result && !site.is_bool();
  LocalTensor result{site.into, shape};
  LocalTensor tensor =
      into && !resets ? result : ops_.create(ops_.new_name(site.base_name + "@recv"), shape, type);
  std::vector<VarId> inputs;
  if (groups_.communication().recv_has_input) inputs.push_back(tensor.var);
  ops_.insert("recv_v2", inputs, {tensor.var},
              {{"ring_id", groups_.ring_id({step.src, step.dst}, true)},
               {"peer", std::int64_t{0}},
               {"out_shape", std::vector<std::int64_t>(shape.begin(), shape.end())}});
  if (resets) {
    const LocalTensor reset =
        into ? result : ops_.create(ops_.new_name("reset_lod@RESHARD.tmp"), shape, type);
    ops_.insert("lod_reset", {tensor.var, site.lod_feed}, {reset.var}, {});
    tensor = reset;
  }
  if (!site.is_bool()) return tensor;
  if (!is_result) return ops_.cast(tensor, DataType::kInt64, DataType::kBool);
  ops_.cast_into(tensor, result.var, DataType::kInt64, DataType::kBool);
  return result;
}

}  // namespace shardwright::program
