#include "search/operators/aten/contracted_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "search/operators/aten/aten_variables.h"
#include "search/operators/aten/trws_relaxation.h"

namespace shardwright::operators {
namespace {

using Edge = AtenTransfers::Edge;

constexpr std::uint32_t kNone = ~std::uint32_t{0};

}  // namespace

// Makes a contracted model. Thread safety: one thread at a time.
class Contraction {
 public:
  Contraction(const AtenModel& model, ContractedModel& result)
      : model_(model),
        result_(result),
        out_(result.contracted_),
        holds_(model.variables.size(), false) {
    for (const AtenUsages::Usage& usage : out_.usages.usages)
      holds_[usage.variable] = true;
  }

  void run(Executor& executor) {
    find_groups();
    number_costs();
    edges_of_.resize(model_.costs.size());
    for (const Edge& edge : model_.transfers.edges)
      add(edge, false);
    for (bool is_smaller = true; is_smaller;) {
      is_smaller = false;
      for (std::vector<Link>& links : edges_of_) {
        for (Link& link : links)
          link.is_new = false;
      }
      for (const std::vector<std::uint32_t>& group : groups_) {
        if (!can_leave_out(group)) continue;
        for (const std::uint32_t v : group)
          leave_out(v);
        is_smaller = true;
      }
      make_products(executor);
    }
    finish();
  }

 private:
  struct Link {
    Edge edge;
    bool is_new = false;  // its transfer is yet to be made
  };
  // The edges from a variable to one neighbour.
  struct Side {
    std::uint32_t neighbour = 0;
    std::vector<Edge> edges;
  };
  // A division of a variable's choices into groups.
  struct Groups {
    std::vector<std::uint32_t> of;     // by choice
    std::vector<std::uint32_t> first;  // by group: its first choice, or kNone
  };
  // A transfer that is yet to be made.
  struct Product {
    std::uint32_t made = 0;  // index into ContractedModel::made_
    std::uint32_t variable = 0;
    std::uint32_t costs = 0;
    Side first;
    Side second;
  };

  void find_groups() {
    std::vector<std::uint32_t> followers(model_.leaders.size(), 0);
    for (const std::uint32_t leader : model_.leaders)
      ++followers[leader];
    const std::vector<std::uint32_t> blocks = block_leaders(model_.variables);
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    for (std::uint32_t v = 0; v < blocks.size(); ++v)
      groups[blocks[v]].push_back(v);
    for (auto& [leader, group] : groups) {
      // A variable that must choose like others cannot be eliminated alone.
      if (std::all_of(group.begin(), group.end(), [&](std::uint32_t v) {
            return model_.leaders[v] == v && followers[v] == 1 && !holds_[v];
          }))
        groups_.push_back(std::move(group));
    }
  }

  // Numbers the cost vectors. Variables of a class with equal costs share a number.
  void number_costs() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_class;
    for (std::uint32_t v = 0; v < model_.costs.size(); ++v) {
      std::vector<std::uint32_t>& known = of_class[model_.variables.class_of(v)];
      const auto at = std::find_if(known.begin(), known.end(), [&](std::uint32_t number) {
        return costs_[number] == model_.costs[v];
      });
      if (at != known.end()) {
        costs_of_.push_back(*at);
        continue;
      }
      known.push_back(static_cast<std::uint32_t>(costs_.size()));
      costs_of_.push_back(known.back());
      costs_.push_back(model_.costs[v]);
    }
  }

  void add(const Edge& edge, bool is_new) {
    edges_of_[edge.first].push_back({edge, is_new});
    if (edge.second != edge.first) edges_of_[edge.second].push_back({edge, is_new});
  }

  static std::uint32_t other(const Edge& edge, std::uint32_t v) {
    return edge.first == v ? edge.second : edge.first;
  }

