// Offsets of parameters are those of the PTX ISA: in order, each at its own alignment. Whether a kernel reads
// %envreg - cooperative groups find the grid's workspace there - or a clock is worked out for all that it may
// call, by following names backwards from the readers.
#include "runtime/kernel_info.h"

#include "isa/effects.h"
#include "isa/machine.h"
#include "lemma/nearest.h"
#include "ptx/attributes.h"
#include "ptx/debug_info.h"
#include "ptx/parameters.h"
#include "runtime/kernel_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace lemma::runtime {
namespace {

std::string type_text(const ptx::Variable& variable) {
  std::string text = variable.vector_elems > 1 ? fmt::format(".v{} ", variable.vector_elems) : "";
  text += fmt::format(".{}", isa::to_string(variable.type));
  for (const uint64_t dim : variable.dims)
    text += fmt::format("[{}]", dim);
  return text;
}

// Does an operand of the instruction, or one in it, satisfy it?
template <class F>
bool any_operand(const ptx::Operands& operands, const F& is) {
  return std::any_of(operands.begin(), operands.end(), [&](const ptx::Operand& operand) {
    return is(operand) || any_operand(operand.elems, is);
  });
}

bool is_envreg(const ptx::Operand& operand) {
  return operand.kind == ptx::OperandKind::sreg && isa::to_string(operand.sreg).starts_with("%envreg");
}

bool is_clock(const ptx::Operand& operand) {
  if (operand.kind != ptx::OperandKind::sreg)
    return false;
  const std::string_view name = isa::to_string(operand.sreg);
  return name.starts_with("%clock") || name.starts_with("%globaltimer") || name.starts_with("%pm") ||
         name == "%gridid";
}

// Calls f(callee) for each function that the operand names: calls it, or takes its address.
template <class F>
void for_each_function(const ptx::Operand& operand, const F& f) {
  if (operand.kind == ptx::OperandKind::function)
    f(operand.symbol);
  for (const ptx::Operand& elem : operand.elems)
    for_each_function(elem, f);
}

// By function of the module: whether it, or anything it names, has such an instruction.
template <class F>
std::vector<bool> reaching(const ptx::Module& module, const F& is) {
  const auto count = static_cast<uint32_t>(module.functions.size());
  std::vector<bool> reaches(count, false);
  std::vector<std::vector<uint32_t>> named_by(count);
  std::vector<uint32_t> found; // those whose users are still to be marked
  for (uint32_t f = 0; f < count; ++f)
    for (const ptx::Instruction& instruction : module.functions[f].instructions) {
      for (const ptx::Operand& operand : instruction.operands)
        for_each_function(operand, [&](uint32_t named) { named_by[module.body_of(named)].push_back(f); });
      if (!reaches[f] && is(instruction)) {
        reaches[f] = true;
        found.push_back(f);
      }
    }
  while (!found.empty()) {
    const uint32_t function = found.back();
    found.pop_back();
    for (const uint32_t user : named_by[function])
      if (!reaches[user]) {
        reaches[user] = true;
        found.push_back(user);
      }
  }
  return reaches;
}

// `source_names`: of the parameters, if debug information has them.
KernelInfo kernel_info(const ptx::Function& entry, std::span<const std::string> source_names) {
  KernelInfo info;
  info.name = entry.name;
  const ptx::ParameterLayout layout = ptx::lay_out_parameters(entry);
  for (size_t i = 0; i < entry.params.size(); ++i) {
    const ptx::Variable& param = entry.params[i];
    info.parameters.push_back({.name = param.name,
                               .type = type_text(param),
                               .size_bytes = param.size_bytes,
                               .align_bytes = std::max<uint64_t>(param.align, 1),
                               .offset_bytes = layout.offsets[i],
                               .is_pointer = param.is_pointer,
                               .label = {}});
  }
  std::vector<std::string> names;
  for (const Parameter& parameter : info.parameters)
    names.push_back(parameter.name);
  const std::vector<std::string> labels = parameter_labels(info.name, names, source_names);
  for (size_t i = 0; i < labels.size(); ++i)
    info.parameters[i].label = labels[i];
  info.parameter_bytes = layout.bytes;
  info.required_block = entry.bounds.reqntid;
  info.required_cluster = entry.bounds.reqnctapercluster;
  return info;
}

} // namespace

