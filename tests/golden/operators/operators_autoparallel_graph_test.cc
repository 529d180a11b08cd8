// The problems that AutoParallel made of a transformer, compared with those built here from its
// graph: nodes, strategies with costs, costs of redistributions, the optimum.
// record_autoparallel.py wrote the graphs. The problems are those of
// operators_autoparallel_test.cc.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/file.h"
#include "runtime/io/operators/aten_graph_json.h"
#include "runtime/operators/plan_aten.h"
#include "search/operators/aten/aten_model.h"
#include "tests/support/operators/aten_builder.h"

namespace shardwright::operators_autoparallel_graph_test {

namespace {

using namespace shardwright::operators;
using nlohmann::json;
using redistribution::MeshShape;
using redistribution::Placement;

constexpr double kForbiddenEntry = 1e18;
constexpr double kUnitsPerUs = 1e9;
// AutoParallel rounds to integers, and divides a node's time among its inputs.
constexpr double kUnit = 1;

constexpr const char* kWithStrategies[] = {"m8", "m4x2"};

using NodePair = std::pair<std::uint32_t, std::uint32_t>;  // the smaller node number first

json read(const std::string& path) {
  return json::parse(read_file("tests/golden/operators/" + path + ".json.gz").value());
}

Placement placement_of(const json& words) {
  Placement placement;
  for (std::size_t axis = 0; axis < words.size(); ++axis) {
    const auto word = test_support::AtenBuilder::word(words[axis].get<std::string>());
    if (word->is_shard()) placement = placement.with_shard(axis, word->dim);
    if (word->is_partial()) placement = placement.with_partial(axis, word->reduce_op);
  }
  return placement;
}

PlanAtenOptions options_for(const json& recorded) {
  PlanAtenOptions options;
  for (const json& devices : recorded["mesh"])
    options.mesh.push_back(devices.get<std::int64_t>());
  options.redistribution = RedistributionChoice::kAutoParallel;
  // AutoParallel's tensors were on CPUs, with one per host.
  options.collectives.kind = CollectiveModel::Kind::kFlat;
  options.collectives.devices_per_host = 1;
  options.limits.threads = 1;
  options.gap = 0;
  const Placement pin = Placement().with_shard(0, 0);
  options.constraints = {{AtenConstraint::Of::kInput, "0", pin},
                         {AtenConstraint::Of::kOutput, "0", pin}};
  return options;
}

// The placements of a strategy's outputs and inputs, as codes.
using Placements = std::vector<std::optional<std::uint64_t>>;

Placements codes_of(const json& strategy) {
  Placements codes;
  for (const json& side : strategy) {
    for (const json& words : side)
      codes.push_back(words[0] == "-" ? std::nullopt : std::optional(placement_of(words).code()));
  }
  return codes;
}

Placements codes_of(const StrategyClass& strategies, std::size_t s) {
  Placements codes;
  for (const auto* side : {&strategies.outputs, &strategies.inputs}) {
    for (const auto& column : *side)
      codes.push_back(column ? std::optional(column->of(s).code()) : std::nullopt);
  }
  return codes;
}

// A problem of AutoParallel, and the one built here from the same graph.
class Both {
 public:
  explicit Both(const std::string& name)
      : recorded_(read("autoparallel_graphs/" + name)),
        theirs_(read("autoparallel/" + name + "_l1_full_none" +
                     (name[0] == 't' ? "_nc" : ""))["problem"]),
        options_(options_for(recorded_)),
        graph_(read_aten_graph(recorded_["graph"].dump()).value()),
        transitions_(transitions()),
        model_(build_model(graph_, request(), transitions_, executor_).value()) {
    for (std::size_t n = 0; recorded_.contains("strategies") && n < graph_.size(); ++n)
      ours_.push_back(matched(n));
  }

  const AtenGraph& graph() const { return graph_; }
  const PlanAtenOptions& options() const { return options_; }
  const AtenModel& model() const { return model_; }

