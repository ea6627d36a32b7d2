// Names and texts of errors, and each thread's last one.
#include "cudart/api.h"
#include "cudart/call.h"

#include <algorithm>
#include <iterator>

namespace lemma::cudart {
namespace {

struct ErrorRow {
  unsigned number;
  const char* name;
  const char* text;
};
#define SHARED(name) {name, #name, nullptr},
#define OWN(name, text) {name, #name, text},
const ErrorRow kErrors[] = {
#include "cudart/errors.def"
};
#undef SHARED
#undef OWN
#define ERROR(name, text) {name, #name, text},
const ErrorRow kDriverErrors[] = {
#include "driver/errors.def"
};
#undef ERROR

template <size_t N>
const ErrorRow* row_of(const ErrorRow (&rows)[N], unsigned number) {
  const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                 [&](const ErrorRow& each) { return each.number == number; });
  return row == std::end(rows) ? nullptr : row;
}

constexpr const char* kUnknown = "unrecognized error code";

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorRow* row = row_of(kErrors, error);
  return row ? row->name : kUnknown;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorRow* row = row_of(kErrors, error);
  if (!row)
    return kUnknown;
  return row->text ? row->text : row_of(kDriverErrors, error)->text;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error();
  clear_last_error();
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return last_error();
}
