// Lemma's public C++ API. Standard library only; C++20. Functions live in namespace lemma; errors are
// returned.
//
//   lemma/device.h   devices, memory, modules, launches
//   lemma/launch.h   how a kernel is launched
//   lemma/engine.h   engines by name
//   lemma/report.h   what a launch has to say
//   lemma/running_launch.h  what one is at that has not ended
//   lemma/findings.h, suppressions.h  what a checked launch has found
//   lemma/explore.h  one launch in many schedules (not included here)
//   lemma/process_reports.h  what processes under `lemma exec` leave (not included here)
//   lemma/observer.h  what a launch does, event by event
//   lemma/fidelity.h  how well the bits of what ran are known
//   lemma/verify.h   PTX text checked
//   lemma/link.h     several PTX texts as one
//   lemma/image.h    fatbins, cubins, executables: the PTX in them
//   lemma/isa.h      the instructions: which there are, where they run
//   lemma/layout.h   who holds what: in registers, in tensor memory, tiles in shared memory
//   lemma/descriptor.h  descriptors of wgmma and tcgen05, field by field
//   lemma/occupancy.h  how many CTAs an SM holds
//   lemma/mma.h      one matrix product, bit for bit
//   lemma/timing.h   how long launches take on a GPU (not included here)
//   lemma/mlir.h     MLIR programs (not included here)
//   lemma/message.h  messages about PTX text, errors
//   lemma/npy.h      .npy files
//   lemma/result.h   a value or an error
//
// lemma/c.h is a C API over it, in a shared library (docs/c-api.md). Link with the CMake target lemma::lemma.
//
// Tests: tests/unit/runtime/, tests/package/.
#pragma once

#include "lemma/descriptor.h"
#include "lemma/device.h"
#include "lemma/engine.h"
#include "lemma/fidelity.h"
#include "lemma/findings.h"
#include "lemma/image.h"
#include "lemma/isa.h"
#include "lemma/layout.h"
#include "lemma/link.h"
#include "lemma/message.h"
#include "lemma/mma.h"
#include "lemma/npy.h"
#include "lemma/observer.h"
#include "lemma/occupancy.h"
#include "lemma/report.h"
#include "lemma/result.h"
#include "lemma/stream.h"
#include "lemma/suppressions.h"
#include "lemma/verify.h"

#include <string_view>

namespace lemma {

// "0.1.0"
std::string_view version();

} // namespace lemma
