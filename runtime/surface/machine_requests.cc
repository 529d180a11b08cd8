#include "runtime/surface/machine_requests.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/machine_facts.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/machine/machine_json.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::commands {
namespace {

using embedding::FitError;
using embedding::LookupCall;
using embedding::LookupKind;
using embedding::LookupModel;
using embedding::MachineModel;
using embedding::MeasuredCollective;
using embedding::MeasuredRange;

// What a kernel takes for one table of a shape.
struct ShapeTime {
  LookupCall call;
  double forward_us = 0;
  std::optional<double> backward_us;
  double gb_per_s = 0;  // of rows read in the forward pass
};

struct KernelSummary {
  LookupModel model;
  std::vector<ShapeTime> shapes;
};

struct MachineSummary {
  MachineFile file;
  std::string costs;  // digest
  std::optional<double> spread;
  std::vector<KernelSummary> kernels;
};

// Rows, columns, samples and lookups per sample of tables as they are in use.
std::vector<LookupCall> usual_calls() {
  std::vector<LookupCall> calls;
  for (const auto& [rows, dim, pooling] : {std::tuple(1e5, 64, 1), std::tuple(1e6, 64, 20),
                                           std::tuple(1e6, 128, 20), std::tuple(1e7, 128, 60)}) {
    constexpr double kBags = 4096;
    LookupCall call;
    call.rows = rows;
    call.dim = dim;
    call.bags = kBags;
    call.lookups = kBags * pooling;
    calls.push_back(call);
  }
  return calls;
}

// Without a usual shape among the measured ones, the nearest to the second usual shape counts.
std::vector<LookupCall> measured_calls(const LookupModel& model) {
  std::vector<LookupCall> calls = usual_calls();
  LookupCall nearest = calls[1];
  for (LookupCall* call : {&nearest}) {
    call->rows = std::clamp(call->rows, model.rows.least, model.rows.most);
    call->dim = std::clamp(call->dim, model.dim.least, model.dim.most);
    call->bags = std::clamp(call->bags, model.bags.least, model.bags.most);
    call->lookups = std::clamp(call->lookups, model.lookups.least, model.lookups.most);
    call->zipf = model.zipf.least;
  }
  std::erase_if(calls, [&](const LookupCall& call) { return !model.has_measured(call); });
  if (calls.empty()) calls.push_back(nearest);
  return calls;
}

ShapeTime time_of(const MachineModel& machine, const LookupModel& model, const LookupCall& call) {
  constexpr double kUsPerMs = 1000;
  ShapeTime time;
  time.call = call;
  const embedding::LookupTimes ms = machine.times(model, call);
  time.forward_us = ms.forward_ms * kUsPerMs;
  if (model.backward) time.backward_us = ms.backward_ms * kUsPerMs;
  const double bytes = call.lookups * call.dim * bits(model.kind.data_type) / 8;
  time.gb_per_s = time.forward_us > 0 ? bytes / time.forward_us / 1000 : 0;
  return time;
}

Result<MachineSummary> summary_of(MachineFile file) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const MachineModel machine, MachineModel::make(file.spec));
  MachineSummary summary;
  summary.costs = machine_digest(machine);
  for (const LookupModel& model : file.spec.lookups) {
    KernelSummary& kernel = summary.kernels.emplace_back(KernelSummary{model, {}});
    for (const LookupCall& call : measured_calls(model))
      kernel.shapes.push_back(time_of(machine, model, call));
  }
  std::vector<double> spreads;
  for (const machine::LookupMeasurement& row : file.lookups)
    spreads.push_back(row.spread);
  std::sort(spreads.begin(), spreads.end());
  summary.spread = file.spread;
  if (!spreads.empty()) summary.spread = spreads[spreads.size() / 2];
  summary.file = std::move(file);
  return summary;
}

Result<MachineFile> load_file(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<MachineFile> file = read_machine_file(text);
  return file.ok() ? std::move(file) : input.locate(file.error());
}

Result<MachineSummary> load_summary(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(MachineFile file, load_file(input, watch));
  Result<MachineSummary> summary = summary_of(std::move(file));
  return summary.ok() ? std::move(summary) : input.locate(summary.error());
}

// Members of JSON.

void describe_kind(JsonMembers& members, const LookupKind& kind) {
  members.shown("kernel", kind.kernel)
      .shown("data_type", kind.data_type)
      .shown("weighted", kind.weighted)
      .shown("pooled", kind.pooled)
      .shown("optimizer", kind.optimizer);
}

