#include "runtime/io/machine/machine_json.h"

#include <string>

#include <doctest/doctest.h>

namespace shardwright::machine_json_test {

namespace {

// Measurements of one kernel on ten shapes, of a collective on five sizes, and of an operator.
std::string measured() {
  std::string lookups, collectives;
  for (int i = 1; i <= 10; ++i) {
    lookups += std::string(i == 1 ? "" : ",") + R"(["fused", "FP32", false, "exact_sgd", true, )" +
               std::to_string(1 + i % 3) + ", " + std::to_string(1000 * i) + ", " +
               std::to_string(16 + 16 * (i % 4)) + ", 512, 2.5, 0, null, " +
               std::to_string(10 * i + 40) + ", " + std::to_string(20 * i + 70) + ", 0.05]";
  }
  for (int i = 1; i <= 5; ++i) {
    collectives += std::string(i == 1 ? "" : ",") + R"(["all_to_all", "intra_host", 4, )" +
                   std::to_string(i * 100000) + ", " + std::to_string(20 + 10 * i) + ", 0.1]";
  }
  return R"({"machine": {"format": 1, "name": "node", "device": "cpu", "device_name": "A CPU",
    "memory": 1000000000, "threads": 1, "versions": {"torch": "2.9"}, "date": "2026-11-30",
    "seconds": 12.5, "caches": {"l2": 1048576, "l3": 33554432}},
    "embedding": {"lookups": {"columns": ["kernel", "data_type", "weighted", "optimizer", "pooled",
      "tables", "rows", "dim", "batch", "pooling", "zipf", "hit_rate", "forward_us", "backward_us",
      "spread"], "rows": [)" +
         lookups + R"(]}},
    "collectives": {"measurements": {"columns": ["operation", "scope", "ranks", "bytes", "us",
      "spread"], "rows": [)" +
         collectives + R"(]}},
    "operator_times": [{"op": "aten.mm.default", "inputs": [[4, 8], [8, 8]], "dtype": "float32",
      "us": 3.5}]})";
}

std::string text_of(const MachineFile& file) {
  std::string text;
  write_machine_file(file, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST_CASE("machine file: measurements, their fit and operators survive a round trip") {
  Result<MachineFile> file = read_machine_file(measured());
  REQUIRE(file.ok());
  MachineFile fitted = *file;
  REQUIRE(fitted.lookups.size() == 10);
  CHECK(fitted.lookups[0].call.lookups == 1280);  // 512 bags of 2.5 lookups
  CHECK(fitted.lookups[0].backward_us == 90);
  CHECK(fitted.operator_times[0].inputs[1][0] == 8);
  REQUIRE(fit_machine(fitted).ok());
  CHECK(fitted.spec.lookups.size() == 1);
  CHECK(fitted.spec.collectives.size() == 1);
  const std::string text = text_of(fitted);
  const Result<MachineFile> again = read_machine_file(text);
  REQUIRE(again.ok());
  CHECK(text_of(*again) == text);
  CHECK(again->spec.lookups[0].forward.ns == fitted.spec.lookups[0].forward.ns);
  CHECK(again->spec.lookups[0].measured[0].most == 10000);
  CHECK(again->spec.digest == fitted.spec.digest);
  CHECK(again->spec.digest != file->spec.digest);
  CHECK(again->versions.torch == "2.9");
  CHECK(again->operator_times.size() == 1);
}

TEST_CASE("machine file: kernels without device memory miss it, and others do not") {
  const std::string text = measured();
  CHECK(read_machine_file(text)->lookups[0].call.hit_rate == 1);
  std::string uvm = text;
  uvm.replace(uvm.find("\"fused\""), 7, "\"fused_uvm\"");
  CHECK(read_machine_file(uvm)->lookups[0].call.hit_rate == 0);
}

TEST_CASE("machine file: what is wrong is named with its place") {
  const auto error_with = [](const std::string& from, const std::string& to) {
    std::string text = measured();
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    Result<MachineFile> file = read_machine_file(text);
    if (!file.ok()) return file.error().to_string();
    MachineFile fitted = *file;
    const Status status = fit_machine(fitted);
    return status.ok() ? std::string() : status.error().to_string();
  };
  CHECK(error_with("\"format\": 1", "\"format\": 2") ==
        "/machine/format: this version reads the format 1, the file is 2");
  CHECK(error_with("\"cpu\"", "\"abacus\"").starts_with("/machine/device: unknown compute device"));
  CHECK(error_with("\"name\"", "\"nam\"").starts_with("/machine/nam: unknown key"));
  CHECK(error_with("1000000000", "0") == "/machine/memory: must be between 1 and 2^53 bytes");
  CHECK(error_with("\"hit_rate\"", "\"hits\"")
            .starts_with("/embedding/lookups/columns/11: unknown column \"hits\""));
  CHECK(error_with("\"zipf\"", "\"rows\"") ==
        "/embedding/lookups/columns/10: the column occurs twice");
  CHECK(error_with(", \"bytes\"", "") ==
        "/collectives/measurements/columns: the column \"bytes\" is missing");
  CHECK(error_with("4, 100000", "4") ==
        "/collectives/measurements/rows/0: expected a list of 6 values, one for each column, found "
        "a list of 5");
  CHECK(error_with("\"intra_host\", 4, 100000", "\"intra_host\", 4, -1") ==
        "/collectives/measurements/rows/0: bytes must be above 0");
  CHECK(error_with("512, 2.5, 0, null, 50", "512, 2.5, 0, null, 0") ==
        "/embedding/lookups/rows/0: forward_us must be above 0");
  CHECK(error_with("512, 2.5, 0, null", "512, 2.5, -1, null") ==
        "/embedding/lookups/rows/0: zipf must be from 0 to 4, hit_rate to 1");
  CHECK(error_with("\"fused\"", "\"melted\"")
            .starts_with("/embedding/lookups/rows/0/0: unknown compute kernel"));
  CHECK(error_with("\"us\": 3.5", "\"ms\": 3.5").starts_with("/operator_times/0/ms: unknown key"));
}

TEST_CASE("machine file: a problem is no machine") {
  const auto file = read_machine_file(R"({"tables": []})");
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().message.starts_with("this is a problem"));
}

}  // namespace

}  // namespace shardwright::machine_json_test
