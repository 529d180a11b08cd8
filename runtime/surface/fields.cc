#include "runtime/surface/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/embedding/problem/storage.h"
#include "core/nearest_name.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_scanner.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/sizes.h"

namespace shardwright::commands {
namespace {

template <class Number>
std::optional<Number> number_in(const std::string& text, bool* too_large = nullptr) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto converted = std::from_chars(text.data(), end, number);
  if (too_large != nullptr) *too_large = converted.ec == std::errc::result_out_of_range;
  const bool whole = converted.ec == std::errc{} && converted.ptr == end;
  return whole ? std::optional(number) : std::nullopt;
}

Error fault(std::string message) { return invalid_input("", std::move(message)); }

// Returns "from 3 to 4096", or "of at least 1" if the upper limit is large.
std::string range_text(std::uint64_t least, std::uint64_t most, bool too_large) {
  return most < kMostCount || too_large
             ? "from " + std::to_string(least) + " to " + std::to_string(most)
             : "of at least " + std::to_string(least);
}

// Returns a hint if the text, such as "1e3", means a whole number in the range; otherwise "".
std::string meant_text(const std::string& text, std::uint64_t least, std::uint64_t most) {
  const std::optional<std::int64_t> meant = whole_number_meant(text);
  const bool fits = meant && *meant >= 0 && static_cast<std::uint64_t>(*meant) >= least &&
                    static_cast<std::uint64_t>(*meant) <= most;
  return fits ? "; write " + std::to_string(*meant) : "";
}

constexpr std::size_t kMostNumbers = 10'000;

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && number >= 1 && number <= static_cast<std::int64_t>(kMostCount)
             ? std::optional(number)
             : std::nullopt;
}

// The numbers from `first` to `last`. Each is its predecessor plus, or times, `step`.
struct Range {
  std::int64_t first, last, step;
  bool times;
};

// The parts of "8..64:x2". Also the parts of "8-64" and "8..64", which are no valid ranges.
struct Ends {
  std::int64_t first, last;
  std::string_view step;  // empty = none
  bool dots;
};

std::optional<Ends> ends_of(std::string_view text) {
  constexpr std::string_view kDots = "..", kDash = "-";
  const bool dots = text.find(kDots) != std::string_view::npos;
  const std::string_view mark = dots ? kDots : kDash;
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(at + mark.size());
  const std::size_t colon = std::min(behind.find(':'), behind.size());
  const auto first = whole(text.substr(0, at));
  const auto last = whole(behind.substr(0, colon));
  if (!first || !last) return std::nullopt;
  return Ends{*first, *last, behind.substr(std::min(colon + 1, behind.size())), dots};
}

std::optional<Range> range_of(std::string_view text) {
  if (const auto number = whole(text)) return Range{*number, *number, 1, false};
  const std::optional<Ends> ends = ends_of(text);
  if (!ends || !ends->dots || ends->first > ends->last) return std::nullopt;
  std::string_view step = ends->step;
  const bool times = step.starts_with('x');
  if (times) step.remove_prefix(1);
  const auto by = whole(step);
  if (!by || (times && *by < 2)) return std::nullopt;
  return Range{ends->first, ends->last, *by, times};
}

// Says what is wrong with an entry that is no range, and how to write it.
std::string fault_of(const std::string& entry) {
  const std::optional<Ends> ends = ends_of(entry);
  if (!ends) {
    const std::optional<std::int64_t> meant = whole_number_meant(entry);
    return "must be whole numbers of at least 1, or ranges such as 8..64:8 or 8..64:x2, not \"" +
           entry + "\"" + (meant && *meant > 0 ? "; write " + std::to_string(*meant) : "");
  }
  const std::string range = std::to_string(std::min(ends->first, ends->last)) + ".." +
                            std::to_string(std::max(ends->first, ends->last));
  return "\"" + entry + "\" " +
         (ends->first > ends->last ? "begins above its end" : "is no range with a step") +
         "; write " + range + ":8 (steps of 8) or " + range + ":x2 (doubled)";
}

// Adds the numbers of an entry. Errors: kInvalidInput if the entry is no range, or for more than
// 10,000 numbers.
Status add_range(const std::string& entry, std::vector<std::int64_t>& numbers) {
  const std::optional<Range> range = range_of(entry);
  if (!range) return fault(fault_of(entry));
  for (std::int64_t at = range->first; at <= range->last;) {
    if (numbers.size() == kMostNumbers) return fault("more than 10000 numbers");
    numbers.push_back(at);
    if (range->times && at > range->last / range->step) break;
    at = range->times ? at * range->step : at + range->step;
  }
  return {};
}

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