std::vector<KernelInfo> kernel_infos(const ptx::Module& module) {
  const std::vector<bool> read_envreg = reaching(module, [](const ptx::Instruction& instruction) {
    return any_operand(instruction.operands, is_envreg);
  });
  // Functions without a body are the system's: vprintf, malloc, free; of them __assertfail only ends the
  // launch. One that a register names may be any.
  const auto is_more = [&](const ptx::Operand& operand) {
    if (operand.kind != ptx::OperandKind::function)
      return is_clock(operand);
    const ptx::Function& callee = module.functions[module.body_of(operand.symbol)];
    return !callee.has_body && callee.name != "__assertfail";
  };
  const std::vector<bool> more_than_memory = reaching(module, [&](const ptx::Instruction& instruction) {
    return any_operand(instruction.operands, is_more) ||
           (isa::effects_of(instruction.opcode).has(isa::effect::calls) &&
            instruction.operands[0].kind == ptx::OperandKind::reg);
  });
  const auto source_names = ptx::source_parameters(module);
  std::vector<KernelInfo> infos;
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (const ptx::Function& function = module.functions[i]; function.is_entry && function.has_body) {
      infos.push_back(
          kernel_info(function, source_names.contains(i) ? source_names.at(i) : std::vector<std::string>{}));
      infos.back().reads_envreg = read_envreg[i];
      infos.back().has_more_than_memory = more_than_memory[i];
    }
  return infos;
}

std::vector<ModuleVariable> module_variables(const ptx::Module& module) {
  std::vector<ModuleVariable> found;
  for (const ptx::Variable& variable : module.variables)
    if (variable.space == isa::StateSpace::global || variable.space == isa::StateSpace::const_)
      found.push_back({&variable,
                       {.name = variable.name,
                        .space = std::string(isa::to_string(variable.space)),
                        .type = type_text(variable),
                        .size_bytes = variable.size_bytes,
                        .align_bytes = std::max<uint64_t>(variable.align, 1),
                        .is_managed = ptx::is_managed(variable)}});
  return found;
}

std::string describe_parameters(const KernelInfo& kernel) {
  const std::string name = demangled(kernel.name);
  if (kernel.parameters.empty())
    return fmt::format("  kernel {} has no parameters", name);
  size_t name_width = 0, type_width = 0;
  for (const Parameter& p : kernel.parameters) {
    name_width = std::max(name_width, p.label.size());
    type_width = std::max(type_width, p.type.size());
  }
  std::string text = fmt::format("  parameters of kernel {}:", name);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& p = kernel.parameters[i];
    text += fmt::format("\n  {:3}  {:<{}}  {:<{}}  {} byte{}", i, p.label, name_width, p.type, type_width,
                        p.size_bytes, p.size_bytes == 1 ? "" : "s");
  }
  return text;
}

Result<std::vector<std::byte>, Error> lay_out_arguments(const KernelInfo& kernel,
                                                        std::span<const Argument> arguments) {
  const size_t wanted = kernel.parameters.size();
  if (arguments.size() != wanted)
    return failure(ErrorKind::invalid_argument,
                   fmt::format("kernel {} takes {} argument{}, {} given\n{}", demangled(kernel.name), wanted,
                               wanted == 1 ? "" : "s", arguments.size(), describe_parameters(kernel)));
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (size_t i = 0; i < wanted; ++i) {
    const Parameter& parameter = kernel.parameters[i];
    const std::vector<std::byte>& argument = arguments[i].bytes();
    if (argument.size() != parameter.size_bytes)
      return failure(ErrorKind::invalid_argument,
                     fmt::format("argument {} has {} byte{}, parameter {} ({}) has {}\n{}", i,
                                 argument.size(), argument.size() == 1 ? "" : "s", parameter.label,
                                 parameter.type, parameter.size_bytes, describe_parameters(kernel)));
    std::copy(argument.begin(), argument.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(parameter.offset_bytes));
  }
  return bytes;
}

int arch_number(std::string_view target) {
  constexpr std::string_view virtual_prefix = "compute_";
  const auto parsed = target.starts_with(virtual_prefix)
                          ? isa::parse_target(fmt::format("sm_{}", target.substr(virtual_prefix.size())))
                          : isa::parse_target(target);
  return parsed && isa::target_since(*parsed) ? isa::number_now(parsed->sm) : 0;
}

Unexpected<Error> no_such_arch(std::string_view target) {
  std::vector<std::string> words;
  for (const isa::Machine& machine : isa::modelled_machines())
    words.push_back(fmt::format("sm_{}", machine.sm));
  return failure(ErrorKind::invalid_argument,
                 fmt::format("there is no machine '{}'{}; the virtual GPU can be {}", target,
                             did_you_mean(target, {words.begin(), words.end()}), fmt::join(words, ", ")));
}

} // namespace lemma::runtime
