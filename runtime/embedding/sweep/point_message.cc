#include "runtime/embedding/sweep/point_message.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/execution/processes/message.h"

namespace shardwright {
namespace {

void put(MessageWriter& to, const Error& error) {
  to.put(static_cast<std::uint8_t>(error.code));
  to.put_text(error.message);
  to.put_text(error.where);
}

Error get_error(MessageReader& from) {
  Error error;
  error.code = static_cast<ErrorCode>(from.get<std::uint8_t>());
  error.message = from.get_text();
  error.where = from.get_text();
  return error;
}

void put(MessageWriter& to, const SweepPoint& point) {
  for (const std::int64_t number : {point.ranks, point.ranks_per_host, point.batch_size,
                                    point.peak_hbm_bytes, point.peak_ddr_bytes})
    to.put(number);
  for (const std::optional<std::int64_t>& number :
       {point.hbm_bytes, point.sharding_group_size, point.pod_size, point.peak_ssd_bytes})
    to.put_if(number);
  to.put_if(point.rating);
  to.put_if(point.lower_bound);
  to.put_if(point.price_per_hour);
  to.put(static_cast<std::uint8_t>(point.stopped_by));
  to.put_flag(point.invalid.has_value());
  if (point.invalid) put(to, *point.invalid);
  to.put_flag(point.failure.has_value());
  if (!point.failure) return;
  to.put(static_cast<std::uint8_t>(point.failure->type));
  to.put(static_cast<std::uint8_t>(point.failure->reason));
  to.put_text(point.failure->message);
  to.put_flag(point.failure->proof.has_value());
  if (point.failure->proof) to.put(static_cast<std::uint8_t>(*point.failure->proof));
}

SweepPoint get_point(MessageReader& from) {
  SweepPoint point;
  for (std::int64_t* const number : {&point.ranks, &point.ranks_per_host, &point.batch_size,
                                     &point.peak_hbm_bytes, &point.peak_ddr_bytes})
    *number = from.get<std::int64_t>();
  for (std::optional<std::int64_t>* const number :
       {&point.hbm_bytes, &point.sharding_group_size, &point.pod_size, &point.peak_ssd_bytes})
    *number = from.get_if<std::int64_t>();
  point.rating = from.get_if<double>();
  point.lower_bound = from.get_if<double>();
  point.price_per_hour = from.get_if<double>();
  point.stopped_by = static_cast<StopReason>(from.get<std::uint8_t>());
  if (from.get_flag()) point.invalid = get_error(from);
  if (!from.get_flag()) return point;
  PlanFailure& failure = point.failure.emplace();
  failure.type = static_cast<FailureType>(from.get<std::uint8_t>());
  failure.reason = static_cast<FailureReason>(from.get<std::uint8_t>());
  failure.message = from.get_text();
  if (from.get_flag()) failure.proof = static_cast<AbsenceProof>(from.get<std::uint8_t>());
  return point;
}

}  // namespace

std::string to_message(const Status& status, const Sweep& points) {
  MessageWriter to;
  to.put_flag(status.ok());
  if (!status.ok()) {
    put(to, status.error());
    return to.take();
  }
  to.put(points.threads);
  to.put_each(points.points, [&](const SweepPoint& point) { put(to, point); });
  return to.take();
}

Status add_points(const std::string& message, Sweep& sweep) {
  MessageReader from(message);
  if (!from.get_flag()) return get_error(from);
  sweep.threads = from.get<int>();
  for (SweepPoint& point : from.get_each<SweepPoint>([&] { return get_point(from); }))
    sweep.points.push_back(std::move(point));
  return {};
}

}  // namespace shardwright
