// The PTX of a file: the file itself, or what a fatbin, a cubin, an executable or an archive carries
// (lemma/image.h).
//
// Tests: tests/cli/image_cli_test.py.
#pragma once

#include "stop.h"

#include "lemma/verify.h"

#include <string>
#include <vector>

namespace lemma::cli {

// Whether a file's bytes are to be opened.
bool is_image_text(const std::string& bytes);

// The texts of an image's modules, named as messages call them: "a.out", "a.out(2)". `arch` as
// ImageOptions::arch. Warnings go to standard error.
Result<std::vector<PtxText>, Error> texts_of_image(const std::string& bytes, const std::string& file,
                                                   const std::string& arch = {}, bool link = true);
// Of a file, whatever it is: one text if it is none. A file that cannot be read is an invalid_argument.
// `link`: of relocatable texts one; else each as it is.
Result<std::vector<PtxText>, Error> read_ptx_texts(const std::string& path, bool link = true);

// Of several modules the one that has the kernel, as Module::kernel() finds it. A wrong name is usage(),
// which lists what there is.
Result<PtxText, Stop> module_with_kernel(std::vector<PtxText> modules, const std::string& file,
                                         const std::string& kernel);

} // namespace lemma::cli
