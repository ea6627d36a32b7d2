// PTX that Lemma attaches to a cubin, so that it can run what made no -lineinfo or lost it: several texts of
// one link, or of a client that has ptxas leave debug information out.
//
//     ELF header       where the headers of the sections are: changed
//     ...              as it was
//     .lemma_ptx       the texts, each as it was given and with a NUL behind it
//     .shstrtab        the names, and this one more
//     section headers  those that there were, and this one more; the old ones remain, and nobody points to
//     them
//
// So no byte that there was moves, and segments and machine code stay as they are. A section of type PROGBITS
// without SHF_ALLOC, which nothing loads: ptxas' and nvJitLink's debug texts are of that kind, too.
//
// Tests: tests/unit/image/attached_test.cc.
#pragma once

#include "image/bytes.h"
#include "image/elf.h"
#include "lemma/result.h"

#include <span>
#include <string>
#include <vector>

namespace lemma::image {

inline constexpr const char kAttachedPtx[] = ".lemma_ptx";

// The cubin with these texts; those that it had attached are gone. Error: it is no cubin, or is damaged; a
// text that is empty or has a NUL inside.
Result<std::string, std::string> attach_ptx(Bytes cubin, std::span<const std::string> texts);

// The texts, in the order in which they were attached. None: nothing was.
std::vector<std::string> attached_ptx(const Elf& elf);

} // namespace lemma::image
