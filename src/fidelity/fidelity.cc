// From the special to the general: values that are the machine's own, sums whose order is, matrix products,
// approximate functions; all else the PTX ISA defines to the bit.
#include "fidelity/fidelity.h"

#include "fidelity/recorded.h"
#include "isa/effects.h"
#include "isa/machine.h"
#include "isa/matrix_model.h"
#include "isa/target.h"
#include "layout/tensor_instruction_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace lemma::fidelity {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::SpecialRegister;

// Clocks run as fast as the host, CTAs are given to SMs as the scheduler likes.
bool is_machines_own(SpecialRegister sreg) {
  switch (sreg) {
  case SpecialRegister::smid:
  case SpecialRegister::nsmid:
  case SpecialRegister::warpid:
  case SpecialRegister::gridid:
    return true;
  default:
    return isa::extent_of(sreg) == isa::Extent::moment;
  }
}

// The register of those that the instruction reads; none: there is none.
std::optional<SpecialRegister> reads_machines_own(const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands)
    if (operand.kind == ptx::OperandKind::sreg && is_machines_own(operand.sreg))
      return operand.sreg;
  return std::nullopt;
}

// An atomic sum: of a tensor's elements nobody knows the type here.
bool adds_floats(const ptx::Instruction& instruction) {
  const isa::Effects does = isa::effects_of(instruction.opcode);
  return (is_atomic(does) || does.has(isa::effect::reduces)) && instruction.has(Qual::add) &&
         std::any_of(instruction.types().begin(), instruction.types().end(),
                     [](isa::Type type) { return isa::is_float(type); });
}

// What the PTX ISA does not define to the bit, and no recording covers either: which random bits round which
// element.
bool is_assumed(const ptx::Instruction& instruction) {
  return instruction.has(Qual::rs);
}

// Was the machine's arithmetic what the records were made with?
bool is_of(const HardwareCheck& check, numeric::Arch machine) {
  return std::any_of(check.records.begin(), check.records.end(), [&](const std::string& record) {
    const auto target = isa::parse_target(record.substr(0, record.find('/')));
    return target && isa::arithmetic_of(target->sm) == machine;
  });
}

// Integers and single bits: only what happens beyond 32 bits is the machine's.
bool is_defined(const numeric::DotModel& model) {
  switch (model.scheme) {
  case numeric::DotScheme::integer:
    return !model.satfinite;
  case numeric::DotScheme::xor_popc:
  case numeric::DotScheme::and_popc:
    return true;
  default:
    return false;
  }
}

std::string_view evidence_words(Fidelity fidelity) {
  return fidelity == Fidelity::published ? "MMA-Sim (arXiv:2511.10909), or the code of ptxas"
         : fidelity == Fidelity::assumed ? "as the nearest form or machine that is known"
                                         : "";
}

void know_matrix(const ptx::Instruction& instruction, const isa::MatrixRow& row, numeric::Arch machine,
                 Known& known) {
  const HardwareCheck check = checked_on_hardware(row);
  known.evidence = check.gpu;
  const auto model = isa::matrix_model(row, instruction.quals(), instruction.types(), machine);
  if (!model || is_defined(model->dot)) // none: it moves data, or it will stop the launch
    return;
  if (check.any() && is_of(check, machine)) {
    known.fidelity = Fidelity::recorded;
    return;
  }
  known.fidelity = fidelity_of(model->dot.evidence);
  known.evidence = evidence_words(known.fidelity);
}

// The types of tcgen05.mma are in its descriptor, which only a run sees: what is known least among those that
// the kind may have. No hardware has been asked.
void know_tensor(const ptx::Instruction& instruction, layout::TensorKind kind,
                 layout::TensorInstruction words, numeric::Arch machine, Known& known) {
  namespace fields = layout::instruction_fields;
  for (const layout::TensorFormat d : fields::d_types(kind))
    for (const layout::TensorFormat a : fields::operand_types(kind)) {
      if (d == layout::TensorFormat::none || a == layout::TensorFormat::none)
        continue;
      const auto model = isa::tensor_model({.kind = kind, .a = a, .b = a, .d = d, .sparse = words.sp},
                                           words.scale_vec, machine);
      if (model && !is_defined(*model))
        known.fidelity = std::max(known.fidelity, fidelity_of(model->evidence));
    }
  known.evidence = evidence_words(known.fidelity);
  const bool scales_d =
      std::any_of(instruction.form()->operands.begin(), instruction.form()->operands.end(),
                  [](const isa::OperandSpec& spec) { return spec.name == "scale-input-d"; });
  if (!scales_d)
    return;
  known.fidelity = Fidelity::assumed;
  known.evidence = "D of scale-input-d rounded to nearest even where it becomes subnormal";
}

} // namespace

Fidelity fidelity_of(numeric::Evidence evidence) {
  switch (evidence) {
  case numeric::Evidence::measured:
    return Fidelity::recorded;
  case numeric::Evidence::published:
    return Fidelity::published;
  case numeric::Evidence::assumed:
    break;
  }
  return Fidelity::assumed;
}

Known how_known(const ptx::Instruction& instruction, int sm) {
  Known known{.form = isa::spelling_of(*instruction.binding), .evidence = {}};
  const isa::Machine* machine = isa::find_machine(sm);
  const isa::Form* form = instruction.form();
  if (!form || !machine || !machine->arithmetic)
    return known;
  if (const auto sreg = reads_machines_own(instruction)) {
    known.form += fmt::format(" {}", isa::to_string(*sreg));
    known.fidelity = Fidelity::approximate;
    known.evidence = "the value is the machine's own";
    return known;
  }
  if (form->matrix) {
    know_matrix(instruction, *form->matrix, *machine->arithmetic, known);
    return known;
  }
  if (const auto words = isa::tensor_words(instruction.opcode, instruction.quals())) {
    know_tensor(instruction, words->kind, words->instruction, *machine->arithmetic, known);
    return known;
  }
  known.evidence = checked_on_hardware(*form).gpu;
  const isa::Effects does = isa::effects_of(instruction.opcode);
  if (does.has(isa::effect::tensor_memory) && does.has(isa::effect::writes) &&
      !does.has(isa::effect::asynchronous)) { // an allocation writes its address
    known.fidelity = Fidelity::assumed;
    known.evidence = "an allocation has the lowest columns that are free";
    return known;
  }
  if (does.has(isa::effect::samples)) { // what surfaces give is defined
    known.fidelity = sm == 90 ? Fidelity::recorded : Fidelity::assumed;
    known.evidence = sm == 90 ? "NVIDIA H200" : "as on sm_90";
  } else if (instruction.opcode == Opcode::activemask) {
    known.fidelity = Fidelity::approximate;
    known.evidence = "which lanes run together is the machine's own";
  } else if (adds_floats(instruction)) {
    known.fidelity = Fidelity::approximate;
    known.evidence = "the order of the additions is the machine's own";
  } else if (is_assumed(instruction) && known.evidence.empty()) {
    known.fidelity = Fidelity::assumed;
    known.evidence = "as the PTX ISA and the code of ptxas have it";
  } else if (instruction.has(Qual::approx) || instruction.has(Qual::full)) {
    known.fidelity = fidelity_of(machine->approximate);
    if (known.fidelity == Fidelity::assumed)
      known.evidence = fmt::format("as on sm_90{}", known.evidence.empty() ? "" : ", " + known.evidence);
  }
  return known;
}

} // namespace lemma::fidelity
