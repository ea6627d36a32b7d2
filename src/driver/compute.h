// What libraries beside this one compute on the host, as operations of streams: cuLemmaCompute (api.h).
//
// Tests: tests/cublas.
#pragma once

#include "driver/operation.h"

namespace lemma::driver {

CUresult enqueue_computation(const Computation& computation, const lemma::Stream& queue, Context& context);

} // namespace lemma::driver
