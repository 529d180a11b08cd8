#include "runtime/surface/embedding_requests.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/plan_mode.h"
#include "runtime/embedding/layout_problem.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/plan_reader.h"
#include "runtime/io/embedding/problem_warnings.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/machine/machine_json.h"
#include "runtime/io/sizes.h"

namespace shardwright::commands {
namespace {

// Tells the user that all ranks count as one host, because nothing says how many ranks a host has.
// Silent up to eight ranks, the usual size of a host. Collectives cost more between hosts.
void note_guessed_hosts(const embedding::Topology& topology, const Watch& watch) {
  constexpr std::int64_t kUsualHost = 8;
  const std::int64_t ranks = topology.spec().world_size;
  if (ranks <= kUsualHost) return;
  watch.note(
      "ranks_per_host: is not given, and the file does not say how many ranks a host has: all " +
      std::to_string(ranks) + " count as one host");
}

// Says what was assumed about lookups, or that an assumption has no effect.
void note_skew(const embedding::Problem& problem, const Watch& watch) {
  const bool is_measured = problem.topology().spec().machine != nullptr;
  const double zipf = problem.spec().zipf;
  if (is_measured && zipf == 0) {
    watch.note("zipf: is not given; all rows of a table are assumed to be looked up equally often");
  } else if (!is_measured && zipf != 0) {
    watch.note("zipf: only measured costs depend on it; give {machine}");
  }
}

}  // namespace

Result<std::shared_ptr<const embedding::MachineModel>> load_machine(const Input& input,
                                                                    const Watch& watch) {
  if (!input.given()) return std::shared_ptr<const embedding::MachineModel>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<MachineFile> file = read_machine_file(text);
  if (!file.ok()) return input.locate(file.error());
  if (file->spec.lookups.empty() && file->spec.collectives.empty()) {
    return input.locate(invalid_input(
        "", file->lookups.empty() ? "has no measured embedding kernels and no collectives"
                                  : "has measurements without models; `shardwright machine fit` "
                                    "makes them"));
  }
  Result<embedding::MachineModel> model = embedding::MachineModel::make(file->spec);
  if (!model.ok()) return input.locate(model.error());
  return std::make_shared<const embedding::MachineModel>(std::move(model).value());
}

Result<LoadedProblem> load(const ProblemRequest& request, const Watch& watch) {
  const Stopwatch clock;
  LoadedProblem loaded{request.read_problem, request.read_space, 0, request.overrides};
  if (loaded.problem) {
    const std::string_view given =
        request.machine.given() ? "machine" : request.overrides.first_given();
    if (!given.empty())
      return invalid_input(std::string(given), "goes with a problem that is not read yet");
  } else {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.problem.read(watch.read));
    std::vector<Error> warnings;
    SHARDWRIGHT_ASSIGN_OR_RETURN(loaded.overrides.machine, load_machine(request.machine, watch));
    Result<embedding::ProblemSpec> spec = read_problem(text, loaded.overrides, &warnings);
    if (!spec.ok()) return request.problem.locate(spec.error());
    const bool hosts_are_guessed = spec->topology.local_world_size == 0;
    Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
    const auto located = [&](const Error& error) {
      return request.problem.locate(locate_in_problem(text, request.overrides, error));
    };
    if (!problem.ok()) return located(problem.error());
    loaded.problem = std::make_shared<const embedding::Problem>(std::move(problem).value());
    if (watch.note) {
      note_skew(*loaded.problem, watch);
      if (hosts_are_guessed) note_guessed_hosts(loaded.problem->topology(), watch);
      std::ranges::copy(problem_warnings(*loaded.problem), std::back_inserter(warnings));
      for (const Error& warning : warnings)
        watch.note(located(warning).to_string());
    }
  }
  watch.log.info("read " + std::to_string(loaded.problem->tables().size()) + " tables, " +
                 std::to_string(loaded.problem->topology().world_size()) + " ranks");
  if (request.search_space.given()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.search_space.read(watch.read));
    std::vector<Error> warnings;
    auto space = read_search_space(text, loaded.problem, &warnings);
    if (!space.ok()) return request.search_space.locate(space.error());
    for (const Error& warning : warnings) {
      if (watch.note) watch.note(request.search_space.locate(warning).to_string());
    }
    loaded.search_space = std::move(space).value();
    watch.log.info("read " + std::to_string(loaded.search_space->size()) + " sharding options");
  }
  loaded.read_s = clock.seconds();
  return loaded;
}

