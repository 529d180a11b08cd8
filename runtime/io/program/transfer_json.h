// Transfer files, in which each tensor has two layouts, and their plans.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/redistribution/transfer/transfer_problem.h"
#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "runtime/program/transfer_tensors.h"

namespace shardwright {

// Reads {"meshes", "tensors", "hosts"}. Errors: kInvalidInput with the place.
Result<redistribution::TransferProblem> read_transfer(std::string_view text);

void write_transfer(const redistribution::TransferProblem& problem, const TransferAnswer& answer,
                    const TextSink& sink);

JsonShape transfer_shape();
JsonShape transfer_plan_shape();

// Returns numbers in the order of the list, with runs of consecutive numbers as ranges: "0-63,128".
std::string ranges_text(const std::vector<std::int64_t>& numbers);

}  // namespace shardwright
