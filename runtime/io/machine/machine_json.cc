#include "runtime/io/machine/machine_json.h"

#include <algorithm>
#include <utility>

#include "core/hash/sha256.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/list_reading.h"

namespace shardwright {
namespace {

using embedding::ComputeKernel;
using embedding::EnumNames;
using embedding::FittedTime;
using embedding::LookupModel;
using embedding::MeasuredCollective;
using machine::CollectiveMeasurement;
using machine::LookupMeasurement;

constexpr std::int64_t kFormat = 1;

// Calls function(name, member) for every column of a table of measurements. A row has batch and
// pooling; its call gets the product as its number of lookups when the row is complete.
template <class Function>
void for_each_column(LookupMeasurement& row, const Function& function) {
  function("kernel", row.kind.kernel);
  function("data_type", row.kind.data_type);
  function("weighted", row.kind.weighted);
  function("optimizer", row.kind.optimizer);
  function("pooled", row.kind.pooled);
  function("tables", row.call.tables);
  function("rows", row.call.rows);
  function("dim", row.call.dim);
  function("batch", row.call.bags);
  function("pooling", row.call.lookups);
  function("zipf", row.call.zipf);
  function("hit_rate", row.hit_rate);
  function("forward_us", row.forward_us);
  function("backward_us", row.backward_us);
  function("spread", row.spread);
}
template <class Function>
void for_each_column(CollectiveMeasurement& row, const Function& function) {
  function("operation", row.operation);
  function("scope", row.scope);
  function("ranks", row.ranks);
  function("bytes", row.bytes);
  function("us", row.us);
  function("spread", row.spread);
}

template <class Row>
std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names;
  Row row;
  for_each_column(row, [&](std::string_view name, auto&) { names.push_back(name); });
  return names;
}

// Returns for every column its index in the rows of the file, which has all of them.
template <class Row>
Result<std::vector<std::size_t>> indices_of(JsonValue columns) {
  const std::vector<std::string_view> names = column_names<Row>();
  if (!columns.is_array()) return not_a_list(columns, "a list of columns");
  std::vector<std::size_t> indices(names.size(), columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t column,
                                 read_choice(columns[i], "column", names));
    if (indices[column] != columns.size()) return columns[i].error("the column occurs twice");
    indices[column] = i;
  }
  const auto missing = std::find(indices.begin(), indices.end(), columns.size());
  if (missing == indices.end()) return indices;
  const auto column = static_cast<std::size_t>(missing - indices.begin());
  return columns.error("the column \"" + std::string(names[column]) + "\" is missing");
}

template <class Row>
Status read_measurements(JsonValue value, std::vector<Row>& out) {
  if (value.is_null()) return {};
  std::optional<JsonValue> columns, rows;
  const auto keep = [](std::optional<JsonValue>& in) {
    return [&in](JsonValue given) {
      in = given;
      return Status();
    };
  };
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(value, [&](JsonMembers& members) {
    members.required_with("columns", keep(columns)).required_with("rows", keep(rows));
  }));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto indices, indices_of<Row>(*columns));
  return read_list(*rows, out, [&](JsonValue row, Row& read) -> Status {
    if (!row.is_array() || row.size() != indices.size())
      return row.expected("a list of " + std::to_string(indices.size()) +
                          " values, one for each column");
    Status status;
    auto index = indices.begin();
    for_each_column(read, [&](std::string_view, auto& member) {
      const JsonValue given = row[*index++];
      if (status.ok()) status = read_value(given, member);
    });
    return status;
  });
}

template <class Row>
void write_measurements(JsonWriter& json, const std::vector<Row>& rows) {
  json.begin_object().key("columns").begin_array();
  for (const std::string_view name : column_names<Row>())
    json.value(name);
  json.end_array().key("rows").begin_array();
  for (Row row : rows) {
    json.new_line().begin_array();
    for_each_column(row, [&](std::string_view, const auto& member) { write_value(json, member); });
    json.end_array();
  }
  json.end_array().end_object();
}

template <class Row>
JsonShape measurements_shape(std::string_view help) {
  return json::object({{"columns", json::list(json::one_word(column_names<Row>())), true},
                       {"rows", json::list(json::list(json::any())), true}})
      .or_null()
      .says(help);
}

}  // namespace

