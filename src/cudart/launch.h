// What launches and questions about launches have in common.
#pragma once

#include "cudart/runtime.h"

namespace lemma::cudart {

// The runtime's description of a launch as the driver's. cudaErrorInvalidValue: it asks for more shared
// memory than there are numbers for.
cudaError_t to_driver(const cudaLaunchConfig_t& from, CUlaunchConfig& config);

} // namespace lemma::cudart
