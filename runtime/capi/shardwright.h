/* The C interface: every command of shardwright, from C11 and from every language that can call C; plans of
 * embedding tables and of redistributions also as arrays. */
#ifndef SHARDWRIGHT_H
#define SHARDWRIGHT_H

#include "shardwright_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rules for all functions:
 * - Every function may be called from any thread, and with the same handle from several threads at once.
 *   If a handle is destroyed during a call that uses it, the call still ends normally.
 * - A handle is a number in the type of a pointer. A handle that is null, of another kind or destroyed
 *   gives SHARDWRIGHT_INVALID_HANDLE, never undefined behaviour. Destroy every handle once, in any order:
 *   a handle keeps what it needs alive.
 * - A function that fails leaves its outputs unchanged, except that output handles become null and
 *   `size` is set if a buffer is too small. shardwright_last_error_message() returns the reason.
 * - Input text is UTF-8 with its size in bytes. Output text goes to (buffer, capacity, size): `size` is
 *   set to the number of bytes without the final NUL. A null buffer with capacity 0 only asks for the
 *   size. A buffer without room for the text and a NUL gives SHARDWRIGHT_BUFFER_TOO_SMALL.
 * - Structures begin with `struct_size`, which the caller sets to sizeof(the structure). */

/* ---- Library ---------------------------------------------------------------------------------------- */

/* The version, such as "0.1.0". The text lives as long as the library. */
SHARDWRIGHT_API const char* shardwright_version(void);
/* SHARDWRIGHT_ABI_VERSION of the library, to be compared with that of the header. */
SHARDWRIGHT_API uint32_t shardwright_abi_version(void);
/* The name of a status, such as "invalid input"; "unknown status" for an unknown number. */
SHARDWRIGHT_API const char* shardwright_status_name(shardwright_status status);

/* The message of the last failed call on this thread, and the place in the input: a JSON pointer,
 * "line 3, column 5", the name of an argument, or a path. Both are "" if no call has failed yet. The
 * texts are valid until the next call that fails on this thread. */
SHARDWRIGHT_API const char* shardwright_last_error_message(void);
SHARDWRIGHT_API const char* shardwright_last_error_place(void);

/* The name of a sharding type, compute kernel or data type: sharding type 1 is "table_wise". Null for
 * numbers above the last one. */
SHARDWRIGHT_API const char* shardwright_sharding_type_name(uint32_t number);
SHARDWRIGHT_API const char* shardwright_compute_kernel_name(uint32_t number);
SHARDWRIGHT_API const char* shardwright_data_type_name(uint32_t number);

/* ---- Problems --------------------------------------------------------------------------------------- */

/* Reads and checks the text of a problem file (format shardwright.embedding/1; see
 * runtime/io/README.md). */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_json(const char* text, size_t size,
                                                                 shardwright_problem** problem);
/* The same for a file, which may be compressed with gzip. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_file(const char* path,
                                                                 shardwright_problem** problem);
/* The same from the member `problem` of a request (see shardwright_ask), whose other members take the place
 * of what it says of the machine, such as {"problem": "my_tables.json", "ranks": 16}. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_request(const char* request, size_t size,
                                                                    shardwright_problem** problem);
/* The same from arrays, which are copied. */
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

/* Enumerates all options of a problem, with estimated costs. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_enumerate(
    const shardwright_problem* problem, shardwright_search_space** space);
/* Reads options and costs that the caller has computed: a JSON object with the key "search_space". */
SHARDWRIGHT_API shardwright_status shardwright_search_space_from_json(
    const shardwright_problem* problem, const char* text, size_t size,
    shardwright_search_space** space);
/* The same from arrays, which are copied. Errors: SHARDWRIGHT_INVALID_INPUT with a place such as
 * "/options/3/shards/1" for options that do not fit the problem. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_from_arrays(
    const shardwright_problem* problem, const shardwright_option_arrays* options,
    shardwright_search_space** space);
SHARDWRIGHT_API shardwright_status shardwright_search_space_sizes(
    const shardwright_search_space* space, shardwright_search_space_info* info);
/* Fills the caller's arrays of num_options elements (shard_begin: num_options + 1) and num_shards
 * elements. Null members are skipped. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_to_arrays(
    const shardwright_search_space* space, const shardwright_option_buffers* options);
/* Writes {"search_space_size", "search_space"}. */
SHARDWRIGHT_API shardwright_status shardwright_search_space_to_json(
    const shardwright_search_space* space, char* buffer, size_t capacity, size_t* size);
