#include "runtime/io/machine/machine_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/list_reading.h"

namespace shardwright {
namespace {

using embedding::ComputeKernel;
using embedding::CostTerm;
using embedding::EnumNames;
using embedding::FittedTime;
using embedding::LookupModel;
using embedding::MeasuredCollective;
using machine::CollectiveMeasurement;
using machine::LookupMeasurement;

constexpr std::int64_t kFormat = 1;

// A column of a table of measurements.
template <class Row>
struct Column {
  std::string_view name;
  Status (*read)(JsonValue value, Row& row);
  void (*write)(JsonWriter& json, const Row& row);
};

template <auto Member, class Row>
Column<Row> column(std::string_view name) {
  return {name, [](JsonValue value, Row& row) { return read_value(value, row.*Member); },
          [](JsonWriter& json, const Row& row) { write_value(json, row.*Member); }};
}
template <auto Outer, auto Member>
Column<LookupMeasurement> column_of(std::string_view name) {
  return {
      name,
      [](JsonValue value, LookupMeasurement& row) { return read_value(value, row.*Outer.*Member); },
      [](JsonWriter& json, const LookupMeasurement& row) {
        write_value(json, row.*Outer.*Member);
      }};
}

bool has_cache(ComputeKernel kernel) {
  return kernel == ComputeKernel::kFusedUvmCaching || kernel == ComputeKernel::kQuantUvmCaching;
}

Status read_hit_rate(JsonValue value, LookupMeasurement& row) {
  return value.is_null() ? Status() : read_value(value, row.call.hit_rate);
}
void write_hit_rate(JsonWriter& json, const LookupMeasurement& row) {
  has_cache(row.kind.kernel) ? json.value(row.call.hit_rate) : json.null();
}

// `pooling` is read into `lookups` until the row is complete.
std::vector<Column<LookupMeasurement>> lookup_columns() {
  using embedding::LookupCall;
  using embedding::LookupKind;
  constexpr auto kKind = &LookupMeasurement::kind;
  constexpr auto kCall = &LookupMeasurement::call;
  return {column_of<kKind, &LookupKind::kernel>("kernel"),
          column_of<kKind, &LookupKind::data_type>("data_type"),
          column_of<kKind, &LookupKind::weighted>("weighted"),
          column_of<kKind, &LookupKind::optimizer>("optimizer"),
          column_of<kKind, &LookupKind::pooled>("pooled"),
          column_of<kCall, &LookupCall::tables>("tables"),
          column_of<kCall, &LookupCall::rows>("rows"),
          column_of<kCall, &LookupCall::dim>("dim"),
          column_of<kCall, &LookupCall::bags>("batch"),
          column_of<kCall, &LookupCall::lookups>("pooling"),
          column_of<kCall, &LookupCall::zipf>("zipf"),
          {"hit_rate", read_hit_rate, write_hit_rate},
          column<&LookupMeasurement::forward_us, LookupMeasurement>("forward_us"),
          column<&LookupMeasurement::backward_us, LookupMeasurement>("backward_us"),
          column<&LookupMeasurement::spread, LookupMeasurement>("spread")};
}

std::vector<Column<CollectiveMeasurement>> collective_columns() {
  using Row = CollectiveMeasurement;
  return {column<&Row::operation, Row>("operation"),
          column<&Row::scope, Row>("scope"),
          column<&Row::ranks, Row>("ranks"),
          column<&Row::bytes, Row>("bytes"),
          column<&Row::us, Row>("us"),
          column<&Row::spread, Row>("spread")};
}

// Returns the columns in the order of `names`. All of them must be there.
template <class Row>
Result<std::vector<const Column<Row>*>> columns_of(JsonValue names,
                                                   const std::vector<Column<Row>>& known) {
  std::vector<std::string_view> words;
  for (const Column<Row>& column : known)
    words.push_back(column.name);
  if (!names.is_array()) return not_a_list(names, "a list of columns");
  std::vector<const Column<Row>*> chosen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(names[i], "column", words));
    if (std::find(chosen.begin(), chosen.end(), &known[index]) != chosen.end())
      return names[i].error("the column occurs twice");
    chosen.push_back(&known[index]);
  }
  for (const Column<Row>& column : known) {
    if (std::find(chosen.begin(), chosen.end(), &column) == chosen.end())
      return names.error("the column \"" + std::string(column.name) + "\" is missing");
  }
  return chosen;
}

