// Measured factors and memory limits: how they are applied, and what is refused.
#include "core/embedding/problem/memory_limits.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/embedding/problem/problem.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::calibration_test {

namespace {

using namespace shardwright::embedding;
using shardwright::Bytes;
using shardwright::Milliseconds;
using shardwright::test_support::problem_spec;

template <class Change>
std::string refused(const Change& change) {
  ProblemSpec spec = problem_spec(1, 4, 2);
  change(spec);
  const auto problem = Problem::make(std::move(spec));
  return problem.ok() ? "accepted" : problem.error().where;
}

std::string refused_kernel(KernelCalibration kernel) {
  return refused([&](ProblemSpec& spec) { spec.calibration.kernels = {kernel}; });
}

}  // namespace

TEST_CASE("calibration: factors are linear between measured widths and constant beyond them") {
  CHECK(FactorByDim{}.at(64) == 1);
  CHECK(FactorByDim{{{0, 2.5}}}.at(0) == 2.5);
  CHECK(FactorByDim{{{0, 2.5}}}.at(1000) == 2.5);
  const FactorByDim factors{{{64, 2}, {128, 3}, {256, 1}}};
  CHECK(factors.at(1) == 2);
  CHECK(factors.at(64) == 2);
  CHECK(factors.at(96) == 2.5);
  CHECK(factors.at(128) == 3);
  CHECK(factors.at(192) == 2);
  CHECK(factors.at(512) == 1);
}

TEST_CASE("calibration: time, communication and memory have factors of their own") {
  Perf perf;
  perf.fwd_compute = Milliseconds(1);
  perf.fwd_comms = Milliseconds(2);
  perf.bwd_compute = Milliseconds(3);
  perf.bwd_comms = Milliseconds(4);
  perf.prefetch_compute = Milliseconds(5);
  KernelCalibration kernel;
  kernel.time.points = {{0, 2}};
  const Perf timed = calibrated(perf, kernel, 64);
  CHECK(timed.fwd_compute.value() == 2);
  CHECK(timed.fwd_comms.value() == 2);
  CHECK(timed.bwd_compute.value() == 6);
  CHECK(timed.bwd_comms.value() == 4);
  CHECK(timed.prefetch_compute.value() == 10);
  kernel.time.points.clear();
  kernel.comms.points = {{0, 0.5}};
  CHECK(calibrated(perf, kernel, 64).fwd_comms.value() == 1);
  CHECK(calibrated(perf, kernel, 64).bwd_comms.value() == 2);
  CHECK(calibrated(perf, kernel, 64).fwd_compute.value() == 1);
}

TEST_CASE("calibration: factors out of range are refused at their place") {
  KernelCalibration kernel;
  kernel.kernel = ComputeKernel::kFusedUvm;
  const std::string where = "/calibration/kernels/fused_uvm/";
  CHECK(refused_kernel(kernel) == "accepted");
  kernel.time.points = {{0, 0}};
  CHECK(refused_kernel(kernel) == where + "time");
  kernel.time.points = {{32, 1}, {64, std::nan("")}};
  CHECK(refused_kernel(kernel) == where + "time/1/time");
  kernel.time.points = {{32, 1}, {32, 1}};
  CHECK(refused_kernel(kernel) == where + "time/1/dim");
  kernel.time.points = {{-1, 1}, {32, 1}};
  CHECK(refused_kernel(kernel) == where + "time/0/dim");
  kernel.time.points.clear();
  kernel.comms.points = {{0, 2e6}};
  CHECK(refused_kernel(kernel) == where + "comms");
  kernel.comms.points.clear();
  kernel.memory = -1;
  CHECK(refused_kernel(kernel) == where + "memory");
  CHECK(refused([](ProblemSpec& spec) { spec.calibration.kernels.resize(2); }) ==
        "/calibration/kernels/fused");
  CHECK(refused([](ProblemSpec& spec) {
          spec.calibration.rank_time = {1, 1};
        }) == "/calibration/ranks/time");
  CHECK(refused([](ProblemSpec& spec) {
          spec.calibration.rank_time = {1, 1, 0, 1};
        }) == "/calibration/ranks/time/2");
}

TEST_CASE("calibration: rank factors that are all 1 are dropped") {
  ProblemSpec spec = problem_spec(1, 2, 2);
  spec.calibration.rank_time = {1, 1};
  CHECK(Problem::make(spec)->spec().calibration.rank_time.empty());
  spec.calibration.rank_time = {1, 2};
  CHECK(Problem::make(spec)->spec().calibration.rank_time.size() == 2);
}

TEST_CASE("memory limits: one size for all ranks or one per rank, and a margin is never negative") {
  MemoryLimits limits;
  CHECK_FALSE(limits.any_reserved());
  CHECK_FALSE(limits.any_margin());
  limits.reserved_bytes.hbm = {10};
  limits.reserved_bytes.ddr = {1, 2};
  CHECK(limits.reserved(1) == Storage{Bytes(10), Bytes(2)});
  limits.margins.hbm.fraction = 0.25;
  limits.margins.ddr.bytes = 100;
  CHECK(limits.margin({Bytes(10), Bytes(1000)}) == Storage{Bytes(3), Bytes(100)});
  CHECK(limits.margin({Bytes(-10), Bytes(40)}) == Storage{Bytes(0), Bytes(40)});
  limits.reserved_bytes.ssd = {0, 7};
  limits.margins.ssd.fraction = 0.5;
  CHECK(limits.reserved(1) == Storage{Bytes(10), Bytes(2), Bytes(7)});
  CHECK(limits.margin({Bytes(0), Bytes(0), Bytes(9)}) == Storage{Bytes(0), Bytes(0), Bytes(5)});
}

TEST_CASE("memory limits: setting aside more memory than a rank has is refused") {
  const auto memory = [](auto change) {
    return refused([&](ProblemSpec& spec) {
      spec.topology.hbm_cap_bytes = 100;
      change(spec.memory);
    });
  };
  CHECK(memory([](MemoryLimits& m) { m.reserved_bytes.hbm = {100}; }) == "accepted");
  CHECK(memory([](MemoryLimits& m) { m.reserved_bytes.hbm = {101}; }) == "/reserved_memory/hbm");
  CHECK(memory([](MemoryLimits& m) {
          m.reserved_bytes.hbm = {0, 0, 101, 0};
        }) == "/reserved_memory/hbm/2");
  CHECK(memory([](MemoryLimits& m) {
          m.reserved_bytes.ddr = {0, -1, 0, 0};
        }) == "/reserved_memory/ddr/1");
  CHECK(memory([](MemoryLimits& m) {
          m.reserved_bytes.ddr = {0, 0, 0};
        }) == "/reserved_memory/ddr");
  CHECK(memory([](MemoryLimits& m) { m.margins.hbm.fraction = 1; }) == "/memory_margin/hbm");
  CHECK(memory([](MemoryLimits& m) { m.margins.ddr.bytes = -1; }) == "/memory_margin/ddr");
  CHECK(memory([](MemoryLimits& m) { m.reserved_bytes.ssd = {1}; }) == "/reserved_memory/ssd");
  CHECK(memory([](MemoryLimits& m) { m.margins.ssd.fraction = 2; }) == "/memory_margin/ssd");
}

}  // namespace shardwright::calibration_test
