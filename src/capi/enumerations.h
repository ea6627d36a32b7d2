// to_c() and to_cpp() between the enumerations of enumerations.def. The compiler warns of an enumerator that
// a row is missing for, on either side.
//
// Tests: tests/unit/capi/base_test.cc.
#pragma once

#include "capi/failure.h"
#include "lemma/c.h"
#include "lemma/descriptor.h"
#include "lemma/isa.h"
#include "lemma/launch.h"
#include "lemma/layout.h"
#include "lemma/message.h"
#include "lemma/mlir.h"
#include "lemma/observer.h"
#include "lemma/report.h"
#include "lemma/tensor_map.h"

namespace lemma::capi {

#define ENUMERATION(Cpp, C)                                                                                  \
  constexpr C to_c(Cpp value) {                                                                              \
    using From = Cpp;                                                                                        \
    switch (value) {
#define ROW(cpp, c)                                                                                          \
  case From::cpp:                                                                                            \
    return c;
#define END                                                                                                  \
  }                                                                                                          \
  return {};                                                                                                 \
  }
#include "capi/enumerations.def"

// Throws Failure for what is none.
#define ENUMERATION(Cpp, C)                                                                                  \
  inline Cpp to_cpp(C value) {                                                                               \
    using To = Cpp;                                                                                          \
    constexpr const char* name = #C;                                                                         \
    switch (value) {
#define ROW(cpp, c)                                                                                          \
  case c:                                                                                                    \
    return To::cpp;
#define END                                                                                                  \
  }                                                                                                          \
  invalid("there is no " + std::string(name) + " " + std::to_string(static_cast<int>(value)));               \
  }
#include "capi/enumerations.def"

} // namespace lemma::capi