void describe_error(JsonMembers& members, std::string_view key, const FitError& error) {
  const auto write = [&](JsonWriter& json) {
    json.begin_object().member("median", error.median).member("p90", error.p90).end_object();
  };
  members.written(key, write, [] {
    return json::object({{"median", json::number(), true}, {"p90", json::number(), true}})
        .says("Relative, of shapes that the fit did not see.");
  });
}

void describe_call(JsonMembers& members, const LookupCall& call) {
  members.shown("rows", call.rows)
      .shown("dim", call.dim)
      .shown("bags", call.bags)
      .shown("lookups", call.lookups)
      .shown("zipf", call.zipf);
}

void describe_shape(JsonMembers& members, const ShapeTime& shape) {
  describe_call(members, shape.call);
  members.shown("forward_us", shape.forward_us)
      .shown("backward_us", shape.backward_us)
      .shown("gb_per_s", shape.gb_per_s, "Of rows read in the forward pass.");
}

void describe_kernel(JsonMembers& members, KernelSummary& kernel) {
  const LookupModel& model = kernel.model;
  describe_kind(members, model.kind);
  members.shown("measurements", model.measurements)
      .shown("forward_call_us", model.forward.ns[0] / 1000, "Fixed, of all tables of a rank.");
  std::optional<double> backward_call_us;
  if (model.backward) backward_call_us = model.backward->ns[0] / 1000;
  members.shown("backward_call_us", backward_call_us);
  describe_error(members, "forward_error", model.forward.error);
  if (model.backward) describe_error(members, "backward_error", model.backward->error);
  members.rows_by("shapes", kernel.shapes, describe_shape);
}

void describe_collective(JsonMembers& members, const MeasuredCollective& model) {
  members.shown("operation", model.operation)
      .shown("scope", model.scope)
      .shown("ranks", model.ranks)
      .shown("latency_us", model.latency_us)
      .shown("knee_bytes", model.knee_bytes)
      .shown("us_per_byte_below", model.us_per_byte_below)
      .shown("us_per_byte_above", model.us_per_byte_above);
  describe_error(members, "error", model.error);
}

void describe_summary(JsonMembers& members, MachineSummary& summary) {
  members.shown("name", summary.file.spec.name)
      .shown("device", summary.file.spec.device)
      .shown("device_name", summary.file.spec.device_name)
      .shown("memory", summary.file.spec.memory_bytes)
      .shown("date", summary.file.date)
      .shown("costs", summary.costs, "Digest of all costs.")
      .shown("spread", summary.spread, "Median over measurements, of their repetitions; relative.")
      .rows_by("kernels", summary.kernels, describe_kernel)
      .rows_by("collectives", summary.file.spec.collectives, describe_collective)
      .shown("operators", summary.file.operator_times.size(), "Measured operators of graphs.");
}

// Texts.

std::string as_percent(double share) { return format_ms(100 * share) + "%"; }
std::string errors(const FitError& error) {
  return as_percent(error.median) + " / " + as_percent(error.p90);
}
std::string rate(double us_per_byte) {
  return us_per_byte > 0 ? format_ms(1e-3 / us_per_byte) : "-";
}
std::string size(double number) {
  return format_count(static_cast<std::uint64_t>(std::llround(number)));
}
std::string range(const MeasuredRange& of) { return size(of.least) + " - " + size(of.most); }

std::string kernel_name(const LookupKind& kind) {
  return std::string(to_name(kind.kernel)) + " " + std::string(to_name(kind.data_type)) +
         (kind.weighted ? " weighted" : "") + (kind.pooled ? "" : " unpooled");
}

std::string heading(const MachineFile& file) {
  const embedding::MachineSpec& spec = file.spec;
  std::string text = printable(spec.name) + ": " + printable(spec.device_name) + " (" +
                     std::string(to_name(spec.device)) + "), " +
                     format_plural(static_cast<std::uint64_t>(file.threads), "thread") + ", " +
                     format_bytes(Bytes(spec.memory_bytes));
  const auto cache = [](const char* name, double bytes) {
    return bytes > 0 ? ", " + std::string(name) + " " + format_bytes(Bytes(std::llround(bytes)))
                     : std::string();
  };
  text += cache("L2", spec.caches.l2) + cache("L3", spec.caches.l3) + "\n";
  if (!file.date.empty()) text += "measured " + printable(file.date) + " in ";
  if (!file.date.empty()) text += format_seconds(file.seconds);
  const MachineVersions& versions = file.versions;
  for (const auto& [name, version] :
       {std::pair("torch", versions.torch), std::pair("fbgemm_gpu", versions.fbgemm_gpu),
        std::pair("torchrec", versions.torchrec), std::pair("cuda", versions.cuda)}) {
    if (version) text += std::string(", ") + name + " " + printable(*version);
  }
  return text + "\n";
}

