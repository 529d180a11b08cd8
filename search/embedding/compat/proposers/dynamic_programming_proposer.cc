#include "search/embedding/compat/proposers/dynamic_programming_proposer.h"

#include <algorithm>
#include <numeric>

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The best combination of the tables so far that ends in one bin.
struct Cell {
  double perf_ms = kInfinity;
  double hbm_bins = kInfinity;
};

// Where combinations stand whose memory is `total` bins.
class BinsFromTheFirst {
 public:
  static constexpr bool kAllMustFit = false;

  explicit BinsFromTheFirst(std::size_t count) : count_(static_cast<double>(count)) {}

  bool fits(double total) const { return total < count_; }
  std::size_t at(double total) const { return static_cast<std::size_t>(total); }

 private:
  double count_;
};

// The same where a reservation has taken more HBM than there is. The size of a bin is then
// negative, and so are all totals. TorchRec's lists count negative places from their end, and a
// place before their first ends its search with an IndexError.
class BinsFromTheLast {
 public:
  static constexpr bool kAllMustFit = true;

  explicit BinsFromTheLast(std::size_t count) : count_(static_cast<std::int64_t>(count)) {}

  bool fits(double total) const { return total > static_cast<double>(-count_ - 1); }
  std::size_t at(double total) const {
    const auto place = static_cast<std::int64_t>(total);
    return static_cast<std::size_t>(place < 0 ? place + count_ : place);
  }

 private:
  std::int64_t count_;
};

}  // namespace

DynamicProgrammingProposer::DynamicProgrammingProposer(const ProposerSpec& spec,
                                                       const OptionPool& pool,
                                                       const Topology& available)
    : hbm_bytes_(available.total_storage().hbm.value()),
      bin_count_(static_cast<std::size_t>(std::max<std::int64_t>(spec.hbm_bins_per_device, 1)) *
                 available.world_size()) {
  std::vector<std::uint32_t> order(pool.space().size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return pool.row(OptionId(a)).storage.hbm < pool.row(OptionId(b)).storage.hbm;
  });
  std::vector<std::uint32_t> slot(pool.problem().tables().size(), ~std::uint32_t{0});
  for (const std::uint32_t i : order) {
    const std::uint32_t table = pool.row(OptionId(i)).table;
    if (slot[table] == ~std::uint32_t{0}) {
      slot[table] = static_cast<std::uint32_t>(tables_.size());
      tables_.push_back({TableId(table), {}});
    }
    tables_[slot[table]].options.emplace_back(i);
  }
}

void DynamicProgrammingProposer::propose(std::size_t limit, OptionPool& pool,
                                         ProposalBatch& batch) {
  if (tables_.empty() || limit == 0) return;
  if (!started_) {
    started_ = true;
    push_first_options(tables_, batch);
  }
  if (!solved_ && batch.size() < limit) {
    solved_ = true;
    solve(pool);
  }
  while (next_ < proposals_.size() && batch.size() < limit)
    batch.push_full(proposals_[next_++]);
}

void DynamicProgrammingProposer::solve(const OptionPool& pool) {
  const double bin_size = static_cast<double>(hbm_bytes_) / static_cast<double>(bin_count_);
  if (bin_size > 0) solve_with(BinsFromTheFirst(bin_count_), bin_size, pool);
  if (bin_size < 0) solve_with(BinsFromTheLast(bin_count_), bin_size, pool);
}

template <class Bins>
void DynamicProgrammingProposer::solve_with(const Bins& bins, double bin_size,
                                            const OptionPool& pool) {
  std::vector<Back> back(tables_.size() * bin_count_);
  std::vector<Cell> before(bin_count_);
  std::vector<Cell> after(bin_count_);

  for (std::size_t table = 0; table < tables_.size(); ++table) {
    std::fill(after.begin(), after.end(), Cell());
    Back* const own_back = back.data() + table * bin_count_;
    const auto& options = tables_[table].options;
    bool all_fit = true;
    for (std::size_t j = 0; j < options.size(); ++j) {
      const OptionRow& row = pool.row(options[j]);
      const double hbm = static_cast<double>(row.storage.hbm.value()) / bin_size;
      const auto relax = [&](double perf_ms, double total, std::int32_t from) {
        if (!bins.fits(total)) {
          all_fit = false;
          return;
        }
        const std::size_t bin = bins.at(total);
        if (after[bin].perf_ms > perf_ms) {
          after[bin] = {perf_ms, total};
          own_back[bin] = {static_cast<std::int32_t>(j), from};
        }
      };
      if (table == 0) {
        relax(row.perf_ms, hbm, -1);
        continue;
      }
      for (std::size_t from = 0; from < bin_count_; ++from) {
        if (before[from].perf_ms < kInfinity) {
          relax(before[from].perf_ms + row.perf_ms, before[from].hbm_bins + hbm,
                static_cast<std::int32_t>(from));
        }
      }
    }
    if (Bins::kAllMustFit && !all_fit) return;
    before.swap(after);
  }
  propose_by_bin(back);
}

void DynamicProgrammingProposer::propose_by_bin(const std::vector<Back>& back) {
  for (std::size_t bin = bin_count_; bin-- > 0;) {
    auto at = static_cast<std::int32_t>(bin);
    if (back[(tables_.size() - 1) * bin_count_ + bin].option < 0) continue;
    std::vector<OptionId> proposal(tables_.size());
    for (std::size_t table = tables_.size(); table-- > 0;) {
      const Back& step = back[table * bin_count_ + static_cast<std::size_t>(at)];
      proposal[table] = tables_[table].options[static_cast<std::size_t>(step.option)];
      at = step.bin;
    }
    proposals_.push_back(std::move(proposal));
  }
}

}  // namespace shardwright::embedding
