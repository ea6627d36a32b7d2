// Messages as the C API has them.
//
// Tests: tests/unit/capi/base_test.cc.
#pragma once

#include "capi/arena.h"
#include "capi/enumerations.h"
#include "lemma/message.h"

namespace lemma::capi {

const lemma_message* to_c(Arena& arena, const Message& message);
const lemma_repair* to_c(Arena& arena, const Repair& repair);

// A text of its own, or a part of the arena's tree.
const lemma_text* to_c(Arena& arena, std::string_view text);
const lemma_text* text_tree(std::string_view text);

} // namespace lemma::capi
