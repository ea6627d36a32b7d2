// Writes the words of PTX as a libFuzzer dictionary: opcodes, qualifiers, types, special registers,
// directives.
#include "isa/vocabulary.h"

#include <cstdio>
#include <string_view>

int main() {
  const auto word = [](const char* before, std::string_view spelling) {
    std::printf("\"%s%.*s\"\n", before, static_cast<int>(spelling.size()), spelling.data());
  };
#define OPCODE(name, spelling) word("", spelling);
#include "isa/opcodes.def"
#undef OPCODE
#define QUAL(name, spelling) word(".", spelling);
#include "isa/qualifiers.def"
#undef QUAL
#define TYPE(name, bits, kind) word(".", #name);
#include "isa/types.def"
#undef TYPE
#define SREG(name, spelling, ...) word("", spelling);
#include "isa/special_registers.def"
#undef SREG
  for (const char* directive : {".version",
                                ".target",
                                ".address_size",
                                ".visible",
                                ".extern",
                                ".weak",
                                ".common",
                                ".entry",
                                ".func",
                                ".reg",
                                ".tex",
                                ".align",
                                ".ptr",
                                ".attribute(.managed)",
                                ".unified(1,2)",
                                ".file 1 \\\"a\\\"",
                                ".loc 1 2 3",
                                ", function_name f, inlined_at 1 2 3",
                                ".section .debug_info {",
                                ".pragma \\\"nounroll\\\";",
                                ".alias a, b;",
                                ".maxntid",
                                ".reqntid",
                                ".minnctapersm",
                                ".maxnreg",
                                ".reqnctapercluster",
                                ".explicitcluster",
                                ".maxclusterrank",
                                ".blocksareclusters",
                                ".noreturn",
                                ".abi_preserve",
                                ".callprototype",
                                ".branchtargets",
                                ".calltargets",
                                "WARP_SZ",
                                "generic(",
                                "0xFF00(",
                                "%r<100>",
                                "@!%p1",
                                "0f3f800000",
                                "0d3ff0000000000000",
                                "(.s64)",
                                "//",
                                "/*",
                                "*/"})
    word("", directive);
}
