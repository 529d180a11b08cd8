// The text report of `program redistribute`.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/io/program/redistribution/redistribution_json.h"

namespace shardwright::cli {

// The steps with their time, what a device holds after each, and a sentence on how good that is.
std::string redistribute_report(const RedistributionDocument& document,
                                const PlannedRedistribution& answer, std::size_t width);

}  // namespace shardwright::cli
