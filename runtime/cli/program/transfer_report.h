// The report of a transfer as text.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/program/transfer_tensors.h"

namespace shardwright::cli {

// `full`: a row for every rank. `width` columns wide.
std::string transfer_report(const redistribution::TransferProblem& problem,
                            const TransferAnswer& answer, bool full, std::size_t width);

}  // namespace shardwright::cli