Result<LoadedProblem> load_with_flags(const ProblemRequest& request, const Input& plan,
                                      const ProblemOverrides& flags, const Watch& watch) {
  if (request.read_problem != nullptr) return load(request, watch);
  ProblemRequest with_flags = request;
  const std::string taken = with_flags.overrides.take_missing(flags);
  if (!taken.empty() && watch.note)
    watch.note(plan.name() + " was made with " + taken + ", which holds here, too");
  return load(with_flags, watch);
}

Result<LoadedProblem> load_for(const ProblemRequest& request, const Input& input,
                               const LoadedPlan& plan, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedProblem loaded,
                               load_with_flags(request, input, plan.overrides, watch));
  auto problem = problem_of_plan(loaded.problem, plan.document);
  if (!problem.ok()) return request.problem.locate(problem.error());
  loaded.problem = std::move(problem).value();
  return loaded;
}

Result<LoadedPlan> load_plan(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  return read_loaded_plan(input, text);
}

Result<LoadedPlan> read_loaded_plan(const Input& input, std::string_view text) {
  const Result<JsonDocument> json = JsonDocument::parse(text);
  if (!json.ok()) return input.locate(json.error());
  Result<PlanDocument> document = read_plan(json->root());
  if (!document.ok()) return input.locate(document.error());
  Result<ProblemOverrides> overrides = read_plan_overrides(json->root());
  if (!overrides.ok()) return input.locate(overrides.error());
  return LoadedPlan{std::move(document).value(), *std::move(overrides)};
}

namespace {

constexpr std::string_view kMachine = "Topology (overrides the file)";
constexpr std::string_view kMachines = "Machines, every combination of these lists";

void describe_file(ProblemRequest& request, Fields& fields) {
  fields.document("problem", request.problem, "PROBLEM", "Problem or workload file (- = stdin)")
      .needed();
}

void describe_memory(ProblemOverrides& out, Fields& fields, std::string_view group) {
  fields.bytes("ddr", out.ddr_bytes, "DDR per rank, such as 128GiB").in(group).advanced();
  fields.bytes("ssd", out.ssd_bytes, "SSD per rank, such as 2TiB").in(group).advanced();
  fields.choice("device", out.device, "Compute device of the ranks").in(group).advanced();
}

void describe_gpu(ProblemOverrides& out, Fields& fields, std::string_view group) {
  fields.choice("gpu", out.gpu, "Memory, bandwidths and ranks per host of this accelerator")
      .in(group);
}

void describe_machine(Input& machine, ProblemOverrides& overrides, Fields& fields,
                      std::string_view group) {
  fields
      .document("machine", machine, "",
                "Measured costs, device and memory of this file, which `machine fit` wrote")
      .in(group);
  fields
      .value("zipf", overrides.zipf, "EXPONENT",
             "Skew of lookups, for {machine}: a row of popularity k counts k^-EXPONENT",
             decimal_number("", true))
      .in(group)
      .shows("0")
      .advanced();
}

void describe_bandwidths(ProblemOverrides& out, Fields& fields, std::string_view group) {
  fields.bandwidth("hbm_mem_bw", out.hbm_mem_bw, "Bandwidth of HBM, such as 3.35TB/s")
      .in(group)
      .advanced();
  fields
      .bandwidth("intra_host_bw", out.intra_host_bw,
                 "Bandwidth of a rank to the others of its host, such as 900GB/s")
      .in(group)
      .advanced();
  fields
      .bandwidth("inter_host_bw", out.inter_host_bw,
                 "Bandwidth of a rank to other hosts, such as 50GB/s")
      .in(group)
      .advanced();
}

// Adds a list of sizes, which is sorted in ascending order. "any" gives an empty list.
Field& describe_sizes(std::string_view name, std::optional<std::vector<std::int64_t>>& out,
                      std::string_view type, std::string_view help, Fields& fields) {
  Field& field = fields.add(name, type, help);
  field.is_list = true;
  const bool takes_any = type.ends_with("any");
  const auto keep = [&out](std::vector<std::int64_t> sizes) {
    std::sort(sizes.begin(), sizes.end());
    out = std::move(sizes);
  };
  const ValueReader<std::uint64_t> size = whole_number(1, kMostCount);
  field.take_words = [=](const std::vector<std::string>& words) -> Status {
    std::vector<std::int64_t> sizes;
    const bool is_any = takes_any && words == std::vector<std::string>{"any"};
    for (std::size_t i = 0; i < (is_any ? 0 : words.size()); ++i) {
      const Result<std::uint64_t> given = size.of_word(words[i]);
      if (!given.ok() && takes_any)
        return invalid_input("", "must be `any` or numbers of ranks, not \"" + words[i] + "\"");
      if (!given.ok()) return given.error();
      sizes.push_back(static_cast<std::int64_t>(*given));
    }
    keep(std::move(sizes));
    return {};
  };
  field.take_json = [=](JsonValue value) -> Status {
    std::vector<std::int64_t> sizes;
    const bool is_any = takes_any && value.is_string() && *value.string() == "any";
    const std::size_t count = is_any ? 0 : value.is_array() ? value.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t given,
                                   size.of_json(value.is_array() ? value[i] : value));
      sizes.push_back(static_cast<std::int64_t>(given));
    }
    keep(std::move(sizes));
    return {};
  };
  return field;
}