  std::size_t num_theirs(std::size_t node) const { return theirs_["nodes"]["costs"][node].size(); }
  double their_cost(std::size_t node, std::size_t s) const {
    return theirs_["nodes"]["costs"][node][s].get<double>();
  }
  // Returns AutoParallel's cost matrices. Rows are the strategies of the first node.
  std::map<NodePair, const json*> their_edges() const {
    std::map<NodePair, const json*> edges;
    for (std::size_t e = 0; e < theirs_["edges"]["nodes"].size(); ++e) {
      const json& nodes = theirs_["edges"]["nodes"][e];
      edges[{nodes[0].get<std::uint32_t>(), nodes[1].get<std::uint32_t>()}] =
          &theirs_["edges"]["costs"][e];
    }
    return edges;
  }
  // Returns our strategy for each of AutoParallel's strategies of a node.
  const std::vector<std::optional<std::uint32_t>>& ours(std::size_t node) const {
    return ours_[node];
  }

  // Returns pairs of nodes between which tensors pass.
  std::set<NodePair> moves() const {
    std::set<NodePair> found;
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      for (const TensorRef& ref : graph_[n].inputs)
        found.emplace(ref.node, n);
    }
    return found;
  }
  // Returns pairs of nodes that must have the same placement.
  std::set<NodePair> pairs() const {
    std::set<NodePair> found;
    for (const AtenPair& pair : graph_.pairs()) {
      found.insert(std::minmax(pair.placeholder, graph_.outputs()[pair.output].value.node));
    }
    return found;
  }

  // Returns the cost of moving tensors from one node to another, over all inputs of the second.
  double move_us(const NodePair& nodes, std::uint32_t s, std::uint32_t t) const {
    double us = 0;
    for (const AtenTransfers::Edge& edge : model_.transfers.edges) {
      if (NodePair(edge.first, edge.second) == nodes)
        us += model_.transfers.transfers[edge.transfer].cost(s, t);
    }
    return us;
  }

  // Returns the placement of output 0 of a node.
  const Placement& output(std::size_t node, std::uint32_t s) const {
    return model_.variables.strategies(node).outputs[0]->of(s);
  }

  // Returns true for an input, an output, or a gradient of one.
  bool is_pinned(std::size_t node) const {
    const AtenRole role = graph_[node].role;
    if (role == AtenRole::kInput || role == AtenRole::kTangent) return true;
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const auto& output) {
      return output.value.node == node && output.role == AtenOutputRole::kOutput;
    });
  }

  bool is_cast(std::size_t node) const { return graph_[node].name.starts_with("dtype_cast"); }
  // Returns true for a cast, and for a node whose output a cast reads.
  bool leads_to_cast(std::size_t node) const {
    if (is_cast(node)) return true;
    bool leads = false;
    for (const AtenNode& consumer : graph_.nodes()) {
      for (const TensorRef& ref : consumer.inputs)
        leads = leads || (ref.node == node && consumer.name.starts_with("dtype_cast"));
    }
    return leads;
  }

 private:
  AtenRequest request() const {
    AtenRequest request;
    request.mesh = options_.mesh;
    request.device = *find_compute_device(options_.device);
    return request;
  }

  TransitionModel transitions() const {
    TransitionModelOptions options;
    options.choice = options_.redistribution;
    options.memory_bytes_per_second = request().device.memory_bytes_per_second;
    options.collectives =
        make_collectives(options_.collectives, options_.mesh, options_.device).value();
    return TransitionModel(std::move(options));
  }

  std::vector<std::optional<std::uint32_t>> matched(std::size_t node) const {
    const StrategyClass& strategies = model_.variables.strategies(node);
    std::map<Placements, std::uint32_t> known;
    for (std::uint32_t s = 0; s < strategies.size(); ++s)
      known.emplace(codes_of(strategies, s), s);
    std::vector<std::optional<std::uint32_t>> found;
    for (const json& strategy : recorded_["strategies"][node]) {
      const auto at = known.find(codes_of(strategy));
      found.push_back(at == known.end() ? std::nullopt : std::optional(at->second));
    }
    return found;
  }

  json recorded_;
  json theirs_;
  PlanAtenOptions options_;
  AtenGraph graph_;
  InlineExecutor executor_;
  TransitionModel transitions_;
  AtenModel model_;
  std::vector<std::vector<std::optional<std::uint32_t>>> ours_;
};

bool is_equal(double their_units, double our_us) {
  return std::abs(their_units - our_us * kUnitsPerUs) <= kUnit;
}

}  // namespace

