// D = epilogue(alpha * scales * op(A) * op(B) + beta * C) of cublasLt, and the transformation of one matrix
// into another.
//
// Sums, bias, activation and scales are f64; D, and what else is written, is rounded once. GELU is its
// approximation by tanh, as cuBLAS has it.
//
// Source: "cuBLAS Library", cublasLtMatmul() and cublasLtEpilogue_t.
#include "cublas/lt_descriptors.h"
#include "cublas/lt_routines.h"
#include "cublas/operand.h"

#include <cmath>
#include <optional>

namespace lemma::cublas {
namespace {

constexpr unsigned kRelu = 2, kBias = 4, kReluGradient = 8, kBiasGradient = 16, kGelu = 32,
                   kGeluGradient = 64, kAux = 128, kBiasGradientA = 256, kBiasGradientB = 512;

bool is_fp8(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}
bool is_float(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF || is_fp8(type);
}

// One of the four matrices.
struct Operand {
  CUdeviceptr address = 0;
  Layout layout;

  bool is_row_major() const { return layout.order == CUBLASLT_ORDER_ROW; }
  Matrix in_memory(int64_t batch) const {
    const auto rows = static_cast<int64_t>(layout.rows), columns = static_cast<int64_t>(layout.columns);
    const Matrix first{address, layout.element(), is_row_major() ? columns : rows,
                       is_row_major() ? rows : columns, layout.ld};
    return first.at(batch * layout.batch_stride);
  }
};

template <class V>
Dense<V> load(const Memory& memory, const Operand& from, int64_t batch) {
  Dense<V> values = cublas::load<V>(memory, from.in_memory(batch));
  return from.is_row_major() ? transposed(values) : values;
}
template <class V>
void store(const Memory& memory, const Operand& to, int64_t batch, const Dense<V>& values) {
  cublas::store(memory, to.in_memory(batch), to.is_row_major() ? transposed(values) : values);
}

double load_f32(const Memory& memory, const void* at) {
  float value = 0;
  memory.read(&value, address_of(at), sizeof value, 1, 0);
  return value;
}
void store_f32(const Memory& memory, void* at, double value) {
  const auto rounded = static_cast<float>(value);
  memory.write(address_of(at), &rounded, sizeof rounded, 1, 0);
}

// Alpha or beta: one, or one for each row of D.
template <class V>
std::vector<V> load_factors(const Memory& memory, const Scalar* scalar, const void* vector, cudaDataType type,
                            int64_t rows, int64_t offset) {
  if (scalar)
    return std::vector<V>(static_cast<size_t>(rows), scalar->get<V>(memory));
  return cublas::load<V>(memory, Matrix{address_of(vector), type, rows, 1, rows}.at(offset)).values;
}

// What a call of cublasLtMatmul is.
struct Matmul {
  MatmulDescription how;
  Operand a, b, c, d;
  std::optional<Scalar> alpha, beta; // else vectors
  const void *alpha_vector = nullptr, *beta_vector = nullptr;
  bool beta_is_zero = false;

