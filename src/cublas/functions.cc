// The rows of functions.def: each function returns what its row says, or is refused.
#include "cublas/api.h"
#include "cublas/call.h"
#include "cublas/routines.h"

using namespace lemma::cublas;
using namespace lemma::cublas::routines;

#define OTHER(result, symbol, parameters)
#define REFUSED(symbol)                                                                                      \
  extern "C" cublasStatus_t symbol() {                                                                       \
    return refuse(#symbol);                                                                                  \
  }
#define PLAIN(symbol, parameters, ...)                                                                       \
  extern "C" cublasStatus_t symbol parameters {                                                              \
    return called(#symbol, [&] { return __VA_ARGS__; });                                                     \
  }
#define ROUTINE(symbol, parameters, ...) PLAIN(symbol, parameters, __VA_ARGS__)
#define Int int
#include "cublas/functions.def"
#undef Int
#undef REFUSED
#undef PLAIN
#undef ROUTINE
#define REFUSED(symbol)
#define PLAIN(symbol, parameters, ...)
#define ROUTINE(symbol, parameters, ...)                                                                     \
  extern "C" cublasStatus_t symbol##_64 parameters {                                                         \
    return called(#symbol "_64", [&] { return __VA_ARGS__; });                                               \
  }
#define Int int64_t
#include "cublas/functions.def"
