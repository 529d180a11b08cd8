#include "runtime/io/embedding/claims/json_comparison.h"

#include <algorithm>
#include <optional>
#include <string>

namespace shardwright {
namespace {

bool is_number(JsonValue value) {
  return value.type() == JsonType::kInteger || value.type() == JsonType::kUnsigned ||
         value.type() == JsonType::kFloat;
}

bool same_type(JsonValue a, JsonValue b) {
  return a.type() == b.type() || (is_number(a) && is_number(b));
}

// Integers above 2^53 differ by more than a double shows.
bool same_value(JsonValue a, JsonValue b) {
  if (!same_type(a, b)) return false;
  if (is_number(a)) {
    const Result<std::int64_t> whole_a = a.integer();
    const Result<std::int64_t> whole_b = b.integer();
    if (a.type() != JsonType::kFloat && b.type() != JsonType::kFloat && whole_a.ok() &&
        whole_b.ok()) {
      return *whole_a == *whole_b;
    }
    return ClaimChecker::is_close(*a.number(), *b.number());
  }
  if (a.is_string()) return *a.string() == *b.string();
  return a.is_null() || *a.boolean() == *b.boolean();
}

// Thread safety: one thread at a time.
class Comparison {
 public:
  Comparison(bool values, Members members, ClaimChecker& claims)
      : values_(values), members_(members), claims_(claims) {}

  void compare(JsonValue claimed, JsonValue found) {
    if (!same_type(claimed, found)) {
      differs(claimed, found);
    } else if (claimed.is_object()) {
      compare_members(claimed, found);
    } else if (claimed.is_array()) {
      compare_elements(claimed, found);
    } else if (values_) {
      claims_.count();
      if (!same_value(claimed, found)) differs(claimed, found);
    }
  }

 private:
  void differs(JsonValue claimed, JsonValue found) {
    report(claimed.pointer(),
           "the file says " + claimed.describe() + ", recomputed " + found.describe());
  }

  void report(const std::string& where, const std::string& message) {
    const auto& known = claims_.result().violations;
    const std::string place = claims_.place(where);
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const auto& own) { return own.where == place; });
    if (!is_known) claims_.report(where, message);
  }

  void compare_members(JsonValue claimed, JsonValue found) {
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      const std::optional<JsonValue> own = found.find(claimed[i].key());
      if (own) {
        compare(claimed[i], *own);
      } else {
        report(claimed[i].pointer(), "is not what the planner says of this plan");
      }
    }
    for (std::size_t i = 0; members_ == Members::kAll && i < found.size(); ++i) {
      if (!claimed.find(found[i].key()))
        report(claimed.pointer() + "/" + std::string(found[i].key()), "is missing");
    }
  }

  void compare_elements(JsonValue claimed, JsonValue found) {
    if (claimed.size() != found.size()) {
      report(claimed.pointer(), "has " + std::to_string(claimed.size()) + " entries, recomputed " +
                                    std::to_string(found.size()));
      return;
    }
    for (std::size_t i = 0; i < found.size(); ++i)
      compare(claimed[i], found[i]);
  }

  bool values_;
  Members members_;
  ClaimChecker& claims_;
};

}  // namespace

void compare_values(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims) {
  Comparison(true, members, claims).compare(claimed, found);
}

void compare_keys(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims) {
  Comparison(false, members, claims).compare(claimed, found);
}

}  // namespace shardwright
