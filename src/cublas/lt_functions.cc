// The rows of lt_functions.def: each function returns what its row says, or is refused.
#include "cublas/lt_api.h"
#include "cublas/lt_routines.h"

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
#include "cublas/lt_functions.def"
