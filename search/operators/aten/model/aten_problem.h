// Turns a model of a graph into the problem that the solver takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/lowered_instance.h"
#include "search/operators/aten/model/aten_model.h"

namespace shardwright::operators {

// By variable: the choices that it may take, ascending.
using KeptChoices = std::vector<std::vector<std::uint32_t>>;

// All choices that are not forbidden.
KeptChoices all_choices(const AtenModel& model);

// Adds the choices of `more`, which has as many variables.
void add_choices(const KeptChoices& more, KeptChoices& kept);

// Adds the choices of movers by which kept choices of a producer and a consumer can meet.
void keep_movers(const AtenModel& model, KeptChoices& kept);

// What a choice by variable costs; kForbidden if it is not allowed.
double cost_of(const AtenModel& model, const std::vector<std::uint32_t>& choice);

// The entries of all matrices of lower(), if none were shared.
double num_entries(const AtenModel& model, const KeptChoices& kept);

// The choice by variable of a solution of lower().
std::vector<std::uint32_t> chosen(const KeptChoices& kept,
                                  const std::vector<std::uint32_t>& solution);

// The problem of the kept choices; strategy i of an operator is its i-th kept choice. Variables of
// one class that keep the same share their matrices. `limit` is in bytes. Errors: those of
// CostInstance::make and LoweredInstance::make.
// Preconditions: every variable keeps something, and the same as its leader.
Result<OperatorProblem> lower(const AtenModel& model, const KeptChoices& kept,
                              std::optional<std::int64_t> limit);

}  // namespace shardwright::operators
