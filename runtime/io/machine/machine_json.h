// The file of a measured machine: what was measured on it, and what `machine fit` made of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/problem/machine_model.h"
#include "core/operators/aten/roofline.h"
#include "core/status.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "search/machine/fit.h"

namespace shardwright {

// With which libraries the machine was measured; absent = not stated.
struct MachineVersions {
  std::optional<std::string> torch, fbgemm_gpu, torchrec, cuda, shardwright;
};

// Thread safety: a value.
struct MachineFile {
  embedding::MachineSpec spec;  // with the models
  std::int64_t threads = 1;     // of a rank
  MachineVersions versions;
  std::string date;              // such as "2026-11-30"
  double seconds = 0;            // that measuring took
  std::optional<double> spread;  // of repetitions of lookups, the median; relative
  std::vector<machine::LookupMeasurement> lookups;
  std::vector<machine::CollectiveMeasurement> collectives;
  std::vector<operators::OperatorTime> operator_times;
};

// Errors: kInvalidInput with a JSON pointer. MachineModel::make() and OperatorTimes::make() check
// ranges.
Result<MachineFile> read_machine_file(std::string_view text);
void write_machine_file(const MachineFile& file, const TextSink& sink);
JsonShape machine_file_shape();

// Replaces the models of `file` by fits of its measurements. Errors: as of the fit, with the place
// in the file.
Status fit_machine(MachineFile& file);

namespace embedding {

void describe(JsonMembers& members, LookupModel& model);
void describe(JsonMembers& members, MeasuredCollective& model);

}  // namespace embedding
}  // namespace shardwright