SHARDWRIGHT_API shardwright_status
shardwright_search_space_destroy(shardwright_search_space* space);

/* ---- Plans ------------------------------------------------------------------------------------------ */

/* Cancel handles stop calls from any thread. The calls end with the best plan so far. */
SHARDWRIGHT_API shardwright_status shardwright_cancel_create(shardwright_cancel** cancel);
SHARDWRIGHT_API shardwright_status shardwright_cancel_request(const shardwright_cancel* cancel);
SHARDWRIGHT_API shardwright_status shardwright_cancel_destroy(shardwright_cancel* cancel);

/* Reads a plan file, as shardwright_result_to_json writes it, and recomputes what it claims. If `space` is
 * null, options are enumerated. Errors: SHARDWRIGHT_VERIFICATION_FAILED if the plan was made for another
 * problem or something does not hold. */
SHARDWRIGHT_API shardwright_status shardwright_result_from_json(
    const shardwright_problem* problem, const shardwright_search_space* space, const char* plan,
    size_t size, shardwright_result** result);
/* Rates and checks a plan given as arrays. The result has the rating, time and memory of every rank, and
 * the violations. Options are indices into `space`. */
SHARDWRIGHT_API shardwright_status shardwright_evaluate(const shardwright_problem* problem,
                                                        const shardwright_search_space* space,
                                                        const shardwright_plan_arrays* plan,
                                                        shardwright_result** result);

/* ---- Results ---------------------------------------------------------------------------------------- */

SHARDWRIGHT_API shardwright_status shardwright_result_summary(const shardwright_result* result,
                                                              shardwright_plan_summary* summary);
/* A text of the result, or "" if there is none. */
SHARDWRIGHT_API shardwright_status shardwright_result_text(const shardwright_result* result,
                                                           shardwright_text which, char* buffer,
                                                           size_t capacity, size_t* size);
/* Violation `index`, a number below num_violations, as one sentence. */
SHARDWRIGHT_API shardwright_status shardwright_result_violation(const shardwright_result* result,
                                                                uint64_t index, char* buffer,
                                                                size_t capacity, size_t* size);
/* Writes the plan to the caller's arrays of num_tables elements (shard_begin: num_tables + 1) and
 * num_shards elements. Null members are skipped. Tables are in proposal order. Options are indices into
 * shardwright_result_search_space(). Errors: SHARDWRIGHT_NO_PLAN. */
SHARDWRIGHT_API shardwright_status shardwright_result_plan(const shardwright_result* result,
                                                           const shardwright_plan_buffers* plan);
/* Writes time and memory of every rank to arrays of num_ranks elements (perf_parts: 5 * num_ranks). Null
 * members are skipped. Errors: SHARDWRIGHT_NO_PLAN. */
SHARDWRIGHT_API shardwright_status shardwright_result_ranks(const shardwright_result* result,
                                                            const shardwright_rank_buffers* ranks);
/* The options that the plan was chosen from: those given or enumerated, with the same indices, followed by
 * those that a proposer added and the plan uses (scaled caches). The caller must destroy it. */
SHARDWRIGHT_API shardwright_status shardwright_result_search_space(
    const shardwright_result* result, shardwright_search_space** space);
/* Writes the text of `shardwright plan --json`. `contents`: what it has in addition. */
SHARDWRIGHT_API shardwright_status shardwright_result_to_json(const shardwright_result* result,
                                                              shardwright_contents contents,
                                                              char* buffer, size_t capacity,
                                                              size_t* size);
/* Writes the text of `shardwright plan` without --json, and its HTML page; see shardwright_answer_to_text
 * and shardwright_answer_to_html. */
SHARDWRIGHT_API shardwright_status shardwright_result_to_text(const shardwright_result* result,
                                                              uint32_t width, char* buffer,
                                                              size_t capacity, size_t* size);
SHARDWRIGHT_API shardwright_status shardwright_result_to_html(const shardwright_result* result,
                                                              char* buffer, size_t capacity,
                                                              size_t* size);
SHARDWRIGHT_API shardwright_status shardwright_result_destroy(shardwright_result* result);

/* ---- Commands --------------------------------------------------------------------------------------- */

