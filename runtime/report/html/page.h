// The page around the data of a report; its source is made from page/ when the project is built.
#pragma once

#include <string_view>

namespace shardwright {

std::string_view page_before_data();
std::string_view page_after_data();

}  // namespace shardwright
