// What a command line of ptxas names: the PTX that it compiles, and the file that it makes.
//
// ptxas has many options that take a value, and each release has more. So an input is whatever word has PTX:
// a file that begins as PTX does, a text itself (--input-as-string), or "-", standard input.
//
// Tests: tests/exec/ptxas_test.py.
#pragma once

#include <string>
#include <vector>

namespace lemma::ptxas {

struct Words {
  std::vector<std::string> texts; // in the order in which they stand
  std::string output = "elf.o";   // where ptxas writes if nobody says so
  bool reads_input = false;       // the last of texts is standard input, which was read
};

// Reads the inputs. `words`: the command line without the program; files of options (--options-file) are
// read, too.
Words read_words(const std::vector<std::string>& words);

} // namespace lemma::ptxas
