// An open proof as bytes that a checkpoint keeps.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/status.h"
#include "search/embedding/best/bound/open_proof.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// The version of the format, the digest of `model`, the proof. Proofs of leaves are left out, in
// preorder from where these bytes exceed `most_bytes`: such leaves are then open again.
std::string to_message(const OpenProof& open, const ChoiceModel& model, std::size_t most_bytes);

// Reads it. `tree_model`: what the proof is about, BoundProver::model(). Errors: kInvalidInput
// without a place, if it is of another version, of another model, or damaged.
Result<OpenProof> open_proof_of(std::string_view message, const ChoiceModel& model,
                                const ChoiceModel& tree_model);

}  // namespace shardwright::embedding
