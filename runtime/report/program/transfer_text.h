// A transfer as text.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/program/transfer_tensors.h"

namespace shardwright {

// `full`: a row for every rank. `width` columns wide.
std::string transfer_text(const redistribution::TransferProblem& problem,
                          const TransferAnswer& answer, bool full, std::size_t width);

}  // namespace shardwright
