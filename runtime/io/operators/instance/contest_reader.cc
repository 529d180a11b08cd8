// Reads the contest's format directly from the tokenizer.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/json_pointer.h"
#include "core/nearest_name.h"
#include "core/operators/instance/cost_instance.h"
#include "runtime/io/json/json_scanner.h"
#include "runtime/io/operators/instance/contest_contents.h"

namespace shardwright {
namespace {

using operators::kForbidden;

// Costs of at least this forbid a choice.
constexpr double kForbiddenFrom = 1e18;

// Thread safety: one thread at a time.
class ContestReader {
 public:
  explicit ContestReader(std::string_view text) : scanner_(text) {}

  Result<ContestContents> read() {
    object("", {"problem"}, [&](std::size_t) { read_problem(); });
    scanner_.finish();
    if (const Status& status = scanner_.status(); !status.ok()) {
      Error error = status.error();
      const bool of_text = !error.where.starts_with("/");
      if (of_text && !place_.empty()) error.where = place_ + ": " + error.where;
      return error;
    }
    return std::move(contents_);
  }

 private:
  using Names = std::span<const std::string_view>;

  // Returns true if there is no error. Otherwise records `place`, unless an inner place is already
  // recorded.
  bool at(const std::string& place) {
    if (!scanner_.status().ok() && place_.empty()) place_ = place;
    return scanner_.status().ok();
  }

  // Reads an object. Calls member(i) at the value of keys[i]. The first `num_required` keys must
  // be present.
  template <std::size_t N, class Member>
  void object(const std::string& place, const std::string_view (&keys)[N], const Member& member,
              std::size_t num_required = N) {
    if (!scanner_.begin_object()) {
      at(place);
      return;
    }
    std::array<bool, N> seen{};
    std::string key;
    for (bool first = true; scanner_.next_key(first, key);) {
      const std::string at_member = place + "/" + pointer_token(key);
      const auto known = std::find(std::begin(keys), std::end(keys), key);
      if (known == std::end(keys)) {
        scanner_.fail(
            invalid_input(at_member, "unknown key \"" + key + "\"" + suggestion(key, keys)));
        return;
      }
      const auto index = static_cast<std::size_t>(known - std::begin(keys));
      if (std::exchange(seen[index], true)) {
        scanner_.fail(invalid_input(at_member, "the key \"" + key + "\" occurs twice"));
        return;
      }
      member(index);
      if (!at(at_member)) return;
    }
    const auto missing = std::find(seen.begin(), seen.begin() + num_required, false);
    if (at(place) && missing != seen.begin() + num_required) {
      const std::string_view name = keys[missing - seen.begin()];
      scanner_.fail(invalid_input(place, "the key \"" + std::string(name) + "\" is missing"));
    }
  }

  void read_problem() {
    constexpr std::string_view kKeys[] = {"nodes", "edges", "name", "usage_limit"};
    constexpr std::size_t kRequired = 2;
    const auto read = [&](std::size_t key) {
      if (key == 0) read_nodes();
      if (key == 1) read_edges();
      if (key == 2) scanner_.read_string(contents_.name);
      if (key == 3) read_limit();
    };
    object("/problem", kKeys, read, kRequired);
  }

  void read_nodes() {
    constexpr std::string_view kKeys[] = {"intervals", "costs", "usages"};
    object("/problem/nodes", kKeys, [&](std::size_t key) {
      if (key == 0) integer_lists("/problem/nodes/intervals", contents_.intervals);
      if (key == 1)
        cost_lists("/problem/nodes/costs", contents_.costs, [&] { contents_.costs.end_list(); });
      if (key == 2) integer_lists("/problem/nodes/usages", contents_.usages);
    });
  }

  void read_edges() {
    constexpr std::string_view kKeys[] = {"nodes", "costs"};
    object("/problem/edges", kKeys, [&](std::size_t key) {
      if (key == 0) integer_lists("/problem/edges/nodes", contents_.edge_nodes);
      if (key == 1)
        cost_lists("/problem/edges/costs", contents_.edge_costs.lists(),
                   [&] { contents_.edge_list.push_back(contents_.edge_costs.intern_open_list()); });
    });
  }

  void read_limit() {
    if (scanner_.skip_null()) return;
    std::int64_t limit = 0;
    if (read_integer(limit, [] { return std::string("/problem/usage_limit"); })) {
      contents_.usage_limit = limit;
    }
  }

  // Reads an integer of at least zero. Integers beyond int64 become the largest int64.
  template <class Place>
  bool read_integer(std::int64_t& integer, const Place& place) {
    ScannedNumber number;
    if (!scanner_.read_number(number)) return at(place());
    constexpr double kBeyond = 9223372036854775808.0;
    if (!number.whole && number.value >= 0 && number.value < kBeyond &&
        static_cast<double>(static_cast<std::int64_t>(number.value)) == number.value) {
      number.whole = true;
      number.integer = static_cast<std::int64_t>(number.value);
    }
    if (number.value >= kBeyond) {
      number.whole = true;
      number.integer = std::numeric_limits<std::int64_t>::max();
    }
    if (!number.whole || number.integer < 0) {
      return scanner_.fail(invalid_input(place(), "expected a whole number, zero or above"));
    }
    integer = number.integer;
    return true;
  }

  void integer_lists(const char* name, NumberLists<std::int64_t>& lists) {
    if (!scanner_.begin_array()) return;
    for (bool outer = true; scanner_.next_element(outer);) {
      if (!scanner_.begin_array()) return;
      for (bool inner = true; scanner_.next_element(inner);) {
        std::int64_t integer = 0;
        if (!read_integer(integer, [&] { return place_in(name, lists); })) return;
        lists.push_number(integer);
      }
      lists.end_list();
    }
  }

  template <class EndList>
  void cost_lists(const char* name, NumberLists<double>& lists, const EndList& end_list) {
    if (!scanner_.begin_array()) return;
    std::size_t index = 0;
    for (bool outer = true; scanner_.next_element(outer); ++index) {
      if (!scanner_.begin_array()) return;
      for (bool inner = true; scanner_.next_element(inner);) {
        ScannedNumber number;
        const auto place = [&] {
          return std::string(name) + "/" + std::to_string(index) + "/" +
                 std::to_string(lists.open_list().size());
        };
        if (!scanner_.read_number(number)) {
          at(place());
          return;
        }
        if (number.value < 0) {
          scanner_.fail(invalid_input(place(), "a cost is negative"));
          return;
        }
        lists.push_number(number.value >= kForbiddenFrom ? kForbidden : number.value);
      }
      if (!scanner_.status().ok()) return;
      end_list();
    }
  }

  static std::string place_in(const char* name, const NumberLists<std::int64_t>& lists) {
    return std::string(name) + "/" + std::to_string(lists.size()) + "/" +
           std::to_string(lists.open_list().size());
  }

  JsonScanner scanner_;
  std::string place_;
  ContestContents contents_;
};

}  // namespace

Result<ContestContents> read_contest_contents(std::string_view text) {
  return ContestReader(text).read();
}

}  // namespace shardwright
