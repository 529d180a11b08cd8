/* A program in strict C11 that plans, from JSON and from arrays, and reads everything back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwright.h"

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s: %s\n", __FILE__, __LINE__,         \
              #condition, shardwright_last_error_place(), shardwright_last_error_message()); \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)
#define OK(call) CHECK((call) == SHARDWRIGHT_OK)

static const char kProblem[] =
    "{\"topology\": {\"world_size\": 4, \"local_world_size\": 2, \"hbm_cap\": 17179869184},"
    " \"batch_size\": 512, \"tables\": ["
    "{\"name\": \"ads\", \"num_embeddings\": 4000000, \"embedding_dim\": 128, \"features\": [\"a\"]},"
    "{\"name\": \"pages\", \"num_embeddings\": 390000, \"embedding_dim\": 64, \"features\": [\"p\"]},"
    "{\"name\": \"words\", \"num_embeddings\": 1000, \"embedding_dim\": 64, \"features\": [\"w\"]}]}";

static int32_t count_calls(void* user_data, const shardwright_progress* progress) {
  CHECK(progress->struct_size == sizeof(*progress));
  ++*(int*)user_data;
  return 0;
}

static void* room(size_t count, size_t size) {
  void* memory = calloc(count, size);
  CHECK(memory != NULL);
  return memory;
}

/* A copy of the search space by way of arrays. */
static shardwright_search_space* through_arrays(const shardwright_problem* problem,
                                                const shardwright_search_space* space) {
  shardwright_search_space_info info = {.struct_size = sizeof(info)};
  OK(shardwright_search_space_sizes(space, &info));
  CHECK(info.num_options > 3 && info.num_shards > info.num_options);
  const size_t shards = (size_t)info.num_shards;
  shardwright_option_buffers filled = {.struct_size = sizeof(filled),
                                       .num_options = info.num_options,
                                       .num_shards = info.num_shards,
                                       .table = room(info.num_options, sizeof(uint32_t)),
                                       .sharding_type = room(info.num_options, 1),
                                       .compute_kernel = room(info.num_options, 1),
                                       .shard_begin = room(info.num_options + 1, sizeof(uint64_t)),
                                       .load_factor = room(info.num_options, sizeof(double)),
                                       .size = room(2 * shards, sizeof(int64_t)),
                                       .offset = room(2 * shards, sizeof(int64_t)),
                                       .hbm = room(shards, sizeof(int64_t)),
                                       .ddr = room(shards, sizeof(int64_t)),
                                       .perf = room(5 * shards, sizeof(double)),
                                       .is_weighted = room(info.num_options, 1),
                                       .input_dist_comms = room(info.num_options, sizeof(double))};
  OK(shardwright_search_space_to_arrays(space, &filled));
  size_t sends_inputs = 0; /* all options but data parallel ones do */
  for (uint32_t i = 0; i < info.num_options; ++i) {
    CHECK(filled.is_weighted[i] == 0);
    sends_inputs += filled.input_dist_comms[i] > 0;
  }
  CHECK(sends_inputs > 0 && sends_inputs < info.num_options);
  CHECK(filled.shard_begin[info.num_options] == info.num_shards);
  const shardwright_option_arrays given = {.struct_size = sizeof(given),
                                           .num_options = filled.num_options,
                                           .table = filled.table,
                                           .sharding_type = filled.sharding_type,
                                           .compute_kernel = filled.compute_kernel,
                                           .shard_begin = filled.shard_begin,
                                           .load_factor = filled.load_factor,
                                           .size = filled.size,
                                           .offset = filled.offset,
                                           .hbm = filled.hbm,
                                           .ddr = filled.ddr,
                                           .perf = filled.perf};
  shardwright_search_space* copy = NULL;
  OK(shardwright_search_space_from_arrays(problem, &given, &copy));
  void* const owned[] = {filled.table,       filled.sharding_type, filled.compute_kernel,
                         filled.shard_begin, filled.load_factor,   filled.size,
                         filled.offset,      filled.hbm,           filled.ddr,
                         filled.perf,        filled.is_weighted,   filled.input_dist_comms};
  for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); ++i) free(owned[i]);
  return copy;
}

static char* to_json(const shardwright_result* result, size_t* size) {
  OK(shardwright_result_to_json(result, 0, NULL, 0, size));
  char* text = room(*size + 1, 1);
  CHECK(shardwright_result_to_json(result, 0, text, *size, NULL) == SHARDWRIGHT_BUFFER_TOO_SMALL);
  OK(shardwright_result_to_json(result, 0, text, *size + 1, size));
  CHECK(strlen(text) == *size);
  return text;
}

