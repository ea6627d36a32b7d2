// A cubin: the GPU's code in an ELF file, and with -lineinfo or -G (ptxas, NVRTC, nvJitLink) the PTX that it
// was made of, which is all that is read here. What Lemma has attached (attached.h) comes before that: it is
// whole, and has its .loc.
//
// The section .nv_debug_ptx_txt has the lines of the PTX, each with a NUL in place of its newline. Its .loc
// and .file are gone; cubin_lines.h brings them back. What was linked with others, as LTO IR with NVIDIA's
// device runtime, has it as .nv_debug_ptx_txt.NUMBER; where there are several such, their lines are lost.
//
// Not in any document; seen in what ptxas 12.8, 12.9 and 13.0 and nvJitLink 13.5 make. Tests:
// tests/unit/image/cubin_test.cc.
#pragma once

#include "image/bytes.h"
#include "image/elf.h"
#include "isa/target.h"
#include "lemma/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::image {

inline constexpr uint16_t kCudaMachine = 190; // EM_CUDA: the e_machine of a cubin

struct Cubin {
  isa::Target
      target; // what the machine code is for; sm 0: not known. Whether it is sm_90a, the PTX alone says
  std::vector<std::string> texts; // none: it was made without -lineinfo; several were linked
};

Cubin read_cubin(const Elf& elf);

// The .target of a PTX text, which stands behind nothing but comments and .version; none: not there.
std::optional<isa::Target> target_of(std::string_view ptx);

} // namespace lemma::image
