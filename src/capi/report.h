// Reports, and their parts, as the C API has them.
//
// Tests: tests/unit/capi/launch_test.cc.
#pragma once

#include "capi/arena.h"
#include "lemma/report.h"

namespace lemma::capi {

const lemma_place* to_c(Arena& arena, const Place& place);
const lemma_fault* to_c(Arena& arena, const Fault& fault);
void list_findings(Arena& arena, const std::vector<Finding>& from, size_t& count,
                   const lemma_finding* const*& items);
void fill(lemma_report& to, Arena& arena, const Report& from);

} // namespace lemma::capi
