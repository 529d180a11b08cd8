/* The types of the C interface: statuses, handles and structures. */
#ifndef SHARDWRIGHT_TYPES_H
#define SHARDWRIGHT_TYPES_H

/* These are C headers, C typedefs and C names, which the C++ linter would refuse. */
/* NOLINTBEGIN(modernize-deprecated-headers,modernize-use-using,readability-identifier-naming) */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SHARDWRIGHT_API __attribute__((visibility("default")))
#else
#define SHARDWRIGHT_API
#endif

/* Increases with every change that breaks compiled programs. New functions, and new members at the end of
 * structures, break none. */
#define SHARDWRIGHT_ABI_VERSION 3u

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t shardwright_status;
enum {
  SHARDWRIGHT_OK = 0,
  SHARDWRIGHT_INVALID_ARGUMENT = 1,    /* a null pointer, a number out of range, a bad struct_size */
  SHARDWRIGHT_INVALID_HANDLE = 2,      /* null, of another kind, or destroyed */
  SHARDWRIGHT_INVALID_INPUT = 3,       /* the data are wrong; the place says where */
  SHARDWRIGHT_INFEASIBLE = 4,          /* the request is valid, but nothing satisfies it */
  SHARDWRIGHT_STOPPED = 5,             /* a limit ended the call before anything was found */
  SHARDWRIGHT_VERIFICATION_FAILED = 6, /* a claim of an answer is false */
  SHARDWRIGHT_UNSUPPORTED = 7,         /* valid, but this build or mode does not support it */
  SHARDWRIGHT_BUFFER_TOO_SMALL = 8,    /* `size` has the number of bytes needed */
  SHARDWRIGHT_NO_PLAN = 9,             /* the result has no plan; its failure text says why */
  SHARDWRIGHT_OUT_OF_MEMORY = 10,
  SHARDWRIGHT_INTERNAL = 11 /* a defect of the library or of a callback */
};

/* Handles are numbers in the type of a pointer; never dereference them. */
typedef struct shardwright_problem shardwright_problem;
typedef struct shardwright_search_space shardwright_search_space;
typedef struct shardwright_cancel shardwright_cancel;
typedef struct shardwright_result shardwright_result;
typedef struct shardwright_answer shardwright_answer;

/* A problem as arrays. A member that may be null then has the default of problem files. */
typedef struct shardwright_problem_arrays {
  uint32_t struct_size;
  uint32_t num_tables;
  uint32_t num_ranks;
  uint32_t ranks_per_host;  /* 0 = num_ranks */
  int64_t batch_size;       /* samples per rank; 0 = default */
  /* num_tables elements each. */
  const char* const* name;
  const char* const* module;    /* may be null */
  const int64_t* rows;
  const int64_t* columns;
  const double* pooling_factor; /* lookups per sample; may be null */
  const uint8_t* data_type;     /* see shardwright_data_type_name; may be null: FP32 */
  const uint8_t* is_sequence;   /* may be null: pooled */
  const uint8_t* is_weighted;   /* may be null */
  /* Bytes; num_ranks elements each; may be null. */
  const int64_t* hbm;
  const int64_t* ddr;
  /* Everything else: a JSON object with the keys of a problem file except "tables", such as topology
   * (bandwidths), constraints, reservation, proposers. The arrays above take precedence. May be null. */
  const char* settings;
  size_t settings_size;
  const int64_t* ssd; /* as hbm and ddr; null = tables on SSD need no SSD memory */
} shardwright_problem_arrays;

typedef struct shardwright_problem_info {
  uint32_t struct_size;
  uint32_t num_tables;
  uint32_t num_ranks;
  uint32_t ranks_per_host;
  int64_t batch_size; /* samples per rank */
} shardwright_problem_info;

typedef struct shardwright_search_space_info {
  uint32_t struct_size;
  uint32_t num_options;
  uint64_t num_shards; /* of all options */
} shardwright_search_space_info;

/* Options in the order in which a planner enumerates them. Option i has the shards [shard_begin[i],
 * shard_begin[i + 1]), in shard order. */