std::string kernels_text(const MachineSummary& summary, std::size_t width) {
  using Align = TextTable::Align;
  TextTable table({{"kernel", Align::kLeft},
                   {"optimizer", Align::kLeft, 3},
                   {"calls", Align::kRight, 2},
                   {"fwd error"},
                   {"bwd error"},
                   {"fixed us fwd", Align::kRight, 1},
                   {"bwd", Align::kRight, 1},
                   {"rows", Align::kRight, 4},
                   {"dim", Align::kRight, 4}});
  TextTable shapes({{"kernel", Align::kLeft},
                    {"rows"},
                    {"dim"},
                    {"bags"},
                    {"pooling"},
                    {"fwd us"},
                    {"bwd us"},
                    {"GB/s"}});
  for (const auto& [model, times] : summary.kernels) {
    const std::string name = kernel_name(model.kind);
    table.add_row(
        {name, model.kind.optimizer, format_count(static_cast<std::uint64_t>(model.measurements)),
         errors(model.forward.error), model.backward ? errors(model.backward->error) : "-",
         format_ms(model.forward.ns[0] / 1000),
         model.backward ? format_ms(model.backward->ns[0] / 1000) : "-", range(model.rows),
         range(model.dim)});
    for (const ShapeTime& time : times) {
      shapes.add_row({name, size(time.call.rows), size(time.call.dim), size(time.call.bags),
                      format_ms(time.call.lookups / time.call.bags), format_ms(time.forward_us),
                      time.backward_us ? format_ms(*time.backward_us) : "-",
                      format_ms(time.gb_per_s)});
    }
  }
  return "\nEmbedding kernels (median and 90th percentile of errors, for shapes that the fit did "
         "not "
         "see)\n" +
         table.render(width) + "\nA table of a usual shape, read uniformly\n" +
         shapes.render(width);
}

std::string collectives_text(const std::vector<MeasuredCollective>& models, std::size_t width) {
  TextTable table({{"collective", TextTable::Align::kLeft},
                   {"links", TextTable::Align::kLeft},
                   {"ranks"},
                   {"latency us"},
                   {"knee"},
                   {"GB/s below"},
                   {"above"},
                   {"error"}});
  for (const MeasuredCollective& model : models) {
    table.add_row({std::string(to_name(model.operation)), std::string(to_name(model.scope)),
                   std::to_string(model.ranks), format_ms(model.latency_us),
                   format_bytes(Bytes(std::llround(model.knee_bytes))),
                   rate(model.us_per_byte_below), rate(model.us_per_byte_above),
                   errors(model.error)});
  }
  return "\nCollectives\n" + table.render(width);
}

std::string machine_report(const MachineSummary& summary, std::size_t width) {
  std::string text = heading(summary.file);
  text += "costs " + summary.costs;
  if (summary.spread)
    text += "; half of the measurements repeat within " + as_percent(*summary.spread);
  text += "\n";
  if (!summary.kernels.empty()) text += kernels_text(summary, width);
  const std::vector<MeasuredCollective>& collectives = summary.file.spec.collectives;
  text += collectives.empty() ? "\nno collectives: bandwidths stay those of TorchRec or --gpu\n"
                              : collectives_text(collectives, width);
  const std::size_t operators = summary.file.operator_times.size();
  if (operators > 0) text += "\n" + format_plural(operators, "operator") + " of graphs\n";
  return text;
}

Answer answer_of(std::shared_ptr<MachineSummary> summary) {
  Answer answer;
  answer.write_json = [summary](const TextSink& sink) {
    JsonWriter json(sink);
    write_by(json, [&](JsonMembers& members) { describe_summary(members, *summary); });
    json.finish();
  };
  answer.text = [summary](const TextForm& form) { return machine_report(*summary, form.width); };
  return answer;
}

