#include "runtime/io/embedding/planner_log_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text/printable.h"

namespace shardwright {
namespace {

using embedding::ShardingType;

constexpr std::string_view kTitle = "--- Planner Statistics ---";
constexpr std::int64_t kMostLoggedRanks = 1 << 20;
constexpr std::int64_t kMostFeatures = 1 << 16;            // of a table
constexpr std::size_t kMostShards = std::size_t{1} << 24;  // of a table

Error at_line(std::size_t line, std::string message) {
  return invalid_input("line " + std::to_string(line), std::move(message));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// A line of the statistics without prefix and frame.
struct Line {
  std::size_t number = 0;
  std::string_view text;
  bool is_open = false;  // the frame's right side is missing
  bool is_rule = false;  // the top or the bottom of the frame
};

// Returns the cells of a row. Columns are at least three spaces apart.
std::vector<std::string_view> cells_of(std::string_view row) {
  std::vector<std::string_view> cells;
  while (!(row = trimmed(row)).empty()) {
    const std::size_t end = std::min(row.find("  "), row.size());
    cells.push_back(row.substr(0, end));
    row.remove_prefix(end);
  }
  return cells;
}

// Splits at a separator and trims.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Splits "a (b)" into a and b; b is empty without brackets.
std::pair<std::string_view, std::string_view> bracketed(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return {trimmed(text), {}};
  return {trimmed(text.substr(0, open)), trimmed(text.substr(open + 1, text.size() - open - 2))};
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A time, an amount or a factor: not negative, and small enough for sums.
std::optional<double> amount(std::string_view text) {
  constexpr double kMost = 1e15;
  const std::optional<double> value = number<double>(text);
  return value && *value >= 0 && *value <= kMost ? value : std::nullopt;
}

std::optional<std::int64_t> count(std::string_view text, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = number<std::int64_t>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// Half a unit of the last digit: "66" is off by at most 0.5, "2e-05" by 5e-06. A zero is exact.
double half_unit_of(std::string_view text, double value) {
  if (value == 0) return 0;
  const std::size_t exponent_at = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, exponent_at);
  const std::size_t point = mantissa.find('.');
  double unit = 1;
  if (point != std::string_view::npos)
    unit = std::pow(10.0, -static_cast<double>(mantissa.size() - point - 1));
  if (exponent_at != std::string_view::npos)
    unit *= std::pow(10.0, number<int>(text.substr(exponent_at + 1)).value_or(0));
  return unit / 2;
}

// Reads "1.5 (0.3,1,0.2,0,0)".
bool read_time(std::string_view cell, LoggedTime& time) {
  const auto [total, inner] = bracketed(cell);
  const auto parts = split(inner, ',');
  const std::optional<double> sum = amount(total);
  if (!sum || parts.size() != time.parts.size()) return false;
  time.total = *sum;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<double> part = amount(parts[i]);
    if (!part) return false;
    time.parts[i] = *part;
    time.half_units[i] = half_unit_of(parts[i], *part);
  }
  return true;
}

std::optional<double> gigabytes(std::string_view text) {
  if (text.ends_with(" GB")) text.remove_suffix(3);
  constexpr double kMost = 1e9;  // in bytes an integer of 64 bits
  const std::optional<double> value = amount(text);
  return value && *value <= kMost ? value : std::nullopt;
}

// Reads "(1.5 GB, 0.0 GB)", to which TorchRec 1.9.2 adds the SSD.
bool read_storage(std::string_view cell, embedding::PerTier<double>& storage) {
  const auto sizes = split(bracketed(cell).second, ',');
  if (sizes.size() < 2 || sizes.size() > 3) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::optional<double> size = gigabytes(sizes[i]);
    if (!size) return false;
    storage[embedding::kMemoryTiers[i]] = *size;
  }
  return true;
}

bool read_sharding_type(std::string_view cell, ShardingType& type) {
  // In the order of ShardingType. Source: _get_sharding_type_abbr, stats.py.
  constexpr std::string_view kNames[] = {"DP", "TW", "CW", "RW", "TWRW", "TWCW", "GS"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), cell);
  if (found == std::end(kNames)) return false;
  type = static_cast<ShardingType>(found - std::begin(kNames));
  return true;
}

// Reads "0-95" or "1,1,17".
bool read_ranks(std::string_view cell, std::vector<std::int64_t>& ranks) {
  const auto parts = split(cell, ',');
  if (parts.size() == 1 && cell.find('-') != std::string_view::npos) {
    const auto ends = split(cell, '-');
    const auto first = count(ends.front(), 0, kMostLoggedRanks);
    const auto last = count(ends.back(), 0, kMostLoggedRanks);
    if (ends.size() != 2 || !first || !last || *last < *first) return false;
    for (std::int64_t rank = *first; rank <= *last; ++rank)
      ranks.push_back(rank);
    return true;
  }
  if (parts.size() > kMostShards) return false;
  for (const std::string_view part : parts) {
    const auto rank = count(part, 0, kMostLoggedRanks);
    if (!rank) return false;
    ranks.push_back(*rank);
  }
  return std::is_sorted(ranks.begin(), ranks.end());
}

// Reads "2560", "2560*4", "512 * 2, 256" or "n/a".
bool read_batch_sizes(std::string_view cell, std::vector<std::int64_t>& sizes) {
  if (cell == "n/a") return true;
  for (const std::string_view part : split(cell, ',')) {
    const auto factors = split(part, '*');
    const auto size = count(factors.front(), 1, std::int64_t{1} << 40);
    const auto times =
        factors.size() == 1 ? std::optional<std::int64_t>(1) : count(factors[1], 1, kMostFeatures);
    if (!size || !times || factors.size() > 2) return false;
    if (static_cast<std::int64_t>(sizes.size()) + *times > kMostFeatures) return false;
    sizes.insert(sizes.end(), static_cast<std::size_t>(*times), *size);
  }
  return true;
}

// Reads "CW: 3 RW: 2"; may be empty.
bool read_shard_counts(std::string_view cell, LoggedRank& rank) {
  if (cell.empty()) return true;
  const auto words = split(cell, ' ');
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    LoggedShards& shards = rank.shards.emplace_back();
    const auto given = count(words[i + 1], 0, std::int64_t{1} << 40);
    if (!words[i].ends_with(':') || !given) return false;
    if (!read_sharding_type(words[i].substr(0, words[i].size() - 1), shards.type)) return false;
    shards.count = *given;
  }
  return words.size() % 2 == 0;
}

