// How writers emit texts and pages.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace shardwright {

// Called with consecutive pieces of a text. The argument is valid only during the call.
using TextSink = std::function<void(std::string_view)>;

// Where a page is written. Its footer shows `made_by`, such as the command and the date.
struct PageSink {
  TextSink write;
  std::string made_by = {};
};

}  // namespace shardwright