  // Returns the neighbours of a variable, ascending, with the edges to them.
  std::vector<Side> sides(std::uint32_t v) const {
    std::map<std::uint32_t, std::vector<Edge>> by_neighbour;
    for (const Link& link : edges_of_[v])
      by_neighbour[other(link.edge, v)].push_back(link.edge);
    std::vector<Side> all;
    all.reserve(by_neighbour.size());
    for (auto& [neighbour, edges] : by_neighbour)
      all.push_back({neighbour, std::move(edges)});
    return all;
  }

  bool can_leave_out(const std::vector<std::uint32_t>& group) const {
    return std::all_of(group.begin(), group.end(), [&](std::uint32_t v) {
      if (is_left_out(v)) return false;
      std::uint32_t a = kNone;
      std::uint32_t b = kNone;
      for (const Link& link : edges_of_[v]) {
        const std::uint32_t u = other(link.edge, v);
        if (link.is_new || u == v || std::binary_search(group.begin(), group.end(), u))
          return false;
        if (a == kNone || a == u) {
          a = u;
        } else if (b == kNone || b == u) {
          b = u;
        } else {
          return false;
        }
      }
      return true;
    });
  }

  bool is_left_out(std::uint32_t v) const { return costs_of_[v] == kNone; }

  void leave_out(std::uint32_t v) {
    const std::vector<Side> all = sides(v);
    ContractedModel::LeftOut& left = result_.left_out_.emplace_back();
    left.variable = v;
    left.costs = costs_of_[v];
    for (const Side& side : all) {
      left.edges.insert(left.edges.end(), side.edges.begin(), side.edges.end());
      std::erase_if(edges_of_[side.neighbour], [&](const Link& link) {
        return link.edge.first == v || link.edge.second == v;
      });
    }
    edges_of_[v].clear();
    if (all.size() == 2) {
      add_product(v, all[0], all[1]);
    } else if (all.size() == 1) {
      fold(v, all[0]);
    } else {
      constant_ += *std::min_element(costs_[costs_of_[v]].begin(), costs_[costs_of_[v]].end());
    }
    costs_of_[v] = kNone;
  }

  static void append(std::uint32_t v, const Side& side, std::vector<std::uint32_t>& key) {
    key.push_back(static_cast<std::uint32_t>(side.edges.size()));
    for (const Edge& edge : side.edges) {
      key.push_back(edge.transfer);
      key.push_back(edge.first == v ? 1 : 0);
    }
  }

  void add_product(std::uint32_t v, const Side& first, const Side& second) {
    std::vector<std::uint32_t> key{costs_of_[v]};
    append(v, first, key);
    append(v, second, key);
    const auto [at, is_new] = products_.emplace(
        std::move(key),
        static_cast<std::uint32_t>(model_.transfers.transfers.size() + result_.made_.size()));
    if (is_new) {
      to_make_.push_back(
          {static_cast<std::uint32_t>(result_.made_.size()), v, costs_of_[v], first, second});
      result_.made_.emplace_back();
    }
    add({first.neighbour, second.neighbour, at->second}, true);
  }

  // Adds the least cost of the variable, for each choice of its only neighbour, to that choice.
  void fold(std::uint32_t v, const Side& side) {
    std::vector<std::uint32_t> key{costs_of_[v], costs_of_[side.neighbour]};
    append(v, side, key);
    const auto [at, is_new] =
        folded_.emplace(std::move(key), static_cast<std::uint32_t>(costs_.size()));
    if (is_new) {
      const Groups groups = joint_groups(side.edges, side.neighbour);
      std::vector<double> least(groups.first.size(), kForbidden);
      for (std::size_t g = 0; g < least.size(); ++g) {
        for (std::uint32_t s = 0; groups.first[g] != kNone && s < costs_[costs_of_[v]].size(); ++s)
          least[g] =
              std::min(least[g], costs_[costs_of_[v]][s] + cost_of(side, v, s, groups.first[g]));
      }
      std::vector<double> costs = costs_[costs_of_[side.neighbour]];
      for (std::size_t s = 0; s < costs.size(); ++s)
        costs[s] += least[groups.of[s]];
      costs_.push_back(std::move(costs));
    }
    costs_of_[side.neighbour] = at->second;
  }

