// The rows of functions.def that need no body of their own. What is implemented is in the files of its
// subject; the linker says if one is missing.
#include "nvml/api.h"
#include "nvml/call.h"

#define IMPLEMENTED(symbol, parameters)
#define SAME(symbol, parameters, arguments, base)                                                            \
  nvmlReturn_t symbol parameters {                                                                           \
    return base arguments;                                                                                   \
  }
#define REFUSED(symbol)                                                                                      \
  nvmlReturn_t symbol() {                                                                                    \
    return lemma::nvml::is_initialized() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;              \
  }
#include "nvml/functions.def"
