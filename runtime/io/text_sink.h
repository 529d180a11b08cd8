// The function through which writers emit text.
#pragma once

#include <functional>
#include <string_view>

namespace shardwright {

// Receives text in pieces, in order. The argument is valid only during the call.
using TextSink = std::function<void(std::string_view)>;

}  // namespace shardwright