TEST_CASE("autoparallel graphs: strategies and what they cost are AutoParallel's, node by node") {
  for (const char* name : kWithStrategies) {
    CAPTURE(name);
    const Both both(name);
    const Placement pin = Placement().with_shard(0, 0);
    for (std::size_t n = 0; n < both.graph().size(); ++n) {
      CAPTURE(both.graph()[n].name);
      const StrategyClass& strategies = both.model().variables.strategies(n);
      std::set<std::uint32_t> met;
      for (std::size_t s = 0; s < both.num_theirs(n); ++s) {
        const std::optional<std::uint32_t> ours = both.ours(n)[s];
        REQUIRE(ours);
        met.insert(*ours);
        // AutoParallel forbids other placements of inputs, outputs and gradients than requested.
        if (both.their_cost(n, s) == kForbiddenEntry) {
          CHECK(both.is_pinned(n));
          CHECK(both.output(n, *ours) != pin);
        } else {
          CHECK(is_equal(both.their_cost(n, s), strategies.compute_us[*ours]));
        }
      }
      CHECK(met.size() == strategies.size());
    }
  }
}

TEST_CASE("autoparallel graphs: moving tensors costs what AutoParallel says, edge by edge") {
  for (const char* name : kWithStrategies) {
    CAPTURE(name);
    const Both both(name);
    const std::set<NodePair> moves = both.moves();
    const std::set<NodePair> pairs = both.pairs();
    std::set<NodePair> edges;
    int num_banned = 0;
    for (const auto& [edge, entries] : both.their_edges()) {
      const std::string& source = both.graph()[edge.first].name;
      const std::string& reader = both.graph()[edge.second].name;
      CAPTURE(source);
      CAPTURE(reader);
      edges.insert(edge);
      const bool is_move = moves.contains(edge);
      CHECK(is_move != pairs.contains(edge));
      bool is_banned = false;
      std::size_t entry = 0;
      for (const std::optional<std::uint32_t> s : both.ours(edge.first)) {
        for (const std::optional<std::uint32_t> t : both.ours(edge.second)) {
          const auto theirs = (*entries)[entry++].get<double>();
          if (!is_move) {
            // A tensor and its gradient must have the same placement.
            const bool is_alike = both.output(edge.first, *s) == both.output(edge.second, *t);
            CHECK(theirs == (is_alike ? 0 : kForbiddenEntry));
            continue;
          }
          const double us = both.move_us(edge, *s, *t);
          if (theirs < kForbiddenEntry || us == kForbidden) {
            CHECK(is_equal(theirs, std::min(us * kUnitsPerUs, kForbiddenEntry) / kUnitsPerUs));
            continue;
          }
          // AutoParallel forbids communication between a parameter or a gradient and its cast.
          // Moves without communication cost at most 1 us.
          CHECK(us > 1);
          CHECK(both.leads_to_cast(edge.second));
          is_banned = true;
        }
      }
      num_banned += is_banned ? 1 : 0;
    }
    std::set<NodePair> all = moves;
    all.insert(pairs.begin(), pairs.end());
    CHECK(edges == all);
    CHECK(num_banned == 18);  // six casts of parameters; two edges for each cast of a gradient
  }
}

TEST_CASE("autoparallel graphs: as many strategies on three axes") {
  const Both both("t2x2x2");
  for (std::size_t n = 0; n < both.graph().size(); ++n) {
    CAPTURE(both.graph()[n].name);
    CHECK(both.model().variables.strategies(n).size() == both.num_theirs(n));
  }
}

TEST_CASE("autoparallel graphs: the optimum is that of AutoParallel's problem") {
  constexpr std::pair<const char*, double> kOptima[] = {
      {"m8", 4957.936254751}, {"m4x2", 2349.337473645}, {"t2x2x2", 1045.038083095}};
  for (const auto& [case_name, optimum_us] : kOptima) {
    const char* const name = case_name;
    CAPTURE(name);
    const Both both(name);
    const auto result = plan_aten(both.graph(), both.options());
    REQUIRE(result.ok());
    CHECK(result->status == SolveStatus::kOptimal);
    CHECK(std::abs(result->evaluation.total_us() - optimum_us) <= 1e-9 * optimum_us);
  }
}

}  // namespace shardwright::operators_autoparallel_graph_test
