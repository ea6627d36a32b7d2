// Edits of the PTX, by the instruction at which they are made.
//
// Tests: tests/check/corpus/advice.py.
#pragma once

#include "check/meeting.h"
#include "check/statement.h"
#include "lemma/report.h"

#include <optional>
#include <string>

namespace lemma::check {

// "@%p0 ", if the instruction has a guard.
std::string guard_text(const Spot& spot);
// The opcode as it is written.
std::string opcode_text(const Spot& spot);
// From its guard to its semicolon; from its opcode to that.
SourceRange range_with_guard(const vgpu::Code& code, uint32_t instruction);
SourceRange range_without_guard(const vgpu::Code& code, uint32_t instruction);

// Statements, one a line, there.
FindingRepair insertion(const vgpu::Code& code, const Point& point, const std::string& text);
// Another opcode.
FindingRepair with_opcode(const vgpu::Code& code, uint32_t instruction, const std::string& opcode);
// Another text for a part of the instruction; nullopt: the part has several lines.
std::optional<FindingRepair> replacement(const vgpu::Code& code, uint32_t instruction, SourceRange part,
                                         const std::string& text);

} // namespace lemma::check