typedef struct shardwright_option_arrays {
  uint32_t struct_size;
  uint32_t num_options;
  /* num_options elements each. */
  const uint32_t* table;         /* index in the problem */
  const uint8_t* sharding_type;  /* see shardwright_sharding_type_name */
  const uint8_t* compute_kernel; /* see shardwright_compute_kernel_name */
  const uint64_t* shard_begin;   /* num_options + 1 elements */
  const double* load_factor;     /* of the cache; NaN = no cache; null = no caches */
  /* For every shard, num_shards = shard_begin[num_options]. Sizes and offsets are [rows, columns]. */
  const int64_t* size;   /* 2 * num_shards elements */
  const int64_t* offset; /* 2 * num_shards elements */
  const int64_t* hbm;    /* bytes; null = 0 */
  const int64_t* ddr;    /* bytes; null = 0 */
  /* 5 * num_shards elements, ms: fwd_compute, fwd_comms, bwd_compute, bwd_comms, prefetch_compute. */
  const double* perf;
  const int64_t* ssd; /* bytes; null = 0; one per shard */
} shardwright_option_arrays;

/* Arrays of the caller, to be filled as shardwright_option_arrays. */
typedef struct shardwright_option_buffers {
  uint32_t struct_size;
  uint32_t num_options; /* capacity of the arrays, in options */
  uint64_t num_shards;  /* capacity of the arrays, in shards */
  uint32_t* table;
  uint8_t* sharding_type;
  uint8_t* compute_kernel;
  uint64_t* shard_begin;
  double* load_factor;
  int64_t* size;
  int64_t* offset;
  int64_t* hbm;
  int64_t* ddr;
  double* perf;
  int64_t* ssd;
  /* These members have no counterpart in shardwright_option_arrays. num_options elements each. */
  uint8_t* is_weighted;
  double* input_dist_comms; /* ms per shard to distribute its inputs, by TorchRec's estimate; in no sum */
} shardwright_option_buffers;

typedef int32_t shardwright_mode;
enum {
  SHARDWRIGHT_MODE_BEST = 0, /* the best plan that the search finds, with a lower bound */
  SHARDWRIGHT_MODE_COMPAT = 1 /* every decision of TorchRec's planner */
};

/* The state of a search. */
typedef struct shardwright_progress {
  uint32_t struct_size;
  uint32_t has_rating;
  uint64_t work_steps;         /* work done so far */
  uint64_t work_limit;         /* 0 = none */
  uint64_t proposals;          /* proposals evaluated so far */
  uint64_t proposals_at_most;  /* limit of all proposers together */
  double rating;               /* of the best plan so far, if has_rating is not 0 */
  double lower_bound;          /* no plan rates below it; 0 = not known */
  double elapsed_s;
} shardwright_progress;

/* Called repeatedly on the thread of the planning call, without a lock held. A return value other than 0
 * stops the search with the best plan so far. */
typedef int32_t (*shardwright_progress_callback)(void* user_data,
                                                 const shardwright_progress* progress);

/* Takes the message of one process; to be called in the order of the processes. Copies the bytes. */
typedef void (*shardwright_message_sink)(void* sink, const void* bytes, uint64_t size);

/* An all-gather: sends `size` bytes, possibly 0, to all processes. Passes the messages of all processes,
 * this process included, to `add`. All processes call it equally often, on the thread of the planning
 * call. A return value other than 0 means that the all-gather failed; the planning call then answers with
 * the plan of its own search. */
typedef int32_t (*shardwright_gather_callback)(void* user_data, const void* bytes, uint64_t size,
                                               shardwright_message_sink add, void* sink);

/* Options of shardwright_ask that are not members of a request. Members may be 0 or null, which is their
 * default. */
typedef struct shardwright_ask_options {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  const shardwright_cancel* cancel;
  /* For operator graphs, the rating is the cost, and the numbers of work steps and proposals are 0. */
  shardwright_progress_callback progress;
  void* user_data; /* for the callbacks */
  /* A problem and a search space that replace the request's `problem` and `search_space`. For the commands
   * plan, replan, verify and explain. */
  const shardwright_problem* problem;
  const shardwright_search_space* search_space;
  /* For several processes that ask "plan" for the same problem with the same mode, seed, lanes and work limit;
   * threads, time limit and cancel may differ. Process p searches with seed + p. Each answer has the best plan
   * of all processes, and the bound of its own process. If a call returns an error before it has called
   * `gather`, the caller must gather an empty message, since the other processes wait for one. A problem that
   * leaves its layout open is planned by each process alone. */
  uint32_t process;                   /* less than processes */
  uint32_t processes;                 /* 0 or 1 = one process */
  shardwright_gather_callback gather; /* needed by several processes */
} shardwright_ask_options;

