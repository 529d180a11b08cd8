/* The C interface: plans embedding tables from C11, ctypes and every language that can call C. */
#ifndef SHARDWRIGHT_H
#define SHARDWRIGHT_H

#include "shardwright_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rules that hold everywhere:
 * - Every function may be called from any thread, also several with one handle at a time. A handle that
 *   is destroyed meanwhile stays usable for the calls that have begun.
 * - A handle is a number in the type of a pointer. A null, foreign or destroyed one gives
 *   SHARDWRIGHT_INVALID_HANDLE and never undefined behaviour. Every handle is destroyed once, in any
 *   order: handles keep what they need.
 * - On failure outputs are untouched, except handles, which become null, and sizes, where a buffer is too
 *   small. shardwright_last_error_message() then says why.
 * - Text goes in as UTF-8 with its size in bytes and comes out into (buffer, capacity, size): `size` gets
 *   the bytes needed without the final NUL; a null buffer of capacity 0 only asks; a buffer without room
 *   for text and NUL gives SHARDWRIGHT_BUFFER_TOO_SMALL.
 * - Structures begin with `struct_size`, which the caller sets to sizeof of what it was compiled with. */

/* ---- Library ---------------------------------------------------------------------------------------- */

/* "0.1.0"; lives as long as the library. */
SHARDWRIGHT_API const char* shardwright_version(void);
/* SHARDWRIGHT_ABI_VERSION of the library: compare it with that of the header. */
SHARDWRIGHT_API uint32_t shardwright_abi_version(void);
/* "invalid input"; of an unknown number "unknown status". */
SHARDWRIGHT_API const char* shardwright_status_name(shardwright_status status);

/* What the last failed call of this thread said, and where in the input: a JSON pointer, "line 3, column
 * 5", the name of an argument, a path; "" where nothing failed yet. Valid until the next call that fails
 * on this thread. */
SHARDWRIGHT_API const char* shardwright_last_error_message(void);
SHARDWRIGHT_API const char* shardwright_last_error_place(void);

/* Names and numbers of the vocabularies, in the order of their numbers: "table_wise" is sharding type 1.
 * Null beyond the last. */
SHARDWRIGHT_API const char* shardwright_sharding_type_name(uint32_t number);
SHARDWRIGHT_API const char* shardwright_compute_kernel_name(uint32_t number);
SHARDWRIGHT_API const char* shardwright_data_type_name(uint32_t number);

/* ---- Problems --------------------------------------------------------------------------------------- */

/* Reads and checks a problem file's text (format shardwright.embedding/1; see README). */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_json(const char* text, size_t size,
                                                                 shardwright_problem** problem);
/* The same of a file, unfolded where compressed with gzip. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_file(const char* path,
                                                                 shardwright_problem** problem);
/* The same from arrays; copies them. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_arrays(
    const shardwright_problem_arrays* arrays, shardwright_problem** problem);
SHARDWRIGHT_API shardwright_status shardwright_problem_sizes(const shardwright_problem* problem,
                                                             shardwright_problem_info* info);
/* The name of table `table`, a number below num_tables. */
SHARDWRIGHT_API shardwright_status shardwright_problem_table_name(const shardwright_problem* problem,
                                                                  uint32_t table, char* buffer,
                                                                  size_t capacity, size_t* size);
SHARDWRIGHT_API shardwright_status shardwright_problem_destroy(shardwright_problem* problem);

/* ---- Search spaces: the options of every table with their costs -------------------------------------- */

/* All options of a problem, with estimated costs. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_enumerate(
    const shardwright_problem* problem, shardwright_search_space** space);
/* Options and costs that somebody else computed: a JSON object with the key "search_space". */
SHARDWRIGHT_API shardwright_status shardwright_search_space_from_json(
    const shardwright_problem* problem, const char* text, size_t size,
    shardwright_search_space** space);
/* The same from arrays; copies them. Errors: SHARDWRIGHT_INVALID_INPUT with the place
 * "/options/3/shards/1" for options that do not fit the problem. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_from_arrays(
    const shardwright_problem* problem, const shardwright_option_arrays* options,
    shardwright_search_space** space);
SHARDWRIGHT_API shardwright_status shardwright_search_space_sizes(
    const shardwright_search_space* space, shardwright_search_space_info* info);
/* Fills the arrays of the caller, of num_options (shard_begin: one more) and num_shards elements; null
 * members are left out. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_to_arrays(
    const shardwright_search_space* space, const shardwright_option_buffers* options);
/* {"search_space_size", "search_space"}. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_to_json(
    const shardwright_search_space* space, char* buffer, size_t capacity, size_t* size);
SHARDWRIGHT_API shardwright_status
shardwright_search_space_destroy(shardwright_search_space* space);

/* ---- Planning --------------------------------------------------------------------------------------- */