namespace embedding {

static void describe(JsonMembers& members, MeasuredRange& range) {
  members.required("least", range.least).required("most", range.most);
}

static void describe(JsonMembers& members, FitError& error) {
  members.required("median", error.median, "Relative, of shapes that the fit did not see.")
      .required("p90", error.p90);
}

static void describe(JsonMembers& members, FittedTime& time) {
  members.object(
      "ns",
      [&](JsonMembers& inner) {
        for (std::size_t i = 0; i < kNumCostTerms; ++i) {
          std::optional<double> ns;
          if (time.ns[i] != 0) ns = time.ns[i];  // a wrong one stays, for the check
          inner.optional(EnumNames<CostTerm>::kNames[i], ns);
          time.ns[i] = ns.value_or(0);
        }
      },
      "Nanoseconds per unit of each term.", true);
  members.required("error", time.error);
}

void describe(JsonMembers& members, LookupModel& model) {
  members.required("kernel", model.kind.kernel)
      .required("data_type", model.kind.data_type)
      .required("weighted", model.kind.weighted)
      .required("pooled", model.kind.pooled)
      .required("optimizer", model.kind.optimizer, "FBGEMM's name; empty if there is none.")
      .required("measurements", model.measurements, "Rows that the fit comes from.");
  members.object(
      "measured",
      [&](JsonMembers& inner) {
        for (std::size_t i = 0; i < kCallSizes.size(); ++i)
          inner.required(kCallSizes[i].name, model.measured[i]);
      },
      "Ranges of a table's measured shapes.", true);
  members.required("forward", model.forward)
      .optional("backward", model.backward, "With the optimizer's update.");
}

void describe(JsonMembers& members, MeasuredCollective& model) {
  members.required("operation", model.operation)
      .required("scope", model.scope)
      .required("ranks", model.ranks)
      .required("latency_us", model.latency_us)
      .required("knee_bytes", model.knee_bytes, "Of the larger buffer of a rank, as all bytes.")
      .required("us_per_byte_below", model.us_per_byte_below, "Below the knee.")
      .required("us_per_byte_above", model.us_per_byte_above, "Above the knee.")
      .required("measured_bytes", model.bytes)
      .required("error", model.error);
}

}  // namespace embedding

static void describe(JsonMembers& members, MachineVersions& versions) {
  members.optional("torch", versions.torch)
      .optional("fbgemm_gpu", versions.fbgemm_gpu)
      .optional("torchrec", versions.torchrec)
      .optional("cuda", versions.cuda)
      .optional("shardwright", versions.shardwright);
}

namespace {

void describe_machine(JsonMembers& members, MachineFile& file, std::int64_t& format) {
  embedding::MachineSpec& spec = file.spec;
  members.required("format", format, "1")
      .required("name", spec.name)
      .required("device", spec.device)
      .optional("device_name", spec.device_name)
      .required("memory", spec.memory_bytes, "Bytes of a rank.")
      .optional("threads", file.threads, "Of a rank.")
      .optional("versions", file.versions, "Of the libraries that were measured.")
      .optional("date", file.date)
      .optional("seconds", file.seconds, "That measuring took.")
      .optional("spread", file.spread, "Relative, of repetitions of a call; the median.");
  members.object(
      "caches",
      [&](JsonMembers& inner) {
        inner.optional("l2", spec.caches.l2, "Bytes.").optional("l3", spec.caches.l3, "Bytes.");
      },
      "Caches of the device.");
}

void describe_file(JsonMembers& members, MachineFile& file, std::int64_t& format) {
  members.object(
      "machine", [&](JsonMembers& inner) { describe_machine(inner, file, format); },
      "What was measured, when, and with what.");
  members.object(
      "embedding",
      [&](JsonMembers& inner) {
        inner.optional_with(
            "lookups", [&](JsonValue value) { return read_measurements(value, file.lookups); },
            [] {
              return measurements_shape<LookupMeasurement>(
                  "Calls of table-batched embeddings; a row for each.");
            });
        inner.optional("models", file.spec.lookups, "What `machine fit` made of the rows.");
      },
      "Embedding kernels.");
  members.object(
      "collectives",
      [&](JsonMembers& inner) {
        inner.optional_with(
            "measurements",
            [&](JsonValue value) { return read_measurements(value, file.collectives); },
            [] {
              return measurements_shape<CollectiveMeasurement>(
                  "Calls of collectives. Bytes are those of the larger buffer of a rank.");
            });
        inner.optional("models", file.spec.collectives, "What `machine fit` made of the rows.");
      },
      "Communication.");
  members.optional_with("operator_times", list_into(file.operator_times),
                        list_of<operators::OperatorTime>);
  members.ignore({"note"});
}

// The digest by which plans know the costs.
std::string digest_of(const embedding::MachineSpec& spec) {
  Sha256 sha;
  sha.update(embedding::to_name(spec.device));
  sha.update(json_text(std::vector<double>{spec.caches.l2, spec.caches.l3}));
  sha.update(json_text(spec.lookups));
  sha.update(json_text(spec.collectives));
  constexpr std::size_t kDigits = 16;
  return sha.hex(kDigits);
}

// Sets what follows from the columns of rows, and from models.
void complete(MachineFile& file) {
  for (LookupMeasurement& row : file.lookups) {
    row.call.lookups *= row.call.bags;
    const bool is_uvm =
        row.kind.kernel == ComputeKernel::kFusedUvm || row.kind.kernel == ComputeKernel::kQuantUvm;
    row.call.hit_rate = is_uvm ? 0 : row.hit_rate.value_or(1);
  }
  file.spec.digest = digest_of(file.spec);
}

}  // namespace