// Warns of kinds of calls that have measurements, but too few for a model.
template <class Row, class Has>
void warn_of_unfitted(const std::vector<Row>& rows, const Has& has, std::string_view what,
                      std::size_t least, Answer& answer) {
  const auto count = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return !has(row); }));
  if (count == 0) return;
  answer.warnings.push_back(format_plural(count, "measurement") + " of " + std::string(what) +
                            " without a model: one needs " + std::to_string(least) +
                            " different ones of a kind");
}

}  // namespace

void describe(MachineFitRequest& request, Fields& fields) {
  fields
      .document("measurements", request.measurements, "MEASUREMENTS",
                "What shardwright.torchrec.measure wrote (- = stdin)")
      .needed();
}

void describe(MachineShowRequest& request, Fields& fields) {
  fields.document("machine", request.machine, "MACHINE", "File of `machine fit` (- = stdin)")
      .needed();
}

void describe(MachineDiffRequest& request, Fields& fields) {
  fields.document("machine_a", request.from, "MACHINE_A", "A machine (- = stdin)").needed();
  fields.document("machine_b", request.to, "MACHINE_B", "Another machine (- = stdin)").needed();
}

Result<Answer> answer(const MachineFitRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(MachineFile file, load_file(request.measurements, watch));
  const Status fitted = fit_machine(file);
  if (!fitted.ok()) return request.measurements.locate(fitted.error());
  Result<MachineSummary> made = summary_of(std::move(file));
  if (!made.ok()) return request.measurements.locate(made.error());
  const auto summary = std::make_shared<MachineSummary>(std::move(made).value());
  Answer answer = answer_of(summary);
  answer.write_json = [summary](const TextSink& sink) { write_machine_file(summary->file, sink); };
  const MachineFile& known = summary->file;
  warn_of_unfitted(
      known.lookups,
      [&](const auto& row) {
        return std::any_of(known.spec.lookups.begin(), known.spec.lookups.end(),
                           [&](const LookupModel& model) { return model.kind == row.kind; });
      },
      "lookups are", machine::kLeastShapes, answer);
  warn_of_unfitted(
      known.collectives,
      [&](const auto& row) {
        return std::any_of(known.spec.collectives.begin(), known.spec.collectives.end(),
                           [&](const MeasuredCollective& model) {
                             return model.operation == row.operation && model.scope == row.scope &&
                                    model.ranks == row.ranks;
                           });
      },
      "collectives are", machine::kLeastSizes, answer);
  answer.summary = format_plural(known.spec.lookups.size(), "embedding kernel") + " and " +
                   format_plural(known.spec.collectives.size(), "collective") + " fitted";
  return answer;
}

Result<Answer> answer(const MachineShowRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(MachineSummary summary, load_summary(request.machine, watch));
  return answer_of(std::make_shared<MachineSummary>(std::move(summary)));
}

