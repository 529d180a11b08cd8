/* How do I plan from a C program outside this repository? See CMakeLists.txt here. */
#include <stdio.h>
#include <string.h>

#include "shardwright.h"

/* Plans what was read. */
static int ask(const shardwright_problem* problem, shardwright_answer** answer) {
  const shardwright_ask_options options = {.struct_size = sizeof(options), .problem = problem};
  return shardwright_ask("plan", "{}", 2, &options, answer) == SHARDWRIGHT_OK;
}

int main(void) {
  const char* text =
      "{\"topology\": {\"world_size\": 4}, \"tables\": ["
      "{\"name\": \"ads\", \"num_embeddings\": 4000000, \"embedding_dim\": 128},"
      "{\"name\": \"pages\", \"num_embeddings\": 390000, \"embedding_dim\": 64}]}";
  shardwright_problem* problem = NULL;
  shardwright_answer* answer = NULL;
  shardwright_result* result = NULL;
  shardwright_plan_summary summary = {.struct_size = sizeof(summary)};
  uint32_t rank[64];
  shardwright_plan_buffers plan = {
      .struct_size = sizeof(plan), .num_tables = 2, .num_shards = 64, .rank = rank};
  if (shardwright_problem_from_json(text, strlen(text), &problem) != SHARDWRIGHT_OK ||
      !ask(problem, &answer) || shardwright_answer_result(answer, &result) != SHARDWRIGHT_OK ||
      shardwright_result_summary(result, &summary) != SHARDWRIGHT_OK ||
      shardwright_result_plan(result, &plan) != SHARDWRIGHT_OK) {
    fprintf(stderr, "%s: %s\n", shardwright_last_error_place(), shardwright_last_error_message());
    return 1;
  }
  printf("shardwright %s: %.3f ms, the first shard on rank %u\n", shardwright_version(),
         summary.rating, (unsigned)rank[0]);
  shardwright_result_destroy(result);
  shardwright_answer_destroy(answer);
  shardwright_problem_destroy(problem);
  return 0;
}
