// The limits of a launch from the machine's row. See machine.h.
#include "vgpu/code/machine.h"

#include "isa/machine.h"

namespace lemma::vgpu {

MachineLimits limits_of(Arch arch) {
  const isa::Machine* machine = isa::find_machine(arch.sm);
  if (!machine || !machine->arithmetic)
    machine = &isa::modelled_machines().front();
  MachineLimits limits;
  limits.sm_count = machine->sm_count;
  limits.threads_per_sm = machine->threads_per_sm;
  limits.ctas_per_sm = machine->ctas_per_sm;
  limits.shared_bytes_per_sm = machine->shared_kib_per_sm * 1024;
  limits.reserved_shared_bytes = machine->reserved_kib * 1024;
  limits.shared_unit_bytes = machine->shared_unit_bytes;
  limits.max_shared_bytes_per_cta = limits.shared_bytes_per_sm - limits.reserved_shared_bytes;
  limits.max_cluster_ctas = machine->cluster_ctas;
  return limits;
}

} // namespace lemma::vgpu