namespace {

// A shape's times on two machines.
struct ShapeDifference {
  LookupKind kind;
  ShapeTime from, to;
};

struct CollectiveDifference {
  MeasuredCollective from, to;
};

struct MachineDifference {
  std::string from, to;
  std::vector<std::string> only_from, only_to;
  std::vector<ShapeDifference> shapes;
  std::vector<CollectiveDifference> collectives;
};

MachineDifference difference_of(const MachineSummary& a, const MachineSummary& b) {
  MachineDifference found;
  found.from = a.file.spec.name + " (" + a.costs + ")";
  found.to = b.file.spec.name + " (" + b.costs + ")";
  const MachineModel other = MachineModel::make(b.file.spec).value();
  for (const KernelSummary& kernel : a.kernels) {
    const LookupModel* const model = other.find(kernel.model.kind);
    if (model == nullptr) {
      found.only_from.push_back(kernel_name(kernel.model.kind));
      continue;
    }
    for (const ShapeTime& shape : kernel.shapes)
      found.shapes.push_back({kernel.model.kind, shape, time_of(other, *model, shape.call)});
  }
  const MachineModel first = MachineModel::make(a.file.spec).value();
  for (const KernelSummary& kernel : b.kernels) {
    if (first.find(kernel.model.kind) == nullptr)
      found.only_to.push_back(kernel_name(kernel.model.kind));
  }
  for (const MeasuredCollective& model : a.file.spec.collectives) {
    if (const auto* its = other.find(model.operation, model.scope, model.ranks))
      found.collectives.push_back({model, *its});
  }
  return found;
}

void describe_shape_difference(JsonMembers& members, ShapeDifference& of) {
  describe_kind(members, of.kind);
  describe_call(members, of.from.call);
  members.shown("forward_us_a", of.from.forward_us).shown("forward_us_b", of.to.forward_us);
  members.shown("backward_us_a", of.from.backward_us).shown("backward_us_b", of.to.backward_us);
}

void describe_difference(JsonMembers& members, MachineDifference& of) {
  members.shown("machine_a", of.from)
      .shown("machine_b", of.to)
      .shown("only_in_a", of.only_from)
      .shown("only_in_b", of.only_to)
      .rows_by("shapes", of.shapes, describe_shape_difference)
      .rows_by("collectives", of.collectives,
               [](JsonMembers& inner, CollectiveDifference& collective) {
                 inner.shown("operation", collective.from.operation)
                     .shown("scope", collective.from.scope)
                     .shown("ranks", collective.from.ranks)
                     .shown("latency_us_a", collective.from.latency_us)
                     .shown("latency_us_b", collective.to.latency_us)
                     .shown("us_per_byte_a", collective.from.us_per_byte_above)
                     .shown("us_per_byte_b", collective.to.us_per_byte_above);
               });
}

std::string times_as_long(double from, double to) { return from > 0 ? format_ms(to / from) : "-"; }

std::string difference_text(const MachineDifference& of, std::size_t width) {
  std::string text = "A: " + printable(of.from) + "\nB: " + printable(of.to) + "\n";
  TextTable shapes({{"kernel", TextTable::Align::kLeft},
                    {"rows"},
                    {"dim"},
                    {"pooling"},
                    {"fwd us A"},
                    {"B"},
                    {"B / A"},
                    {"bwd us A"},
                    {"B"},
                    {"B / A"}});
  for (const ShapeDifference& shape : of.shapes) {
    const double back = shape.from.backward_us.value_or(0);
    const double its = shape.to.backward_us.value_or(0);
    const LookupCall& call = shape.from.call;
    shapes.add_row({kernel_name(shape.kind), size(call.rows), size(call.dim),
                    format_ms(call.lookups / call.bags), format_ms(shape.from.forward_us),
                    format_ms(shape.to.forward_us),
                    times_as_long(shape.from.forward_us, shape.to.forward_us), format_ms(back),
                    format_ms(its), times_as_long(back, its)});
  }
  if (!of.shapes.empty()) text += "\n" + shapes.render(width);
  TextTable links({{"collective", TextTable::Align::kLeft},
                   {"links", TextTable::Align::kLeft},
                   {"ranks"},
                   {"latency us A"},
                   {"B"},
                   {"GB/s A"},
                   {"B"}});
  for (const auto& [from, to] : of.collectives) {
    links.add_row({std::string(to_name(from.operation)), std::string(to_name(from.scope)),
                   std::to_string(from.ranks), format_ms(from.latency_us), format_ms(to.latency_us),
                   rate(from.us_per_byte_above), rate(to.us_per_byte_above)});
  }
  if (!of.collectives.empty()) text += "\n" + links.render(width);
  for (const auto& [name, kernels] : {std::pair("A", &of.only_from), std::pair("B", &of.only_to)}) {
    for (const std::string& kernel : *kernels)
      text += std::string("only in ") + name + ": " + kernel + "\n";
  }
  return text;
}

}  // namespace

Result<Answer> answer(const MachineDiffRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const MachineSummary from, load_summary(request.from, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const MachineSummary to, load_summary(request.to, watch));
  const auto found = std::make_shared<MachineDifference>(difference_of(from, to));
  Answer answer;
  answer.write_json = [found](const TextSink& sink) {
    JsonWriter json(sink);
    write_by(json, [&](JsonMembers& members) { describe_difference(members, *found); });
    json.finish();
  };
  answer.text = [found](const TextForm& form) { return difference_text(*found, form.width); };
  return answer;
}

JsonShape machine_summary_shape() {
  return shape_by([](JsonMembers& members) {
           MachineSummary sample;
           describe_summary(members, sample);
         })
      .says("What `machine show` answers.");
}

JsonShape machine_diff_shape() {
  return shape_by([](JsonMembers& members) {
           MachineDifference sample;
           describe_difference(members, sample);
         })
      .says("What `machine diff` answers.");
}

}  // namespace shardwright::commands
