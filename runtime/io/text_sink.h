// Where text goes, piece by piece.
#pragma once

#include <functional>
#include <string_view>

namespace shardwright {

// Receives text in pieces, in order. May keep nothing of its argument.
using TextSink = std::function<void(std::string_view)>;

}  // namespace shardwright