  cudaDataType scale() const { return static_cast<cudaDataType>(how.scale); }
  cublasOperation_t op_a() const { return static_cast<cublasOperation_t>(how.op_a); }
  cublasOperation_t op_b() const { return static_cast<cublasOperation_t>(how.op_b); }
  int64_t m() const { return static_cast<int64_t>(d.layout.rows); }
  int64_t n() const { return static_cast<int64_t>(d.layout.columns); }
  cudaDataType bias_type() const;
  cudaDataType aux_type() const {
    return how.aux_type >= 0 ? static_cast<cudaDataType>(how.aux_type) : d.layout.element();
  }
};

cudaDataType Matmul::bias_type() const {
  if (how.bias_type >= 0)
    return static_cast<cudaDataType>(how.bias_type);
  const cudaDataType type = d.layout.element();
  if (is_fp8(type)) // C's, which is wider
    return is_fp8(c.layout.element()) || c.layout.element() == CUDA_R_32F ? CUDA_R_16BF : c.layout.element();
  if (type == CUDA_R_32F && is_fp8(a.layout.element()))
    return CUDA_R_16BF;
  return type == CUDA_R_8I ? scale() : type;
}

// op(A) * op(B), with the scales of fp8.
template <class V>
Dense<V> products(const Memory& memory, const Matmul& of, int64_t batch) {
  Dense<V> a = load<V>(memory, of.a, batch), b = load<V>(memory, of.b, batch);
  if (of.how.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
    if constexpr (std::is_same_v<V, double>) {
      for (Dense<V>* each : {&a, &b})
        for (V& value : each->values)
          value = cut_to_tf32(value);
    }
  Dense<V> sums = product(a, of.op_a(), b, of.op_b());
  const auto scale = [&](const void* at, int mode, bool of_rows) {
    if (!at)
      return;
    const bool is_vector = mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    const int64_t count = is_vector ? (of_rows ? sums.rows : sums.columns) : 1;
    const std::vector<double> factors =
        cublas::load<double>(memory, Matrix{address_of(at), CUDA_R_32F, count, 1, count}).values;
    for (int64_t j = 0; j < sums.columns; ++j)
      for (int64_t i = 0; i < sums.rows; ++i)
        sums(i, j) *= factors[static_cast<size_t>(is_vector ? (of_rows ? i : j) : 0)];
  };
  scale(of.how.a_scale, of.how.a_scale_mode, true);
  scale(of.how.b_scale, of.how.b_scale_mode, false);
  return sums;
}

double gelu_inner(double x) {
  constexpr double kRootOfTwoByPi = 0.79788456080286535588;
  return kRootOfTwoByPi * (x + 0.044715 * x * x * x);
}
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(gelu_inner(x)));
}
double gelu_gradient(double x) {
  constexpr double kRootOfTwoByPi = 0.79788456080286535588;
  const double t = std::tanh(gelu_inner(x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootOfTwoByPi * (1 + 3 * 0.044715 * x * x);
}

double largest(const Dense<double>& values) {
  double most = 0;
  for (const double value : values.values)
    most = std::max(most, std::abs(value));
  return most;
}

// A bit for each element, set where it passes; column by column, each aux_ld bits after the other.
Matrix mask_of(const Matmul& of, int64_t batch) {
  constexpr int64_t kBits = 8;
  return Matrix{address_of(of.how.aux), CUDA_R_8U, (of.m() + kBits - 1) / kBits, of.n(),
                of.how.aux_ld / kBits}
      .at(batch * of.how.aux_stride / kBits);
}
void store_mask(const Memory& memory, const Matmul& of, int64_t batch, const Dense<double>& values) {
  const Matrix to = mask_of(of, batch);
  Dense<double> bytes(to.rows, to.columns);
  for (int64_t j = 0; j < values.columns; ++j)
    for (int64_t i = 0; i < values.rows; ++i)
      if (values(i, j) > 0)
        bytes(i / 8, j) += 1 << i % 8;
  cublas::store(memory, to, bytes);
}
bool is_in_mask(const Dense<double>& bytes, int64_t i, int64_t j) {
  return static_cast<int>(bytes(i / 8, j)) >> i % 8 & 1;
}
Matrix aux_matrix(const Matmul& of, int64_t batch) {
  return Matrix{address_of(of.how.aux), of.aux_type(), of.m(), of.n(), of.how.aux_ld}.at(batch *
                                                                                         of.how.aux_stride);
}

void store_bias_gradient(const Memory& memory, const Matmul& of, int64_t batch,
                         const std::vector<double>& sums) {
  const auto count = static_cast<int64_t>(sums.size());
  const Matrix to =
      Matrix{address_of(of.how.bias), of.bias_type(), count, 1, count}.at(batch * of.how.bias_stride);
  cublas::store(memory, to, sums.data());
}

std::vector<double> sums_of_rows(const Dense<double>& of) {
  std::vector<double> sums(static_cast<size_t>(of.rows));
  for (int64_t j = 0; j < of.columns; ++j)
    for (int64_t i = 0; i < of.rows; ++i)
      sums[static_cast<size_t>(i)] += of(i, j);
  return sums;
}

// The epilogues: what is done to the sums, and what is written beside D.
void finish(const Memory& memory, const Matmul& of, int64_t batch, Dense<double>& values) {
  const unsigned epilogue = of.how.epilogue;
  if (epilogue & kBias) {
    const Matrix from =
        Matrix{address_of(of.how.bias), of.bias_type(), of.m(), 1, of.m()}.at(batch * of.how.bias_stride);
    const Dense<double> bias = cublas::load<double>(memory, from);
    for (int64_t j = 0; j < values.columns; ++j)
      for (int64_t i = 0; i < values.rows; ++i)
        values(i, j) += bias(i, 0);
  }
  if (epilogue & kRelu) {
    if (epilogue & kAux)
      store_mask(memory, of, batch, values);
    for (double& value : values.values)
      value = value > 0 || std::isnan(value) ? value : 0;
  }
  if (epilogue & kGelu) {
    if (epilogue & kAux) {
      if (of.how.aux_amax)
        store_f32(memory, of.how.aux_amax, largest(values));
      Dense<double> inputs = values;
      const double factor = of.how.aux_scale ? load_f32(memory, of.how.aux_scale) : 1;
      for (double& value : inputs.values)
        value *= factor;
      cublas::store(memory, aux_matrix(of, batch), inputs);
    }
    for (double& value : values.values)
      value = gelu(value);
  }
  if (epilogue & kReluGradient) {
    const Dense<double> mask = cublas::load<double>(memory, mask_of(of, batch));
    for (int64_t j = 0; j < values.columns; ++j)
      for (int64_t i = 0; i < values.rows; ++i)
        values(i, j) = is_in_mask(mask, i, j) ? values(i, j) : 0;
  }
  if (epilogue & kGeluGradient) {
    const Dense<double> inputs = cublas::load<double>(memory, aux_matrix(of, batch));
    for (size_t i = 0; i < values.values.size(); ++i)
      values.values[i] *= gelu_gradient(inputs.values[i]);
  }
  if (epilogue & kBiasGradient)
    store_bias_gradient(memory, of, batch, sums_of_rows(values));
  if (epilogue & kBiasGradientA) { // of what A's rows, or its columns, add up to along K
    const Dense<double> a = load<double>(memory, of.a, batch);
    store_bias_gradient(memory, of, batch, sums_of_rows(transposes(of.op_a()) ? transposed(a) : a));
  }
  if (epilogue & kBiasGradientB) {
    const Dense<double> b = load<double>(memory, of.b, batch);
    store_bias_gradient(memory, of, batch, sums_of_rows(transposes(of.op_b()) ? b : transposed(b)));
  }
}

// Integers wrap, unless D is s8.
double of_integers(double alpha, double sum, double beta, double c) {
  const auto bits = [](double value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  return static_cast<int32_t>(bits(alpha) * bits(sum) + bits(beta) * bits(c));
}

template <class V>
void run(const Memory& memory, const Matmul& of, int64_t batch) {
  const std::vector<V> alpha = load_factors<V>(memory, of.alpha ? &*of.alpha : nullptr, of.alpha_vector,
                                               of.scale(), of.m(), batch * of.how.alpha_stride);
  const std::vector<V> beta = of.beta_is_zero ? std::vector<V>(alpha.size())
                                              : load_factors<V>(memory, of.beta ? &*of.beta : nullptr,
                                                                of.beta_vector, of.scale(), of.m(), 0);
  Dense<V> values(of.m(), of.n());
  if (std::ranges::any_of(alpha, [](const V& each) { return each != V(); }))
    values = products<V>(memory, of, batch);
  Dense<V> c(of.m(), of.n());
  if (std::ranges::any_of(beta, [](const V& each) { return each != V(); })) {
    c = load<V>(memory, of.c, batch);
    if (of.how.c_scale) {
      const double factor = load_f32(memory, of.how.c_scale);
      for (V& value : c.values)
        value *= factor;
    }
  }
  for (int64_t j = 0; j < values.columns; ++j)
    for (int64_t i = 0; i < values.rows; ++i) {
      const auto row = static_cast<size_t>(i);
      if constexpr (std::is_same_v<V, double>)
        values(i, j) = of.scale() == CUDA_R_32I ? of_integers(alpha[row], values(i, j), beta[row], c(i, j))
                                                : alpha[row] * values(i, j) + beta[row] * c(i, j);
      else
        values(i, j) = alpha[row] * values(i, j) + beta[row] * c(i, j);
    }
  if constexpr (std::is_same_v<V, double>) {
    finish(memory, of, batch, values);
    if (of.how.d_amax)
      store_f32(memory, of.how.d_amax, largest(values));
    if (of.how.d_scale) {
      const double factor = load_f32(memory, of.how.d_scale);
      for (double& value : values.values)
        value *= factor;
    }
  }
  store(memory, of.d, batch, values);
}

// --- what is legal

void require_supported(bool is_so) {
  require(is_so, CUBLAS_STATUS_NOT_SUPPORTED);
}

void check_layout(const Layout& layout) {
  require(layout.rows > 0 && layout.columns > 0 && layout.batch_count > 0);
  require_supported(bytes_of(layout.element()) != 0 && layout.batch_mode == 0 && layout.plane_offset == 0 &&
                    (layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW));
  require(layout.ld >=
          static_cast<int64_t>(layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns));
}

void check_types(const Matmul& of) {
  const cudaDataType a = of.a.layout.element(), b = of.b.layout.element(), c = of.c.layout.element(),
                     d = of.d.layout.element(), scale = of.scale();
  const auto all_are = [&](cudaDataType type) { return a == type && b == type && c == type && d == type; };
  switch (of.how.compute) {
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return require_supported(scale == CUDA_R_16F && all_are(CUDA_R_16F));
  case CUBLAS_COMPUTE_32I:
  case CUBLAS_COMPUTE_32I_PEDANTIC:
    return require_supported(
        a == CUDA_R_8I && b == CUDA_R_8I && c == d &&
        ((scale == CUDA_R_32I && d == CUDA_R_32I) || (scale == CUDA_R_32F && d == CUDA_R_8I)));
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
  case CUBLAS_COMPUTE_32F_FAST_16F:
  case CUBLAS_COMPUTE_32F_FAST_16BF:
  case CUBLAS_COMPUTE_32F_FAST_TF32:
  case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
    if (scale == CUDA_C_32F)
      return require_supported(all_are(CUDA_C_32F));
    require_supported(scale == CUDA_R_32F && (is_float(a) || a == CUDA_R_8I) && is_float(d));
    if (is_fp8(a) || is_fp8(b))
      return require_supported(is_fp8(a) && is_fp8(b) && is_float(c) && (c == d || is_fp8(d)));
    return require_supported(a == b && c == d && (d == a || d == CUDA_R_32F) && !is_fp8(d));
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
  case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
    return require_supported((scale == CUDA_R_64F || scale == CUDA_C_64F) && all_are(scale));
  default:
    throw Refusal{CUBLAS_STATUS_INVALID_VALUE};
  }
}

void check_epilogue(const Matmul& of) {
  const unsigned epilogue = of.how.epilogue;
  constexpr unsigned kKnown[] = {1,         2,         2 | kAux, 4,         6,  6 | kAux,
                                 8 | kAux,  24 | kAux, 32,       32 | kAux, 36, 36 | kAux,
                                 64 | kAux, 80 | kAux, 256,      512};
  require(std::ranges::find(kKnown, epilogue) != std::end(kKnown));
  require_supported(epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
                    (!is_complex(of.d.layout.element()) && !of.d.is_row_major()));
  if (epilogue & (kBias | kBiasGradient | kBiasGradientA | kBiasGradientB))
    require(of.how.bias != nullptr && bytes_of(of.bias_type()) != 0);
  if (epilogue & kAux)
    require(of.how.aux != nullptr && of.how.aux_ld >= of.m());
  if (epilogue & (kRelu | kReluGradient) && epilogue & kAux)
    require(of.how.aux_ld % 128 == 0);
}

void check_scales(const MatmulDescription& how) {
  const auto known = [](const void* scale, int mode, bool may_be_vector) {
    return !scale || mode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F ||
           (may_be_vector && mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  };
  require_supported(
      known(how.a_scale, how.a_scale_mode, true) && known(how.b_scale, how.b_scale_mode, true) &&
      known(how.c_scale, how.c_scale_mode, false) && known(how.d_scale, how.d_scale_mode, false) &&
      known(how.aux_scale, how.aux_scale_mode, false) && how.d_out_scale == nullptr);
}

// As cublasLtMatmul and the search for an algorithm have it; without pointers but the description's.
void check(const Matmul& of) {
  for (const Operand* each : {&of.a, &of.b, &of.c, &of.d})
    check_layout(each->layout);
  require_operation(of.op_a());
  require_operation(of.op_b());
  require_supported(of.how.op_c == CUBLAS_OP_N && of.how.fill == CUBLAS_FILL_MODE_FULL);
  const auto rows = [](const Layout& layout, cublasOperation_t op) {
    return op == CUBLAS_OP_N ? layout.rows : layout.columns;
  };
  const auto columns = [](const Layout& layout, cublasOperation_t op) {
    return op == CUBLAS_OP_N ? layout.columns : layout.rows;
  };
  const Layout &a = of.a.layout, &b = of.b.layout, &c = of.c.layout, &d = of.d.layout;
  require(rows(a, of.op_a()) == d.rows && columns(b, of.op_b()) == d.columns &&
          columns(a, of.op_a()) == rows(b, of.op_b()) && c.rows == d.rows && c.columns == d.columns);
  require(a.batch_count == d.batch_count && b.batch_count == d.batch_count && c.batch_count == d.batch_count);
  check_types(of);
  check_epilogue(of);
  check_scales(of.how);
}

Matmul described(cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                 cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  Matmul made;
  made.how = inside<MatmulDescription>(how);
  made.a.layout = inside<Layout>(a);
  made.b.layout = inside<Layout>(b);
  made.c.layout = inside<Layout>(c);
  made.d.layout = inside<Layout>(d);
  return made;
}

void take_factors(Matmul& of, const void* alpha, const void* beta) {
  const cudaDataType scale = of.scale();
  require(alpha != nullptr);
  switch (of.how.pointer_mode) {
  case CUBLASLT_POINTER_MODE_HOST:
  case CUBLASLT_POINTER_MODE_DEVICE: {
    const auto mode = static_cast<cublasPointerMode_t>(of.how.pointer_mode);
    of.alpha = Scalar(mode, scale, alpha);
    of.beta = Scalar(mode, scale, beta);
    return;
  }
  case CUBLASLT_POINTER_MODE_DEVICE_VECTOR:
    require(beta != nullptr);
    of.alpha_vector = alpha;
    of.beta_vector = beta;
    return;
  case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO:
    of.alpha_vector = alpha;
    of.beta_is_zero = true;
    return;
  case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST:
    of.alpha_vector = alpha;
    of.beta = Scalar(CUBLAS_POINTER_MODE_HOST, scale, beta);
    return;
  default:
    throw Refusal{CUBLAS_STATUS_INVALID_VALUE};
  }
}

} // namespace

namespace routines {

cublasStatus_t lt_matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, const void* alpha, const void* a,
                         cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                         const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                         cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void* workspace,
                         size_t workspace_bytes, cudaStream_t stream) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  require(a != nullptr && b != nullptr && d != nullptr && (workspace != nullptr || workspace_bytes == 0));
  Matmul made = described(how, a_layout, b_layout, c_layout ? c_layout : d_layout, d_layout);
  made.a.address = address_of(a);
  made.b.address = address_of(b);
  made.c.address = address_of(c);
  made.d.address = address_of(d);
  check(made);
  take_factors(made, alpha, beta);
  return compute(stream, [made](const Memory& memory) {
    for (int64_t batch = 0; batch < made.d.layout.batch_count; ++batch)
      with_values(is_complex(made.d.layout.element()), [&]<class V>(V) { run<V>(memory, made, batch); });
  });
}

// The one algorithm, which needs no workspace; none where the matrices are none that cublasLtMatmul takes.
cublasStatus_t lt_heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
                            cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                            cublasLtMatmulPreference_t preference, int wanted,
                            cublasLtMatmulHeuristicResult_t* results, int* count) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  require(preference != nullptr && wanted > 0 && results != nullptr && count != nullptr);
  *count = 0;
  check(described(how, a, b, c, d));
  *results = {};
  inside<Algorithm>(&results->algo) = Algorithm();
  results->state = CUBLAS_STATUS_SUCCESS;
  results->wavesCount = 1;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_algo_check(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  require(algorithm != nullptr && result != nullptr);
  check(described(how, a, b, c, d));
  *result = {.algo = *algorithm,
             .workspaceSize = 0,
             .state = CUBLAS_STATUS_SUCCESS,
             .wavesCount = 1,
             .reserved = {}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_algo_ids(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType, cudaDataType,
                           cudaDataType, cudaDataType, cudaDataType, int wanted, int* ids, int* count) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  require(wanted > 0 && ids != nullptr && count != nullptr);
  ids[0] = 0;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_algo_init(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType, cudaDataType,
                            cudaDataType, cudaDataType, cudaDataType, int id,
                            cublasLtMatmulAlgo_t* algorithm) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  require(id == 0 && algorithm != nullptr);
  *algorithm = {};
  inside<Algorithm>(algorithm) = Algorithm();
  return CUBLAS_STATUS_SUCCESS;
}

// C = alpha * op(A) + beta * op(B), each in its own order and type.
cublasStatus_t lt_transform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t how, const void* alpha,
                            const void* a, cublasLtMatrixLayout_t a_layout, const void* beta, const void* b,
                            cublasLtMatrixLayout_t b_layout, void* c, cublasLtMatrixLayout_t c_layout,
                            cudaStream_t stream) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  const TransformDescription with = inside<TransformDescription>(how);
  const auto mode = static_cast<cublasPointerMode_t>(with.pointer_mode);
  const auto scale = static_cast<cudaDataType>(with.scale);
  const Operand to{address_of(c), inside<Layout>(c_layout)};
  check_layout(to.layout);
  struct Part {
    Operand from;
    cublasOperation_t op;
    Scalar factor;
  };
  std::vector<Part> parts;
  const auto add = [&](const void* at, cublasLtMatrixLayout_t layout, int32_t op, const void* factor) {
    if (!at)
      return;
    parts.push_back({{address_of(at), inside<Layout>(layout)},
                     static_cast<cublasOperation_t>(op),
                     {mode, scale, factor}});
    const Layout& of = parts.back().from.layout;
    check_layout(of);
    const bool flips = transposes(parts.back().op);
    require((flips ? of.columns : of.rows) == to.layout.rows &&
            (flips ? of.rows : of.columns) == to.layout.columns && of.batch_count == to.layout.batch_count);
  };
  require(a != nullptr && c != nullptr);
  add(a, a_layout, with.op_a, alpha);
  add(b, b_layout, with.op_b, beta);
  return compute(stream, [=](const Memory& memory) {
    for (int64_t batch = 0; batch < to.layout.batch_count; ++batch)
      with_values(is_complex(to.layout.element()), [&]<class V>(V) {
        Dense<V> sums(static_cast<int64_t>(to.layout.rows), static_cast<int64_t>(to.layout.columns));
        for (const Part& part : parts) {
          const V factor = part.factor.get<V>(memory);
          if (factor == V())
            continue;
          const Dense<V> stored = load<V>(memory, part.from, batch);
          const Dense<V> values = transposes(part.op) ? transposed(stored) : stored;
          for (size_t i = 0; i < sums.values.size(); ++i)
            sums.values[i] +=
                factor * (part.op == CUBLAS_OP_C ? conjugate(values.values[i]) : values.values[i]);
        }
        store(memory, to, batch, sums);
      });
  });
}

} // namespace routines
} // namespace lemma::cublas
