// Where in a problem file a value stands, for errors.
#pragma once

#include <string>
#include <string_view>

#include "core/json_pointer.h"

namespace shardwright::embedding {

inline std::string constraints_place(std::string_view table) {
  return "/constraints/" + pointer_token(table);
}

}  // namespace shardwright::embedding
