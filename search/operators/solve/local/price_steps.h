// How the local search moves the prices of bytes. Prices change only; SearchState::update_priced()
// makes them count.
#pragma once

#include "search/operators/solve/graph/search_state.h"
#include "search/operators/solve/parameters/local_search_parameters.h"

namespace shardwright::operators {

// A subgradient step: prices rise where the limit is exceeded and fall where there is room. The
// length is such that the excess of all time points that move is worth `worth`. Of a run of
// exceeded time points only the worst moves, as the others hold much the same. Returns false if
// nothing is priced or exceeded.
bool step_prices(SearchState& state, double worth);

// Raises the price of the worst time point of each run that is exceeded.
void raise_exceeded_prices(SearchState& state, const PriceParameters& parameters);

// Lowers prices where there is room.
void lower_idle_prices(SearchState& state, const PriceParameters& parameters);

}  // namespace shardwright::operators
