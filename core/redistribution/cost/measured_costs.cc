#include "core/redistribution/cost/measured_costs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

std::size_t table_index(std::size_t axis, Collective collective) {
  return axis * kNumCollectives + static_cast<std::size_t>(collective);
}

std::string title(std::size_t axis, Collective collective) {
  return "axis " + std::to_string(axis) + ", " + name_of(collective);
}

bool is_time_or_size(double value) { return std::isfinite(value) && value >= 0; }

Status check_rows(const MeasuredTable& table, const std::string& where) {
  const std::string subject = title(table.axis, table.collective);
  const std::vector<MeasuredRow>& rows = table.rows;
  if (rows.size() < 2) return invalid_input(where + "/rows", subject + " has fewer than two rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string row = where + "/rows/" + std::to_string(i);
    const std::string row_subject = subject + ", row " + std::to_string(i);
    if (!is_time_or_size(rows[i].bytes) || !is_time_or_size(rows[i].microseconds)) {
      return invalid_input(row, row_subject + " has a number that is negative or not finite");
    }
    if (i > 0 && rows[i].bytes <= rows[i - 1].bytes) {
      return invalid_input(row, row_subject + " is not larger than the one before");
    }
  }
  if (rows.back().microseconds < rows[rows.size() - 2].microseconds) {
    return invalid_input(where + "/rows/" + std::to_string(rows.size() - 1),
                         subject + ", row " + std::to_string(rows.size() - 1) +
                             " takes less time than the one before, so larger sizes would take "
                             "ever less");
  }
  return {};
}

// Checks that every axis of several devices has one table per collective.
Status check_complete(const MeshShape& mesh, const std::vector<MeasuredTable>& tables) {
  std::vector<bool> found(mesh.size() * kNumCollectives, false);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const MeasuredTable& table = tables[i];
    const std::string where = "/tables/" + std::to_string(i);
    if (table.axis >= mesh.size()) {
      return invalid_input(where + "/axis", "the mesh has no axis " + std::to_string(table.axis));
    }
    const std::size_t index = table_index(table.axis, table.collective);
    if (found[index]) {
      return invalid_input(where, title(table.axis, table.collective) + " has a table already");
    }
    found[index] = true;
  }
  for (std::size_t index = 0; index < found.size(); ++index) {
    const std::size_t axis = index / kNumCollectives;
    if (found[index] || mesh[axis] == 1) continue;
    const Collective collective = static_cast<Collective>(index % kNumCollectives);
    return invalid_input("/tables", title(axis, collective) + " has no table");
  }
  return {};
}

double on_line(const MeasuredRow& low, const MeasuredRow& high, double bytes) {
  const double fraction = (bytes - low.bytes) / (high.bytes - low.bytes);
  return low.microseconds + fraction * (high.microseconds - low.microseconds);
}

}  // namespace

MeasuredCosts::MeasuredCosts(MeshShape mesh, std::vector<MeasuredTable> tables)
    : CollectiveCosts(std::move(mesh)), rows_(this->mesh().size() * kNumCollectives) {
  for (MeasuredTable& table : tables) {
    rows_[table_index(table.axis, table.collective)] = std::move(table.rows);
  }
}

Result<MeasuredCosts> MeasuredCosts::make(MeshShape mesh, std::vector<MeasuredTable> tables) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  SHARDWRIGHT_RETURN_IF_ERROR(check_complete(mesh, tables));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_rows(tables[i], "/tables/" + std::to_string(i)));
  }
  return MeasuredCosts(std::move(mesh), std::move(tables));
}

double MeasuredCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < mesh().size());
  const std::vector<MeasuredRow>& rows = rows_[table_index(axis, collective)];
  if (rows.empty()) return 0;
  if (bytes <= rows.front().bytes) return rows.front().microseconds;
  const auto last = rows.end() - 1;
  const auto high =
      std::lower_bound(rows.begin() + 1, last, bytes,
                       [](const MeasuredRow& row, double size) { return row.bytes < size; });
  return on_line(*(high - 1), *high, bytes);
}

}  // namespace shardwright::redistribution
