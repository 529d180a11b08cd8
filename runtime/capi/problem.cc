// Problems behind handles.
#include <string>
#include <string_view>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/io/file.h"
#include "runtime/io/problem_json.h"

using namespace shardwright;
using namespace shardwright::capi;
using embedding::Problem;

namespace {

std::shared_ptr<const Problem> parse(std::string_view text) {
  return std::make_shared<const Problem>(take(Problem::make(take(read_problem(text)))));
}

}  // namespace

shardwright_status shardwright_problem_from_json(const char* text, size_t size,
                                                 shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    out.set(parse(given_text(text, size, "text")));
  });
}

shardwright_status shardwright_problem_from_file(const char* path, shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    const std::string name = &required(path, "path");
    // "-" would read the standard input of the host program.
    if (name == "-") fail(SHARDWRIGHT_INVALID_ARGUMENT, "must name a file", "path");
    out.set(parse(take(read_file(name))));
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