Result<MachineFile> read_machine_file(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kMeasuredMachine));
  MachineFile file;
  std::int64_t format = kFormat;
  if (const auto machine = document.root().find("machine")) {
    if (const auto given = machine->find("format")) {
      SHARDWRIGHT_RETURN_IF_ERROR(read_value(*given, format));
      if (format != kFormat)
        return given->error("this version reads the format " + std::to_string(kFormat) +
                            ", the file is " + std::to_string(format));
    }
  }
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(
      document.root(), [&](JsonMembers& members) { describe_file(members, file, format); }));
  complete(file);
  return file;
}

void write_machine_file(const MachineFile& file, const TextSink& sink) {
  MachineFile written = file;
  for (LookupMeasurement& row : written.lookups)
    row.call.lookups /= row.call.bags;
  std::int64_t format = kFormat;
  JsonWriter json(sink);
  json.begin_object().new_line().key("machine");
  write_by(json, [&](JsonMembers& members) { describe_machine(members, written, format); });
  json.new_line().key("embedding").begin_object().new_line().key("models").begin_array();
  for (const LookupModel& model : written.spec.lookups)
    write_value(json.new_line(), model);
  write_measurements(json.end_array().new_line().key("lookups"), written.lookups);
  json.end_object().new_line().key("collectives").begin_object().key("models").begin_array();
  for (const MeasuredCollective& model : written.spec.collectives)
    write_value(json.new_line(), model);
  write_measurements(json.end_array().new_line().key("measurements"), written.collectives);
  json.end_object().new_line().key("operator_times").begin_array();
  for (const operators::OperatorTime& time : written.operator_times) {
    json.new_line().begin_object().member("op", time.op).key("inputs").begin_array();
    for (const redistribution::Shape& shape : time.inputs) {
      json.begin_array();
      for (const std::int64_t extent : shape)
        json.value(extent);
      json.end_array();
    }
    write_value(json.end_array().key("dtype"), time.type);
    json.member("us", time.microseconds);
    json.end_object();
  }
  json.end_array().new_line().end_object().finish();
}

JsonShape machine_file_shape() {
  return shape_by([](JsonMembers& members) {
           MachineFile sample;
           std::int64_t format = kFormat;
           describe_file(members, sample, format);
         })
      .says(
          "Measured costs of a machine, for `--machine`. `machine fit` makes the models of the "
          "measurements.");
}

Status fit_machine(MachineFile& file) {
  auto lookups = machine::fit_lookups(file.lookups, file.spec.memory());
  if (!lookups.ok())
    return invalid_input("/embedding/lookups/rows" + lookups.error().where,
                         lookups.error().message);
  auto collectives = machine::fit_collectives(file.collectives);
  if (!collectives.ok())
    return invalid_input("/collectives/measurements/rows" + collectives.error().where,
                         collectives.error().message);
  file.spec.lookups = std::move(lookups).value();
  file.spec.collectives = std::move(collectives).value();
  file.spec.digest = digest_of(file.spec);
  std::vector<double> spreads;
  for (const LookupMeasurement& row : file.lookups)
    spreads.push_back(row.spread);
  const auto middle = spreads.begin() + static_cast<std::ptrdiff_t>(spreads.size() / 2);
  std::nth_element(spreads.begin(), middle, spreads.end());
  if (!spreads.empty()) file.spread = *middle;
  const auto model = embedding::MachineModel::make(file.spec);
  return model.ok() ? Status() : Status(model.error());
}

}  // namespace shardwright
