#include "runtime/surface/command.h"

#include <array>

#include "runtime/surface/embedding_requests.h"
#include "runtime/surface/experts_requests.h"
#include "runtime/surface/files_requests.h"
#include "runtime/surface/machine_requests.h"
#include "runtime/surface/operators_requests.h"
#include "runtime/surface/program_requests.h"

namespace shardwright::commands {
namespace {

template <class Request>
std::unique_ptr<AnyRequest> make() {
  return std::make_unique<RequestOf<Request>>();
}

constexpr std::array kCommands{
    Command{.name = "plan",
            .help = "Chooses sharding, kernel and ranks of every table",
            .example = "shardwright plan my_tables.json --ranks 16 --hbm 80GiB -o plan.json",
            .make = &make<PlanRequest>,
            .has_page = true,
            .shows_progress = true,
            .uses_processes = true},
    Command{.name = "replan",
            .help = "Plans again from a plan in use, and says which tables move and how many bytes",
            .example =
                "shardwright replan my_tables.json plan.json --ranks 8 --migration-weight 0.5 "
                "-o new_plan.json",
            .make = &make<ReplanRequest>,
            .has_page = true,
            .shows_progress = true},
    Command{
        .name = "sweep",
        .help = "Plans for many machines in one run: what fits, how fast, which is the smallest",
        .example = "shardwright sweep my_tables.json --ranks 8..32:x2 --ranks-per-host 8 "
                   "--hbm 40GiB,80GiB --batch-size 512,1024 --price 1.80,2.90",
        .make = &make<SweepRequest>,
        .has_page = true,
        .has_csv = true,
        .uses_processes = true},
    Command{
        .name = "verify",
        .help =
            "Recomputes what a plan claims, from scratch; exits 5 where something does not hold",
        .example = "shardwright verify my_tables.json plan.json --ranks 16 --hbm 80GiB",
        .make = &make<VerifyRequest>},
    Command{
        .name = "explain",
        .help = "Says why every table is sharded as it is, or why nothing fits and what would help",
        .example =
            "shardwright explain my_tables.json plan.json --ranks 16 --hbm 80GiB --table ads\n"
            "  shardwright explain too_large.json",
        .make = &make<ExplainRequest>,
        .has_page = true},
    Command{.name = "diff",
            .help = "Says what differs between two plans, or between two problems",
            .example = "shardwright diff plan.json new_plan.json --json\n"
                       "  shardwright diff my_tables.json new_tables.json --ranks 16",
            .make = &make<DiffRequest>,
            .has_page = true},
    Command{.name = "audit",
            .help = "Says how good the plan in a TorchRec job's log is, and what to change",
            .example = "shardwright audit samples/data/planner.log\n"
                       "  shardwright audit samples/data/planner.log --problem log_problem.json "
                       "--plan log_plan.json",
            .make = &make<AuditRequest>,
            .has_page = true,
            .shows_progress = true},
    Command{.name = "enumerate",
            .help = "Lists the sharding options of every table with their costs",
            .example = "shardwright enumerate my_tables.json --ranks 16 --runs -o options.json",
            .make = &make<EnumerateRequest>},
    Command{
        .name = "operators solve",
        .help = "Finds the cheapest choice of strategies within the memory that there is",
        .example =
            "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json\n"
            "  shardwright operators solve instance.json --budget 400MB",
        .make = &make<SolveRequest>,
        .uses_processes = true},
    Command{
        .name = "operators autoshard",
        .help = "Shards the tensors of a graph over devices at the least printed cost",
        .example = "shardwright operators autoshard samples/data/autoshard_mlp.json --devices 8",
        .make = &make<AutoshardRequest>},
    Command{.name = "operators paths",
            .help = "Finds how tensors are converted from one sharding to another, and the cost",
            .example = "shardwright operators paths samples/data/paths.json --cost exact",
            .make = &make<PathsRequest>},
    Command{.name = "operators strategies",
            .help = "Lists the ways in which single operators can be sharded, with their costs",
            .example = "shardwright operators strategies samples/data/linear.json",
            .make = &make<StrategiesRequest>},
    Command{
        .name = "operators build",
        .help = "Lists the strategies of every operator with what resharding between them costs",
        .example =
            "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json",
        .make = &make<BuildRequest>},
    Command{.name = "operators plan",
            .help = "Shards a traced PyTorch model over a mesh, and proves that no plan is faster",
            .example =
                "shardwright operators plan samples/data/traced_mlp.json --mesh 4x2 --memory 16GiB",
            .make = &make<AtenPlanRequest>,
            .has_page = true},
    Command{
        .name = "operators sweep",
        .help = "Plans a traced PyTorch model on every mesh of so many devices, the fastest first",
        .example = "shardwright operators sweep samples/data/traced_mlp.json --devices 8",
        .make = &make<AtenSweepRequest>,
        .has_page = true},
    Command{.name = "program reshard",
            .help = "Plans how a tensor gets from one placement to another, rank by rank",
            .example = "shardwright program reshard samples/data/reshard.json",
            .make = &make<ReshardRequest>,
            .has_page = true},
    Command{.name = "program apply",
            .help = "Makes the program of every rank",
            .example = "shardwright program apply samples/data/program.json --full -o ranks.json",
            .make = &make<ApplyRequest>,
            .has_page = true},
    Command{.name = "program redistribute",
            .help = "Finds the cheapest way of one tensor from one placement to another",
            .example = "shardwright program redistribute samples/data/redistribution.json",
            .make = &make<RedistributeRequest>,
            .has_page = true},
    Command{.name = "program transfer",
            .help = "Plans how all tensors of a model move from one layout to another",
            .example = "shardwright program transfer samples/data/transfer.json --memory 16MiB -o "
                       "transfer_plan.json",
            .make = &make<TransferRequest>,
            .has_page = true},
    Command{.name = "experts plan",
            .help =
                "Plans how many replicas every expert has and on which GPUs, and proves how good "
                "that is",
            .example = "shardwright experts plan samples/data/experts.json --gpus 8 --slots 16 -o "
                       "expert_plan.json",
            .make = &make<ExpertsPlanRequest>,
            .has_page = true},
    Command{.name = "experts verify",
            .help = "Recomputes loads, replicas, groups, bounds and moves of a plan; exits 5 where "
                    "one is false",
            .example = "shardwright experts verify samples/data/experts.json expert_plan.json",
            .make = &make<ExpertsVerifyRequest>},
    Command{.name = "experts sweep",
            .help = "Plans for several numbers of GPUs and slots: how many redundant experts are "
                    "enough",
            .example =
                "shardwright experts sweep samples/data/experts.json --gpus 4,8 --slots 8..16:8 "
                "--slot-bytes 2GiB",
            .make = &make<ExpertsSweepRequest>,
            .has_page = true},
    Command{.name = "experts explain",
            .help = "Says of every layer what limits it",
            .example = "shardwright experts explain samples/data/experts.json",
            .make = &make<ExpertsExplainRequest>,
            .has_page = true},
    Command{.name = "machine fit",
            .help = "Makes a model of what was measured on a machine, for --machine",
            .example = "shardwright machine fit samples/data/machines/epyc.json -o machine.json",
            .make = &make<MachineFitRequest>},
    Command{.name = "machine show",
            .help = "Says what a machine does and how far its model is off",
            .example = "shardwright machine show samples/data/machines/epyc.json",
            .make = &make<MachineShowRequest>},
    Command{.name = "machine diff",
            .help = "Compares two machines, kernel by kernel and link by link",
            .example = "shardwright machine diff samples/data/machines/epyc.json machine.json",
            .make = &make<MachineDiffRequest>},
    Command{.name = "init",
            .help = "Writes a commented file to begin with: a problem, a graph, ...",
            .example = "shardwright init -o problem.json",
            .make = &make<InitRequest>},
    Command{.name = "schema",
            .help = "Prints the JSON Schema of a kind of file, or lists the kinds of files",
            .example = "shardwright schema problem -o problem.schema.json",
            .make = &make<SchemaRequest>},
    Command{.name = "report",
            .help = "Shows an answer that another command wrote as JSON, as text or as a page",
            .example =
                "shardwright program transfer samples/data/transfer.json -o transfer_plan.json\n"
                "  shardwright report transfer_plan.json --report transfer.html",
            .make = &make<ReportRequest>,
            .has_page = true},
};

constexpr std::array kGroups{
    CommandGroup{
        "operators", "Plans the sharding of every tensor of an operator graph",
        "shardwright operators plan samples/data/traced_mlp.json --mesh 4x2 --memory 16GiB\n"
        "  shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o "
        "instance.json\n"
        "  shardwright operators solve instance.json --budget 400MB"},
    CommandGroup{"program", "Inserts the communication that a program's placements require",
                 "shardwright program apply samples/data/program.json --full"},
    CommandGroup{"experts", "Places the experts of a mixture-of-experts model on GPUs",
                 "shardwright experts plan samples/data/experts.json --gpus 8 --slots 16"},
    CommandGroup{"machine", "Models what was measured on a machine, and compares machines",
                 "shardwright machine fit samples/data/machines/epyc.json -o machine.json"},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const CommandGroup> command_groups() { return kGroups; }

}  // namespace shardwright::commands