void describe_layout(ProblemOverrides& out, Fields& fields, std::string_view group) {
  describe_sizes("sharding_group_size", out.group_sizes, "N[,N...]|any",
                 "Ranks that share one copy of the tables; of a list or `any`, best mode chooses",
                 fields)
      .in(group)
      .advanced();
  fields
      .count("sync_interval", out.sync_interval,
             "Training steps between two averages over sharding groups")
      .in(group)
      .advanced();
  describe_sizes("pod_size", out.pod_sizes, "N[,N...]",
                 "Hosts that are linked like one; of a list, best mode chooses", fields)
      .in(group)
      .advanced();
  fields
      .choice("torchrec", out.torchrec,
              "Release of TorchRec whose rules and costs hold (default: 1.9.2)")
      .advanced();
}

void describe(ProblemOverrides& out, Fields& fields) {
  fields.count("ranks", out.ranks, "Ranks").in(kMachine);
  fields.count("ranks_per_host", out.ranks_per_host, "Ranks of one host")
      .in(kMachine)
      .shows("8 with --gpu, otherwise all ranks");
  describe_gpu(out, fields, kMachine);
  fields.bytes("hbm", out.hbm_bytes, "HBM per rank, such as 80GiB").in(kMachine).shows("32GiB");
  describe_memory(out, fields, kMachine);
  describe_bandwidths(out, fields, kMachine);
  fields.count("batch_size", out.batch_size, "Samples per rank and step").in(kMachine).shows("512");
  describe_layout(out, fields, kMachine);
}

void describe_search_space(ProblemRequest& request, Fields& fields) {
  fields
      .document("search_space", request.search_space, "",
                "Use the options and costs of this file (an answer with a `search_space` will do)")
      .advanced();
}

void describe_search(PlanOptions& out, Fields& fields) {
  fields.seconds("time_limit", out.time_limit_s,
                 "Stop after this many seconds; the result then depends on the machine");
  fields
      .natural("work_limit", out.work_limit,
               "Stop after this many steps of work; the result is the same on any machine")
      .shows("400000000 in best mode, without --time-limit")
      .advanced();
  fields.natural("seed", out.seed, "Seed of everything random").shows("0").advanced();
  fields
      .count("lanes", out.lanes,
             "Searches of best mode that run side by side, on any number of threads and "
             "processes; they decide the result",
             embedding::kLeastLanes, embedding::kMostLanes)
      .shows(std::to_string(out.lanes))
      .advanced();
  describe_threads(out.threads, fields);
}

void describe(PlanOptions& out, Fields& fields) {
  fields
      .choice("mode", out.mode, "mode", kPlanModeNames,
              "best: the best plan that the search finds, with a bound; compat: TorchRec's "
              "decisions")
      .shows(std::string(name_of(out.mode)));
  describe_search(out, fields);
}