/* The outcome of a request that has an answer; corresponds to the command's exit status. */
typedef int32_t shardwright_outcome;
enum {
  SHARDWRIGHT_DONE = 0,
  SHARDWRIGHT_NOTHING_FITS = 1,  /* nothing satisfies the request; the answer says why */
  SHARDWRIGHT_NOTHING_FOUND = 2, /* a limit ended the search before anything was found */
  SHARDWRIGHT_VIOLATION = 3,     /* a claim that was verified is false */
  SHARDWRIGHT_NOT_VERIFIED = 4   /* nothing false was found, but not everything could be checked */
};

/* Optional parts of the JSON of a plan; flags. */
typedef uint32_t shardwright_contents;
enum {
  SHARDWRIGHT_WITH_SEARCH_SPACE = 1, /* all options */
  SHARDWRIGHT_WITH_STATS = 2         /* TorchRec's statistics */
};

typedef int32_t shardwright_stop;
enum {
  SHARDWRIGHT_FINISHED = 0,
  SHARDWRIGHT_STOPPED_BY_WORK_LIMIT = 1,
  SHARDWRIGHT_STOPPED_BY_TIME_LIMIT = 2,
  SHARDWRIGHT_STOPPED_BY_CANCEL = 3
};

typedef struct shardwright_plan_summary {
  uint32_t struct_size;
  int32_t has_plan;
  shardwright_mode mode;
  shardwright_stop stopped_by;
  double rating;      /* ms, or bytes for the storage model; NaN without a plan */
  double lower_bound; /* no plan of the search space rates below it; NaN if not known */
  double gap;         /* (rating - lower_bound) / rating; NaN if not known */
  int32_t proven_optimal;
  uint32_t num_tables; /* of the plan; 0 without one */
  uint32_t num_ranks;
  uint32_t threads;        /* number of threads that planned */
  uint64_t num_shards;     /* of the plan */
  uint64_t num_violations; /* of the plan */
  uint64_t num_proposals;
  uint64_t num_plans; /* proposals that fit */
  uint64_t work_steps;
  double total_s;
} shardwright_plan_summary;

typedef int32_t shardwright_text;
enum {
  SHARDWRIGHT_TEXT_FAILURE = 0,       /* why there is no plan, in a few sentences */
  SHARDWRIGHT_TEXT_FAILURE_TYPE = 1,  /* TorchRec's type: insufficient_storage, ... */
  SHARDWRIGHT_TEXT_FAILURE_REASON = 2 /* the actual reason: table_fits_nowhere, ... */
};

/* A plan. Entry i uses option[i] and has the shards [shard_begin[i], shard_begin[i + 1]). Shard j is on
 * rank[j]. A valid plan has one entry for every table of the problem, in any order. */
typedef struct shardwright_plan_arrays {
  uint32_t struct_size;
  uint32_t num_tables;
  const uint32_t* option;      /* index in the search space; num_tables elements */
  const uint64_t* shard_begin; /* num_tables + 1 elements */
  const uint32_t* rank;        /* shard_begin[num_tables] elements */
} shardwright_plan_arrays;

/* Arrays of the caller, to be filled as shardwright_plan_arrays. */
typedef struct shardwright_plan_buffers {
  uint32_t struct_size;
  uint32_t num_tables; /* capacity of the arrays, in tables */
  uint64_t num_shards; /* capacity of the arrays, in shards */
  uint32_t* table;     /* index in the problem */
  uint32_t* option;
  uint64_t* shard_begin;
  uint32_t* rank;
} shardwright_plan_buffers;

/* Arrays of the caller, to be filled with time and memory of every rank. */
typedef struct shardwright_rank_buffers {
  uint32_t struct_size;
  uint32_t num_ranks; /* capacity of the arrays, in ranks */
  double* perf_ms;
  double* perf_parts; /* ms; 5 per rank, in the order of shardwright_option_arrays */
  int64_t* hbm;       /* bytes that the plan's tables need */
  int64_t* ddr;
  int64_t* available_hbm; /* bytes left for tables by reservation and margin */
  int64_t* available_ddr;
  int64_t* ssd;
  int64_t* available_ssd;
} shardwright_rank_buffers;

