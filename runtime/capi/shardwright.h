/* The C interface (C11) has every command of shardwright. Plans of embedding tables and of redistributions are
 * also available as arrays. */
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
 *   an object keeps alive the objects that it uses.
 * - A function that fails leaves its outputs unchanged, except that output handles become null and
 *   `size` is set if a buffer is too small. shardwright_last_error_message() returns the reason.
 * - Input text is UTF-8 with its size in bytes. Output text is written to `buffer`, which has `capacity`
 *   bytes. `*size` becomes the number of bytes without the final NUL. With a null buffer and capacity 0,
 *   only `*size` is set. If text and NUL do not fit, the status is SHARDWRIGHT_BUFFER_TOO_SMALL.
 * - Structures begin with `struct_size`, which the caller sets to sizeof(the structure). */

/* ---- Library ---------------------------------------------------------------------------------------- */

/* Returns the version, such as "0.1.0". The text lives as long as the library. */
SHARDWRIGHT_API const char* shardwright_version(void);
/* Returns the library's SHARDWRIGHT_ABI_VERSION. Compare it with the header's. */
SHARDWRIGHT_API uint32_t shardwright_abi_version(void);
/* Returns the name of a status, such as "invalid input"; "unknown status" for an unknown number. */
SHARDWRIGHT_API const char* shardwright_status_name(shardwright_status status);

/* Return the message of the last failed call on this thread, and the place of the error: a JSON pointer,
 * "line 3, column 5", the name of an argument, or a path. Both are "" if no call has failed yet. The
 * texts are valid until another call fails on this thread. */
SHARDWRIGHT_API const char* shardwright_last_error_message(void);
SHARDWRIGHT_API const char* shardwright_last_error_place(void);

/* Return the name of a sharding type, compute kernel or data type: sharding type 1 is "table_wise". Return
 * null for a number that has no name. */
SHARDWRIGHT_API const char* shardwright_sharding_type_name(uint32_t number);
SHARDWRIGHT_API const char* shardwright_compute_kernel_name(uint32_t number);
SHARDWRIGHT_API const char* shardwright_data_type_name(uint32_t number);

/* ---- Problems --------------------------------------------------------------------------------------- */

/* Reads and checks the text of a problem file (format shardwright.embedding/1; see
 * runtime/io/README.md). */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_json(const char* text, size_t size,
                                                                 shardwright_problem** problem);
/* Reads and checks a problem file, which may be compressed with gzip. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_file(const char* path,
                                                                 shardwright_problem** problem);
/* Reads the member `problem` of a request (see shardwright_ask), such as {"problem": "my_tables.json",
 * "ranks": 16}. Other members of the request replace what the problem says of the machine. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_request(const char* request, size_t size,
                                                                    shardwright_problem** problem);
/* Makes a problem from arrays, which are copied. */
SHARDWRIGHT_API shardwright_status shardwright_problem_from_arrays(
    const shardwright_problem_arrays* arrays, shardwright_problem** problem);
SHARDWRIGHT_API shardwright_status shardwright_problem_sizes(const shardwright_problem* problem,
                                                             shardwright_problem_info* info);
/* Writes the name of table `table`, an index below num_tables. */
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
/* Makes a search space from arrays, which are copied. Errors: SHARDWRIGHT_INVALID_INPUT with a place such as
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
/* Writes a JSON object with the keys "search_space_size" and "search_space". */
SHARDWRIGHT_API shardwright_status shardwright_search_space_to_json(
    const shardwright_search_space* space, char* buffer, size_t capacity, size_t* size);
SHARDWRIGHT_API shardwright_status
shardwright_search_space_destroy(shardwright_search_space* space);

/* ---- Plans ------------------------------------------------------------------------------------------ */

/* Cancel handles stop calls from any thread. The calls end with the best plan so far. */
SHARDWRIGHT_API shardwright_status shardwright_cancel_create(shardwright_cancel** cancel);
SHARDWRIGHT_API shardwright_status shardwright_cancel_request(const shardwright_cancel* cancel);
SHARDWRIGHT_API shardwright_status shardwright_cancel_destroy(shardwright_cancel* cancel);