bool read_amount(std::string_view cell, double& out) {
  const std::optional<double> value = amount(cell);
  out = value.value_or(0);
  return value.has_value();
}

bool read_count(std::string_view cell, std::int64_t least, std::int64_t& out) {
  const auto value = count(cell, least, std::int64_t{1} << 50);
  out = value.value_or(0);
  return value.has_value();
}

bool read_memory(std::string_view cell, double& gib, double* share) {
  const auto [size, percent] = bracketed(cell);
  const std::optional<double> memory = gigabytes(size);
  if (!memory || !percent.ends_with('%')) return false;
  gib = *memory;
  double given = 0;
  if (!read_amount(percent.substr(0, percent.size() - 1), given)) return false;
  if (share != nullptr) *share = given;
  return true;
}

// A column by the beginning of its title. `read` returns false for a cell that it cannot read.
template <class Row>
struct Column {
  std::string_view title;
  bool (*read)(std::string_view cell, Row& row);
  bool is_optional = false;
};

using RankColumn = Column<LoggedRank>;
constexpr RankColumn kRankColumns[] = {
    {"HBM (GB)", [](std::string_view cell,
                    LoggedRank& row) { return read_memory(cell, row.hbm_gib, &row.hbm_share); }},
    {"DDR (GB)", [](std::string_view cell,
                    LoggedRank& row) { return read_memory(cell, row.ddr_gib, nullptr); }},
    {"Perf (ms)", [](std::string_view cell, LoggedRank& row) { return read_time(cell, row.time); }},
    {"Input (MB)",
     [](std::string_view cell, LoggedRank& row) { return read_amount(cell, row.input_mib); }},
    {"Output (MB)",
     [](std::string_view cell, LoggedRank& row) { return read_amount(cell, row.output_mib); }},
    {"Shards", read_shard_counts},
};

