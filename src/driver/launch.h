// From what a program gives a launch function to an operation.
//
// Tests: tests/driver/launch_forms.cc, launch_shared.cc, launch_errors.cc.
#pragma once

#include "driver/operation.h"

namespace lemma::driver {

// Kernel parameters as the two ways to give them have them. CUDA_ERROR_INVALID_VALUE,
// CUDA_ERROR_INVALID_HANDLE.
CUresult make_launch(Context& context, const CUDA_KERNEL_NODE_PARAMS& parameters, KernelLaunch& launch);
// What launch attributes ask for; those that only make a GPU faster are kept and have no effect.
CUresult add_attribute(KernelLaunch& launch, const CUlaunchAttribute& attribute);

CUresult check_launch(const KernelLaunch& launch);
CUresult enqueue_launch(const KernelLaunch& launch, const lemma::Stream& queue, Context& context);

} // namespace lemma::driver
