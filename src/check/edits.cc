// Where in the text an instruction and its parts stand. See edits.h.
#include "check/edits.h"

#include "vgpu/memory/place.h"

#include <cctype>

namespace lemma::check {
namespace {

// From its guard, if it has one.
uint32_t begin_of(const ptx::Instruction& instruction, std::string_view text) {
  uint32_t begin = instruction.range.begin;
  if (instruction.guard.reg == ptx::kNone)
    return begin;
  while (begin > 0 && text[begin] != '@')
    --begin;
  return begin;
}

std::string indentation(std::string_view line) {
  const size_t end = line.find_first_not_of(" \t");
  return std::string(line.substr(0, end == line.npos ? 0 : end));
}

// Of an instruction, whose range may begin with its guard.
SourceRange opcode_range(const ptx::Instruction& instruction, std::string_view text) {
  const SourceRange range = instruction.range;
  const auto is_space = [&](uint32_t at) { return std::isspace(static_cast<unsigned char>(text[at])) != 0; };
  uint32_t begin = range.begin;
  if (text[begin] == '@')
    while (begin < range.end && !is_space(begin))
      ++begin;
  while (begin < range.end && is_space(begin))
    ++begin;
  uint32_t end = begin;
  while (end < range.end && !is_space(end) && text[end] != ';')
    ++end;
  return {begin, end};
}

SourceRange opcode_range(const Spot& spot) {
  return opcode_range(spot.ptx(), spot.code->module->source->text());
}

Place place_of(const vgpu::Code& code, uint32_t instruction) {
  return vgpu::place_of(code, vgpu::InstId{code.number, instruction});
}

} // namespace

std::string guard_text(const Spot& spot) {
  const std::string_view text = spot.code->module->source->text();
  const uint32_t begin = begin_of(spot.ptx(), text);
  return std::string(text.substr(begin, opcode_range(spot).begin - begin));
}

std::string opcode_text(const Spot& spot) {
  return std::string(spot.code->module->source->slice(opcode_range(spot)));
}

SourceRange range_with_guard(const vgpu::Code& code, uint32_t instruction) {
  const ptx::Instruction& its = code.function->instructions[instruction];
  return {begin_of(its, code.module->source->text()), its.range.end};
}

SourceRange range_without_guard(const vgpu::Code& code, uint32_t instruction) {
  const ptx::Instruction& its = code.function->instructions[instruction];
  return {opcode_range(its, code.module->source->text()).begin, its.range.end};
}

FindingRepair insertion(const vgpu::Code& code, const Point& point, const std::string& text) {
  const SourceText& source = *code.module->source;
  const SourceRange range = range_with_guard(code, point.instruction);
  const LineColumn place = source.line_column(point.behind ? range.end : range.begin);
  const std::string line_break = "\n" + indentation(source.line(place.line));
  std::string lines;
  for (const char c : text)
    lines += c == '\n' ? line_break : std::string(1, c);
  return {.where = point.behind ? FindingRepair::Where::behind : FindingRepair::Where::before,
          .place = place_of(code, point.instruction),
          .edit = {.line = place.line,
                   .column = place.column,
                   .length = 0,
                   .text = point.behind ? line_break + lines : lines + line_break}};
}

FindingRepair with_opcode(const vgpu::Code& code, uint32_t instruction, const std::string& opcode) {
  const SourceRange range =
      opcode_range(code.function->instructions[instruction], code.module->source->text());
  return *replacement(code, instruction, range, opcode);
}

std::optional<FindingRepair> replacement(const vgpu::Code& code, uint32_t instruction, SourceRange part,
                                         const std::string& text) {
  const SourceText& source = *code.module->source;
  if (source.slice(part).find('\n') != std::string_view::npos)
    return std::nullopt;
  const LineColumn place = source.line_column(part.begin);
  return FindingRepair{
      .where = FindingRepair::Where::instead,
      .place = place_of(code, instruction),
      .replaced = std::string(source.slice(part)),
      .edit = {.line = place.line, .column = place.column, .length = part.end - part.begin, .text = text}};
}

} // namespace lemma::check
