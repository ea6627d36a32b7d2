// Several modules as one, as a linker makes them: names that they share mean the same thing, names of a
// module's own stay apart.
//
// What a name that several modules have stands for:
//   extern            what another module defines, or one of the names that are `provided`
//   visible           the one definition; a second one is an error
//   weak              the first one, where no module has a visible one
//   common            one variable, as large and as aligned as the largest, where no module has a visible one
//   none              the module's own: renamed where another module has the name, too
// Entries keep their names: two of one name are an error. `.extern .shared` arrays, dynamic shared memory,
// are no references.
//
// The result has the newest of the modules' versions and the latest of their targets. Line numbers are kept,
// and the names of inlined functions; other debug information is not: its offsets are a module's own.
//
// PTX ISA: "Linking Directives". Tests: tests/unit/ptx/link_test.cc.
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"

#include <span>
#include <string_view>
#include <vector>

namespace lemma::ptx {

// A message about one of the modules.
struct LinkDiagnostic {
  size_t module = 0; // index of those that were given
  Diagnostic diagnostic;
};

struct LinkOutcome {
  Module
      module; // of use only if no diagnostic is an error; refers to nothing of the others but their bindings
  std::vector<LinkDiagnostic> diagnostics; // in the order of the modules and their texts
};

// The modules are verified, and must live as long as the result. `provided`: functions that need no
// definition.
LinkOutcome link(std::span<const Module* const> modules, std::span<const std::string_view> provided);

} // namespace lemma::ptx
