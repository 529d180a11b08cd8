#include "runtime/io/embedding/verify_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/embedding/claim_checker.h"
#include "runtime/embedding/layout_problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/io/embedding/certificate_json.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/plan_reader.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {
namespace {

bool is_number(JsonValue value) {
  return value.type() == JsonType::kInteger || value.type() == JsonType::kUnsigned ||
         value.type() == JsonType::kFloat;
}

bool same_type(JsonValue a, JsonValue b) {
  return a.type() == b.type() || (is_number(a) && is_number(b));
}

// Compares integers as integers: above 2^53, different integers may be equal as doubles.
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

namespace {

PlanFailure failure_of(const ClaimedFailure& claimed) {
  PlanFailure failure;
  if (claimed.type) failure.type = *claimed.type;
  if (claimed.reason) failure.reason = *claimed.reason;
  failure.message = claimed.message;
  failure.proof = claimed.proof;
  return failure;
}

EmbeddingPlanResult rebuilt_result(const PlanDocument& document, const Verification& verification) {
  EmbeddingPlanResult result;
  if (document.mode) result.mode = *document.mode;
  result.search_space = verification.search_space;
  result.given_search_space = verification.given_search_space;
  result.reservation = verification.reservation;
  result.reused = document.reused;
  result.improvements = document.improvements;
  result.certificate = document.certificate;
  if (document.failure) result.failure = failure_of(*document.failure);
  if (!verification.plan) return result;
  result.plan = verification.plan;
  result.evaluation = verification.evaluation;
  result.best_rating = verification.evaluation.rating;
  result.lower_bound = document.lower_bound;
  return result;
}

}  // namespace

Result<JsonDocument> rebuild_file(const embedding::Problem& problem, const PlanDocument& document,
                                  const Verification& verification, RebuiltParts parts) {
  EmbeddingPlanResult result = rebuilt_result(document, verification);
  result.migration = std::move(parts.migration);
  PlanJsonOptions options;
  options.stats = parts.stats;
  options.search_space = parts.search_space;
  std::string text;
  write_plan(problem, result, options, [&](std::string_view piece) { text += piece; });
  return JsonDocument::parse(text);
}

namespace {

constexpr std::uint64_t kMostPlacedShards = std::uint64_t{1} << 27;

}  // namespace

Result<std::optional<JsonDocument>> plan_in_compat_mode(
    const std::shared_ptr<const embedding::Problem>& problem,
    std::shared_ptr<const embedding::SearchSpace> search_space, bool trace, const Budget& budget) {
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.trace = trace;
  options.work_limit = kMostPlacedShards;
  std::stop_source source;
  options.stop = source.get_token();
  options.on_progress = [&](const PlanProgress&) {
    if (budget.interrupted()) source.request_stop();
  };
  SHARDWRIGHT_ASSIGN_OR_RETURN(const EmbeddingPlanResult result,
                               plan_embedding(problem, options, std::move(search_space)));
  if (result.stopped_by != StopReason::kFinished) return std::optional<JsonDocument>();
  std::string text;
  PlanJsonOptions form;
  form.trace = trace;
  write_plan(*problem, result, form, [&](std::string_view piece) { text += piece; });
  SHARDWRIGHT_ASSIGN_OR_RETURN(JsonDocument file, JsonDocument::parse(text));
  return std::optional<JsonDocument>(std::move(file));
}

namespace {

using embedding::MachineLayout;
using embedding::Problem;
using Finding = Verification::Finding;

void add_findings(std::vector<Finding> own, const std::string& where, std::vector<Finding>& all) {
  for (Finding& finding : own) {
    finding.where = where + finding.where;
    all.push_back(std::move(finding));
  }
}

// One call of check_other_layouts().
// Thread safety: one thread at a time.
class LayoutClaims {
 public:
  LayoutClaims(const Problem& asked, const PlanDocument& document, const VerifyOneLayout& verify,
               Verification& result)
      : asked_(asked), document_(document), verify_(verify), result_(result), claims_(result) {
    if (const auto own = document.layout_on(asked.topology())) layouts_.insert(*own);
  }

