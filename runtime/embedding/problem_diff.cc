#include "runtime/embedding/problem_diff.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "runtime/embedding/identity.h"
#include "runtime/embedding/problem_facts.h"

namespace shardwright {
namespace {

using embedding::Problem;

std::string place_of(const ProblemFact& fact) {
  std::string place;
  for (const std::string_view step : {fact.section, fact.owner, fact.key}) {
    if (!step.empty()) place.append("/").append(step);
  }
  return place;
}

std::set<std::string> names_of(const Problem& problem) {
  std::set<std::string> names;
  for (const embedding::Table& table : problem.tables())
    names.insert(table.fqn());
  return names;
}

std::vector<std::string> without(const std::set<std::string>& all,
                                 const std::set<std::string>& known) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), known.begin(), known.end(), std::back_inserter(rest));
  return rest;
}

// Returns the facts that belong to no table, and those of tables that `other_tables` names.
std::map<std::string, std::string> shared_facts(const Problem& problem,
                                                const std::set<std::string>& other_tables) {
  std::map<std::string, std::string> facts;
  for_each_fact(problem, [&](const ProblemFact& fact) {
    const bool of_table = fact.section == "tables" || fact.section == "constraints";
    if (of_table && !other_tables.contains(std::string(fact.owner))) return;
    facts.emplace(place_of(fact), fact.value);
  });
  return facts;
}

}  // namespace

ProblemDiff diff_problems(const Problem& from, const Problem& to) {
  ProblemDiff diff;
  const std::set<std::string> before = names_of(from), after = names_of(to);
  diff.tables_added = without(after, before);
  diff.tables_removed = without(before, after);
  std::map<std::string, FactDifference> facts;
  for (const auto& [place, value] : shared_facts(from, after))
    facts[place] = {place, value, std::nullopt};
  for (const auto& [place, value] : shared_facts(to, before)) {
    FactDifference& fact = facts[place];
    fact.place = place;
    fact.to = value;
  }
  for (auto& [place, fact] : facts) {
    if (fact.from != fact.to) diff.facts.push_back(std::move(fact));
  }
  diff.search_differs = search_hash(from) != search_hash(to);
  return diff;
}

}  // namespace shardwright
