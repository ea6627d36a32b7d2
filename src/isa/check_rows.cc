// Run by the build: says what is wrong with the rows of the instruction tables, and fails if anything is.
#include "isa/form.h"

#include <cstdio>

int main() {
  const auto errors = lemma::isa::row_errors();
  for (const std::string& error : errors)
    std::fprintf(stderr, "src/isa: %s\n", error.c_str());
  return errors.empty() ? 0 : 1;
}
