// The machines: what there is to know of each GPU architecture, one row each (machines.def). A new one is one
// row.
//
// Not here: which instructions it has (the rows' sets of targets), how its matrix units add
// (numeric/dot_model.cc, by numeric::Arch), and what is alike on all of them (vgpu/code/machine.h).
//
// CUDA C++ Programming Guide: "Compute Capabilities". Tests: tests/unit/isa/machine_test.cc.
#pragma once

#include "isa/target.h"
#include "numeric/arch.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lemma::isa {

// What a machine was called once, with the PTX versions that know the name.
struct EarlierName {
  int sm = 0; // 0: it has had one name
  IsaVersion since{};
  IsaVersion since_a{};
  IsaVersion since_f{};
};

struct Machine {
  int sm = 0; // 90: compute capability 9.0
  // The PTX version that brought the targets sm_90, sm_90a and sm_90f; 0.0: there is no such target.
  IsaVersion since{};
  IsaVersion since_a{};
  IsaVersion since_f{};
  EarlierName earlier{};

  // How matrix products round; none: the virtual GPU cannot be this machine, and what follows is empty. A
  // machine that nobody has asked has its neighbour's.
  std::optional<numeric::Arch> arithmetic{};
  // Of the approximate functions (numeric/mufu.h): those of sm_90, or taken to be.
  numeric::Evidence approximate = numeric::Evidence::assumed;

  std::string_view card{}; // the GPU that has the number of SMs
  uint32_t sm_count = 0;
  uint32_t threads_per_sm = 0;
  uint32_t ctas_per_sm = 0;
  uint32_t shared_kib_per_sm = 0;
  uint32_t reserved_kib = 0;      // of them, that each CTA needs for the system
  uint32_t shared_unit_bytes = 0; // a CTA has a multiple of
  uint32_t cluster_ctas = 0;      // 1: it has no clusters
};

std::span<const Machine> machines();

// Null where there is none of this compute capability, be it by an earlier name.
const Machine* find_machine(int sm);

// The number that the machine has now: 110 for 101. Of no machine: the same.
int number_now(int sm);

// None where there is no such machine, or the virtual GPU cannot be it.
std::optional<numeric::Arch> arithmetic_of(int sm);

// Those that the virtual GPU can be: all from one on.
std::span<const Machine> modelled_machines();

// The target with everything that the machine has: sm_80, sm_90a.
Target fullest_target(const Machine& machine);

} // namespace lemma::isa
