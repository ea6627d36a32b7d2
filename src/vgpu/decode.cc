// FunctionDecoder::run() is the order: registers and variables get their places in the frame, blocks are laid
// out (ptx/flow.h), every instruction goes to its family's selector, branch targets become pcs, and the
// analyses that need the whole function run over the decoded code. An instruction that no selector takes is
// no error here: it becomes a handler that reports `unsupported` if it is ever reached. Finding and asking
// the selector is Decoder::select().
#include "vgpu/decode.h"

#include "ptx/flow.h"
#include "ptx/parameters.h"
#include "support/align.h"
#include "vgpu/clock_registers.h"
#include "vgpu/constant_divisors.h"
#include "vgpu/decoder.h"
#include "vgpu/deferred_wgmma.h"
#include "vgpu/handlers/memory_handlers.h"
#include "vgpu/handlers/mma_runs.h"
#include "vgpu/launch_constants.h"
#include "vgpu/loops.h"
#include "vgpu/wgmma_registers.h"
#include "vgpu/written.h"

#include <fmt/format.h>

#include <algorithm>

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
  x.pc = in.target;
  return Step::jumped;
}

} // namespace

class FunctionDecoder {
public:
  FunctionDecoder(Program& program, Code& code)
      : decoder_(program, code), code_(code), function_(*code.function) {}

  std::optional<Diagnostic> run() {
    place_registers();
    if (auto problem = place_variables())
      return problem;
    const ptx::Flow flow = flow_of(function_);
    const std::vector<ptx::BasicBlock>& blocks = flow.blocks;
    const std::vector<uint32_t> order = layout_order(flow);
    code_.inst_to_pc.assign(function_.instructions.size() + 1, 0);
    std::vector<PcRange> ranges(blocks.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const uint32_t b = order[i];
      ranges[b].begin = pc();
      decode_block(blocks[b]);
      const uint32_t next = i + 1 < order.size() ? order[i + 1] : ptx::kNone;
      if (blocks[b].falls_through && next != b + 1)
        add_goto(blocks[b].end);
      ranges[b].end = pc();
    }
    resolve_targets();
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
    find_unwritten_reads(code_, flow, order, ranges);
    find_loop_state(code_);
    find_loops(code_);
    find_constant_divisors(code_);
    find_mma_runs(code_, ranges);
    find_copies(code_, ranges);
    settle_mma_runs(code_, ranges, find_launch_constants(code_, ranges));
    find_runs();
    if (code_.has_wgmma) {
      find_deferred_wgmma(code_, ranges);
      find_wgmma_registers(code_);
    }
    return std::nullopt;
  }

private:
  uint32_t pc() const { return static_cast<uint32_t>(code_.insts.size()); }

  // DecodedInst::run and ::plain. Whether an instruction jumps or waits is seen when it does.
  void find_runs() {
    uint16_t run = 0, plain = 0;
    const auto longer = [](uint16_t length) {
      return static_cast<uint16_t>(std::min(length + 1, int{UINT16_MAX}));
    };
    for (size_t i = code_.insts.size(); i-- > 0;) {
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
    code_.tracked.assign(function_.registers.size(), false);
    for (const bool predicates : {true, false})
      for (uint32_t r = 0; r < function_.registers.size(); ++r) {
        const ptx::Register& reg = function_.registers[r];
        if ((reg.type == Type::pred) != predicates)
          continue;
        Slot slot = decoder_.place(reg.type);
        for (int component = 1; component < reg.vector_elems; ++component)
          decoder_.place(reg.type);
        slot.reg = r;
        code_.registers[r] = slot;
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

  void decode_block(const ptx::BasicBlock& block) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      code_.inst_to_pc[i] = pc();
      decode(i);
    }
    if (block.begin == block.end) { // the end of the body
      code_.inst_to_pc[block.begin] = pc();
      DecodedInst in = return_instruction();
      code_.insts.push_back(in);
    }
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

  void decode(uint32_t index) {
    const ptx::Instruction& instruction = function_.instructions[index];
    DecodedInst in;
    in.source = index;
    in.order = order_of(instruction);
    if (instruction.guard.reg != ptx::kNone) {
      in.guarded = true;
      in.guard_negated = instruction.guard.negated;
      in.guard_offset = code_.registers[instruction.guard.reg].offset;
      in.guard_reg = instruction.guard.reg;
    }
    DecodedInst selected = in;
    if (instruction.form() && !shares_thread_variables(instruction) &&
        decoder_.select(instruction, selected)) {
      code_.insts.push_back(selected);
      return;
    }
    in.handler = run_unsupported;
    code_.insts.push_back(in);
  }

  void add_goto(uint32_t instruction_index) {
    DecodedInst in;
    in.handler = run_goto;
    in.always_run = true;
    in.target = instruction_index; // a pc once all are placed
    gotos_.push_back(pc());
    code_.insts.push_back(in);
  }

  void resolve_targets() {
    for (const uint32_t at : gotos_)
      code_.insts[at].target = code_.inst_to_pc[code_.insts[at].target];
    for (DecodedInst& in : code_.insts)
      if (in.source != ptx::kNone && function_.instructions[in.source].opcode == isa::Opcode::bra &&
          in.handler != run_unsupported)
        in.target =
            code_.inst_to_pc[function_.labels[function_.instructions[in.source].operands[0].symbol].target];
  }

  Decoder decoder_;
  Code& code_;
  const ptx::Function& function_;
  std::vector<uint32_t> gotos_;
  std::optional<Diagnostic> too_large_; // the first variable that does not fit
};

bool is_unsupported(const DecodedInst& in) {
  return in.handler == run_unsupported;
}

std::optional<Diagnostic> decode_function(Program& program, Code& code) {
  return FunctionDecoder(program, code).run();
}

} // namespace lemma::vgpu
