// The rows of functions.def that need no body of their own: what is refused, and what stands for another with
// the thread's own default stream. What is implemented is in the files of its subject; the linker says if one
// is missing.
#include "cudart/api.h"
#include "cudart/runtime.h"

using lemma::cudart::PerThreadDefault;
using lemma::cudart::refuse;

#define IMPLEMENTED(result, symbol, parameters)
#define REFUSED(result, symbol, parameters)                                                                  \
  extern "C" result symbol parameters {                                                                      \
    return refuse(#symbol);                                                                                  \
  }
#define UNDECLARED(symbol)                                                                                   \
  extern "C" cudaError_t symbol() {                                                                          \
    return refuse(#symbol);                                                                                  \
  }
#define PER_THREAD(result, symbol, parameters, arguments, base)                                              \
  extern "C" result symbol parameters {                                                                      \
    const PerThreadDefault own;                                                                              \
    return base arguments;                                                                                   \
  }
#include "cudart/functions.def"
