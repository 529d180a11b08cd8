// The function type through which writers emit text.
#pragma once

#include <functional>
#include <string_view>

namespace shardwright {

// Called with consecutive pieces of a text. The argument is valid only during the call.
using TextSink = std::function<void(std::string_view)>;

}  // namespace shardwright