template <class Row>
Status read_measurements(JsonValue value, const std::vector<Column<Row>>& known,
                         std::vector<Row>& out) {
  std::optional<JsonValue> names, rows;
  const auto keep = [](std::optional<JsonValue>& in) {
    return [&in](JsonValue given) {
      in = given;
      return Status();
    };
  };
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(value, [&](JsonMembers& members) {
    members.required_with("columns", keep(names)).required_with("rows", keep(rows));
  }));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto columns, columns_of(*names, known));
  return read_list(*rows, out, [&](JsonValue row, Row& read) -> Status {
    if (!row.is_array() || row.size() != columns.size())
      return row.expected("a list of " + std::to_string(columns.size()) +
                          " values, one for each column");
    for (std::size_t i = 0; i < columns.size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(columns[i]->read(row[i], read));
    return {};
  });
}

template <class Row>
void write_measurements(JsonWriter& json, const std::vector<Column<Row>>& columns,
                        const std::vector<Row>& rows) {
  json.begin_object().key("columns").begin_array();
  for (const Column<Row>& column : columns)
    json.value(column.name);
  json.end_array().key("rows").begin_array();
  for (const Row& row : rows) {
    json.new_line().begin_array();
    for (const Column<Row>& column : columns)
      column.write(json, row);
    json.end_array();
  }
  json.end_array().end_object();
}

template <class Row>
JsonShape measurements_shape(const std::vector<Column<Row>>& columns, std::string_view help) {
  std::vector<std::string_view> names;
  for (const Column<Row>& column : columns)
    names.push_back(column.name);
  return json::object({{"columns", json::list(json::one_word(names)), true},
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
          if (time.ns[i] > 0) ns = time.ns[i];
          inner.optional(EnumNames<CostTerm>::kNames[i], ns);
          time.ns[i] = ns.value_or(0);
        }
      },
      "Nanoseconds per unit of each term.", true);
  members.required("error", time.error);
}

static void describe(JsonMembers& members, LookupModel& model) {
  members.required("kernel", model.kind.kernel)
      .required("data_type", model.kind.data_type)
      .required("weighted", model.kind.weighted)
      .required("pooled", model.kind.pooled)
      .required("optimizer", model.kind.optimizer, "FBGEMM's name; empty if there is none.")
      .required("measurements", model.measurements, "Rows that the fit comes from.");
  members.object(
      "measured",
      [&](JsonMembers& inner) {
        inner.required("rows", model.rows)
            .required("dim", model.dim)
            .required("bags", model.bags)
            .required("lookups", model.lookups)
            .required("zipf", model.zipf);
      },
      "Ranges of a table's measured shapes.", true);
  members.required("forward", model.forward)
      .optional("backward", model.backward, "With the optimizer's update.");
}

static void describe(JsonMembers& members, MeasuredCollective& model) {
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
            "lookups",
            [&](JsonValue value) {
              return read_measurements(value, lookup_columns(), file.lookups);
            },
            [] {
              return measurements_shape(lookup_columns(),
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
            [&](JsonValue value) {
              return read_measurements(value, collective_columns(), file.collectives);
            },
            [] {
              return measurements_shape(
                  collective_columns(),
                  "Calls of collectives. Bytes are those of the larger buffer of a rank.");
            });
        inner.optional("models", file.spec.collectives, "What `machine fit` made of the rows.");
      },
      "Communication.");
  members.optional_with("operator_times", list_into(file.operator_times),
                        list_of<operators::OperatorTime>);
  members.ignore({"note"});
}

// The rows have batch and pooling; a call has bags and lookups.
void complete(MachineFile& file) {
  for (LookupMeasurement& row : file.lookups) {
    row.call.lookups *= row.call.bags;
    if (row.kind.kernel == ComputeKernel::kFusedUvm || row.kind.kernel == ComputeKernel::kQuantUvm)
      row.call.hit_rate = 0;
  }
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

void write_machine_file(const MachineFile& written, const TextSink& sink) {
  MachineFile file = written;
  for (LookupMeasurement& row : file.lookups)
    row.call.lookups /= row.call.bags;
  std::int64_t format = kFormat;
  JsonWriter json(sink);
  json.begin_object().new_line().key("machine");
  write_by(json, [&](JsonMembers& members) { describe_machine(members, file, format); });
  json.new_line().key("embedding").begin_object().new_line().key("models").begin_array();
  for (const LookupModel& model : file.spec.lookups)
    write_value(json.new_line(), model);
  write_measurements(json.end_array().new_line().key("lookups"), lookup_columns(), file.lookups);
  json.end_object().new_line().key("collectives").begin_object().key("models").begin_array();
  for (const MeasuredCollective& model : file.spec.collectives)
    write_value(json.new_line(), model);
  write_measurements(json.end_array().new_line().key("measurements"), collective_columns(),
                     file.collectives);
  json.end_object().new_line().key("operator_times").begin_array();
  for (const operators::OperatorTime& time : file.operator_times) {
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
  const auto model = embedding::MachineModel::make(file.spec);
  return model.ok() ? Status() : Status(model.error());
}

}  // namespace shardwright
