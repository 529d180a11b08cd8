#include "runtime/surface/machine_requests.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/machine/machine_json.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::commands {
namespace {

using embedding::LookupCall;
using embedding::LookupModel;
using embedding::MachineModel;
using embedding::MeasuredCollective;

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
  std::optional<MachineModel> model;  // of the file
  std::vector<KernelSummary> kernels;
};

ShapeTime time_of(const MachineModel& machine, const LookupModel& model, const LookupCall& call) {
  constexpr double kUsPerMs = 1000, kBytesPerUsOfGb = 1000;
  const embedding::LookupTimes ms = machine.times(model, call);
  ShapeTime time{call, ms.forward_ms * kUsPerMs, std::nullopt, 0};
  if (model.backward) time.backward_us = ms.backward_ms * kUsPerMs;
  const double bytes = call.lookups * call.dim * bits(model.kind.data_type) / 8;
  if (time.forward_us > 0) time.gb_per_s = bytes / time.forward_us / kBytesPerUsOfGb;
  return time;
}

Result<MachineSummary> summary_of(MachineFile file) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(MachineModel machine, MachineModel::make(file.spec));
  MachineSummary summary{std::move(file), std::move(machine), {}};
  for (const LookupModel& model : summary.file.spec.lookups) {
    KernelSummary& kernel = summary.kernels.emplace_back(KernelSummary{model, {}});
    // Tables as they are in use: rows, columns, lookups of 4096 bags.
    for (const auto& [rows, dim, lookups] :
         {std::tuple(1e5, 64, 4096), std::tuple(1e6, 64, 20 * 4096),
          std::tuple(1e6, 128, 20 * 4096), std::tuple(1e7, 128, 60 * 4096)}) {
      LookupCall call;
      call.rows = rows;
      call.dim = dim;
      call.bags = 4096;
      call.lookups = lookups;
      if (model.has_measured(call)) kernel.shapes.push_back(time_of(*summary.model, model, call));
    }
  }
  return summary;
}

Result<MachineSummary> load_summary(const Input& input, const Watch& watch, bool is_fitted) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<MachineFile> file = read_machine_file(text);
  if (!file.ok()) return input.locate(file.error());
  MachineFile machine = std::move(file).value();
  if (!is_fitted) {
    const Status fitted = fit_machine(machine);
    if (!fitted.ok()) return input.locate(fitted.error());
  }
  Result<MachineSummary> summary = summary_of(std::move(machine));
  return summary.ok() ? std::move(summary) : input.locate(summary.error());
}

void describe(JsonMembers& members, ShapeTime& shape) {
  for (const auto& [name, member] : embedding::kCallSizes)
    members.shown(name, shape.call.*member);
  members.shown("forward_us", shape.forward_us)
      .shown("backward_us", shape.backward_us)
      .shown("gb_per_s", shape.gb_per_s, "Of rows read in the forward pass.");
}

void describe(JsonMembers& members, KernelSummary& kernel) {
  embedding::describe(members, kernel.model);
  members.shown("shapes", kernel.shapes, "Times of tables of usual shapes, read uniformly.");
}

void describe(JsonMembers& members, MachineSummary& summary) {
  const embedding::MachineSpec& spec = summary.file.spec;
  members.shown("name", spec.name)
      .shown("device", spec.device)
      .shown("device_name", spec.device_name)
      .shown("memory", spec.memory_bytes)
      .shown("date", summary.file.date)
      .shown("costs", spec.digest, "Digest of all costs.")
      .shown("spread", summary.file.spread, "Of repetitions, the median; relative.")
      .shown("kernels", summary.kernels)
      .shown("collectives", spec.collectives)
      .shown("operators", summary.file.operator_times.size(), "Measured operators of graphs.");
}

std::string count_text(double number) {
  return format_count(static_cast<std::uint64_t>(std::llround(number)));
}
std::string us_text(const std::optional<double>& us) { return us ? format_ms(*us) : "-"; }
std::string error_text(const embedding::FitError& error) {
  return format_ms(100 * error.median) + "% / " + format_ms(100 * error.p90) + "%";
}
std::string gb_text(double us_per_byte) {
  return us_per_byte > 0 ? format_ms(1e-3 / us_per_byte) : "-";
}
std::string bytes_text(double bytes) { return format_bytes(Bytes(std::llround(bytes))); }

std::string kernel_text(const LookupModel& model) {
  return std::string(to_name(model.kind.kernel)) + " " +
         std::string(to_name(model.kind.data_type)) + (model.kind.weighted ? " weighted" : "") +
         (model.kind.pooled ? "" : " unpooled");
}
std::string collective_text(const MeasuredCollective& model) {
  return std::string(to_name(model.operation)) + " " + std::string(to_name(model.scope)) + " x " +
         std::to_string(model.ranks);
}
std::string shape_text(const LookupCall& call) {
  return count_text(call.rows) + " x " + count_text(call.dim) + ", " + count_text(call.bags) +
         " bags of " + count_text(call.lookups / call.bags);
}