/* `shardwright verify` finds that all claims of a plan hold. */
static void check_claims(const shardwright_search_space* space, const char* plan) {
  size_t space_size = 0;
  OK(shardwright_search_space_to_json(space, NULL, 0, &space_size));
  char* options_text = room(space_size + 1, 1);
  OK(shardwright_search_space_to_json(space, options_text, space_size + 1, NULL));
  const char* form = "{\"problem\": %s, \"search_space\": %s, \"plan\": %s}";
  const size_t most = strlen(form) + strlen(kProblem) + space_size + strlen(plan);
  char* request = room(most, 1);
  const int size = snprintf(request, most, form, kProblem, options_text, plan);
  const shardwright_ask_options options = {.struct_size = sizeof(options)};
  shardwright_answer* answer = NULL;
  OK(shardwright_ask("verify", request, (size_t)size, &options, &answer));
  shardwright_outcome outcome = SHARDWRIGHT_VIOLATION;
  OK(shardwright_answer_summary(answer, &outcome, NULL));
  CHECK(outcome == SHARDWRIGHT_DONE);
  OK(shardwright_answer_destroy(answer));
  free(request);
  free(options_text);
}

/* The plan as arrays has the rating that the planner says. */
static void check_plan(const shardwright_problem* problem, const shardwright_search_space* space,
                       const shardwright_result* result) {
  shardwright_plan_summary summary = {.struct_size = sizeof(summary)};
  OK(shardwright_result_summary(result, &summary));
  CHECK(summary.has_plan && summary.num_tables == 3 && summary.num_violations == 0);
  shardwright_plan_buffers filled = {.struct_size = sizeof(filled),
                                     .num_tables = summary.num_tables,
                                     .num_shards = summary.num_shards,
                                     .table = room(summary.num_tables, sizeof(uint32_t)),
                                     .option = room(summary.num_tables, sizeof(uint32_t)),
                                     .shard_begin = room(summary.num_tables + 1, sizeof(uint64_t)),
                                     .rank = room((size_t)summary.num_shards, sizeof(uint32_t))};
  OK(shardwright_result_plan(result, &filled));
  const shardwright_plan_arrays given = {.struct_size = sizeof(given),
                                         .num_tables = filled.num_tables,
                                         .option = filled.option,
                                         .shard_begin = filled.shard_begin,
                                         .rank = filled.rank};
  shardwright_result* evaluated = NULL;
  OK(shardwright_evaluate(problem, space, &given, &evaluated));
  shardwright_plan_summary again = {.struct_size = sizeof(again)};
  OK(shardwright_result_summary(evaluated, &again));
  CHECK(again.rating == summary.rating && again.num_violations == 0 && isnan(again.gap));
  OK(shardwright_result_destroy(evaluated));
  free(filled.table);
  free(filled.option);
  free(filled.shard_begin);
  free(filled.rank);
}

int main(void) {
  CHECK(shardwright_abi_version() == SHARDWRIGHT_ABI_VERSION);
  CHECK(strlen(shardwright_version()) >= 5);
  CHECK(strcmp(shardwright_sharding_type_name(1), "table_wise") == 0);
  CHECK(shardwright_compute_kernel_name(1000) == NULL);

  shardwright_problem* problem = NULL;
  OK(shardwright_problem_from_json(kProblem, strlen(kProblem), &problem));
  shardwright_search_space* space = NULL;
  OK(shardwright_search_space_enumerate(problem, &space));
  shardwright_search_space* copy = through_arrays(problem, space);

  int calls = 0;
  const shardwright_ask_options options = {.struct_size = sizeof(options),
                                           .progress = count_calls,
                                           .user_data = &calls,
                                           .problem = problem,
                                           .search_space = copy};
  const char* request = "{\"mode\": \"compat\", \"threads\": 2}";
  shardwright_answer* answer = NULL;
  shardwright_result* result = NULL;
  OK(shardwright_ask("plan", request, strlen(request), &options, &answer));
  OK(shardwright_answer_result(answer, &result));
  OK(shardwright_answer_destroy(answer));
  CHECK(calls > 0);
  check_plan(problem, space, result);

  size_t size = 0;
  char* text = to_json(result, &size);
  check_claims(space, text);
  char* in_use = malloc(size + 16);
  CHECK(in_use != NULL);
  const int length = sprintf(in_use, "{\"plan\": %s}", text);
  OK(shardwright_ask("replan", in_use, (size_t)length, &options, &answer));
  free(in_use);
  free(text);

  OK(shardwright_answer_destroy(answer));
  OK(shardwright_result_destroy(result));
  OK(shardwright_search_space_destroy(copy));
  OK(shardwright_search_space_destroy(space));
  OK(shardwright_problem_destroy(problem));
  CHECK(shardwright_problem_destroy(problem) == SHARDWRIGHT_INVALID_HANDLE);
  printf("ok\n");
  return 0;
}