  const AtenTransfer& transfer(std::uint32_t number) const { return result_.transfer(number); }

  const std::vector<std::uint32_t>& groups_at(const Edge& edge, std::uint32_t variable) const {
    return edge.first == variable ? transfer(edge.transfer).row_of
                                  : transfer(edge.transfer).column_of;
  }

  // Groups the choices of a variable that have the same row or column in all `edges`. For a single
  // edge, the groups are the rows or columns with their numbers.
  Groups joint_groups(const std::vector<Edge>& edges, std::uint32_t variable) const {
    Groups groups;
    if (edges.size() == 1) {
      const AtenTransfer& table = transfer(edges[0].transfer);
      groups.of = groups_at(edges[0], variable);
      groups.first.assign(edges[0].first == variable ? table.rows : table.columns, kNone);
      for (std::uint32_t s = 0; s < groups.of.size(); ++s)
        groups.first[groups.of[s]] = std::min(groups.first[groups.of[s]], s);
      return groups;
    }
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
    const std::size_t choices = groups_at(edges[0], variable).size();
    for (std::uint32_t s = 0; s < choices; ++s) {
      std::vector<std::uint32_t> key;
      key.reserve(edges.size());
      for (const Edge& edge : edges)
        key.push_back(groups_at(edge, variable)[s]);
      const auto [at, is_new] =
          numbers.emplace(std::move(key), static_cast<std::uint32_t>(groups.first.size()));
      if (is_new) groups.first.push_back(s);
      groups.of.push_back(at->second);
    }
    return groups;
  }

  double cost_of(const Side& side, std::uint32_t v, std::uint32_t own, std::uint32_t theirs) const {
    double sum = 0;
    for (const Edge& edge : side.edges) {
      const AtenTransfer& table = transfer(edge.transfer);
      sum += edge.first == v ? table.cost(own, theirs) : table.cost(theirs, own);
    }
    return sum;
  }

  void make_products(Executor& executor) {
    executor.parallel_for(to_make_.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p)
        make(to_make_[p]);
    });
    to_make_.clear();
  }

  void make(const Product& product) {
    const Groups rows = joint_groups(product.first.edges, product.first.neighbour);
    const Groups columns = joint_groups(product.second.edges, product.second.neighbour);
    std::vector<Edge> edges = product.first.edges;
    edges.insert(edges.end(), product.second.edges.begin(), product.second.edges.end());
    // Choices in the same group of all edges differ only in costs, so only the cheapest matters.
    const Groups own = joint_groups(edges, product.variable);
    std::vector<double> cheapest(own.first.size(), kForbidden);
    const std::vector<double>& costs = costs_[product.costs];
    for (std::size_t s = 0; s < costs.size(); ++s)
      cheapest[own.of[s]] = std::min(cheapest[own.of[s]], costs[s]);
    std::vector<double> to_columns;
    for (const std::uint32_t s : own.first) {
      for (const std::uint32_t c : columns.first) {
        to_columns.push_back(c == kNone ? kForbidden
                                        : cost_of(product.second, product.variable, s, c));
      }
    }
    AtenTransfer& table = result_.made_[product.made];
    table.rows = static_cast<std::uint32_t>(rows.first.size());
    table.columns = static_cast<std::uint32_t>(columns.first.size());
    table.costs.reserve(std::size_t{table.rows} * table.columns);
    std::vector<double> sent(own.first.size());
    std::vector<double> least(columns.first.size());
    std::vector<std::uint32_t> sending;
    for (const std::uint32_t r : rows.first) {
      sending.clear();
      for (std::uint32_t m = 0; r != kNone && m < own.first.size(); ++m) {
        sent[m] = cheapest[m] + cost_of(product.first, product.variable, own.first[m], r);
        if (sent[m] < kForbidden) sending.push_back(m);
      }
      least_rows(sent, sending, to_columns.data(), least);
      table.costs.insert(table.costs.end(), least.begin(), least.end());
    }
    table.row_of = rows.of;
    table.column_of = columns.of;
  }

  void finish() {
    out_.transfers.transfers.resize(model_.transfers.transfers.size() + result_.made_.size());
    for (std::uint32_t v = 0; v < costs_of_.size(); ++v) {
      out_.costs.push_back(is_left_out(v) ? std::vector<double>{0} : costs_[costs_of_[v]]);
      for (const Link& link : edges_of_[v]) {
        if (link.edge.first == v) out_.transfers.edges.push_back(link.edge);
      }
    }
    if (!out_.costs.empty()) {
      for (double& cost : out_.costs[0])
        cost += constant_;
    }
    for (const Edge& edge : out_.transfers.edges) {
      AtenTransfer& table = out_.transfers.transfers[edge.transfer];
      if (table.rows == 0) table = transfer(edge.transfer);
    }
    result_.costs_ = std::move(costs_);
  }

  const AtenModel& model_;
  ContractedModel& result_;
  AtenModel& out_;
  std::vector<bool> holds_;  // by variable: it has usages in out_
  std::vector<std::vector<std::uint32_t>> groups_;  // variables to eliminate together, ascending
  std::vector<std::vector<Link>> edges_of_;         // by variable
  std::vector<std::vector<double>> costs_;
  std::vector<std::uint32_t> costs_of_;  // by variable: index into costs_; kNone: eliminated
  std::map<std::vector<std::uint32_t>, std::uint32_t> products_;  // index into made_
  std::map<std::vector<std::uint32_t>, std::uint32_t> folded_;    // index into costs_
  std::vector<Product> to_make_;
  double constant_ = 0;
};