// Sets a document. If `raw`, the text of an object or array, is not empty, that is the document.
// Otherwise `value` is the text of a document or the path of a file.
Status take_document(JsonValue value, std::string_view raw, Input& out) {
  if (!raw.empty()) {
    out = Input::text(std::string(raw), value.pointer());
    return {};
  }
  if (!value.is_string())
    return value.expected("an object, the text of one, or the path of a file");
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view text, value.string());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text == "-")
    return value.error("must be an object, the text of one, or the path of a file");
  // CSV has several lines, but a path has one.
  const bool is_text =
      text[begin] == '{' || text[begin] == '[' || text.find('\n', begin) != std::string_view::npos;
  out = is_text ? Input::text(std::string(text), value.pointer()) : Input::file(std::string(text));
  return {};
}

// A request split into small members and documents. A document may have 100 MB and is read later.
struct RequestText {
  std::string members;  // JSON object; null for each document
  std::vector<std::pair<std::string, std::string_view>> documents;

  std::string_view document(std::string_view name) const {
    for (const auto& [own, text] : documents) {
      if (own == name) return text;
    }
    return {};
  }
};

Result<RequestText> split(std::string_view text, const Fields& fields) {
  RequestText request;
  JsonScanner scanner(text);
  JsonWriter json([&](std::string_view piece) { request.members += piece; });
  std::string key;
  std::string_view raw;
  json.begin_object();
  scanner.begin_object();
  for (bool first = true; scanner.next_key(first, key) && scanner.read_raw(raw);) {
    const Field* const field = fields.find(key);
    const bool apart = field != nullptr && field->document != nullptr &&
                       (raw.front() == '{' || raw.front() == '[');
    if (apart) request.documents.emplace_back(key, raw);
    json.key(key).raw(apart ? "null" : raw);
  }
  if (!scanner.finish()) return scanner.status().error();
  json.end_object().finish();
  return request;
}

}  // namespace

std::string Field::flag() const { return argument.empty() ? flag_of(name) : argument; }

ValueReader<std::uint64_t> whole_number(std::uint64_t least, std::uint64_t most) {
  const auto of_word = [least, most](const std::string& word) -> Result<std::uint64_t> {
    bool too_large = false;
    const auto number = number_in<std::uint64_t>(word, &too_large);
    if (number && *number >= least && *number <= most) return *number;
    too_large = too_large || (number && *number > most);
    return fault("must be a whole number " + range_text(least, most, too_large) + ", not \"" +
                 word + "\"" + (number ? "" : meant_text(word, least, most)));
  };
  const auto of_json = [least, most](JsonValue value) -> Result<std::uint64_t> {
    std::uint64_t natural = 0;
    if (most == std::numeric_limits<std::uint64_t>::max()) {
      SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, natural));
      return natural;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, value.integer());
    natural = static_cast<std::uint64_t>(number);
    if (number >= 0 && natural >= least && natural <= most) return natural;
    return value.error("must be a whole number from " + std::to_string(least) + " to " +
                       std::to_string(most) + ", not " + std::to_string(number));
  };
  return {of_word, of_json};
}

ValueReader<double> decimal_number(const std::string& what, bool zero_allowed) {
  const std::string range = zero_allowed ? "zero or above" : "above zero";
  const auto is_allowed = [zero_allowed](double value) {
    return std::isfinite(value) && (zero_allowed ? value >= 0 : value > 0);
  };
  const auto of_word = [=](const std::string& word) -> Result<double> {
    const auto number = number_in<double>(word);
    if (number && is_allowed(*number)) return *number;
    return fault("must be a number" + what + ", " + range + ", not \"" + word + "\"");
  };
  const auto of_json = [=](JsonValue value) -> Result<double> {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, value.number());
    if (is_allowed(number)) return number;
    return value.error("must be a number, " + range);
  };
  return {of_word, of_json};
}

ValueReader<std::int64_t> size_in_bytes(std::int64_t least) {
  const auto of_word = [least](const std::string& word) -> Result<std::int64_t> {
    // If zero is allowed, so are bytes without a unit below the usual least size.
    if (least == 0) {
      if (const auto bytes = number_in<std::int64_t>(word); bytes && *bytes >= 0) return *bytes;
    }
    return parse_bytes(word);
  };
  const auto of_json = [least](JsonValue value) -> Result<std::int64_t> {
    if (value.is_string()) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view text, value.string());
      Result<std::int64_t> size = parse_bytes(text);
      if (!size.ok()) return value.error(size.error().message);
      return size;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const std::uint64_t bytes,
        whole_number(static_cast<std::uint64_t>(least), embedding::kMaxRankBytes).of_json(value));
    return static_cast<std::int64_t>(bytes);
  };
  return {of_word, of_json};
}

ValueReader<double> bandwidth_per_ms() {
  constexpr double kMsPerSecond = 1000;
  const auto of_word = [](const std::string& word) -> Result<double> {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const double per_second, parse_bandwidth(word));
    return per_second / kMsPerSecond;
  };
  const auto of_json = [of_word](JsonValue value) -> Result<double> {
    if (!value.is_string())
      return decimal_number(" of bytes per millisecond", false).of_json(value);
    const Result<double> per_ms = of_word(std::string(*value.string()));
    return per_ms.ok() ? per_ms : Result<double>(value.error(per_ms.error().message));
  };
  return {of_word, of_json};
}

