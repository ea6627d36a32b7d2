// What the host must know of a kernel: its parameters and where they lie, what its launch needs.
//
// PTX ISA: "Kernel Function Parameters", "Parameter State Space".
// Tests: tests/unit/runtime/kernel_info_test.cc.
#pragma once

#include "ptx/module.h"
#include "runtime/device_impl.h"

namespace lemma::runtime {

// Every .entry with a body, in the order of the text.
std::vector<KernelInfo> kernel_infos(const ptx::Module& module);

// Every variable of module scope in global or constant memory, in the order of the text; where they lie is
// left open.
struct ModuleVariable {
  const ptx::Variable* declared = nullptr;
  Variable variable;
};
std::vector<ModuleVariable> module_variables(const ptx::Module& module);

// One line a parameter, for messages: "  0  x  .u64  8 bytes".
std::string describe_parameters(const KernelInfo& kernel);

// The parameters' bytes from one argument each; invalid_argument (with the list above) if number or sizes
// differ.
Result<std::vector<std::byte>, Error> lay_out_arguments(const KernelInfo& kernel,
                                                        std::span<const Argument> arguments);

// 90 for "sm_90", "sm_90a" and "compute_90"; 0 if there is no such machine.
int arch_number(std::string_view target);
// And what is said then, with those that there are.
Unexpected<Error> no_such_arch(std::string_view target);

} // namespace lemma::runtime
