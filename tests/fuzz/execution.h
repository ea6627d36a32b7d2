// Runs hostile programs on the virtual GPU inside this process: the one check of the drivers. Any outcome is
// well but a crash, undefined behaviour, a hang, an exception, or a report of an internal error.
//
// Crashes and hangs are the driver's to notice.
#pragma once

#include "generate/hostile.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lemma::fuzz {

// How often programs and launches ended how, and what they executed. Plain numbers, so that processes can
// share them.
struct ExecutionCounts {
  static constexpr size_t kOutcomes = 24;
  static constexpr size_t kMostForms = 4096;
  static constexpr size_t kMostHandlers = 16384;

  uint64_t programs = 0;
  uint64_t launches = 0;
  uint64_t warp_instructions = 0, compiled_instructions = 0; // the latter of the former
  std::array<uint64_t, kOutcomes> outcomes{};
  std::array<uint64_t, kMostForms> forms{};       // by isa::forms(): warp instructions executed
  std::array<uint64_t, kMostHandlers> handlers{}; // by HandlerIndex
};

// The handlers that the form tables decode to. Made once, before processes are forked.
struct HandlerInfo {
  std::string spelling; // of an instruction that decodes to it
};
const std::vector<HandlerInfo>& known_handlers();

std::string outcome_name(size_t outcome);

// Makes the program as program_of() does, runs its launches in both async modes and counts. Returns what
// should not be, empty if all is well.
std::string check_execution(generate::Rng& rng, ExecutionCounts& counts, std::string_view target = {});

// The program that the generator makes, for one target or, if that is empty, for several.
generate::HostileProgram program_of(generate::Rng& rng, std::string_view target = {});

} // namespace lemma::fuzz
