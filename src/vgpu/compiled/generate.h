// Makes host code of a unit.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/compiled/code_pages.h"
#include "vgpu/compiled/liveness.h"
#include "vgpu/compiled/unit.h"
#include "vgpu/engine/exec.h"

#include <memory>
#include <utility>
#include <vector>

namespace lemma::vgpu {

struct Entry {
  std::byte* entry = nullptr;  // a CompiledEntry; null: there is no such code
  std::byte* inside = nullptr; // for code of other functions, where these may come from; else null
};

struct Generated {
  std::unique_ptr<CodePages> pages;                     // null: it could not be made
  std::vector<Entry> entries_for_all, entries_for_some; // by segment
  uint32_t called = 0;                                  // instructions that their handlers do
};

// `join_pcs`: of the unit, where they stay as long as the code. `is_watched`: for launches that somebody
// watches. `example`: any Exec whose parts are there; members are addressed by where it has them.
Generated generate(const Unit& unit, const Liveness& liveness, const uint32_t* join_pcs, bool is_watched,
                   Exec& example);
// For tests: code of the instruction at the pc alone, which leaves before the next one.
Generated generate_one(const Code& code, uint32_t pc, Exec& example);

// Parts (emit.h) that a zone's values may have.
inline constexpr uint32_t kPartsOfZone = 20;

} // namespace lemma::vgpu