ContractedModel::ContractedModel(const AtenModel& model, Executor& executor,
                                 std::span<const std::size_t> times)
    : whole_(&model), contracted_{model.overlap, model.variables, {}, {}, {}, model.leaders} {
  for (const AtenUsages::Usage& usage : model.usages.usages) {
    if (std::any_of(times.begin(), times.end(), [&](std::size_t time) {
          return time >= usage.live.begin && time < usage.live.end;
        }))
      contracted_.usages.usages.push_back(usage);
  }
  if (!times.empty()) {
    contracted_.usages.bytes = model.usages.bytes;
    contracted_.usages.num_time_points = model.usages.num_time_points;
  }
  Contraction(model, *this).run(executor);
}

const AtenTransfer& ContractedModel::transfer(std::uint32_t number) const {
  const std::vector<AtenTransfer>& of_whole = whole_->transfers.transfers;
  return number < of_whole.size() ? of_whole[number] : made_[number - of_whole.size()];
}

std::vector<std::uint32_t> ContractedModel::contract(std::vector<std::uint32_t> choice) const {
  for (const LeftOut& left : left_out_)
    choice[left.variable] = 0;
  return choice;
}

std::vector<std::uint32_t> ContractedModel::expand(std::vector<std::uint32_t> choice) const {
  for (auto left = left_out_.rbegin(); left != left_out_.rend(); ++left) {
    std::vector<double> sums = costs_[left->costs];
    for (std::uint32_t s = 0; s < sums.size(); ++s) {
      for (const Edge& edge : left->edges) {
        const AtenTransfer& table = transfer(edge.transfer);
        sums[s] += edge.first == left->variable ? table.cost(s, choice[edge.second])
                                                : table.cost(choice[edge.first], s);
      }
    }
    // Takes the last of equally cheap choices. Rules list replication first, so the last choice
    // shards most and holds fewest bytes. A search within a memory limit that starts from this plan
    // then has fewer bytes to save.
    choice[left->variable] =
        static_cast<std::uint32_t>(sums.rend() - std::min_element(sums.rbegin(), sums.rend()) - 1);
  }
  return choice;
}

}  // namespace shardwright::operators
