// The inner loop of messages: the least sums over the rows of a table.
#pragma once

#include <cstdint>
#include <vector>

namespace shardwright::operators {

// Sets every element of `least`, one per column, to the least sum of an entry of `costs` and what
// its row sends, over the given rows; infinite without rows. The same to the bit on every machine.
// Does not allocate; O(rows x columns).
void least_rows(const std::vector<float>& sent, const std::vector<std::uint32_t>& rows,
                const float* costs, std::vector<float>& least);
void least_rows(const std::vector<double>& sent, const std::vector<std::uint32_t>& rows,
                const double* costs, std::vector<double>& least);

}  // namespace shardwright::operators
