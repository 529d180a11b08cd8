// Every parameter of best mode by name, so that a program can change one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/embedding/best/parameters/best_parameters.h"

namespace shardwright::perf {

struct Parameter {
  std::string name;   // group.member, as in search/embedding/best/parameters
  std::string value;  // the default, as text
  // Multiplies the parameter, or every element of an array. For a ratio, the distance to 1 is
  // multiplied. An integer is rounded and stays at least 1.
  std::function<void(embedding::BestParameters&, double factor)> scale;
};

std::vector<Parameter> all_parameters();

}  // namespace shardwright::perf
