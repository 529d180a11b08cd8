#include "runtime/embedding/explain/explained_tables.h"

#include <cstdint>

#include "runtime/embedding/explain/reasons.h"
#include "search/embedding/questions/option_costs.h"

namespace shardwright {
namespace {

using embedding::ExcludedOptions;
using embedding::OptionCosts;
using embedding::Plan;
using embedding::SearchSpace;

// Owns the options that an explanation points to.
struct Owner {
  std::shared_ptr<const SearchSpace> space;
  std::vector<std::shared_ptr<const SearchSpace>> excluded;
  std::shared_ptr<const void> plan;
};

// Positions in the plan of the tables to explain, in the order of the problem.
std::vector<std::size_t> positions_of_tables(const embedding::Problem& problem, const Plan& plan,
                                             const std::optional<std::string>& name) {
  const auto& tables = problem.tables();
  std::vector<std::size_t> position(tables.size(), plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i)
    position[plan[i].option->table.index()] = i;
  std::vector<std::size_t> positions;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const bool asked = !name || tables[t].name == *name;
    if (asked && position[t] < plan.size()) positions.push_back(position[t]);
  }
  return positions;
}

}  // namespace

ExplainedTables explain_tables(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                               const std::optional<std::string>& table, Executor& executor,
                               const Budget& budget) {
  const Plan& plan = *result.plan;
  const SearchSpace& space = *result.search_space;
  const ExcludedOptions excluded =
      result.given_search_space ? ExcludedOptions(space) : ExcludedOptions(space, executor);
  const OptionCosts costs(space, result.reservation->topology, plan, result.evaluation, excluded);
  const std::vector<std::size_t> positions = positions_of_tables(problem, plan, table);
  ExplainedTables explained;
  explained.tables.resize(positions.size());
  executor.parallel_for(positions.size(), 4, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      TableExplanation& one = explained.tables[i];
      one.table = plan[positions[i]].option->table;
      one.options = costs.of_table(positions[i], budget);
      if (one.options.empty()) continue;  // stopped
      one.reasons = reasons_for(problem, one);
    }
  });
  explained.tables_left_out =
      std::erase_if(explained.tables, [](const auto& one) { return one.options.empty(); });
  explained.owner =
      std::make_shared<const Owner>(Owner{result.search_space, excluded.owners(), plan.owner()});
  return explained;
}

}  // namespace shardwright