using TableColumn = Column<LoggedTable>;
constexpr TableColumn kTableColumns[] = {
    {"FQN",
     [](std::string_view cell, LoggedTable& row) {
       const std::size_t dot = cell.rfind('.');
       row.name = cell.substr(dot == std::string_view::npos ? 0 : dot + 1);
       row.module = dot == std::string_view::npos ? "" : cell.substr(0, dot);
       return !row.name.empty();
     }},
    {"Sharding", [](std::string_view cell,
                    LoggedTable& row) { return read_sharding_type(cell, row.sharding_type); }},
    {"Compute Kernel",
     [](std::string_view cell, LoggedTable& row) {
       const auto kernel = embedding::from_name<embedding::ComputeKernel>(cell);
       row.compute_kernel = kernel.value_or(row.compute_kernel);
       return kernel.has_value();
     }},
    {"Perf (ms)",
     [](std::string_view cell, LoggedTable& row) { return read_time(cell, row.time); }},
    {"Storage (HBM, DDR",
     [](std::string_view cell, LoggedTable& row) { return read_storage(cell, row.storage_gib); }},
    {"Cache Load Factor",
     [](std::string_view cell, LoggedTable& row) {
       if (cell == "None") return true;
       row.load_factor = amount(cell);
       return row.load_factor.has_value();
     },
     true},
    {"Sum Pooling Factor",
     [](std::string_view cell, LoggedTable& row) { return read_amount(cell, row.pooling_factor); }},
    {"Sum Num Poolings",
     [](std::string_view cell, LoggedTable& row) { return read_amount(cell, row.num_poolings); }},
    {"Num Indices",
     [](std::string_view cell, LoggedTable& row) { return read_amount(cell, row.num_indices); }},
    {"Output",
     [](std::string_view cell, LoggedTable& row) {
       row.is_pooled = cell == "pooled";
       return row.is_pooled || cell == "sequence";
     }},
    {"Weighted",
     [](std::string_view cell, LoggedTable& row) {
       row.is_weighted = cell == "weighted";
       return row.is_weighted || cell == "unweighted";
     }},
    {"Sharder",
     [](std::string_view cell, LoggedTable& row) {
       row.sharder = cell;
       return true;
     }},
    {"Features",
     [](std::string_view cell, LoggedTable& row) {
       return read_count(cell, 1, row.num_features) && row.num_features <= kMostFeatures;
     }},
    {"Emb Dim",
     [](std::string_view cell, LoggedTable& row) {
       const auto [all, shard] = bracketed(cell);
       return read_count(all, 1, row.columns) &&
              read_count(shard.empty() ? all : shard, 1, row.shard_columns) &&
              row.shard_columns <= row.columns;
     }},
    {"Hash Size",
     [](std::string_view cell, LoggedTable& row) { return read_count(cell, 1, row.rows); }},
    {"Ranks", [](std::string_view cell, LoggedTable& row) { return read_ranks(cell, row.ranks); }},
    {"Batch Sizes",
     [](std::string_view cell, LoggedTable& row) {
       return read_batch_sizes(cell, row.batch_sizes);
     },
     true},
};

// A table of the statistics: a row of titles, a row of dashes, then rows.
template <class Row>
class Section {
 public:
  // Reads the titles. `columns`: what the section must have. Errors: kInvalidInput for a column
  // that is missing.
  Status begin(const Line& titles, std::span<const Column<Row>> columns) {
    const auto names = cells_of(titles.text);
    num_cells_ = names.size();
    for (const Column<Row>& column : columns) {
      const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
        return name.starts_with(column.title);
      });
      if (found != names.end()) {
        columns_.emplace_back(&column, static_cast<std::size_t>(found - names.begin()));
      } else if (!column.is_optional) {
        return at_line(titles.number, "the column \"" + std::string(column.title) +
                                          "\" is missing; is the line wrapped?");
      }
    }
    return {};
  }

  // Reads a row. A prefix that stands in cells of its own before the row is left out.
  // `last_may_miss`: the last cell may be empty.
  Status read(const Line& line, bool last_may_miss, Row& row, std::string_view* first_cell) const {
    std::vector<std::string_view> cells = cells_of(line.text);
    if (last_may_miss && cells.size() + 1 == num_cells_) cells.emplace_back();
    if (line.is_open || cells.size() < num_cells_) {
      return at_line(line.number, "the row has " + std::to_string(cells.size()) + " of " +
                                      std::to_string(num_cells_) +
                                      " columns; give the log with unwrapped lines");
    }
    cells.erase(cells.begin(), cells.end() - static_cast<std::ptrdiff_t>(num_cells_));
    cells.front().remove_prefix(cells.front().find_last_of(' ') + 1);
    for (const auto& [column, index] : columns_) {
      if (column->read(cells[index], row)) continue;
      return at_line(line.number, "\"" + printable(cells[index]) + "\" is not what column \"" +
                                      std::string(column->title) + "\" has");
    }
    if (first_cell != nullptr) *first_cell = cells.front();
    return {};
  }

 private:
  std::size_t num_cells_ = 0;
  std::vector<std::pair<const Column<Row>*, std::size_t>> columns_;
};

