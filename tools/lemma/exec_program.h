// The process that `lemma exec` makes of a program: where Lemma's libraries are, the environment that brings
// them into the program and all that it starts, and how it ended.
//
// Tests: tests/exec/.
#pragma once

#include "lemma/result.h"

#include <string>
#include <utility>
#include <vector>

namespace lemma::cli {

// The folder with libcuda.so.1, as it lies beside this tool built or installed. Error: there is none.
Result<std::string, std::string> libraries_folder();

// The file that a program's name stands for, as a shell finds it. Error: there is none that can be executed.
Result<std::string, std::string> find_program(const std::string& name);

// What an executable says about how it will find its libraries. Nothing of what is no ELF file: a script.
struct ProgramFile {
  std::string other_runtime; // "libcudart.so.12": one that Lemma has none for; empty: none
  bool has_rpath = false;    // DT_RPATH, which comes before LD_LIBRARY_PATH
};
ProgramFile look_at_program(const std::string& path);

// What the variables of the environment become; the rest stays as it is.
using Variables = std::vector<std::pair<std::string, std::string>>;
// Lemma's libraries first, and what is preloaded. `preload_all`: the driver and the runtime too.
Variables library_variables(const std::string& folder, bool preload_all);

// Becomes the program; returns only if that failed: why.
std::string become_program(const std::string& path, const std::vector<std::string>& words,
                           const Variables& variables);
// Runs it to its end, passing signals on. Its exit status as a shell has it: 128 and the signal that ended
// it. Error: it could not be started.
Result<int, std::string> run_program(const std::string& path, const std::vector<std::string>& words,
                                     const Variables& variables);
// Has a program that ran been asked to end, by Ctrl-C or another signal of that kind?
bool was_asked_to_end();

} // namespace lemma::cli