std::string heading_text(const MachineFile& file) {
  const embedding::MachineSpec& spec = file.spec;
  std::string text = spec.name + ": " + spec.device_name + " (" +
                     std::string(to_name(spec.device)) + ", " +
                     bytes_text(static_cast<double>(spec.memory_bytes)) + ", L2 " +
                     bytes_text(spec.caches.l2) + ", L3 " + bytes_text(spec.caches.l3) + ", " +
                     format_plural(static_cast<std::uint64_t>(file.threads), "thread") +
                     "), measured " + file.date + " in " + format_seconds(file.seconds);
  const MachineVersions& versions = file.versions;
  for (const auto& [name, version] :
       {std::pair(", torch ", versions.torch), std::pair(", fbgemm_gpu ", versions.fbgemm_gpu),
        std::pair(", torchrec ", versions.torchrec), std::pair(", cuda ", versions.cuda)}) {
    if (version) text += name + *version;
  }
  if (file.spread)
    text += "; half of the calls repeat within " + format_ms(100 * *file.spread) + "%";
  text += "; costs " + spec.digest;
  return text;
}

std::string summary_report(const MachineSummary& summary, std::size_t width) {
  using Align = TextTable::Align;
  TextTable kernels({{"kernel", Align::kLeft},
                     {"optimizer", Align::kLeft, 3},
                     {"calls", Align::kRight, 2},
                     {"forward error"},
                     {"backward error"},
                     {"fixed us", Align::kRight, 1},
                     {"backward", Align::kRight, 1}});
  TextTable shapes({{"a table read uniformly", Align::kLeft},
                    {"shape", Align::kLeft},
                    {"forward us"},
                    {"backward us"},
                    {"GB/s"}});
  for (const auto& [model, times] : summary.kernels) {
    const std::string name = kernel_text(model);
    kernels.add_row({name, model.kind.optimizer, std::to_string(model.measurements),
                     error_text(model.forward.error),
                     model.backward ? error_text(model.backward->error) : "-",
                     us_text(model.forward.ns[0] / 1000),
                     model.backward ? us_text(model.backward->ns[0] / 1000) : "-"});
    for (const ShapeTime& time : times)
      shapes.add_row({name, shape_text(time.call), us_text(time.forward_us),
                      us_text(time.backward_us), format_ms(time.gb_per_s)});
  }
  TextTable links({{"collective", Align::kLeft},
                   {"latency us"},
                   {"knee"},
                   {"GB/s below"},
                   {"above"},
                   {"error"}});
  const MachineFile& file = summary.file;
  for (const MeasuredCollective& model : file.spec.collectives)
    links.add_row({collective_text(model), us_text(model.latency_us), bytes_text(model.knee_bytes),
                   gb_text(model.us_per_byte_below), gb_text(model.us_per_byte_above),
                   error_text(model.error)});
  std::string text = wrap(printable(heading_text(file)), width, 0);
  if (!summary.kernels.empty())
    text += "\nErrors are median and 90th percentile, of shapes that the fit did not see\n" +
            kernels.render(width) + "\n" + shapes.render(width);
  text += file.spec.collectives.empty() ? "\nno collectives: bandwidths stay as without a machine\n"
                                        : "\n" + links.render(width);
  if (!file.operator_times.empty())
    text += "\n" + format_plural(file.operator_times.size(), "operator") + " of graphs\n";
  return text;
}

template <class Answered>
Answer answer_of(std::shared_ptr<const Answered> said,
                 std::string (*report)(const Answered&, std::size_t)) {
  Answer answer;
  answer.write_json = [said](const TextSink& sink) { write_json(*said, sink); };
  answer.text = [said, report](const TextForm& form) { return report(*said, form.width); };
  return answer;
}

