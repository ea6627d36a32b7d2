// What CUDA programs carry their kernels in, opened: fatbins, cubins, executables -> the PTX that a machine
// is to run.
//
//   const auto modules = lemma::ptx_of_image(bytes_of_the_file, {.arch = "sm_90a", .name = "a.out"});
//   device.load_ptx(modules->front().text, {.name = modules->front().name});
//
// The rule of choice is the CUDA driver's, for which a cubin counts only if it has its PTX inside
// (-lineinfo, -G): the highest target that the machine runs; sm_90a only on sm_90, sm_100f in its family,
// cubins in their major number. Of two for one target PTX goes before a cubin.
//
// Not here: SASS and LTO IR, which nothing of Lemma reads.
//
// Source: seen in the files of nvcc 13.0, ptxas 12.8 and 13.0; src/image/README.md. Tests: tests/unit/image/.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lemma {

struct ImageOptions {
  std::string arch =
      {}; // the machine, as a target: "sm_90a"; empty: any, so that the highest target is taken
  std::string name = "<image>"; // for messages
  // Whether relocatable PTX is linked; else each text is a module, for a link with others.
  bool link = true;
};

struct ImagePtx {
  std::string text;
  std::string name; // for messages: ImageOptions::name, with "(1)" if the image has several modules,
                    // "(member.o)" if it is an archive's
  std::vector<Message> messages; // warnings, where relocatable texts were linked
};

// Whether a file is one of these: it begins as a fatbin, an ELF file or an archive.
bool is_image(std::span<const std::byte> bytes);

// The modules of a file: a fatbin (nvcc -fatbin) or several in a row, a cubin, a host's 64-bit ELF file - an
// executable, a shared library, an object - with fatbins in its sections; an archive (nvcc -lib) of these,
// and of PTX texts (NAME.ptx); or PTX text, which is given back. Relocatable PTX (nvcc -rdc=true, an
// archive's texts) of one file is linked, and is its last module. Any bytes will do. Errors: unsupported (no
// module has PTX that the machine runs: says what there is, and the options of nvcc that put PTX in),
// invalid_argument (the image is damaged, is no image; there is no such `arch`), rejected (the relocatable
// PTX does not link: messages), out_of_memory (a text of more than 256 MiB).
Result<std::vector<ImagePtx>, Error> ptx_of_image(std::span<const std::byte> bytes,
                                                  const ImageOptions& options = {});

// The same for what cuModuleLoadData and cuLibraryLoadData take, a pointer without a size: a wrapper of nvcc
// (of __cudaRegisterFatBinary), a fatbin, a cubin, or text that ends in a NUL. One module. Of a fatbin
// nothing is read but the bytes that its header says it has. Where nothing states a size - a wrapper, the
// length of a text, the headers of a cubin - the pointer is trusted, as the CUDA driver does.
Result<ImagePtx, Error> ptx_of_module_data(const void* image, const ImageOptions& options = {});

} // namespace lemma
