// Lookups in embedding tables.
#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

constexpr std::size_t kIds = 0;
constexpr std::size_t kTable = 1;

// An embedding as a product: rows are the ids, columns the embedding dimension. Source:
// EmbeddingStrategyGenerator.collate_strategies, ColossalAI
// node_handler/strategy/embedding_generator.py.
ProductAxesList embedding_axes(const MeshAxes& axes) {
  ProductAxesList list;
  list.reserve(9);
  list.push_back({});
  for (const std::uint8_t a : axes.singles)
    list.push_back({a, 0, 0});
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, 0, b});
  list.push_back({axes.all, 0, 0});
  for (const std::uint8_t a : axes.singles)
    list.push_back({0, 0, a});
  list.push_back({0, 0, axes.all});
  return list;
}

// Source: EmbeddingStrategyGenerator.update_compute_cost and update_memory_cost.
void cost(const StrategyWriter& writer, Strategy& strategy) {
  const double ids = writer.local_elements(kIds);
  const double table = writer.local_elements(kTable);
  const LocalShape out(writer.mesh(), writer.placed(writer.output()));
  const double forward = ids * table;
  strategy.compute = phases(forward, ids * table + table * out.product() / out.back(1));
  const std::int64_t id_bytes = writer.local_bytes(kIds);
  const std::int64_t table_bytes = writer.local_bytes(kTable);
  MemoryCost both{id_bytes, 0, 0, 0};
  const bool owned = writer.operand(kTable).type == OperandType::kParameter;
  (owned ? both.parameter : both.activation) += table_bytes;
  MemoryCost with_output = both;
  with_output.activation += writer.local_bytes(writer.output());
  strategy.memory = phases(with_output, both);
}

void add(StrategyWriter& writer, const ProductAxes& axes, std::size_t row_dim,
         std::int32_t suffix) {
  const std::size_t rank = writer.operand(kIds).shapes[0]->rank();
  DimSpecs ids(rank);
  DimSpecs out = DimSpecs(rank + 1).with(rank, dim(axes.column));
  if (axes.row != 0) {
    ids = ids.with(row_dim, dim(axes.row));
    out = out.with(row_dim, dim(axes.row));
  }
  writer.begin();
  if (!writer.place(kIds, ids) || !writer.place(writer.output(), out) ||
      !writer.place(kTable, DimSpecs(2).with(1, dim(axes.column))))
    return;
  Strategy* strategy = writer.finish(axes.name(StrategyName::Form::kEmbedding, suffix));
  if (strategy == nullptr) return;
  if (axes.column != 0) {
    writer.all_reduce_backward(*strategy, kIds, axes.column, writer.local_elements(kIds));
    strategy->actions[0].place = CommPlace::kBefore;
  }
  if (axes.row != 0)
    writer.all_reduce_backward(*strategy, kTable, axes.row, writer.local_elements(kTable));
  cost(writer, *strategy);
}

}  // namespace

void generate_embedding(const GeneratorInput&, StrategyWriter& writer) {
  const std::size_t rank = writer.operand(kIds).shapes[0]->rank();
  const MeshAxes mesh_axes(writer.mesh());
  for (const ProductAxes& axes : embedding_axes(mesh_axes)) {
    if (axes.row == 0) {
      add(writer, axes, 0, -1);
      continue;
    }
    for (std::size_t d = 0; d < rank; ++d)
      add(writer, axes, d, static_cast<std::int32_t>(d));
  }
}

}  // namespace shardwright::operators::generators
