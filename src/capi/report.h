// Reports, and their parts, as the C API has them.
//
// Tests: tests/unit/capi/launch_test.cc.
#pragma once

#include "capi/arena.h"
#include "lemma/report.h"

namespace lemma::capi {

const lemma_place* to_c(Arena& arena, const Place& place);
const lemma_fault* to_c(Arena& arena, const Fault& fault);
const lemma_finding* to_c(Arena& arena, const Finding& finding);
void fill(lemma_report& to, Arena& arena, const Report& from);

} // namespace lemma::capi
