#include "search/operators/aten/model/aten_problem.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace shardwright::operators {
namespace {

// Lowers one model.
// Thread safety: one thread at a time.
class Lowering {
 public:
  Lowering(const AtenModel& model, const KeptChoices& kept) : model_(model), kept_(kept) {}

  CostInstanceSpec run(std::optional<std::int64_t> limit) {
    for (std::uint32_t v = 0; v < kept_.size(); ++v) {
      kinds_.push_back(kind_of(v));
      CostInstanceSpec::Node& node = spec_.nodes.emplace_back();
      node.name = model_.variables.name(v);
      for (const std::uint32_t choice : kept_[v])
        node.costs.push_back(model_.costs[v][choice]);
    }
    for (const AtenTransfers::Edge& edge : model_.transfers.edges)
      spec_.edges.push_back({edge.first, edge.second, matrix_of(edge)});
    if (!limit) return std::move(spec_);
    spec_.limits.assign(model_.usages.num_time_points, *limit);
    for (const AtenUsages::Usage& usage : model_.usages.usages) {
      CostInstanceSpec::Usage& lowered = spec_.usages.emplace_back();
      lowered.node = usage.variable;
      lowered.live = usage.live;
      for (const std::uint32_t choice : kept_[usage.variable])
        lowered.bytes.push_back(model_.usages.bytes[usage.bytes][choice]);
    }
    return std::move(spec_);
  }

 private:
  // The number of the class with what is kept of it.
  std::uint32_t kind_of(std::size_t variable) {
    return kind_numbers_
        .try_emplace({model_.variables.class_of(variable), kept_[variable]},
                     static_cast<std::uint32_t>(kind_numbers_.size()))
        .first->second;
  }

  std::uint32_t matrix_of(const AtenTransfers::Edge& edge) {
    const auto [at, is_new] =
        matrix_numbers_.try_emplace({edge.transfer, kinds_[edge.first], kinds_[edge.second]},
                                    static_cast<std::uint32_t>(spec_.matrices.size()));
    if (!is_new) return at->second;
    const AtenTransfer& transfer = model_.transfers.transfers[edge.transfer];
    const std::vector<std::uint32_t>& rows = kept_[edge.first];
    const std::vector<std::uint32_t>& columns = kept_[edge.second];
    CostInstanceSpec::Matrix& matrix = spec_.matrices.emplace_back();
    matrix.rows = static_cast<std::uint32_t>(rows.size());
    matrix.columns = static_cast<std::uint32_t>(columns.size());
    matrix.entries.reserve(rows.size() * columns.size());
    for (const std::uint32_t from : rows) {
      for (const std::uint32_t to : columns)
        matrix.entries.push_back(transfer.cost(from, to));
    }
    return at->second;
  }

  const AtenModel& model_;
  const KeptChoices& kept_;
  CostInstanceSpec spec_;
  std::vector<std::uint32_t> kinds_;  // by variable
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> kind_numbers_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> matrix_numbers_;
};

}  // namespace

KeptChoices all_choices(const AtenModel& model) {
  KeptChoices kept(model.costs.size());
  for (std::size_t v = 0; v < kept.size(); ++v) {
    for (std::uint32_t choice = 0; choice < model.costs[v].size(); ++choice) {
      if (model.costs[model.leaders[v]][choice] < kForbidden) kept[v].push_back(choice);
    }
  }
  return kept;
}

void add_choices(const KeptChoices& more, KeptChoices& kept) {
  for (std::size_t v = 0; v < kept.size(); ++v) {
    std::vector<std::uint32_t> both;
    std::set_union(kept[v].begin(), kept[v].end(), more[v].begin(), more[v].end(),
                   std::back_inserter(both));
    kept[v] = std::move(both);
  }
}

void keep_movers(const AtenModel& model, KeptChoices& kept) {
  const AtenVariables& variables = model.variables;
  for (const AtenTransfers::Edge& edge : model.transfers.edges) {
    if (edge.second < variables.num_consumers()) continue;
    const TakenTensor& taken = variables.moved()[edge.second - variables.num_consumers()];
    const AtenTransfer& transfer = model.transfers.transfers[edge.transfer];
    const PlacementColumn& column = *variables.strategies(edge.second).inputs[0];
    const PlacementColumn& wanted = *variables.strategies(taken.consumer).inputs[taken.input];
    std::vector<char> is_wanted(column.distinct.size(), 0);
    for (const std::uint32_t choice : kept[taken.consumer])
      is_wanted[wanted.index[choice]] = 1;
    std::vector<std::uint32_t> with;
    for (std::uint32_t s = 0; s < column.index.size(); ++s) {
      if (is_wanted[column.index[s]] &&
          std::any_of(kept[edge.first].begin(), kept[edge.first].end(),
                      [&](std::uint32_t from) { return transfer.cost(from, s) < kForbidden; }))
        with.push_back(s);
    }
    std::vector<std::uint32_t> both;
    std::set_union(kept[edge.second].begin(), kept[edge.second].end(), with.begin(), with.end(),
                   std::back_inserter(both));
    kept[edge.second] = std::move(both);
  }
}

double cost_of(const AtenModel& model, const std::vector<std::uint32_t>& choice) {
  double cost = 0;
  for (std::size_t v = 0; v < choice.size(); ++v)
    cost += model.costs[v][choice[v]];
  for (const AtenTransfers::Edge& edge : model.transfers.edges)
    cost += model.transfers.transfers[edge.transfer].cost(choice[edge.first], choice[edge.second]);
  return cost;
}

double num_entries(const AtenModel& model, const KeptChoices& kept) {
  double sum = 0;
  for (const AtenTransfers::Edge& edge : model.transfers.edges) {
    sum += static_cast<double>(kept[edge.first].size()) *
           static_cast<double>(kept[edge.second].size());
  }
  return sum;
}

std::vector<std::uint32_t> chosen(const KeptChoices& kept,
                                  const std::vector<std::uint32_t>& solution) {
  std::vector<std::uint32_t> choice;
  choice.reserve(kept.size());
  for (std::size_t v = 0; v < kept.size(); ++v)
    choice.push_back(kept[v][solution[v]]);
  return choice;
}

Result<OperatorProblem> lower(const AtenModel& model, const KeptChoices& kept,
                              std::optional<std::int64_t> limit) {
  CostInstanceSpec spec = Lowering(model, kept).run(limit);
  const bool is_free = [&] {
    for (std::uint32_t v = 0; v < model.leaders.size(); ++v) {
      if (model.leaders[v] != v) return false;
    }
    return true;
  }();
  if (is_free) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(std::move(spec)));
    return OperatorProblem(LoweredInstance(std::move(instance)));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      LoweredInstance lowered,
      LoweredInstance::make(std::move(instance), std::move(spec), model.leaders));
  return OperatorProblem(std::move(lowered));
}

}  // namespace shardwright::operators
