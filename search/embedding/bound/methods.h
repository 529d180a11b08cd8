// Switches for the methods of best mode, by name. perf/ablation measures their effects.
#pragma once

#include <array>
#include <string_view>

namespace shardwright::embedding {

// Methods of the proof; README.md in this folder describes them.
// Thread safety: a value.
struct BoundMethods {
  bool aggregate = true;
  bool reduced_cost_fixing = true;
  bool lagrangian_tree = true;
  bool branch_and_price = true;
  bool branching = true;
  bool uniform_apart = true;
  bool node_search = true;
  bool root_search = true;
  bool suggestions = true;
  bool dives = true;
};

// Methods of the search for plans, see search/embedding/best.
// Thread safety: a value.
struct PlanMethods {
  bool compat_start = true;
  bool restarts_below = true;
  bool restarts_drawn = true;
  bool pair_balancing = true;
  bool tie_breaking = true;
};

// Thread safety: a value.
struct Methods {
  BoundMethods bound;
  PlanMethods plans;
};

template <class Own>
struct NamedMethod {
  std::string_view name;
  bool Own::*is_on;
};

inline constexpr auto kBoundMethods = std::to_array<NamedMethod<BoundMethods>>({
    {"aggregate", &BoundMethods::aggregate},
    {"reduced_cost_fixing", &BoundMethods::reduced_cost_fixing},
    {"lagrangian_tree", &BoundMethods::lagrangian_tree},
    {"branch_and_price", &BoundMethods::branch_and_price},
    {"branching", &BoundMethods::branching},
    {"uniform_apart", &BoundMethods::uniform_apart},
    {"node_search", &BoundMethods::node_search},
    {"root_search", &BoundMethods::root_search},
    {"suggestions", &BoundMethods::suggestions},
    {"dives", &BoundMethods::dives},
});

inline constexpr auto kPlanMethods = std::to_array<NamedMethod<PlanMethods>>({
    {"compat_start", &PlanMethods::compat_start},
    {"restarts_below", &PlanMethods::restarts_below},
    {"restarts_drawn", &PlanMethods::restarts_drawn},
    {"pair_balancing", &PlanMethods::pair_balancing},
    {"tie_breaking", &PlanMethods::tie_breaking},
});

// Switches off the method with this name. Returns false if there is no such method.
inline bool switch_off(Methods& methods, std::string_view name) {
  for (const auto& method : kBoundMethods) {
    if (method.name == name) return methods.bound.*method.is_on = false, true;
  }
  for (const auto& method : kPlanMethods) {
    if (method.name == name) return methods.plans.*method.is_on = false, true;
  }
  return false;
}

}  // namespace shardwright::embedding
