// From the special to the general: values that are the machine's own, sums whose order is, matrix products,
// approximate functions; all else the PTX ISA defines to the bit.
#include "fidelity/fidelity.h"

#include "fidelity/recorded.h"
#include "isa/effects.h"
#include "isa/machine.h"
#include "isa/matrix_model.h"
#include "isa/target.h"

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
  known.evidence = known.fidelity == Fidelity::published ? "MMA-Sim (arXiv:2511.10909), or the code of ptxas"
                   : known.fidelity == Fidelity::assumed ? "as the nearest form or machine that is known"
                                                         : "";
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
  known.evidence = checked_on_hardware(*form).gpu;
  if (isa::effects_of(instruction.opcode).has(isa::effect::samples)) { // what surfaces give is defined
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