/* A placement of a tensor on a mesh: one byte per mesh axis, the first axis in the lowest byte:
 *   0                     replicated
 *   1, 2, 3, 4, 5         partial, still to be reduced by sum, avg, min, max, product
 *   16 * (1 + dim) + i    shards dimension `dim`; `i` axes shard that dimension before this one
 * Meshes have at most 8 axes, tensors at most 9 dimensions. */
typedef uint64_t shardwright_placement;

typedef struct shardwright_redistribution {
  uint32_t struct_size;
  uint32_t num_axes;
  uint32_t num_dims;
  uint32_t itemsize;     /* bytes of an element */
  const int64_t* mesh;   /* devices along each axis, the last axis the innermost; num_axes elements */
  const int64_t* shape;  /* of the whole tensor; num_dims elements */
  shardwright_placement source;
  shardwright_placement target;
} shardwright_redistribution;

typedef int32_t shardwright_cost_model;
enum {
  SHARDWRIGHT_COSTS_DTENSOR = 0, /* the model of PyTorch's DTensor; uses devices_per_host */
  SHARDWRIGHT_COSTS_RINGS = 1    /* rings on links with a latency and bandwidth per axis */
};

/* A member that is 0 or null has its default. GB = 10^9 bytes. */
typedef struct shardwright_redistribution_options {
  uint32_t struct_size;
  shardwright_cost_model model;
  int64_t devices_per_host;         /* DTensor's model; 0 = 8 */
  const double* latency_us;         /* rings; num_axes elements; null = 0 */
  const double* bandwidth_gb_per_s; /* rings; num_axes elements */
  double copy_gb_per_s;             /* rings; speed of a copy kernel; 0 = copies are free */
  /* Not 0: the model of rings also allows collectives over several axes, and permutes. */
  int32_t groups;
  int32_t has_collective_limit;
  uint32_t collective_limit; /* most steps that communicate; used if has_collective_limit is not 0 */
  uint32_t reserved;         /* 0 */
  /* Most bytes that a device may hold during a step, input and output together; 0 = no limit */
  int64_t memory_limit;
  const shardwright_cancel* cancel;
} shardwright_redistribution_options;

typedef int32_t shardwright_move;
enum {
  SHARDWRIGHT_MOVE_ALL_GATHER = 0,     /* the innermost axes of dimension `from` replicate */
  SHARDWRIGHT_MOVE_ALL_TO_ALL = 1,     /* the innermost axes of `from` shard `to` instead */
  SHARDWRIGHT_MOVE_SPLIT = 2,          /* replicated axes shard `to`; nothing is sent */
  SHARDWRIGHT_MOVE_ALL_REDUCE = 3,     /* partial axes replicate */
  SHARDWRIGHT_MOVE_REDUCE_SCATTER = 4, /* partial axes shard `to` */
  SHARDWRIGHT_MOVE_TO_PARTIAL = 5,     /* a replicated axis becomes partial; nothing is sent */
  SHARDWRIGHT_MOVE_PERMUTE = 6         /* each rank sends its part to one other rank */
};

/* Arrays of the caller, to be filled with the steps of a redistribution. Null members are skipped. */
typedef struct shardwright_redistribution_buffers {
  uint32_t struct_size;
  uint32_t num_steps; /* capacity of the arrays */
  uint8_t* kind;      /* shardwright_move */
  uint64_t* axes;     /* from the lowest byte on, 1 + number of each axis; a byte of 0 ends them */
  uint8_t* from;      /* dimensions */
  uint8_t* to;
  uint8_t* reduce_op; /* 1 to 5, as in a placement; 0 = the step reduces nothing */
  shardwright_placement* after; /* the placement after the step */
  double* cost_us;
} shardwright_redistribution_buffers;

typedef struct shardwright_redistribution_summary {
  uint32_t struct_size;
  uint32_t num_steps;
  uint32_t num_collectives; /* steps that communicate */
  int32_t is_optimal;       /* 0 = the search was cut short, and cheaper moves may exist */
  double cost_us;
  int64_t peak_bytes; /* most bytes on a device during a step, input and output together */
} shardwright_redistribution_summary;

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers,modernize-use-using,readability-identifier-naming) */

#endif