// Warns of measurements without a model.
template <class Row, class HasModel>
void warn_of_unfitted(const std::vector<Row>& rows, std::string_view what, std::size_t least,
                      const HasModel& has_model, Answer& answer) {
  const auto without = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return !has_model(row); }));
  if (without == 0) return;
  answer.warnings.push_back(format_plural(without, "measurement") + " of " + std::string(what) +
                            " has no model: one needs " + std::to_string(least) +
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
  SHARDWRIGHT_ASSIGN_OR_RETURN(MachineSummary made,
                               load_summary(request.measurements, watch, false));
  const auto summary = std::make_shared<const MachineSummary>(std::move(made));
  Answer answer = answer_of(summary, summary_report);
  answer.write_json = [summary](const TextSink& sink) { write_machine_file(summary->file, sink); };
  const MachineFile& file = summary->file;
  const MachineModel& model = *summary->model;
  warn_of_unfitted(
      file.lookups, "lookups", machine::kLeastShapes,
      [&](const auto& row) { return model.find(row.kind) != nullptr; }, answer);
  warn_of_unfitted(
      file.collectives, "collectives", machine::kLeastSizes,
      [&](const auto& row) { return model.find(row.operation, row.scope, row.ranks) != nullptr; },
      answer);
  answer.summary = format_plural(file.spec.lookups.size(), "embedding kernel") + " and " +
                   format_plural(file.spec.collectives.size(), "collective") + " fitted";
  return answer;
}

Result<Answer> answer(const MachineShowRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(MachineSummary summary, load_summary(request.machine, watch, true));
  return answer_of(std::make_shared<const MachineSummary>(std::move(summary)), summary_report);
}

namespace {

// A figure of two machines; absent where one has not been measured.
struct Difference {
  std::string what, unit;
  std::optional<double> a, b;
};

struct MachineDifference {
  std::string a, b;  // names with digests
  std::vector<Difference> figures;
};

MachineDifference difference_of(const MachineSummary& a, const MachineSummary& b) {
  const auto name = [](const MachineFile& file) {
    return file.spec.name + " (" + file.spec.digest + ")";
  };
  MachineDifference found{name(a.file), name(b.file), {}};
  const auto add = [&](const std::string& what, const char* unit, std::optional<double> of_a,
                       std::optional<double> of_b) {
    found.figures.push_back({what, unit, of_a, of_b});
  };
  for (const KernelSummary& kernel : a.kernels) {
    const LookupModel* const its = b.model->find(kernel.model.kind);
    for (const ShapeTime& shape : kernel.shapes) {
      const std::string what = kernel_text(kernel.model) + ", " + shape_text(shape.call);
      ShapeTime other;
      if (its != nullptr) other = time_of(*b.model, *its, shape.call);
      add(what + ", forward", "us", shape.forward_us,
          its != nullptr ? std::optional(other.forward_us) : std::nullopt);
      if (shape.backward_us) add(what + ", backward", "us", shape.backward_us, other.backward_us);
    }
  }
  for (const KernelSummary& kernel : b.kernels) {
    if (a.model->find(kernel.model.kind) == nullptr && !kernel.shapes.empty())
      add(kernel_text(kernel.model) + ", " + shape_text(kernel.shapes[0].call) + ", forward", "us",
          std::nullopt, kernel.shapes[0].forward_us);
  }
  for (const MeasuredCollective& model : a.file.spec.collectives) {
    const auto* its = b.model->find(model.operation, model.scope, model.ranks);
    if (its == nullptr) continue;
    add(collective_text(model) + ", latency", "us", model.latency_us, its->latency_us);
    add(collective_text(model) + ", 1 MB", "us", model.us(1e6), its->us(1e6));
    add(collective_text(model) + ", 100 MB", "us", model.us(1e8), its->us(1e8));
  }
  return found;
}

void describe(JsonMembers& members, Difference& difference) {
  members.shown("what", difference.what)
      .shown("unit", difference.unit)
      .shown("a", difference.a)
      .shown("b", difference.b);
}

void describe(JsonMembers& members, MachineDifference& difference) {
  members.shown("machine_a", difference.a)
      .shown("machine_b", difference.b)
      .shown("figures", difference.figures);
}

std::string difference_report(const MachineDifference& difference, std::size_t width) {
  TextTable table({{"figure", TextTable::Align::kLeft}, {"A"}, {"B"}, {"B / A"}});
  for (const Difference& row : difference.figures) {
    const bool has_ratio = row.a && row.b && *row.a > 0;
    table.add_row({row.what + ", " + row.unit, us_text(row.a), us_text(row.b),
                   has_ratio ? format_ms(*row.b / *row.a) : "-"});
  }
  return "A: " + printable(difference.a) + "\nB: " + printable(difference.b) + "\n\n" +
         table.render(width);
}

}  // namespace

Result<Answer> answer(const MachineDiffRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const MachineSummary from, load_summary(request.from, watch, true));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const MachineSummary to, load_summary(request.to, watch, true));
  return answer_of(std::make_shared<const MachineDifference>(difference_of(from, to)),
                   difference_report);
}

JsonShape machine_summary_shape() {
  return shape_of(MachineSummary()).says("What `machine show` answers.");
}
JsonShape machine_diff_shape() {
  return shape_of(MachineDifference()).says("What `machine diff` answers.");
}

}  // namespace shardwright::commands