// Adds the member `plan`: a number chooses a plan of the log, a name is a file to write.
void describe_plan_of_log(AuditRequest& request, Fields& fields) {
  Field& field = fields.add("plan", "N|FILE",
                            "Number of the plan in the log (default: the last), or file to write "
                            "it to; may be given twice");
  field.is_list = true;
  const auto take = [&request](const std::string& word) -> Status {
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) {
      request.plan = word;
      return {};
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(request.plan_number, whole_number(1, kMostCount).of_word(word));
    return {};
  };
  field.take_words = [take](const std::vector<std::string>& words) -> Status {
    for (const std::string& word : words)
      SHARDWRIGHT_RETURN_IF_ERROR(take(word));
    return {};
  };
  field.take_json = [take](JsonValue value) -> Status {
    for (std::size_t i = 0; i < (value.is_array() ? value.size() : 1); ++i) {
      const JsonValue one = value.is_array() ? value[i] : value;
      if (!one.is_string()) {
        SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t number,
                                     whole_number(1, kMostCount).of_json(one));
        SHARDWRIGHT_RETURN_IF_ERROR(take(std::to_string(number)));
      } else {
        SHARDWRIGHT_RETURN_IF_ERROR(take(std::string(*one.string())));
      }
    }
    return {};
  };
}

void describe_contents(PlanOptions& options, PlanContents& contents, Fields& fields) {
  fields.flag("trace", options.trace, "Keep every proposal in the JSON").advanced();
  fields.flag("emit_search_space", contents.search_space, "Keep every sharding option in the JSON")
      .advanced();
  fields
      .flag("stats", contents.stats,
            "Add TorchRec's statistics of the plan: every rank, critical path, imbalance")
      .advanced();
}

}  // namespace

void describe_threads(int& out, Fields& fields) {
  fields.count("threads", out, "Threads (default: all cores)", 0, kMostThreads);
}

void describe(ProblemRequest& request, Fields& fields) {
  describe_file(request, fields);
  describe_machine(request.machine, request.overrides, fields, kMachine);
  describe(request.overrides, fields);
}

void describe(PlanRequest& request, Fields& fields) {
  describe(request.problem, fields);
  describe_search_space(request.problem, fields);
  describe(request.options, fields);
  fields
      .document("reuse", request.reuse, "",
                "Plan file to answer with where it still holds for this problem and mode")
      .advanced();
  fields
      .document("resume", request.resume, "",
                "Go on from plan and bound of this checkpoint or answer of best mode")
      .advanced();
  fields
      .value("memory_slack", request.memory_slack, "SHARE",
             "Lower the memory of the fullest rank, for at most this share of the rating (0.001)",
             decimal_number(" below 1", true))
      .advanced();
  static constexpr std::array<std::string_view, 2> kNoYes{"no", "yes"};
  fields
      .choice("what_if", request.what_if, "answer", kNoYes,
              "Plan for other machines, too: the verdict then says what they would change")
      .shows("yes")
      .advanced();
  describe_contents(request.options, request.contents, fields);
}

void describe(ReplanRequest& request, Fields& fields) {
  describe(request.problem, fields);
  fields.document("plan", request.plan, "PLAN", "Plan in use (- = stdin)").needed();
  describe_search_space(request.problem, fields);
  fields.value("migration_weight", request.migration_weight, "MS",
               "Milliseconds of rating that moving a GiB must save (0 = moves cost nothing)",
               decimal_number(" of milliseconds per GiB", true));
  ValueReader<std::int64_t> most_bytes = size_in_bytes(0);
  most_bytes.of_word = [](const std::string& word) -> Result<std::int64_t> {
    return word == "0" ? Result<std::int64_t>(0) : parse_bytes(word);
  };
  fields.value("max_move", request.max_move_bytes, "SIZE",
               "Most bytes that may move, such as 100GiB; the fastest plan that moves no more",
               most_bytes);
  describe(request.options, fields);
  describe_contents(request.options, request.contents, fields);
}

