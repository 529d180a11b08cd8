// Calls that make problems.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"

using namespace shardwright;
using namespace shardwright::capi;
using embedding::Problem;

namespace {

std::shared_ptr<const Problem> make(embedding::ProblemSpec spec) {
  return std::make_shared<const Problem>(take(Problem::make(std::move(spec))));
}

std::string_view text_at(const char* const* texts, std::size_t i, const char* name) {
  if (texts == nullptr) return "";
  return &required(texts[i], (name + ("/" + std::to_string(i))).c_str());
}

embedding::Table table_of(const shardwright_problem_arrays& arrays, std::size_t i) {
  embedding::Table table;
  table.name = text_at(arrays.name, i, "/name");
  table.module = text_at(arrays.module, i, "/module");
  table.num_embeddings = arrays.rows[i];
  table.embedding_dim = arrays.columns[i];
  if (arrays.data_type != nullptr) {
    table.data_type = kind_of<embedding::DataType>(
        arrays.data_type[i], [i] { return "/data_type/" + std::to_string(i); });
  }
  if (arrays.is_sequence != nullptr && arrays.is_sequence[i] != 0) {
    table.kind = embedding::TableKind::kSequence;
  }
  if (arrays.is_weighted != nullptr) table.weighted = arrays.is_weighted[i] != 0;
  if (arrays.pooling_factor != nullptr) {
    table.constraints.emplace().pooling_factors = {arrays.pooling_factor[i]};
  }
  return table;
}

// Sets the ranks' memory. Equal sizes make a uniform topology, whose row-wise splits are even.
void set_memory(const std::int64_t* by_rank, std::uint32_t ranks,
                std::optional<std::int64_t>& uniform, std::vector<std::int64_t>& custom) {
  if (by_rank == nullptr) return;
  custom.assign(by_rank, by_rank + ranks);
  if (by_rank[0] <= 0 || !std::all_of(custom.begin(), custom.end(),
                                      [&](std::int64_t bytes) { return bytes == by_rank[0]; })) {
    return;
  }
  uniform = by_rank[0];
  custom.clear();
}

embedding::ProblemSpec spec_of(const shardwright_problem_arrays& arrays) {
  embedding::ProblemSpec spec;
  if (arrays.num_tables > 0) {
    required(arrays.name, "arrays.name");
    required(arrays.rows, "arrays.rows");
    required(arrays.columns, "arrays.columns");
  }
  spec.tables.reserve(arrays.num_tables);
  for (std::size_t i = 0; i < arrays.num_tables; ++i)
    spec.tables.push_back(table_of(arrays, i));
  const std::string_view settings =
      given_text(arrays.settings, arrays.settings_size, "arrays.settings");
  if (!settings.empty()) spec = take(read_problem_settings(settings, std::move(spec)));
  if (arrays.batch_size != 0) spec.batch_size = arrays.batch_size;
  embedding::TopologySpec& topology = spec.topology;
  if (arrays.num_ranks != 0) topology.world_size = arrays.num_ranks;
  if (arrays.ranks_per_host != 0) topology.local_world_size = arrays.ranks_per_host;
  if (arrays.num_ranks != 0) {
    set_memory(arrays.hbm, arrays.num_ranks, topology.hbm_cap_bytes, topology.custom_hbm_cap_bytes);
    set_memory(arrays.ddr, arrays.num_ranks, topology.ddr_cap_bytes, topology.custom_ddr_cap_bytes);
    if (arrays.ssd != nullptr)
      topology.custom_ssd_cap_bytes.assign(arrays.ssd, arrays.ssd + arrays.num_ranks);
  }
  return spec;
}

}  // namespace

shardwright_status shardwright_problem_from_json(const char* text, size_t size,
                                                 shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    out.set(make(take(read_problem(given_text(text, size, "text")))));
  });
}

shardwright_status shardwright_problem_from_file(const char* path, shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    const std::string name = &required(path, "path");
    // "-" would read the standard input of the host program.
    if (name == "-") fail(SHARDWRIGHT_INVALID_ARGUMENT, "must name a file", "path");
    out.set(make(take(read_problem(take(read_file(name))))));
  });
}

shardwright_status shardwright_problem_from_arrays(const shardwright_problem_arrays* arrays,
                                                   shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    out.set(make(spec_of(read_struct(arrays, "arrays"))));
  });
}

shardwright_status shardwright_problem_sizes(const shardwright_problem* problem,
                                             shardwright_problem_info* info) {
  return guarded([&] {
    const auto object = object_of(problem, "problem");
    shardwright_problem_info known{};
    known.num_tables = static_cast<uint32_t>(object->tables().size());
    known.num_ranks = object->topology().world_size();
    known.ranks_per_host = object->topology().local_world_size();
    known.batch_size = object->batch_size();
    write_struct(known, info, "info");
  });
}

shardwright_status shardwright_problem_table_name(const shardwright_problem* problem,
                                                  uint32_t table, char* buffer, size_t capacity,
                                                  size_t* size) {
  return guarded([&] {
    const auto object = object_of(problem, "problem");
    if (table >= object->tables().size()) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT,
           "the problem has " + std::to_string(object->tables().size()) + " tables", "table");
    }
    put_text(object->tables()[table].name, buffer, capacity, size);
  });
}

shardwright_status shardwright_problem_destroy(shardwright_problem* problem) {
  return destroy(problem, "problem");
}
