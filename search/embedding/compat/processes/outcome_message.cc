#include "search/embedding/compat/processes/outcome_message.h"

#include "search/message.h"

namespace shardwright::embedding {
namespace {

// The first byte of a message. The second digit is the version of the format.
constexpr std::uint8_t kOutcomes = 0x31;

constexpr std::uint8_t kNotStopped = 0xff;

enum Answer : std::uint8_t { kNotDone = 0, kDoesNotFit = 1, kFits = 2 };

}  // namespace

CandidateRange part_of(std::size_t candidates, std::uint32_t process, std::uint32_t processes) {
  return {candidates * process / processes, candidates * (process + 1) / processes};
}

std::string to_message(const CandidateBatch& batch, const CandidateRange& part,
                       std::optional<StopReason> stopped) {
  MessageWriter to;
  to.put(kOutcomes);
  to.put(batch.serial);
  to.put(stopped ? static_cast<std::uint8_t>(*stopped) : kNotStopped);
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const CandidateBatch::Candidate& candidate = batch.candidates[i];
    if (!candidate.is_new) continue;
    const bool fits = candidate.done && candidate.outcome.feasible;
    to.put(static_cast<std::uint8_t>(fits ? kFits : candidate.done ? kDoesNotFit : kNotDone));
    if (!fits) continue;
    to.put(candidate.outcome.rating);
    if (!batch.ranks_sha1.empty()) to.put_text(batch.ranks_sha1[i]);
  }
  return to.take();
}

bool take_outcomes(std::string_view message, const CandidateRange& part, CandidateBatch& batch,
                   std::optional<StopReason>& stopped) {
  MessageReader from(message);
  if (from.get<std::uint8_t>() != kOutcomes || from.get<std::uint64_t>() != batch.serial)
    return false;
  const auto reason = from.get<std::uint8_t>();
  if (reason != kNotStopped && reason >= kStopReasonNames.size()) return false;
  if (reason != kNotStopped && !stopped) stopped = static_cast<StopReason>(reason);
  for (std::size_t i = part.begin; i < part.end && from.good(); ++i) {
    CandidateBatch::Candidate& candidate = batch.candidates[i];
    if (!candidate.is_new) continue;
    const auto answer = from.get<std::uint8_t>();
    if (answer > kFits) return false;
    ProposalOutcome outcome;
    outcome.feasible = answer == kFits;
    if (outcome.feasible) outcome.rating = from.get<double>();
    if (outcome.feasible && !batch.ranks_sha1.empty()) batch.ranks_sha1[i] = from.get_text();
    candidate.outcome = outcome;
    candidate.done = answer != kNotDone && from.good();
  }
  return from.is_complete();
}

}  // namespace shardwright::embedding