  Status check(JsonValue other) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument document, read_plan(other));
    const std::string where = other.pointer();
    const std::optional<MachineLayout> layout = document.layout_on(asked_.topology());
    if (!layout || !layouts_.insert(*layout).second) {
      claims_.report(where, "does not say for which layout it is, or is there twice");
      return {};
    }
    const auto problem = layout_problem(asked_, *layout);
    if (!problem.ok()) {
      claims_.report(where, problem.error().message);
      return {};
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(Verification own, verify_(*problem, other));
    compare(document, own, where);
    result_.claims += own.claims;
    add_findings(std::move(own.violations), where, result_.violations);
    add_findings(std::move(own.not_verified), where, result_.not_verified);
    add_findings(std::move(own.repeated), where, result_.repeated);
    return {};
  }

  // The file's bound holds for all layouts, so every layout must have an answer.
  void require_all_layouts() {
    if (!document_.lower_bound) return;
    for (const MachineLayout& layout : asked_.topology().layouts()) {
      if (!layouts_.contains(layout))
        claims_.report("/lower_bound",
                       "says nothing of sharding groups of " + std::to_string(layout.group_size) +
                           " ranks with pods of " + std::to_string(layout.pod_size) + " hosts");
    }
  }

 private:
  void compare(const PlanDocument& other, const Verification& own, const std::string& where) {
    claims_.count();
    if (own.has_plan && (!result_.has_plan || own.evaluation.rating < result_.evaluation.rating))
      claims_.report(where, "has a better plan than the file");
    if (!document_.lower_bound || (other.failure && other.failure->proof)) return;
    if (!other.lower_bound || *other.lower_bound < *document_.lower_bound)
      claims_.report("/lower_bound", "exceeds that of " + where);
  }

  const Problem& asked_;
  const PlanDocument& document_;
  const VerifyOneLayout& verify_;
  Verification& result_;
  ClaimChecker claims_;
  std::set<MachineLayout> layouts_;
};

}  // namespace

