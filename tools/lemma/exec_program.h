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

// What the variables of the environment become; the rest stays as it is.
using Variables = std::vector<std::pair<std::string, std::string>>;

// The folder with libcuda.so.1, as it lies beside this tool built or installed. Error: there is none.
Result<std::string, std::string> libraries_folder();

// The file that a program's name stands for, as a shell finds it that has these variables. Error: there is
// none that can be executed.
Result<std::string, std::string> find_program(const std::string& name, const Variables& variables);

// "libcudart.so.12": a runtime that the executable needs and Lemma has not. Empty: none, or no ELF file, as a
// script.
std::string other_runtime_of(const std::string& path);

// Lemma's libraries first: those of the folder where libraries are looked for, and preloaded; its modules
// where Python looks for them, and its programs in PATH.
Variables library_variables(const std::string& folder);

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
