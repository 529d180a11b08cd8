#include "runtime/report/operators/aten/moved_tensors.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/report/operators/aten/aten_words.h"
#include "runtime/report/operators/aten/folded_path.h"

namespace shardwright {
namespace {

using namespace operators;

// Replaces a path by what is before and after its number, which goes to `numbers`.
std::string without_number(const std::string& path, std::vector<std::uint32_t>& numbers) {
  const FoldedPath folded = fold_path(path);
  if (!folded.has_number) return path;
  numbers.push_back(folded.number);
  return folded.before + '\0' + folded.after;
}

std::string with_numbers(const std::string& path, std::vector<std::uint32_t> numbers) {
  constexpr std::size_t kWidth = 24;
  const std::size_t place = path.find('\0');
  if (numbers.empty() || place == std::string::npos) return path;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return path.substr(0, place) + format_ranges(numbers, kWidth) + path.substr(place + 1);
}

void name_tensor(const AtenGraph& graph, const TensorRef& ref, MovedTensors& row) {
  const AtenNode& node = graph[ref.node];
  const AtenNode* owner = &node;
  while (owner->view)
    owner = &graph[owner->inputs[0].node];
  row.tensor = owner->is_placeholder() ? owner->target : std::string(operator_text(*owner));
  if (!owner->is_placeholder()) row.module = module_text(*owner);
  row.whole = graph.tensor(ref);
}

void name_consumer(const AtenGraph& graph, const AtenMove& move, MovedTensors& row) {
  if (!move.to_output) {
    const AtenNode& node = graph[move.index];
    row.consumer = operator_text(node);
    row.consumer_module = module_text(node);
    row.backward = node.backward;
    return;
  }
  const AtenOutput& output = graph.outputs()[move.index];
  row.consumer = output.role == AtenOutputRole::kGradient   ? "gradient"
                 : output.role == AtenOutputRole::kMutation ? "new value"
                                                            : "output";
  row.consumer_module = output.target;
  row.backward = output.role == AtenOutputRole::kGradient;
}

// Puts equal moves together.
// Thread safety: one thread at a time.
class MoveRows {
 public:
  MoveRows(const AtenGraph& graph, const AtenPlan& plan) : graph_(graph), plan_(plan) {}

  void add(const AtenMove& move) {
    MovedTensors row;
    const TensorRef& ref =
        move.to_output ? graph_.outputs()[move.index].value : graph_[move.index].inputs[move.input];
    name_tensor(graph_, ref, row);
    name_consumer(graph_, move, row);
    row.source = *plan_.nodes[ref.node].outputs[ref.output];
    row.target = move.to_output ? plan_.outputs[move.index].placement
                                : *plan_.nodes[move.index].inputs[move.input];
    row.path = move.path;
    row.us = move.us;
    row.sent_bytes = move.sent_bytes;
    Numbers numbers;
    row.tensor = without_number(row.tensor, numbers.tensor);
    row.module = without_number(row.module, numbers.module);
    row.consumer_module = without_number(row.consumer_module, numbers.consumer_module);
    const auto [place, is_new] = places_.emplace(key_of(row), rows_.size());
    if (is_new) {
      rows_.push_back(std::move(row));
      numbers_.emplace_back();
    }
    ++rows_[place->second].count;
    numbers_[place->second].add(numbers);
  }

  // The longest time of a row first.
  std::vector<MovedTensors> finish() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      MovedTensors& row = rows_[r];
      row.tensor = with_numbers(row.tensor, numbers_[r].tensor);
      row.module = with_numbers(row.module, numbers_[r].module);
      row.consumer_module = with_numbers(row.consumer_module, numbers_[r].consumer_module);
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const MovedTensors& a, const MovedTensors& b) {
      return a.us * static_cast<double>(a.count) > b.us * static_cast<double>(b.count);
    });
    return std::move(rows_);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, bool, std::string,
                         std::uint64_t, std::uint64_t, double>;
  // In the paths of a row.
  struct Numbers {
    std::vector<std::uint32_t> tensor, module, consumer_module;

    void add(const Numbers& other) {
      tensor.insert(tensor.end(), other.tensor.begin(), other.tensor.end());
      module.insert(module.end(), other.module.begin(), other.module.end());
      consumer_module.insert(consumer_module.end(), other.consumer_module.begin(),
                             other.consumer_module.end());
    }
  };

  static Key key_of(const MovedTensors& row) {
    return {row.tensor,
            row.module,
            row.consumer,
            row.consumer_module,
            row.backward,
            shape_text(row.whole) + std::string(type_text(row.whole)),
            row.source.code(),
            row.target.code(),
            row.us};
  }

  const AtenGraph& graph_;
  const AtenPlan& plan_;
  std::map<Key, std::size_t> places_;
  std::vector<MovedTensors> rows_;
  std::vector<Numbers> numbers_;  // by row
};

}  // namespace

std::vector<MovedTensors> moved_tensors(const AtenGraph& graph, const AtenPlan& plan,
                                        std::span<const AtenMove> moves) {
  MoveRows rows(graph, plan);
  for (const AtenMove& move : moves)
    rows.add(move);
  return rows.finish();
}

}  // namespace shardwright