Status check_other_layouts(const Problem& asked, const PlanDocument& document, JsonValue file,
                           const VerifyOneLayout& verify, Verification& result) {
  LayoutClaims claims(asked, document, verify, result);
  if (const auto others = file.find("other_layouts")) {
    if (!others->is_array()) return others->expected("a list of plan files");
    for (std::size_t i = 0; i < others->size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(claims.check((*others)[i]));
  }
  claims.require_all_layouts();
  return {};
}

namespace {

using embedding::Problem;

enum class Check {
  kValues,     // compared with the rebuilt file
  kOurValues,  // as kValues if this planner wrote the file; otherwise verify_plan() compares
  kKeys,       // only keys and types; verify_plan() compares the values
  kElsewhere,  // by verify_plan(), check_migration(), check_mode() or check_other_layouts()
  kHistory,    // how the search ran; only a new search could tell
  kNote,       // notes for people
};

struct KeyCheck {
  std::string_view key;
  Check check;
};

// Every key of a plan file. A key that is not here is compared like kValues.
constexpr std::array<KeyCheck, 44> kKeyChecks{{
    {"torchrec", Check::kOurValues},
    {"machine", Check::kOurValues},
    {"overrides", Check::kNote},
    {"problem_hash", Check::kOurValues},
    {"plan_hash", Check::kOurValues},
    {"reserved_topology", Check::kOurValues},
    {"best_rating", Check::kOurValues},
    {"plan_perf_by_rank", Check::kOurValues},
    {"plan_hbm_by_rank", Check::kOurValues},
    {"plan_ddr_by_rank", Check::kOurValues},
    {"plan_ssd_by_rank", Check::kOurValues},
    {"plan_memory_parts_by_rank", Check::kOurValues},
    {"plan_ranks_sha1", Check::kOurValues},
    {"plan", Check::kOurValues},
    {"lower_bound", Check::kKeys},
    {"gap", Check::kKeys},
    {"error", Check::kOurValues},
    {"mode", Check::kElsewhere},
    {"improvements", Check::kElsewhere},
    {"certificate", Check::kElsewhere},
    {"migration", Check::kElsewhere},
    {"other_layouts", Check::kElsewhere},
    {"open_proof", Check::kHistory},  // of checkpoints of earlier versions
    {"verdict", Check::kNote},
    {"move_front", Check::kHistory},
    {"move_bound", Check::kHistory},
    {"reused", Check::kHistory},
    {"num_proposals", Check::kHistory},
    {"num_plans", Check::kHistory},
    {"work", Check::kHistory},
    {"threads", Check::kHistory},
    {"stopped_by", Check::kHistory},
    {"timing", Check::kHistory},
    {"proposals", Check::kHistory},
    {"name", Check::kNote},
    {"case", Check::kNote},
    {"group", Check::kNote},
    {"note", Check::kNote},
    {"source", Check::kNote},
    {"expected", Check::kNote},
    {"description", Check::kNote},
    {"proposals_note", Check::kNote},
    {"search_space_order", Check::kNote},
    {"search_space_sha1", Check::kNote},
}};

// Keys whose values compat mode decides, always in the same way for one problem.
constexpr std::array<std::string_view, 5> kDecisionsOfCompat{"num_proposals", "num_plans",
                                                             "plan_hash", "error", "proposals"};

bool is_decision_of_compat(std::string_view key) {
  return std::find(kDecisionsOfCompat.begin(), kDecisionsOfCompat.end(), key) !=
         kDecisionsOfCompat.end();
}

// The name of `work_steps` in files of earlier versions.
constexpr std::string_view kOldWorkKey = "placed_shards";

Check check_of(std::string_view key) {
  for (const KeyCheck& own : kKeyChecks) {
    if (own.key == key) return own.check;
  }
  return Check::kValues;
}

// One call of verify_plan_file() after verify_plan().
// Thread safety: one thread at a time.
class FileVerifier {
 public:
  FileVerifier(std::shared_ptr<const Problem> problem, const PlanDocument& document, JsonValue file,
               const VerifyInputs& inputs, Verification& result)
      : problem_(std::move(problem)),
        document_(document),
        file_(file),
        inputs_(inputs),
        result_(result),
        claims_(result, file.pointer()),
        is_ours_(file.find("format").has_value()) {}

  Status run() {
    if (inputs_.budget.interrupted()) {
      claims_.not_verified("", "the check was stopped before the file was compared");
      return {};
    }
    // A plan that cannot be rebuilt is already a violation; the file cannot be compared then.
    if (document_.plan && !result_.plan) return {};
    RebuiltParts parts;
    parts.stats = has("stats");
    parts.search_space = is_ours_ && has("search_space");
    SHARDWRIGHT_RETURN_IF_ERROR(check_migration(parts));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument rebuilt,
                                 rebuild_file(*problem_, document_, result_, std::move(parts)));
    for (std::size_t i = 0; i < file_.size(); ++i)
      check_member(file_[i], rebuilt.root().find(file_[i].key()));
    for (std::size_t i = 0; is_ours_ && i < rebuilt.root().size(); ++i)
      require_member(rebuilt.root()[i].key());
    if (is_ours_) check_mode();
    repeat_compat_mode();
    list_what_is_not_checked();
    return {};
  }

 private:
  bool has(std::string_view key) const {
    const auto member = file_.find(key);
    return member && !member->is_null();
  }

  // Recomputes the migration from the old plan.
  Status check_migration(RebuiltParts& parts) {
    if (!document_.has_migration) return {};
    if (!inputs_.old_plan) {
      claims_.not_verified("/migration", "needs the plan that `replan` began with: `old_plan`");
      return {};
    }
    double weight = 0;
    if (const auto claimed = file_.find("migration")->find("weight")) {
      SHARDWRIGHT_RETURN_IF_ERROR(read_value(*claimed, weight));
    }
    if (!result_.search_space || !result_.reservation) return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        parts.migration,
        migration_from(problem_, result_.search_space, result_.reservation->topology,
                       *inputs_.old_plan, result_.plan, weight));
    return check_move_bound(*parts.migration);
  }

  // Checks that the bound on rating + weight x GiB moved follows from its own certificate or from
  // the certificate of the rating.
  Status check_move_bound(Migration& migration) {
    const JsonValue file = *file_.find("migration");
    const auto claimed = file.find("lower_bound");
    if (!claimed || claimed->is_null() || !migration.objective) return {};
    claims_.count();
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(*claimed, migration.lower_bound.emplace()));
    if (*migration.lower_bound > *migration.objective)
      claims_.report("/migration/lower_bound", "is above the objective of the plan");
    double proved = document_.certificate ? document_.certificate->bound : 0;
    if (const auto certificate = file.find("certificate")) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(migration.certificate, read_certificate(*certificate));
      SHARDWRIGHT_RETURN_IF_ERROR(check_move_certificate(migration));
      proved = std::max(proved, migration.certificate->bound);
    }
    if (!(*migration.lower_bound <= proved)) {
      claims_.report("/migration/lower_bound",
                     migration.certificate ? "exceeds the bound of the certificate"
                                           : "is claimed without a `certificate` that proves it");
    }
    return {};
  }

  Status check_move_certificate(const Migration& migration) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const std::optional<std::string> wrong,
        check_migration_bound(result_.search_space, result_.reservation->topology,
                              *inputs_.old_plan, migration.weight, *migration.certificate,
                              inputs_.budget));
    claims_.take_proof("/migration/certificate", "does not prove its bound: ", wrong,
                       migration.certificate->num_searches(), inputs_.budget);
    return {};
  }

  void check_member(JsonValue claimed, const std::optional<JsonValue>& found) {
    const Members members = is_ours_ ? Members::kAll : Members::kSome;
    switch (check_of(claimed.key())) {
      case Check::kValues:
        if (!is_ours_ && claimed.key() == "search_space") return;
        return compare(claimed, found, members, true);
      case Check::kOurValues:
        if (is_ours_) compare(claimed, found, members, true);
        return;
      case Check::kKeys:
        if (is_ours_) compare(claimed, found, members, false);
        return;
      case Check::kElsewhere:
        if (claimed.key() == "migration" && found) compare(claimed, found, members, true);
        return;
      case Check::kHistory:
        if (is_ours_ && found) check_history(claimed, *found);
        return;
      case Check::kNote:
        return;
    }
  }

  // Checks only keys and types, since the values cannot be recomputed.
  void check_history(JsonValue claimed, JsonValue found) {
    if (!found.is_object()) return;
    if (!claimed.is_object()) return claims_.report(claimed.pointer(), "must be an object");
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      const bool is_known = found.find(claimed[i].key()) || claimed[i].key() == kOldWorkKey;
      const Result<double> number = claimed[i].number();
      if (!is_known || !number.ok() || *number < 0)
        claims_.report(claimed[i].pointer(), "is unknown, or not a number of at least zero");
    }
  }

  void compare(JsonValue claimed, const std::optional<JsonValue>& found, Members members,
               bool values) {
    if (!found) {
      claims_.report(claimed.pointer(), "is not what the planner says of this answer");
    } else if (values) {
      compare_values(claimed, *found, members, claims_);
    } else {
      compare_keys(claimed, *found, members, claims_);
    }
  }

  void require_member(std::string_view key) {
    const bool may_miss = check_of(key) == Check::kNote || key == "machine";  // older files
    if (!file_.find(key) && !may_miss) claims_.report("/" + std::string(key), "is missing");
  }

  // Checks that the members fit the mode.
  void check_mode() {
    claims_.count();
    if (document_.mode == PlanMode::kCompat) {
      if (document_.lower_bound || document_.certificate || !document_.improvements.empty())
        claims_.report("/mode", "compat mode proves and improves nothing");
      return;
    }
    const bool ended = document_.stopped_by == StopReason::kFinished && !document_.reused;
    if (ended && result_.plan && !result_.plan->empty() && document_.improvements.empty())
      claims_.report("/improvements", "best mode says how it found its plan");
  }

  // Checks an answer of compat mode by planning again, unless there is a violation already.
  void repeat_compat_mode() {
    const bool ended = document_.stopped_by == StopReason::kFinished && !document_.reused;
    if (!is_ours_ || document_.mode != PlanMode::kCompat || !ended || !result_.valid()) return;
    const Result<std::optional<JsonDocument>> planned =
        plan_in_compat_mode(problem_, inputs_.search_space, has("proposals"), inputs_.budget);
    if (!planned.ok()) {
      claims_.report("/mode", "compat mode cannot plan this problem: " + planned.error().message);
      return;
    }
    const std::optional<JsonDocument>& again = *planned;
    if (!again) {
      if (document_.failure)
        claims_.not_verified("/error", "compat mode takes too long to make this answer again");
      return;
    }
    was_repeated_ = true;
    // In compat mode, `error` does not claim that no plan exists, only that compat mode finds none.
    // The comparison below verifies that.
    std::erase_if(result_.not_verified, [](const auto& own) { return own.where == "/error"; });
    for (const std::string_view key : kDecisionsOfCompat) {
      const auto claimed = file_.find(key);
      const auto found = again->root().find(key);
      if (claimed) compare(*claimed, found, Members::kAll, true);
      if (!claimed && found) claims_.report("/" + std::string(key), "is missing");
    }
  }

  void list_what_is_not_checked() {
    for (std::size_t i = 0; i < file_.size(); ++i) {
      const Check check = check_of(file_[i].key());
      const bool foreign = !is_ours_ && file_[i].key() == "search_space";
      if (file_[i].key() == "overrides") continue;  // the machine that they gave is checked
      if (was_repeated_ && is_decision_of_compat(file_[i].key())) continue;
      if (check == Check::kHistory || check == Check::kNote || foreign)
        result_.not_checked.emplace_back(file_[i].key());
    }
    if (document_.improvements.size() > 1)
      result_.not_checked.emplace_back("improvements before the last");
    if (document_.has_migration) result_.not_checked.emplace_back("migration/weight");
    if (document_.failure && !was_repeated_) {
      result_.not_checked.emplace_back("error/type");
      result_.not_checked.emplace_back("error/message");
    }
  }

  std::shared_ptr<const Problem> problem_;
  const PlanDocument& document_;
  JsonValue file_;
  const VerifyInputs& inputs_;
  Verification& result_;
  ClaimChecker claims_;
  bool was_repeated_ = false;  // compat mode was run for this check
  bool is_ours_;               // this planner wrote the file, so it must have all keys
};