// Reads the lines of one plan.
class PlanReader {
 public:
  explicit PlanReader(std::vector<Line> lines) : lines_(std::move(lines)) {}

  Status read(PlannerLog& log) {
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view text = lines_[at_].text;
      if (text.find("Evaluated ") != std::string_view::npos) {
        SHARDWRIGHT_RETURN_IF_ERROR(read_search(log));
      } else if (is_titles(text, "Rank", "Shards")) {
        SHARDWRIGHT_RETURN_IF_ERROR(read_ranks_section(log));
      } else if (text.ends_with("Parameter Info:")) {
        SHARDWRIGHT_RETURN_IF_ERROR(read_tables_section(log));
      } else if (!log.tables.empty()) {
        SHARDWRIGHT_RETURN_IF_ERROR(read_figure(log));
      }
    }
    return check(log);
  }

 private:
  static bool is_titles(std::string_view text, std::string_view first, std::string_view last) {
    const auto cells = cells_of(text);
    return cells.size() > 3 && cells.back() == last &&
           std::any_of(cells.begin(), cells.end(),
                       [&](std::string_view cell) { return cell.ends_with(first); });
  }

  // Returns the text between two words of a line, or nothing.
  static std::string_view between(std::string_view text, std::string_view before,
                                  std::string_view after) {
    const std::size_t begin = text.find(before);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin + before.size());
    const std::size_t end = text.find(after);
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
  }

  Error unreadable(const Line& line) const {
    return at_line(line.number, "\"" + printable(line.text.substr(0, 80)) +
                                    "\" cannot be read; is the line cut or wrapped?");
  }

  Status read_search(PlannerLog& log) const {
    const Line& line = lines_[at_];
    const auto proposals = number<std::int64_t>(between(line.text, "Evaluated ", " proposal"));
    const auto seconds = amount(between(line.text, "ran for ", "s ---"));
    if (!proposals || !seconds) return unreadable(line);
    log.num_proposals = *proposals;
    log.run_time_s = *seconds;
    return {};
  }

  // Goes to the first row of a section, whose titles are in the current line.
  Status skip_titles() {
    if (at_ + 1 >= lines_.size() || lines_[at_ + 1].text.find("---") == std::string_view::npos)
      return at_line(lines_[at_].number,
                     "the log ends, or is wrapped, after the titles of a table");
    at_ += 2;
    return {};
  }

  Status read_ranks_section(PlannerLog& log) {
    Section<LoggedRank> section;
    SHARDWRIGHT_RETURN_IF_ERROR(
        section.begin(lines_[at_], std::span<const RankColumn>(kRankColumns)));
    SHARDWRIGHT_RETURN_IF_ERROR(skip_titles());
    for (; at_ < lines_.size() && !lines_[at_].text.empty() && !lines_[at_].is_rule; ++at_) {
      if (lines_[at_].text.starts_with("Perf: ")) break;
      std::string_view first;
      SHARDWRIGHT_RETURN_IF_ERROR(
          section.read(lines_[at_], true, log.ranks.emplace_back(), &first));
      if (number<std::size_t>(first) != log.ranks.size() - 1) {
        return at_line(lines_[at_].number, "rank " + std::to_string(log.ranks.size() - 1) +
                                               " is missing before \"" + printable(first) + "\"");
      }
    }
    return {};
  }

  Status read_tables_section(PlannerLog& log) {
    if (++at_ >= lines_.size()) return {};
    Section<LoggedTable> section;
    SHARDWRIGHT_RETURN_IF_ERROR(
        section.begin(lines_[at_], std::span<const TableColumn>(kTableColumns)));
    SHARDWRIGHT_RETURN_IF_ERROR(skip_titles());
    for (; at_ < lines_.size(); ++at_) {
      const Line& line = lines_[at_];
      if (line.text.empty() || line.is_rule || line.text.starts_with("Batch Size:")) break;
      LoggedTable& table = log.tables.emplace_back();
      table.line = line.number;
      SHARDWRIGHT_RETURN_IF_ERROR(section.read(line, false, table, nullptr));
      if (table.ranks.back() >= static_cast<std::int64_t>(log.ranks.size())) {
        return at_line(line.number, "the table is on rank " + std::to_string(table.ranks.back()) +
                                        ", and the section of ranks has " +
                                        std::to_string(log.ranks.size()) + " ranks");
      }
    }
    if (at_ == lines_.size()) {
      return at_line(lines_.back().number, "the log ends within the section of tables, after " +
                                               std::to_string(log.tables.size()) +
                                               " of them; give the whole section");
    }
    --at_;  // the line after the section may begin the next one
    return {};
  }

  // Reads "HBM: 138.0 GB, DDR: 128.0 GB" in the line after a heading.
  bool read_sizes(embedding::PerTier<double>& sizes) const {
    if (at_ + 1 >= lines_.size()) return false;
    for (const std::string_view part : split(lines_[at_ + 1].text, ',')) {
      const bool is_hbm = part.starts_with("HBM: ");
      const std::optional<double> size =
          gigabytes(part.substr(std::min<std::size_t>(5, part.size())));
      if ((!is_hbm && !part.starts_with("DDR: ")) || !size) return false;
      (is_hbm ? sizes.hbm : sizes.ddr) = *size;
    }
    return true;
  }

  Status read_figure(PlannerLog& log) {
    const Line& line = lines_[at_];
    if (line.text.starts_with("Batch Size: ")) {
      log.batch_size = count(line.text.substr(12), 1, std::int64_t{1} << 40);
      return log.batch_size ? Status() : unreadable(line);
    }
    if (line.text.starts_with("Maximum of Total Perf: "))
      log.largest_time_ms = amount(between(line.text, "Perf: ", " ms"));
    if (line.text.starts_with("Mean Total Perf: "))
      log.mean_time_ms = amount(between(line.text, "Perf: ", " ms"));
    embedding::PerTier<double> sizes{};
    if (line.text.starts_with("Reserved Memory:")) {
      if (!read_sizes(sizes)) return cut();
      log.reserved_hbm = sizes.hbm;
    } else if (line.text.starts_with("Planning Memory:")) {
      if (!read_sizes(sizes)) return cut();
      log.planning_hbm = sizes.hbm;
      log.planning_ddr = sizes.ddr;
    } else if (line.text.starts_with("Dense Storage (per rank):")) {
      if (!read_sizes(log.dense)) return cut();
    } else if (line.text.starts_with("KJT Storage (per rank):")) {
      if (!read_sizes(log.inputs)) return cut();
    }
    return {};
  }

  // A heading without its sizes is an error, unless the log ends there.
  Status cut() const {
    return at_ + 1 >= lines_.size() ? Status() : Status(unreadable(lines_[at_ + 1]));
  }

  Status check(PlannerLog& log) const {
    const std::size_t last = lines_.empty() ? log.line : lines_.back().number;
    if (log.ranks.empty())
      return at_line(last,
                     "the plan of line " + std::to_string(log.line) + " has no rows of ranks");
    if (log.tables.empty()) {
      return at_line(last, "the plan of line " + std::to_string(log.line) +
                               " has no section `Parameter Info`, which the planner prints with "
                               "debug=True (its default)");
    }
    log.is_cut = lines_.empty() || !lines_.back().is_rule;
    if (!log.batch_size) return at_line(last, "the log ends before `Batch Size`");
    return {};
  }

  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