/* Reads a plan file, as shardwright_result_to_json writes it, and recomputes its claims. If `space` is
 * null, options are enumerated. Errors: SHARDWRIGHT_VERIFICATION_FAILED if the plan was made for another
 * problem or a claim is false. */
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
/* Writes a text of the result; "" if the result has no such text. */
SHARDWRIGHT_API shardwright_status shardwright_result_text(const shardwright_result* result,
                                                           shardwright_text which, char* buffer,
                                                           size_t capacity, size_t* size);
/* Writes violation `index`, below num_violations, as one sentence. */
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
/* Returns the options of the plan's search: the options given or enumerated, with the same indices, followed
 * by options in the plan that a proposer added (scaled caches). The caller must destroy the handle. */
SHARDWRIGHT_API shardwright_status shardwright_result_search_space(
    const shardwright_result* result, shardwright_search_space** space);
/* Writes the text of `shardwright plan --json`, with the optional parts that `contents` names. */
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

/* Answers as `shardwright <command> --json` does, byte for byte except for times. `command`
 * is a name such as "plan", "verify", "operators solve" or "program transfer"; `request` is one JSON object
 * whose members are the command's arguments, such as
 *   {"problem": {...}, "plan": "plan.json", "ranks": 16, "hbm": "80GiB", "time_limit": 5}
 * Members have the names of the command's arguments, with `_` for `-`. A file is a JSON object, the text of
 * one, or a path. A value with commas is a list. runtime/cli/REFERENCE.md has all members. `options` may be
 * null. "No plan" and "not verified" are answers, not errors; see shardwright_answer_summary.
 * Errors: SHARDWRIGHT_INVALID_INPUT with a place such as "/problem/tables/0" or "plan.json: /plan/3". */
SHARDWRIGHT_API shardwright_status shardwright_ask(const char* command, const char* request,
                                                   size_t size,
                                                   const shardwright_ask_options* options,
                                                   shardwright_answer** answer);
/* Returns the outcome of the request and the number of warnings. Either output may be null. */
SHARDWRIGHT_API shardwright_status shardwright_answer_summary(const shardwright_answer* answer,
                                                              shardwright_outcome* outcome,
                                                              uint64_t* warnings);
/* Writes warning `index`, below the number of warnings, as one sentence. */
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
 * or this build has no pages. */
SHARDWRIGHT_API shardwright_status shardwright_answer_to_html(const shardwright_answer* answer,
                                                              char* buffer, size_t capacity,
                                                              size_t* size);
/* Returns the result in an answer of "plan" or "replan", to read its plan as arrays. The caller must destroy it. */
SHARDWRIGHT_API shardwright_status shardwright_answer_result(const shardwright_answer* answer,
                                                             shardwright_result** result);
SHARDWRIGHT_API shardwright_status shardwright_answer_destroy(shardwright_answer* answer);

/* ---- Redistributions ---------------------------------------------------------------------------------- */

/* Finds the cheapest moves of one tensor from one placement to another. If `options` is null, all options
 * have their defaults. `summary` and `steps` may be null. Errors: SHARDWRIGHT_INVALID_INPUT with a place such as
 * "/mesh" or "/target/1" (the axis); SHARDWRIGHT_INFEASIBLE if no moves within the limits lead to the target;
 * SHARDWRIGHT_STOPPED; SHARDWRIGHT_BUFFER_TOO_SMALL if `steps` has no room for all steps. */
SHARDWRIGHT_API shardwright_status shardwright_plan_redistribution(
    const shardwright_redistribution* redistribution,
    const shardwright_redistribution_options* options, shardwright_redistribution_summary* summary,
    const shardwright_redistribution_buffers* steps);
/* Reads a placement from one word per mesh axis, separated by spaces: "R", "S(0)", "P(sum)". The axis of
 * "S(0)[1]" cuts dimension 0 after the axis of "S(0)[0]"; without indices, axes cut in ascending order.
 * Errors: SHARDWRIGHT_INVALID_INPUT with the axis as the place, such as "/1". */
SHARDWRIGHT_API shardwright_status shardwright_placement_from_text(
    const char* text, size_t size, uint32_t num_dims, shardwright_placement* placement);
/* Writes a placement as such words. */
SHARDWRIGHT_API shardwright_status shardwright_placement_to_text(shardwright_placement placement,
                                                                 uint32_t num_axes, char* buffer,
                                                                 size_t capacity, size_t* size);

#ifdef __cplusplus
}
#endif

#endif