// `document` was read from `file`.
Result<Verification> verify_document(std::shared_ptr<const Problem> problem,
                                     const PlanDocument& document, JsonValue file,
                                     const VerifyInputs& inputs) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(Verification result,
                               verify_plan(problem, document, inputs.search_space, inputs.budget));
  result.problem = problem;
  SHARDWRIGHT_RETURN_IF_ERROR(
      FileVerifier(std::move(problem), document, file, inputs, result).run());
  return result;
}

}  // namespace

Result<Verification> verify_plan_file(const std::shared_ptr<const Problem>& problem,
                                      std::string_view text, const VerifyInputs& inputs) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(text));
  const JsonValue file = json.root();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument document, read_plan(file));
  SHARDWRIGHT_ASSIGN_OR_RETURN(auto answered, problem_of_plan(problem, document));
  SHARDWRIGHT_ASSIGN_OR_RETURN(Verification result,
                               verify_document(std::move(answered), document, file, inputs));
  const VerifyOneLayout verify = [&](const std::shared_ptr<const Problem>& own,
                                     JsonValue other) -> Result<Verification> {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument of_other, read_plan(other));
    return verify_document(own, of_other, other, {nullptr, std::nullopt, inputs.budget});
  };
  SHARDWRIGHT_RETURN_IF_ERROR(check_other_layouts(*problem, document, file, verify, result));
  return result;
}

static void describe(JsonMembers& members, Verification::Finding& finding) {
  members.required("where", finding.where).required("message", finding.message);
}

void describe(JsonMembers& members, VerificationAnswer& answer) {
  Verification& found = answer.verification;
  bool valid = found.verified();
  members.required("valid", valid)
      .required("has_plan", found.has_plan)
      .required("claims_checked", found.claims)
      .rows("violations", found.violations, false)
      .line()
      .rows("not_verified", found.not_verified, false)
      .line()
      .rows("repeated", found.repeated, false,
            "Claims whose check repeated a search of all plans with the engine that proofs use.")
      .line()
      .required("not_checked", found.not_checked);
  if (answer.stats) members.line();
  members.written_if(
      answer.stats.has_value(), "stats",
      [&](JsonWriter& json) { write_stats(*found.problem, *answer.stats, json); }, stats_shape);
}

JsonShape verification_shape() {
  return shape_of(VerificationAnswer()).says("What `verify` answers.");
}

}  // namespace shardwright
