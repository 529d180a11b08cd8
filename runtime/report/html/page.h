// The HTML page around the data of a report; generated from page/ by the build.
#pragma once

#include <string_view>

namespace shardwright {

std::string_view page_before_data();
std::string_view page_after_data();

}  // namespace shardwright