ValueReader<std::string> any_text() {
  const auto of_json = [](JsonValue value) -> Result<std::string> {
    std::string text;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, text));
    return text;
  };
  return {[](const std::string& word) -> Result<std::string> { return word; }, of_json};
}

ValueReader<std::string> mesh_shape() {
  const auto of_json = [](JsonValue value) -> Result<std::string> {
    std::string text;
    if (value.is_string()) SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, text));
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t size,
                                   whole_number(1, kMostCount).of_json(value[i]));
      text += (text.empty() ? "" : "x") + std::to_string(size);
    }
    if (text.empty())
      return value.expected("the devices along each axis, such as \"4x2\" or [4, 2]");
    return text;
  };
  return {any_text().of_word, of_json};
}

ValueReader<std::size_t> one_of(const std::string& what, std::span<const std::string_view> words) {
  const auto of_word = [=](const std::string& word) -> Result<std::size_t> {
    const auto found = std::find_if(words.begin(), words.end(), [&](std::string_view known) {
      return std::equal(known.begin(), known.end(), word.begin(), word.end(), [](char a, char b) {
        return a == b || (a ^ b) == 0x20;  // letters in either case
      });
    });
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    return fault("unknown " + what + " \"" + word + "\"" + suggestion(word, words));
  };
  return {of_word, [=](JsonValue value) { return read_choice(value, what, words); }};
}

Field& Fields::add(std::string_view name, std::string_view type, std::string_view help) {
  Field& field = fields_.emplace_back();
  field.name = name;
  field.value = type;
  field.help = help;
  return field;
}

Field& Fields::document(std::string_view name, Input& out, std::string_view argument,
                        std::string_view help) {
  Field& field = add(name, "FILE", help);
  field.argument = argument;
  field.document = &out;
  field.take_words = [&out](const std::vector<std::string>& words) -> Status {
    out = Input::file(words.back());
    return {};
  };
  return field;
}

Field& Fields::counts(std::string_view name, std::vector<std::int64_t>& out,
                      std::string_view help) {
  Field& field = add(name, "N[,N...]", help);
  field.is_list = true;
  field.take_words = [&out](const std::vector<std::string>& words) -> Status {
    for (const std::string& word : words)
      SHARDWRIGHT_RETURN_IF_ERROR(add_range(word, out));
    return {};
  };
  field.take_json = [&out](JsonValue value) -> Status {
    const bool is_one = !value.is_array();
    for (std::size_t i = 0; i < (is_one ? 1 : value.size()); ++i) {
      const JsonValue entry = is_one ? value : value[i];
      if (entry.is_string()) {
        SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view text, entry.string());
        if (Status added = add_range(std::string(text), out); !added.ok())
          return entry.error(added.error().message);
        continue;
      }
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t number,
                                   whole_number(1, kMostCount).of_json(entry));
      out.push_back(static_cast<std::int64_t>(number));
    }
    return {};
  };
  return field;
}

Field& Fields::flag(std::string_view name, bool& out, std::string_view help) {
  Field& field = add(name, "", help);
  field.take_words = [&out](const std::vector<std::string>&) -> Status {
    out = true;
    return {};
  };
  field.take_json = [&out](JsonValue value) { return read_value(value, out); };
  return field;
}

const Field* Fields::find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& field) { return field.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

std::string Fields::named(std::string message, std::string (Field::*name)() const) const {
  for (const Field& field : fields_) {
    const std::string marked = "{" + field.name + "}";
    for (std::size_t at = 0; (at = message.find(marked, at)) != std::string::npos;)
      message.replace(at, marked.size(), (field.*name)());
  }
  return message;
}

Status read_request(std::string_view text, Fields& fields) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const RequestText request, split(text, fields));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(request.members));
  JsonMembers reader(document.root());
  for (const Field& field : fields.all()) {
    const auto take = [&](JsonValue value) -> Status {
      const std::string_view raw = request.document(field.name);
      if (raw.empty() && value.is_null())
        return field.required ? value.error("is needed") : Status();
      return field.document != nullptr ? take_document(value, raw, *field.document)
                                       : field.take_json(value);
    };
    if (field.required && field.document != nullptr) {
      reader.required_with(field.name, take);
    } else {
      reader.optional_with(field.name, take);
    }
  }
  SHARDWRIGHT_RETURN_IF_ERROR(reader.finish());
  for (const Field& field : fields.all()) {
    if (field.required && field.document == nullptr && !document.root().find(field.name))
      return invalid_input("/" + field.name, "is needed");
  }
  return {};
}

}  // namespace shardwright::commands
