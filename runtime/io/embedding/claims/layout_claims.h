// Checks what a plan file says of the layouts of the machine that it did not choose.
#pragma once

#include <functional>
#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Verifies one plan file for a problem with one layout.
using VerifyOneLayout = std::function<Result<Verification>(
    const std::shared_ptr<const embedding::Problem>& problem, JsonValue file)>;

// `other_layouts` has a plan file for every other layout. Each is verified on its own. None may
// have a better plan, nor a bound below that of the file; and if `asked` leaves the layout open,
// the bound of the file needs all layouts. `document` is that of `file`; findings are added to
// `result`. Errors: as `verify`.
Status check_other_layouts(const embedding::Problem& asked, const PlanDocument& document,
                           JsonValue file, const VerifyOneLayout& verify, Verification& result);

}  // namespace shardwright
