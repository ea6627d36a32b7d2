// FunctionDecoder::run() is the order: the function is lowered (lowered/lower.h) and goes through the passes
// (lowered/passes.h), registers and variables get their places in the frame, every instruction goes to its
// family's selector, and what is left of analyses runs over the decoded code. An instruction that no selector
// takes is no error here: it becomes a handler that reports `unsupported` if it is ever reached. Finding and
// asking the selector is Decoder::select().
#include "vgpu/code/decode.h"

#include "lowered/lower.h"
#include "lowered/passes.h"
#include "ptx/parameters.h"
#include "support/align.h"
#include "vgpu/code/constant_groups.h"
#include "vgpu/code/decoder.h"
#include "vgpu/code/loops.h"
#include "vgpu/code/segments.h"
#include "vgpu/code/wgmma_registers.h"
#include "vgpu/compiled/compiled_code.h"
#include "vgpu/compiled/unit.h"
#include "vgpu/handlers/matrix/mma_runs.h"
#include "vgpu/handlers/memory/memory_handlers.h"
#include "vgpu/handlers/tensor/tensor_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::vgpu {

using isa::StateSpace;
using isa::Type;

namespace {

constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 28; // two million registers of 32 bits

// The instruction's opcode with its qualifiers and types, as written.
std::string_view spelling(const ptx::Instruction& instruction, const SourceText& source) {
  constexpr size_t kMostShown = 120;
  std::string_view text = source.slice(instruction.range);
  constexpr std::string_view kBlank = " \t\r\n";
  if (text.starts_with('@')) // "@!%p opcode": a guard may have a blank in it, its register has none
    for (const std::string_view before :
         {"%_$abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", " \t\r\n"})
      text.remove_prefix(std::min(text.find_first_of(before), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, std::min(text.find_first_of(" \t\r\n;"), kMostShown));
}

Step run_unsupported(Exec& x, const DecodedInst& in) {
  const ptx::Instruction& instruction = x.ptx_instruction(in);
  return x.fault(in, FaultKind::unsupported,
                 fmt::format("{} is {}", spelling(instruction, *x.code->module->source),
                             instruction.form()
                                 ? "legal here, but the virtual GPU does not execute this form yet"
                                 : "not understood here: lemma verify says what of it is not known"));
}

Step run_goto(Exec& x, const DecodedInst& in) {
  x.pc = in.target();
  return Step::jumped;
}

} // namespace

class FunctionDecoder {
public:
  FunctionDecoder(Program& program, Code& code)
      : lowered_(lower(program, code)), decoder_(program, code, lowered_), code_(code),
        function_(*code.function) {}

  std::optional<Diagnostic> run() {
    place_registers();
    if (auto problem = place_variables())
      return problem;
    code_.insts.reserve(lowered_.insts.size());
    for (const lowered::Inst& inst : lowered_.insts) {
      DecodedInst& in = code_.insts.emplace_back(decode(inst));
      in.checks_init = inst.notes.has(lowered::Note::reads_unwritten);
      in.checks_updated = inst.notes.has(lowered::Note::updates_unwritten);
      in.marks_written = inst.notes.has(lowered::Note::marks_written);
    }
    code_.inst_to_pc = std::move(lowered_.first_inst);
    const uint64_t param_area_offset = align_up(code_.frame_bytes, 64);
    code_.param_area_offset = static_cast<uint32_t>(param_area_offset);
    code_.frame_bytes = param_area_offset + uint64_t{code_.param_bytes} * kWarpSize;
    if (code_.frame_bytes > kMaxFrameBytes)
      return Diagnostic{Severity::unsupported,
                        "frame-size",
                        fmt::format("the registers and .param variables of {} take {} bytes a warp",
                                    function_.name, code_.frame_bytes),
                        function_.range,
                        {{"supported", fmt::format("{} bytes a warp", kMaxFrameBytes)}}};
    place_loops(code_, lowered_, decoder_.registers_);
    make_matrix_runs(code_, lowered_);
    make_copies(code_, lowered_);
    find_tensor_chains(code_); // before a group's first instruction may jump to its end
    make_constant_groups(code_, lowered_);
    cut_into_segments(code_, lowered_);
    find_runs();
    code_.insts.shrink_to_fit();
    code_.slots.shrink_to_fit();
    if (code_.has_wgmma)
      find_wgmma_registers(code_);
    for (const bool is_watched : {false, true})
      code_.compiled[is_watched] = std::make_shared<CompiledCode>(code_, is_watched);
    return std::nullopt;
  }

private:
  static lowered::Function lower(const Program& program, const Code& code) {
    lowered::Function function = lowered::lower(*code.module, *code.function, program.arch().sm);
    lowered::run_passes(function);
    return function;
  }

