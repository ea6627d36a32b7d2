// The rows of machines.def as a table, oldest first, and look-ups in it by number. modelled_machines() is the
// table from the first row on that has an arithmetic: no later one may lack it.
#include "isa/machine.h"

#include <algorithm>
#include <iterator>

namespace lemma::isa {
namespace {

using enum numeric::Arch;
using enum numeric::Evidence;

constexpr Machine kMachines[] = {
#define MACHINE(...) Machine{__VA_ARGS__},
#include "isa/machines.def"
#undef MACHINE
};

} // namespace

std::span<const Machine> machines() {
  return kMachines;
}

const Machine* find_machine(int sm) {
  const auto* const it =
      std::find_if(std::begin(kMachines), std::end(kMachines), [&](const Machine& machine) {
        return machine.sm == sm || (sm && machine.earlier.sm == sm);
      });
  return it == std::end(kMachines) ? nullptr : it;
}

int number_now(int sm) {
  for (const Machine& machine : kMachines)
    if (machine.earlier.sm == sm && sm)
      return machine.sm;
  return sm;
}

std::optional<numeric::Arch> arithmetic_of(int sm) {
  const Machine* machine = find_machine(sm);
  return machine ? machine->arithmetic : std::nullopt;
}

std::span<const Machine> modelled_machines() {
  return {std::find_if(std::begin(kMachines), std::end(kMachines),
                       [](const Machine& machine) { return machine.arithmetic.has_value(); }),
          std::end(kMachines)};
}

Target fullest_target(const Machine& machine) {
  return {machine.sm, machine.since_a.major ? 'a' : '\0'};
}

} // namespace lemma::isa