// Returns the line without its frame. `framed`: the lines of this plan have frames. Lines without a
// frame between framed ones belong to others and give nothing.
std::optional<Line> unframed(std::string_view raw, std::size_t number, bool framed) {
  raw = trimmed(raw);
  if (!framed) return Line{number, raw};
  const std::size_t first = raw.find('#');
  if (first == std::string_view::npos) return std::nullopt;
  std::string_view text = raw.substr(first);
  if (text.find_first_not_of('#') == std::string_view::npos && text.size() > 1)
    return Line{number, {}, false, true};
  const bool is_open = text.size() < 2 || text.back() != '#';
  text.remove_prefix(1);
  if (!is_open) text.remove_suffix(1);
  return Line{number, trimmed(text), is_open, false};
}

}  // namespace

Result<PlannerLog> read_planner_log(std::string_view text, std::optional<std::size_t> plan) {
  std::vector<std::string_view> raw;
  std::vector<std::size_t> titles;  // indices of lines
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    raw.push_back(rest.substr(0, end));
    if (raw.back().find(kTitle) != std::string_view::npos) titles.push_back(raw.size() - 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (titles.empty()) {
    return at_line(std::max<std::size_t>(raw.size(), 1),
                   "the text ends without \"" + std::string(kTitle) +
                       "\", with which TorchRec's planner begins what it prints of a plan");
  }
  const std::size_t wanted = plan.value_or(titles.size());
  if (wanted < 1 || wanted > titles.size()) {
    return invalid_input("plan", "the log has " + std::to_string(titles.size()) +
                                     " plans, of which number " + std::to_string(wanted) +
                                     " is wanted");
  }
  const std::size_t begin = titles[wanted - 1];
  const std::size_t end = wanted < titles.size() ? titles[wanted] : raw.size();
  const bool framed = trimmed(raw[begin].substr(0, raw[begin].find(kTitle))).ends_with('#');
  std::vector<Line> lines;
  for (std::size_t i = begin + 1; i < end; ++i) {
    std::optional<Line> line = unframed(raw[i], i + 1, framed);
    if (!line) continue;
    lines.push_back(*line);
    if (line->is_rule) break;
  }
  PlannerLog log;
  log.line = begin + 1;
  log.num_plans = titles.size();
  SHARDWRIGHT_RETURN_IF_ERROR(PlanReader(std::move(lines)).read(log));
  return log;
}

namespace {

// Reads "Storage(hbm = 1.5 GB, ddr = 2.0 GB)".
bool read_sum(std::string_view text, embedding::PerTier<double>& sizes) {
  const std::string_view inner = bracketed(text.substr(0, text.find(')') + 1)).second;
  const auto parts = split(inner, ',');
  if (parts.size() != 2 || !parts[0].starts_with("hbm = ") || !parts[1].starts_with("ddr = "))
    return false;
  const std::optional<double> hbm = gigabytes(parts[0].substr(6));
  const std::optional<double> ddr = gigabytes(parts[1].substr(6));
  sizes.hbm = hbm.value_or(0);
  sizes.ddr = ddr.value_or(0);
  return hbm && ddr;
}

}  // namespace

Result<std::optional<FailedPlanning>> read_failed_planning(std::string_view text) {
  constexpr std::string_view kError = "Unable to find a plan for this model because of ";
  const std::size_t at = text.rfind(kError);
  if (at == std::string_view::npos) return std::optional<FailedPlanning>();
  const std::size_t title = text.rfind(kTitle);
  if (title != std::string_view::npos && title > at) return std::optional<FailedPlanning>();
  const std::string_view message = text.substr(at);
  FailedPlanning failed;
  failed.line = static_cast<std::size_t>(std::count(text.begin(), text.begin() + at, '\n')) + 1;
  failed.is_short_of_memory = message.substr(kError.size()).starts_with("insufficient storage");
  const auto after = [&](std::string_view words) {
    const std::size_t found = message.find(words);
    return found == std::string_view::npos ? std::string_view()
                                           : message.substr(found + words.size());
  };
  const auto until = [&](std::string_view words, char end) {
    const std::string_view rest = after(words);
    return trimmed(rest.substr(0, rest.find(end)));
  };
  const auto ranks = count(until("Increase the number of devices (", ')'), 1, kMostLoggedRanks);
  const auto batch = count(until("Reduce local batch size (", ')'), 1, std::int64_t{1} << 40);
  if (!ranks || !batch || !read_sum(after("Per rank hardware memory: "), failed.rank) ||
      !read_sum(after("available for model parallel: "), failed.available) ||
      !read_sum(after("requirement for model parallel: "), failed.needed)) {
    return at_line(failed.line, "the planner's error is cut, or has other words than TorchRec's");
  }
  failed.ranks = *ranks;
  failed.batch_size = *batch;
  failed.reserved_share = amount(until("Storage reservation percentage: ", ','));
  embedding::PerTier<double> size{};
  if (read_sum(after("reservation for dense storage: "), size)) failed.dense_hbm = size.hbm;
  if (read_sum(after("reservation for kjt storage: "), size)) failed.input_hbm = size.hbm;
  const std::string_view last = after("Last planner error:");
  failed.last_error = last.substr(std::min(last.find_first_not_of(" \t\r\n"), last.size()));
  failed.last_error.resize(std::min(failed.last_error.find('\n'), failed.last_error.size()));
  return std::optional(std::move(failed));
}

}  // namespace shardwright