  // DecodedInst::run and ::plain. Whether an instruction jumps or waits is seen when it does.
  void find_runs() {
    uint16_t run = 0, plain = 0;
    const auto longer = [](uint16_t length) { return static_cast<uint16_t>(length + 1); };
    for (size_t i = code_.insts.size(); i-- > 0;) {
      if (i + 1 < code_.insts.size() && code_.insts[i + 1].begins_segment)
        run = plain = 0;
      DecodedInst& in = code_.insts[i];
      const bool asks = ((in.guarded || in.always_run) && !in.guards_itself) || in.checks_init ||
                        in.marks_written || in.source == ptx::kNone;
      run = asks ? uint16_t{0} : longer(run);
      plain = asks || !in.computes ? uint16_t{0} : longer(plain);
      in.run = run;
      in.plain = plain;
    }
  }

  // Predicates first, then by falling alignment need: none, since every lane array is a multiple of 64 bytes.
  void place_registers() {
    code_.registers.resize(function_.registers.size());
    code_.tracked.resize(function_.registers.size());
    code_.copied.resize(function_.registers.size());
    for (const bool predicates : {true, false})
      for (uint32_t r = 0; r < function_.registers.size(); ++r) {
        const ptx::Register& reg = function_.registers[r];
        if ((reg.type == Type::pred) != predicates)
          continue;
        Slot slot = decoder_.place(register_bytes(reg.type));
        for (int component = 1; component < reg.vector_elems; ++component)
          decoder_.place(register_bytes(reg.type));
        slot.set_reg(r);
        code_.registers[r] = slot;
      }
    for (const lowered::Register& reg : lowered_.registers)
      if (reg.text == ptx::kNone) {
        decoder_.registers_.push_back(decoder_.place(reg.bytes));
      } else {
        decoder_.registers_.push_back(code_.register_slot(reg.text, reg.component));
        code_.tracked[reg.text] = reg.is_asked;
        code_.copied[reg.text] = reg.is_carried;
      }
    list_poisoned();
    list_constant_predicates();
  }

  void list_constant_predicates() {
    for (size_t reg = 0; reg < lowered_.registers.size(); ++reg)
      if (lowered_.registers[reg].is_known && lowered_.registers[reg].bytes == 0)
        code_.constant_predicates.push_back(decoder_.registers_[reg].offset);
    std::ranges::sort(code_.constant_predicates);
  }

  // Where the registers lie that may be read before they are written.
  void list_poisoned() {
    for (size_t reg = 0; reg < code_.registers.size(); ++reg) {
      if (!code_.tracked[reg])
        continue;
      const Slot& slot = code_.registers[reg];
      const auto components = static_cast<uint32_t>(function_.registers[reg].vector_elems);
      code_.poisoned.push_back({.offset = slot.offset,
                                .bytes = slot.bytes == 0 ? 4 : components * slot.bytes * kWarpSize,
                                .lane_bytes = slot.bytes});
    }
  }

  // Places a variable behind the `bytes` that others take, and counts it among them. It is of a thread's
  // local memory, in one way or another.
  uint32_t add_variable(const ptx::Variable& variable, uint32_t& bytes) {
    const uint64_t offset = align_up(bytes, std::max<uint32_t>(variable.align, 1));
    if (offset > kMaxLocalBytes || variable.size_bytes > kMaxLocalBytes - offset) {
      if (!too_large_)
        too_large_ = Diagnostic{
            Severity::error,
            variable.space == StateSpace::local ? "local-size" : "param-size",
            fmt::format(
                "{} ({} bytes) does not fit: the .{} variables of {} before it take {} bytes a thread",
                variable.name, variable.size_bytes, isa::to_string(variable.space), function_.name, offset),
            variable.range,
            {{"legal", fmt::format("{} bytes of local memory a thread{}", kMaxLocalBytes,
                                   variable.space == StateSpace::local
                                       ? ""
                                       : ", which holds what is passed to and from functions")}}};
      return 0;
    }
    bytes = static_cast<uint32_t>(offset + variable.size_bytes);
    return static_cast<uint32_t>(offset);
  }
  uint32_t add_param(const ptx::Variable& variable) { return add_variable(variable, code_.param_bytes); }

