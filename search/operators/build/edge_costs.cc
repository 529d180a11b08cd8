#include "search/operators/build/edge_costs.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/interner.h"

namespace shardwright::operators {
namespace {

using SpecPointer = const ShardingSpec*;

// The specs of an operand by strategy. Strategies with the same specs share a row.
struct SpecList {
  std::size_t width = 1;              // tensors of the operand
  std::vector<SpecPointer> rows;      // `width` each
  std::vector<std::uint32_t> row_of;  // by strategy

  std::size_t num_rows() const { return rows.size() / width; }
  friend bool operator==(const SpecList&, const SpecList&) = default;
};

SpecList list_of(const NodeStrategies& strategies, const Operand& operand) {
  SpecList list;
  list.width = operand.shapes.size();
  list.row_of.reserve(strategies.size());
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const std::span<const SpecPointer> row = strategies.specs(s, operand);
    std::size_t known = 0;
    while (known < list.num_rows() &&
           !std::equal(row.begin(), row.end(), list.rows.data() + known * list.width)) {
      ++known;
    }
    if (known == list.num_rows()) list.rows.insert(list.rows.end(), row.begin(), row.end());
    list.row_of.push_back(static_cast<std::uint32_t>(known));
  }
  return list;
}

std::uint64_t hash_of(const SpecList& list) {
  std::uint64_t hash = list.width;
  for (SpecPointer spec : list.rows)
    hash = hash_mix(hash, reinterpret_cast<std::uintptr_t>(spec));
  for (const std::uint32_t row : list.row_of)
    hash = hash_mix(hash, row);
  return hash;
}

// Lists numbered in the order in which they appear.
// Thread safety: const members may be called from any thread.
class SpecLists {
 public:
  std::uint32_t intern(SpecList list) {
    const std::uint64_t hash = hash_of(list);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      if (lists_[known->second] == list) return known->second;
    }
    const auto number = static_cast<std::uint32_t>(lists_.size());
    lists_.push_back(std::move(list));
    by_hash_.emplace(hash, number);
    return number;
  }
  const SpecList& operator[](std::uint32_t i) const { return lists_[i]; }

 private:
  std::vector<SpecList> lists_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

// The input from which a matrix is computed.
struct Question {
  std::uint32_t from;
  std::uint32_t to;
  std::int64_t element_bytes;

  friend bool operator==(const Question&, const Question&) = default;
};

struct QuestionHash {
  std::size_t operator()(const Question& question) const {
    const std::uint64_t lists = (std::uint64_t{question.from} << 32) | question.to;
    return static_cast<std::size_t>(
        hash_mix(lists, static_cast<std::uint64_t>(question.element_bytes)));
  }
};

double conversion_cost(const SpecPointer* from, const SpecPointer* to, std::size_t width,
                       double element_bytes, ReshardPlanner& planner) {
  double sum = 0;
  for (std::size_t t = 0; t < width; ++t)
    sum += planner.cost(from[t], to[t]) * element_bytes;
  return sum;
}

CostMatrix compute(const SpecList& from, const SpecList& to, double element_bytes,
                   ReshardPlanner& planner) {
  SHARDWRIGHT_CHECK(from.width == to.width);
  const std::size_t width = from.width;
  std::vector<double> by_row;  // of distinct rows
  by_row.reserve(from.num_rows() * to.num_rows());
  for (std::size_t i = 0; i < from.num_rows(); ++i) {
    for (std::size_t j = 0; j < to.num_rows(); ++j) {
      by_row.push_back(conversion_cost(from.rows.data() + i * width, to.rows.data() + j * width,
                                       width, element_bytes, planner));
    }
  }
  CostMatrix matrix;
  matrix.rows = static_cast<std::uint32_t>(from.row_of.size());
  matrix.columns = static_cast<std::uint32_t>(to.row_of.size());
  matrix.entries.reserve(from.row_of.size() * to.row_of.size());
  for (const std::uint32_t i : from.row_of) {
    for (const std::uint32_t j : to.row_of)
      matrix.entries.push_back(by_row[i * to.num_rows() + j]);
  }
  return matrix;
}

// The inputs of all edges, each once.
struct Questions {
  SpecLists lists;
  std::vector<Question> distinct;
  std::vector<CostEdge> edges;  // `matrix` numbers the inputs
};

Questions ask(const OpGraph& graph, std::span<const NodeStrategies> strategies) {
  Questions questions;
  std::unordered_map<Question, std::uint32_t, QuestionHash> numbers;
  std::vector<std::uint32_t> outputs;
  outputs.reserve(graph.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    for (std::size_t k = 0; k < graph[n].inputs.size(); ++k) {
      const std::uint32_t producer = graph[n].inputs[k];
      const Question question{
          outputs[producer],
          questions.lists.intern(list_of(strategies[n], strategies[n].operands()[k])),
          element_bytes(graph[producer].type)};
      const auto [found, added] =
          numbers.emplace(question, static_cast<std::uint32_t>(questions.distinct.size()));
      if (added) questions.distinct.push_back(question);
      questions.edges.push_back({producer, n, found->second});
    }
    outputs.push_back(questions.lists.intern(list_of(strategies[n], strategies[n].output())));
  }
  return questions;
}

}  // namespace

EdgeCosts compute_edge_costs(const OpGraph& graph, std::span<const NodeStrategies> strategies,
                             ReshardPlanner& planner, Executor& executor, MatrixPool& pool) {
  Questions questions = ask(graph, strategies);
  const std::vector<Question>& distinct = questions.distinct;
  std::vector<CostMatrix> matrices(distinct.size());
  executor.parallel_for(distinct.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t q = begin; q < end; ++q) {
      matrices[q] = compute(questions.lists[distinct[q].from], questions.lists[distinct[q].to],
                            static_cast<double>(distinct[q].element_bytes), planner);
    }
  });
  EdgeCosts costs;
  costs.num_computed = distinct.size();
  std::vector<std::uint32_t> interned;
  interned.reserve(distinct.size());
  for (std::size_t q = 0; q < distinct.size(); ++q) {
    const SpecList& from = questions.lists[distinct[q].from];
    costs.num_questions += from.rows.size() * questions.lists[distinct[q].to].num_rows();
    interned.push_back(pool.intern(std::move(matrices[q])));
  }
  costs.edges = std::move(questions.edges);
  for (CostEdge& edge : costs.edges)
    edge.matrix = interned[edge.matrix];
  return costs;
}

}  // namespace shardwright::operators
