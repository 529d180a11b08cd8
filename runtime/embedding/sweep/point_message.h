// Points of a sweep as messages between processes of one build.
#pragma once

#include <string>

#include "core/status.h"
#include "runtime/embedding/sweep/sweep.h"

namespace shardwright {

// The points of one size of machine, or why they could not be planned. Plans are left out.
std::string to_message(const Status& status, const Sweep& points);

// Adds the points of a message. Errors: the one of the message.
Status add_points(const std::string& message, Sweep& sweep);

}  // namespace shardwright