void describe(VerifyRequest& request, Fields& fields) {
  describe(request.problem, fields);
  fields.document("plan", request.plan, "PLAN", "Plan file (- = stdin)").needed();
  describe_search_space(request.problem, fields);
  fields.document("old_plan", request.old_plan, "",
                  "Plan that `replan` began with, to check what moved");
  fields.seconds("time_limit", request.time_limit_s,
                 "Stop after this many seconds; what is not checked by then is not verified");
  fields.flag("stats", request.stats,
              "Add TorchRec's statistics of the plan: every rank, critical path, imbalance");
}

void describe(ExplainRequest& request, Fields& fields) {
  describe(request.problem, fields);
  fields.document("plan", request.plan, "PLAN",
                  "Plan to explain (- = stdin); without one, the problem is planned");
  describe_search_space(request.problem, fields);
  fields.text("table", request.table, "NAME", "Explain only this table");
  describe(request.options, fields);
}

void describe(SweepRequest& request, Fields& fields) {
  embedding::SweepGrid& grid = request.grid;
  describe_file(request.problem, fields);
  fields.counts("ranks", grid.ranks, "Ranks, such as 8,16,32 or 8..64:8 or 8..64:x2").in(kMachines);
  fields
      .list("hbm", grid.hbm_bytes, "SIZE[,SIZE...]", "HBM per rank, such as 40GiB,80GiB",
            size_in_bytes(1))
      .in(kMachines);
  fields.counts("batch_size", grid.batch_sizes, "Samples per rank and step").in(kMachines);
  fields
      .list("price", grid.rank_prices, "PRICE[,PRICE...]",
            "Price of a rank for an hour: one, or one for every size of --hbm",
            decimal_number("", false))
      .in(kMachines);
  fields
      .count("ranks_per_host", grid.ranks_per_host,
             "Ranks of one host, or all where there are fewer")
      .in(kMachines);
  describe_machine(request.problem.machine, request.problem.overrides, fields, kMachines);
  describe_gpu(request.problem.overrides, fields, kMachines);
  describe_memory(request.problem.overrides, fields, kMachines);
  describe_bandwidths(request.problem.overrides, fields, kMachines);
  describe_layout(request.problem.overrides, fields, kMachines);
  describe(request.options, fields);
}

void describe(DiffRequest& request, Fields& fields) {
  fields.document("plan_a", request.from, "PLAN_A", "Plan or problem before (- = stdin)").needed();
  fields.document("plan_b", request.to, "PLAN_B", "Plan or problem after (- = stdin)").needed();
  describe_machine(request.machine, request.overrides, fields, kMachine);
  describe(request.overrides, fields);
}

void describe(AuditRequest& request, Fields& fields) {
  constexpr std::string_view kCosts = "What costs depend on (overrides what the log tells)";
  KnownConstants& known = request.options.known;
  fields.document("log", request.log, "LOG", "Log with TorchRec's planner statistics (- = stdin)")
      .needed();
  describe_plan_of_log(request, fields);
  fields.text("problem", request.problem, "FILE", "File to write the problem of the log to");
  fields
      .value("within", request.options.within, "SHARE",
             "How near to the best rating the changes come", decimal_number("", true))
      .shows("0.01");
  fields
      .document("machine", request.machine, "",
                "Judge plans by the measured costs of this file, which `machine fit` wrote")
      .in(kCosts);
  fields.count("ranks_per_host", known.ranks_per_host, "Ranks of one host").in(kCosts);
  fields
      .bandwidth("intra_host_bw", known.intra_host_bw,
                 "Bandwidth of a rank to the others of its host, such as 600GiB/s")
      .in(kCosts);
  fields
      .bandwidth("inter_host_bw", known.inter_host_bw,
                 "Bandwidth of a rank to other hosts, such as 50GB/s")
      .in(kCosts);
  fields.bandwidth("hbm_mem_bw", known.memory_bw, "Bandwidth of HBM; of DDR on a CPU").in(kCosts);
  fields.choice("weights", known.weights, "Data type of the tables").in(kCosts);
  fields.choice("communication", known.communication, "Data type of all-to-all").in(kCosts);
  fields.choice("reduction", known.reduction, "Data type of reduce-scatter").in(kCosts);
  describe_search(request.options.plan, fields);
}

void describe(EnumerateRequest& request, Fields& fields) {
  describe(request.problem, fields);
  fields.flag("runs", request.runs, "Write equal neighbouring shards as one entry with `count`");
}

}  // namespace shardwright::commands
