// The stage of compat mode: TorchRec's search within a budget.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planning/planning.h"
#include "search/budget.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {

// Compat mode decides as TorchRec does, which knows neither placement rules nor the speed of single
// ranks. Errors: kUnsupported with the place in the problem file.
Status check_compat_mode(const embedding::Problem& problem);

// Compat mode uses the load factor that the constraint names. Errors: kUnsupported with the place
// of a list of load factors.
Status check_listed_load_factors(const embedding::Problem& problem);

// Whether TorchRec's proposers take these options. Errors: kInvalidInput with the place.
Status check_proposers(const embedding::SearchSpace& space);

// Leaves the plan that TorchRec would choose, or why there is none, and the trace if it was asked
// for. Scale-up adds options to `pool`. `budget` is the whole one, or best mode's share of it,
// in which a proposal counts as other work. With `work_per_proposer`, the next proposer begins
// after so much work if there is a plan by then.
void search_compat(Planning& planning, embedding::OptionPool& pool, Budget& budget,
                   const embedding::ProposalWork& work = {},
                   std::optional<std::uint64_t> work_per_proposer = {});

}  // namespace shardwright