/* Stops planning calls from any thread: they end with the best plan so far. */
SHARDWRIGHT_API shardwright_status shardwright_cancel_create(shardwright_cancel** cancel);
SHARDWRIGHT_API shardwright_status shardwright_cancel_request(const shardwright_cancel* cancel);
SHARDWRIGHT_API shardwright_status shardwright_cancel_destroy(shardwright_cancel* cancel);

/* Plans. A null `space` is enumerated first; null `options` are all defaults. "No plan" is an answer:
 * SHARDWRIGHT_OK with has_plan = 0 and a failure text. */
SHARDWRIGHT_API shardwright_status shardwright_plan(const shardwright_problem* problem,
                                                    const shardwright_search_space* space,
                                                    const shardwright_plan_options* options,
                                                    shardwright_result** result);
/* Plans from a plan in use, a JSON text as shardwright_result_to_json writes it. Moving a GiB must be
 * worth `migration_weight` ms of rating. */
SHARDWRIGHT_API shardwright_status shardwright_replan(
    const shardwright_problem* problem, const shardwright_search_space* space, const char* old_plan,
    size_t old_plan_size, double migration_weight, const shardwright_plan_options* options,
    shardwright_result** result);
/* Rates a plan given as arrays, and checks it: a result with the rating, what every rank holds and takes,
 * and the rules broken. Options are numbers in `space`. */
SHARDWRIGHT_API shardwright_status shardwright_evaluate(const shardwright_problem* problem,
                                                        const shardwright_search_space* space,
                                                        const shardwright_plan_arrays* plan,
                                                        shardwright_result** result);

/* ---- Results ---------------------------------------------------------------------------------------- */

SHARDWRIGHT_API shardwright_status shardwright_result_summary(const shardwright_result* result,
                                                              shardwright_plan_summary* summary);
/* A text of the result; "" where there is none. */
SHARDWRIGHT_API shardwright_status shardwright_result_text(const shardwright_result* result,
                                                           shardwright_text which, char* buffer,
                                                           size_t capacity, size_t* size);
/* Broken rule `index`, a number below num_violations, as one sentence. */
SHARDWRIGHT_API shardwright_status shardwright_result_violation(const shardwright_result* result,
                                                                uint64_t index, char* buffer,
                                                                size_t capacity, size_t* size);
/* The plan, into the arrays of the caller, of num_tables (shard_begin: one more) and num_shards elements;
 * null members are left out. Tables come in the order of the proposal. An option's number is that in
 * shardwright_result_search_space(). Errors: SHARDWRIGHT_NO_PLAN. */
SHARDWRIGHT_API shardwright_status shardwright_result_plan(const shardwright_result* result,
                                                           const shardwright_plan_buffers* plan);
/* What every rank holds and takes, into arrays of num_ranks elements (perf_parts: 5 times as many); null
 * members are left out. Errors: SHARDWRIGHT_NO_PLAN. */
SHARDWRIGHT_API shardwright_status shardwright_result_ranks(const shardwright_result* result,
                                                            const shardwright_rank_buffers* ranks);
/* The options that the result was chosen from: those given or enumerated, with the same numbers, then
 * those that a proposer added and the plan uses (scaled caches). To be destroyed by the caller. */
SHARDWRIGHT_API shardwright_status shardwright_result_search_space(
    const shardwright_result* result, shardwright_search_space** space);
/* As `shardwright plan --json` writes it, the options included where `with_search_space` is not 0. */
SHARDWRIGHT_API shardwright_status shardwright_result_to_json(const shardwright_result* result,
                                                              int32_t with_search_space,
                                                              char* buffer, size_t capacity,
                                                              size_t* size);
SHARDWRIGHT_API shardwright_status shardwright_result_destroy(shardwright_result* result);

/* ---- Verification ----------------------------------------------------------------------------------- */

/* Recomputes what a plan's JSON text claims, from scratch. A null `space` is enumerated. A plan that does
 * not hold gives SHARDWRIGHT_OK with violations to ask for. */
SHARDWRIGHT_API shardwright_status shardwright_verify(const shardwright_problem* problem,
                                                      const shardwright_search_space* space,
                                                      const char* plan, size_t size,
                                                      shardwright_verification** verification);
/* How many claims were compared, and how many violations were found. Either may be null. */
SHARDWRIGHT_API shardwright_status shardwright_verification_counts(
    const shardwright_verification* verification, uint64_t* claims, uint64_t* violations);
/* "place: sentence" of violation `index`. */
SHARDWRIGHT_API shardwright_status shardwright_verification_violation(
    const shardwright_verification* verification, uint64_t index, char* buffer, size_t capacity,
    size_t* size);
SHARDWRIGHT_API shardwright_status
shardwright_verification_destroy(shardwright_verification* verification);

#ifdef __cplusplus
}
#endif

#endif