/* Answers what the command `shardwright <command> --json` answers, byte for byte but for times. `command`
 * is a name such as "plan", "verify", "operators solve" or "program transfer"; `request` is one JSON object
 * whose members are the command's arguments, such as
 *   {"problem": {...}, "plan": "plan.json", "ranks": 16, "hbm": "80GiB", "time_limit": 5}
 * Files and flags have their names with `_` for `-`. A file is an object, the text of one, or a path. What
 * the command takes with commas is a list. runtime/cli/REFERENCE.md has all members. If `options` is null,
 * all take their defaults. "No plan" and "not verified" are answers; see shardwright_answer_summary.
 * Errors: SHARDWRIGHT_INVALID_INPUT with a place such as "/problem/tables/0" or "plan.json: /plan/3". */
SHARDWRIGHT_API shardwright_status shardwright_ask(const char* command, const char* request,
                                                   size_t size,
                                                   const shardwright_ask_options* options,
                                                   shardwright_answer** answer);
/* What became of the request, and how many warnings there are. Either output may be null. */
SHARDWRIGHT_API shardwright_status shardwright_answer_summary(const shardwright_answer* answer,
                                                              shardwright_outcome* outcome,
                                                              uint64_t* warnings);
/* Warning `index`, a number below the count, as one sentence. */
SHARDWRIGHT_API shardwright_status shardwright_answer_warning(const shardwright_answer* answer,
                                                              uint64_t index, char* buffer,
                                                              size_t capacity, size_t* size);
/* Writes the text of `shardwright <command> --json`. */
SHARDWRIGHT_API shardwright_status shardwright_answer_to_json(const shardwright_answer* answer,
                                                              char* buffer, size_t capacity,
                                                              size_t* size);
/* Writes the text of `shardwright <command>` without --json, `width` columns wide (0 = 100, at least 40). */
SHARDWRIGHT_API shardwright_status shardwright_answer_to_text(const shardwright_answer* answer,
                                                              uint32_t width, char* buffer,
                                                              size_t capacity, size_t* size);
/* Writes the HTML page of `shardwright <command> --report`. Errors: SHARDWRIGHT_UNSUPPORTED if the command
 * or this build has none. */
SHARDWRIGHT_API shardwright_status shardwright_answer_to_html(const shardwright_answer* answer,
                                                              char* buffer, size_t capacity,
                                                              size_t* size);
/* The result of an answer of "plan" or "replan", whose plan can be had as arrays. The caller must destroy it. */
SHARDWRIGHT_API shardwright_status shardwright_answer_result(const shardwright_answer* answer,
                                                             shardwright_result** result);
SHARDWRIGHT_API shardwright_status shardwright_answer_destroy(shardwright_answer* answer);

/* ---- Redistributions ---------------------------------------------------------------------------------- */

/* Finds the cheapest moves of one tensor from one placement to another. If `options` is null, all take
 * their defaults. `summary` and `steps` may be null. Errors: SHARDWRIGHT_INVALID_INPUT with a place such as
 * "/mesh" or "/target/1" (the axis); SHARDWRIGHT_INFEASIBLE if no moves within the limits lead to the target;
 * SHARDWRIGHT_STOPPED; SHARDWRIGHT_BUFFER_TOO_SMALL if there are more steps than `steps` has room for. */
SHARDWRIGHT_API shardwright_status shardwright_plan_redistribution(
    const shardwright_redistribution* redistribution,
    const shardwright_redistribution_options* options, shardwright_redistribution_summary* summary,
    const shardwright_redistribution_buffers* steps);
/* Reads a placement from words that spaces separate, one per mesh axis: "R", "S(0)", "P(sum)". "S(0)[1]"
 * cuts after "S(0)[0]"; without these indices, axes cut in ascending order. Errors:
 * SHARDWRIGHT_INVALID_INPUT with the axis in the place, such as "/1". */
SHARDWRIGHT_API shardwright_status shardwright_placement_from_text(
    const char* text, size_t size, uint32_t num_dims, shardwright_placement* placement);
/* Writes these words. */
SHARDWRIGHT_API shardwright_status shardwright_placement_to_text(shardwright_placement placement,
                                                                 uint32_t num_axes, char* buffer,
                                                                 size_t capacity, size_t* size);

#ifdef __cplusplus
}
#endif

#endif
