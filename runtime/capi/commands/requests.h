// The request of every command, from its JSON.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "runtime/capi/commands/request.h"
#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/files/files_commands.h"
#include "runtime/commands/operators/operators_commands.h"
#include "runtime/commands/program/program_commands.h"

namespace shardwright::capi {

// The members are those of the command: its files and flags, with `_` for `-`. Errors:
// kInvalidInput at the member.
Status read(Request& json, commands::ProblemRequest& request);  // without a search space
Status read(Request& json, commands::PlanRequest& request);
Status read(Request& json, commands::ReplanRequest& request);
Status read(Request& json, commands::VerifyRequest& request);
Status read(Request& json, commands::ExplainRequest& request);
Status read(Request& json, commands::SweepRequest& request);
Status read(Request& json, commands::DiffRequest& request);
Status read(Request& json, commands::EnumerateRequest& request);

Status read(Request& json, commands::SchemaRequest& request);
Status read(Request& json, commands::InitRequest& request);
Status read(Request& json, commands::ReportRequest& request);

Status read(Request& json, commands::BuildRequest& request);
Status read(Request& json, commands::SolveRequest& request);
Status read(Request& json, commands::StrategiesRequest& request);
Status read(Request& json, commands::PathsRequest& request);
Status read(Request& json, commands::AutoshardRequest& request);
Status read(Request& json, commands::AtenPlanRequest& request);
Status read(Request& json, commands::AtenSweepRequest& request);

Status read(Request& json, commands::ReshardRequest& request);
Status read(Request& json, commands::ApplyRequest& request);
Status read(Request& json, commands::RedistributeRequest& request);
Status read(Request& json, commands::TransferRequest& request);

// What embedding and operators share.
inline constexpr std::int64_t kMostThreads = 4096;

}  // namespace shardwright::capi