  std::optional<Diagnostic> place_variables() {
    if (function_.is_entry) { // its parameters lie in the launch, not in a lane's param area
      const ptx::ParameterLayout layout = ptx::lay_out_parameters(function_);
      for (const uint64_t offset : layout.offsets)
        code_.param_offsets.push_back(static_cast<uint32_t>(offset)); // the verifier: some 32 KiB at most
      code_.kernel_param_bytes = layout.bytes;
    } else {
      for (const ptx::Variable& param : function_.params)
        code_.param_offsets.push_back(add_param(param));
    }
    code_.passed_bytes = code_.param_bytes;
    for (const ptx::Variable& result : function_.returns)
      code_.return_offsets.push_back(add_param(result));
    for (const ptx::Variable& variable : function_.variables) {
      uint32_t offset = 0;
      if (variable.space == StateSpace::param) {
        offset = add_param(variable);
      } else if (variable.space == StateSpace::local) {
        offset = add_variable(variable, code_.local_bytes);
        code_.local_align = std::max(code_.local_align, variable.align);
      }
      code_.variable_offsets.push_back(offset);
    }
    code_.param_bytes = static_cast<uint32_t>(align_up(code_.param_bytes, 16));
    code_.local_bytes = static_cast<uint32_t>(align_up(code_.local_bytes, 16));
    return std::move(too_large_);
  }

  // Whether a .func names what its callers name too: each activation has registers of its own here. A kernel
  // has them to itself then.
  bool shares_thread_variables(const ptx::Instruction& instruction) const {
    if (function_.is_entry || function_.thread_registers + function_.thread_variables == 0)
      return false;
    const auto names = [&](const ptx::Operand& operand, const auto& self) -> bool {
      if (operand.kind == ptx::OperandKind::symbol)
        return operand.symbol_scope == ptx::Operand::SymbolScope::function &&
               operand.symbol < function_.thread_variables;
      return (operand.reg != ptx::kNone && operand.reg < function_.thread_registers) ||
             std::any_of(operand.elems.begin(), operand.elems.end(),
                         [&](const ptx::Operand& element) { return self(element, self); });
    };
    return (instruction.guard.reg != ptx::kNone && instruction.guard.reg < function_.thread_registers) ||
           std::any_of(instruction.operands.begin(), instruction.operands.end(),
                       [&](const ptx::Operand& operand) { return names(operand, names); });
  }

  DecodedInst decode(const lowered::Inst& inst) {
    DecodedInst in;
    switch (inst.op) {
    case lowered::Op::instruction:
      return decode_instruction(inst);
    case lowered::Op::special:
      in = with_guard(inst);
      if (decoder_.decode_special(inst, in)) {
        in.computes = inst.source != ptx::kNone;
        return in;
      }
      if (inst.source != ptx::kNone)
        return unsupported(inst);
      is_for_unsupported_ = true;
      return in;
    case lowered::Op::place:
      decoder_.decode_place(inst, in);
      return in;
    case lowered::Op::add:
      decoder_.decode_add(inst, in);
      return in;
    case lowered::Op::low:
      decoder_.decode_low(inst, in);
      return in;
    case lowered::Op::not_:
      decoder_.decode_not(inst, in);
      return in;
    case lowered::Op::jump:
      in.handler = run_goto;
      in.always_run = in.guards_itself = true; // of the decoder's own instructions this one alone: is_goto()
      in.imm = lowered_.blocks[lowered_.sources_of(inst)[0].index].begin;
      return in;
    case lowered::Op::end:
      break;
    }
    return return_instruction();
  }

  DecodedInst decode_instruction(const lowered::Inst& inst) {
    const ptx::Instruction& instruction = *lowered_.instruction_of(inst);
    DecodedInst in = with_guard(inst);
    const bool has_operands = !std::exchange(is_for_unsupported_, false);
    return has_operands && instruction.form() && !shares_thread_variables(instruction) &&
                   decoder_.select(inst, in)
               ? in
               : unsupported(inst);
  }

  DecodedInst unsupported(const lowered::Inst& inst) {
    DecodedInst in = with_guard(inst);
    ++code_.unsupported;
    in.handler = run_unsupported;
    return in;
  }

  // What the text says of it beside its operands.
  DecodedInst with_guard(const lowered::Inst& inst) const {
    DecodedInst in;
    in.source = inst.source;
    if (inst.source != ptx::kNone)
      in.order = order_of(*lowered_.instruction_of(inst));
    if (inst.guard != ptx::kNone) {
      in.guarded = true;
      in.guard_negated = inst.guard_negated;
      in.guard_offset = decoder_.registers_[inst.guard].offset;
    }
    return in;
  }

  lowered::Function lowered_;
  Decoder decoder_;
  Code& code_;
  const ptx::Function& function_;
  bool is_for_unsupported_ = false;     // what was decoded last computes an operand that is not modelled
  std::optional<Diagnostic> too_large_; // the first variable that does not fit
};

bool is_goto(const DecodedInst& in) {
  return in.source == ptx::kNone && in.guards_itself;
}

std::optional<Diagnostic> decode_function(Program& program, Code& code) {
  return FunctionDecoder(program, code).run();
}

} // namespace lemma::vgpu
