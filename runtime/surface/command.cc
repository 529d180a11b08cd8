#include "runtime/surface/command.h"

#include <array>

#include "runtime/surface/embedding_requests.h"
#include "runtime/surface/experts_requests.h"
#include "runtime/surface/files_requests.h"
#include "runtime/surface/operators_requests.h"
#include "runtime/surface/program_requests.h"

namespace shardwright::commands {
namespace {

template <class Request>
std::unique_ptr<AnyRequest> make() {
  return std::make_unique<RequestOf<Request>>();
}

constexpr std::array kCommands{
    Command{"plan", "Chooses sharding, kernel and ranks of every table",
            "shardwright plan my_tables.json --ranks 16 --hbm 80GiB -o plan.json",
            &make<PlanRequest>, true, false, true, true},
    Command{"replan",
            "Plans again from a plan in use, and says which tables move and how many bytes",
            "shardwright replan my_tables.json plan.json --ranks 8 --migration-weight 0.5 "
            "-o new_plan.json",
            &make<ReplanRequest>, true, false, true},
    Command{"sweep",
            "Plans for many machines in one run: what fits, how fast, which is the smallest",
            "shardwright sweep my_tables.json --ranks 8..32:x2 --ranks-per-host 8 "
            "--hbm 40GiB,80GiB --batch-size 512,1024 --price 1.80,2.90",
            &make<SweepRequest>, true, true, false, true},
    Command{"verify",
            "Recomputes what a plan claims, from scratch; exits 5 where something does not hold",
            "shardwright verify my_tables.json plan.json --ranks 16 --hbm 80GiB",
            &make<VerifyRequest>},
    Command{"explain",
            "Says why every table is sharded as it is, or why nothing fits and what would help",
            "shardwright explain my_tables.json plan.json --ranks 16 --hbm 80GiB --table ads\n"
            "  shardwright explain too_large.json",
            &make<ExplainRequest>, true},
    Command{"diff", "Says what differs between two plans, or between two problems",
            "shardwright diff plan.json new_plan.json --json\n"
            "  shardwright diff my_tables.json new_tables.json --ranks 16",
            &make<DiffRequest>, true},
    Command{"enumerate", "Lists the sharding options of every table with their costs",
            "shardwright enumerate my_tables.json --ranks 16 --runs -o options.json",
            &make<EnumerateRequest>},
    Command{"operators solve",
            "Finds the cheapest choice of strategies within the memory that there is",
            "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json\n"
            "  shardwright operators solve instance.json --budget 400MB",
            &make<SolveRequest>, false, false, false, true},
    Command{"operators autoshard",
            "Shards the tensors of a graph over devices at the least printed cost",
            "shardwright operators autoshard samples/data/autoshard_mlp.json --devices 8",
            &make<AutoshardRequest>},
    Command{"operators paths",
            "Finds how tensors are converted from one sharding to another, and the cost",
            "shardwright operators paths samples/data/paths.json --cost exact",
            &make<PathsRequest>},
    Command{"operators strategies",
            "Lists the ways in which single operators can be sharded, with their costs",
            "shardwright operators strategies samples/data/linear.json", &make<StrategiesRequest>},
    Command{"operators build",
            "Lists the strategies of every operator with what resharding between them costs",
            "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json",
            &make<BuildRequest>},
    Command{"operators plan",
            "Shards a traced PyTorch model over a mesh, and proves that no plan is faster",
            "shardwright operators plan samples/data/traced_mlp.json --mesh 4x2 --memory 16GiB",
            &make<AtenPlanRequest>, true},
    Command{"operators sweep",
            "Plans a traced PyTorch model on every mesh of so many devices, the fastest first",
            "shardwright operators sweep samples/data/traced_mlp.json --devices 8",
            &make<AtenSweepRequest>, true},
    Command{"program reshard",
            "Plans how a tensor gets from one placement to another, rank by rank",
            "shardwright program reshard samples/data/reshard.json", &make<ReshardRequest>, true},
    Command{"program apply", "Makes the program of every rank",
            "shardwright program apply samples/data/program.json --full -o ranks.json",
            &make<ApplyRequest>, true},
    Command{"program redistribute",
            "Finds the cheapest way of one tensor from one placement to another",
            "shardwright program redistribute samples/data/redistribution.json",
            &make<RedistributeRequest>, true},
    Command{"program transfer", "Plans how all tensors of a model move from one layout to another",
            "shardwright program transfer samples/data/transfer.json --memory 16MiB -o "
            "transfer_plan.json",
            &make<TransferRequest>, true},
    Command{
        "experts plan",
        "Plans how many replicas every expert has and on which GPUs, and proves how good that is",
        "shardwright experts plan samples/data/experts.json --gpus 8 --slots 16 -o "
        "expert_plan.json",
        &make<ExpertsPlanRequest>, true},
    Command{"experts verify",
            "Recomputes loads, replicas, groups, bounds and moves of a plan; exits 5 where one is "
            "false",
            "shardwright experts verify samples/data/experts.json expert_plan.json",
            &make<ExpertsVerifyRequest>},
    Command{"experts sweep",
            "Plans for several numbers of GPUs and slots: how many redundant experts are enough",
            "shardwright experts sweep samples/data/experts.json --gpus 4,8 --slots 8..16:8 "
            "--slot-bytes 2GiB",
            &make<ExpertsSweepRequest>, true},
    Command{"experts explain", "Says of every layer what limits it",
            "shardwright experts explain samples/data/experts.json", &make<ExpertsExplainRequest>,
            true},
    Command{"init", "Writes a commented file to begin with: a problem, a graph, ...",
            "shardwright init -o problem.json", &make<InitRequest>},
    Command{"schema", "Prints the JSON Schema of a kind of file, or lists the kinds of files",
            "shardwright schema problem -o problem.schema.json", &make<SchemaRequest>},
    Command{"report", "Shows an answer that another command wrote as JSON, as text or as a page",
            "shardwright program transfer samples/data/transfer.json -o transfer_plan.json\n"
            "  shardwright report transfer_plan.json --report transfer.html",
            &make<ReportRequest>, true},
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
};

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const CommandGroup> command_groups() { return kGroups; }

}  // namespace shardwright::commands
