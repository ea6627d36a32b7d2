// cuBLAS's matrices lie column by column, so that it is asked for the transpose: C' = B' * A', in which B' is
// a row-major B seen so.
//
// Tests: tests/unit/timing/, against a library made for the test.
#include "timing/cublaslt.h"

#include "runtime/cuda_driver.h"
#include "timing/step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <optional>

namespace lemma {

namespace timing::blas {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The folders that Python is installed in, as a prefix of lib/python3.N: of the environment that is active,
// of the python3 that the shell would find, and the usual ones.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = environment(name); !prefix.empty())
      prefixes.emplace_back(prefix);
  const std::string path = environment("PATH");
  std::error_code error;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const fs::path python = fs::path(path.substr(begin, end - begin)) / "python3";
    if (fs::exists(python, error)) {
      prefixes.push_back(python.parent_path().parent_path());
      prefixes.push_back(fs::canonical(python, error).parent_path().parent_path());
      break;
    }
    begin = end + 1;
  }
  if (const std::string home = environment("HOME"); !home.empty())
    prefixes.push_back(fs::path(home) / ".local");
  for (const char* usual : {"/usr/local", "/usr", "/opt/conda"})
    prefixes.emplace_back(usual);
  return prefixes;
}

// lib/python3.N/site-packages and their like.
std::vector<fs::path> python_packages(const fs::path& prefix) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const char* lib : {"lib", "lib64"})
    for (fs::directory_iterator at(prefix / lib, error), end; !error && at != end; at.increment(error))
      if (at->path().filename().string().starts_with("python3"))
        for (const char* packages : {"site-packages", "dist-packages"})
          folders.push_back(at->path() / packages);
  return folders;
}

} // namespace

std::vector<std::string> candidates() {
  std::vector<std::string> all(std::begin(kNames), std::end(kNames));
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment(name); !home.empty())
      folders.push_back(fs::path(home) / "lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  for (const fs::path& prefix : python_prefixes())
    for (const fs::path& packages : python_packages(prefix))
      for (const char* package : {"nvidia/cu13/lib", "nvidia/cublas/lib"})
        folders.push_back(packages / package);
  std::error_code error;
  for (const fs::path& folder : folders)
    for (const char* name : kNames)
      if (const std::string file = folder / name;
          fs::exists(file, error) && std::find(all.begin(), all.end(), file) == all.end())
        all.push_back(file);
  return all;
}

Result<Functions, Error> open(const std::string& path, std::string& found) {
  const std::vector<std::string> tried = path.empty() ? candidates() : std::vector{path};
  void* library = nullptr; // never closed: it keeps state of its own for each context
  std::string why;
  for (const std::string& file : tried) {
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) {
      found = file;
      break;
    }
    if (const char* said = dlerror(); said && (why.empty() || file.starts_with('/')))
      why = said;
  }
  if (!library)
    return runtime::failure(
        ErrorKind::unavailable,
        fmt::format("no cuBLAS: {} (tried {}; --cublaslt or LD_LIBRARY_PATH say where it is)", why,
                    fmt::join(tried, ", ")));
  Functions functions;
#define X(name, symbol, result, parameters)                                                                  \
  functions.name = reinterpret_cast<result(*) parameters>(dlsym(library, #symbol));                          \
  if (!functions.name)                                                                                       \
    return runtime::failure(ErrorKind::unavailable,                                                          \
                            found + " is no cuBLAS of CUDA 12 or 13: it has no " #symbol);
  LEMMA_CUBLASLT_FUNCTIONS(X)
#undef X
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(functions.matmul), &info) && info.dli_fname)
    found = info.dli_fname;
  return functions;
}

std::string Functions::describe(Status status) const {
  const char* text = status_string(status);
  return fmt::format("{} ({})", text ? text : "error", status);
}

} // namespace timing::blas

namespace timing {

constexpr uint64_t kWorkspaceBytes = uint64_t{64} << 20;

// The open library, and what all products of a device share.
class Library {
public:
  Library(std::shared_ptr<runtime::DeviceImpl> device, blas::Functions functions, Buffer workspace)
      : device(std::move(device)), call(functions), workspace(std::move(workspace)) {}
  ~Library() {
    if (handle)
      (void)device->with_driver("cannot close cuBLAS", [&](const runtime::cuda::Driver&) {
        call.destroy(handle);
        return runtime::cuda::kSuccess;
      });
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::shared_ptr<runtime::DeviceImpl> device;
  const blas::Functions call;
  const Buffer workspace;
  blas::Handle handle = nullptr;
  std::string path, version;
};

namespace {

struct Types {
  blas::DataType ab, c, scale;
  blas::Compute compute;
};

std::optional<blas::DataType> result_type(const std::string& name) {
  constexpr std::pair<const char*, blas::DataType> kTypes[] = {
      {"f32", blas::f32}, {"f64", blas::f64}, {"f16", blas::f16}, {"bf16", blas::bf16}, {"s32", blas::s32}};
  for (const auto& [known, type] : kTypes)
    if (name == known)
      return type;
  return std::nullopt;
}

std::optional<Types> types_of(const ProductShape& shape) {
  struct Row {
    const char* name;
    blas::DataType ab, scale;
    blas::Compute compute;
  };
  constexpr Row kRows[] = {{"f16", blas::f16, blas::f32, blas::compute_32f},
                           {"bf16", blas::bf16, blas::f32, blas::compute_32f},
                           {"tf32", blas::f32, blas::f32, blas::compute_32f_fast_tf32},
                           {"f32", blas::f32, blas::f32, blas::compute_32f},
                           {"f64", blas::f64, blas::f64, blas::compute_64f},
                           {"e4m3", blas::e4m3, blas::f32, blas::compute_32f},
                           {"e5m2", blas::e5m2, blas::f32, blas::compute_32f},
                           {"s8", blas::s8, blas::s32, blas::compute_32i}};
  const auto result = result_type(shape.result);
  for (const Row& row : kRows)
    if (result && shape.type == row.name)
      return Types{row.ab, *result, row.scale, row.compute};
  return std::nullopt;
}

// One product: what cuBLAS has made for it, and its matrices.
class Product {
public:
  Product(std::shared_ptr<const Library> library, const Types& types, uint64_t a, uint64_t b, uint64_t c)
      : library_(std::move(library)), call_(library_->call), types_(types), a_(a), b_(b), c_(c) {}
  ~Product() {
    for (const blas::Layout layout : layouts_)
      if (layout)
        call_.layout_destroy(layout);
    if (description_)
      call_.description_destroy(description_);
    if (preference_)
      call_.preference_destroy(preference_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  blas::Status describe(const ProductShape& shape);
  blas::Status heuristics(unsigned most, std::vector<blas::Heuristic>& found) const;
  blas::Status start(const blas::Algorithm& algorithm) const;

private:
  std::shared_ptr<const Library> library_;
  const blas::Functions& call_;
  const Types types_;
  const uint64_t a_, b_, c_;
  blas::Description description_ = nullptr;
  blas::Preference preference_ = nullptr;
  std::array<blas::Layout, 3> layouts_{}; // as cuBLAS has them: its A is our B
};

blas::Status Product::describe(const ProductShape& shape) {
  // A row-major matrix of as many columns is, column by column, one of as many rows.
  const auto layout = [&](blas::Layout& made, blas::DataType type, uint64_t rows, uint64_t columns) {
    return call_.layout_create(&made, type, columns, rows, static_cast<int64_t>(columns));
  };
  blas::Status status = call_.description_create(&description_, types_.compute, types_.scale);
  const auto set = [&](int attribute, const auto& value) {
    if (status == blas::kSuccess)
      status = call_.description_set(description_, attribute, &value, sizeof value);
  };
  set(blas::kDescriptionTransposesA, int32_t{shape.b_transposed ? blas::kTransposes : 0});
  set(blas::kDescriptionTransposesB, int32_t{shape.a_transposed ? blas::kTransposes : 0});
  if (types_.ab == blas::e4m3 || types_.ab == blas::e5m2)
    set(blas::kDescriptionFastAccumulation, int8_t{1});
  if (status == blas::kSuccess)
    status = shape.b_transposed ? layout(layouts_[0], types_.ab, shape.n, shape.k)
                                : layout(layouts_[0], types_.ab, shape.k, shape.n);
  if (status == blas::kSuccess)
    status = shape.a_transposed ? layout(layouts_[1], types_.ab, shape.k, shape.m)
                                : layout(layouts_[1], types_.ab, shape.m, shape.k);
  if (status == blas::kSuccess)
    status = layout(layouts_[2], types_.c, shape.m, shape.n);
  if (status == blas::kSuccess)
    status = call_.preference_create(&preference_);
  if (status == blas::kSuccess)
    status = call_.preference_set(preference_, blas::kPreferenceMostWorkspaceBytes, &kWorkspaceBytes,
                                  sizeof kWorkspaceBytes);
  return status;
}

blas::Status Product::heuristics(unsigned most, std::vector<blas::Heuristic>& found) const {
  found.resize(most);
  int count = 0;
  const blas::Status status =
      call_.heuristics(library_->handle, description_, layouts_[0], layouts_[1], layouts_[2], layouts_[2],
                       preference_, static_cast<int>(most), found.data(), &count);
  found.resize(status == blas::kSuccess ? static_cast<size_t>(count) : 0);
  std::erase_if(found, [](const blas::Heuristic& one) { return one.state != blas::kSuccess; });
  return status;
}

blas::Status Product::start(const blas::Algorithm& algorithm) const {
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const int32_t one32i = 1, zero32i = 0;
  const void *alpha = &one, *beta = &zero;
  if (types_.scale == blas::f64)
    alpha = &one64, beta = &zero64;
  if (types_.scale == blas::s32)
    alpha = &one32i, beta = &zero32i;
  const auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  return call_.matmul(library_->handle, description_, alpha, pointer(b_), layouts_[0], pointer(a_),
                      layouts_[1], beta, pointer(c_), layouts_[2], pointer(c_), layouts_[2], &algorithm,
                      pointer(library_->workspace.address()), kWorkspaceBytes, nullptr);
}

} // namespace
} // namespace timing

Result<CublasLt, Error> CublasLt::open(const Device& device, const std::string& path) {
  if (device.info().kind != "cuda")
    return runtime::failure(ErrorKind::invalid_argument, "cuBLAS needs the device cuda");
  std::string found;
  auto functions = timing::blas::open(path, found);
  if (!functions)
    return Unexpected<Error>{std::move(functions).error()};
  auto workspace = device.allocate(timing::kWorkspaceBytes, {.name = "cuBLAS's workspace"});
  if (!workspace)
    return Unexpected<Error>{std::move(workspace).error()};
  auto library = std::make_shared<timing::Library>(device.impl_, *functions, *std::move(workspace));
  timing::blas::Status status = timing::blas::kSuccess;
  const auto done = device.impl_->with_driver("cannot open cuBLAS", [&](const runtime::cuda::Driver&) {
    status = functions->create(&library->handle);
    return runtime::cuda::kSuccess;
  });
  if (!done)
    return Unexpected<Error>{done.error()};
  if (status != timing::blas::kSuccess)
    return runtime::failure(ErrorKind::unavailable,
                            fmt::format("{} does not start: {}", found, functions->describe(status)));
  const size_t version = functions->version();
  library->path = found;
  library->version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return CublasLt(std::move(library));
}

const std::string& CublasLt::path() const {
  return library_->path;
}

const std::string& CublasLt::version() const {
  return library_->version;
}

Result<std::vector<Step>, Error> CublasLt::products(const ProductShape& shape, uint64_t a, uint64_t b,
                                                    uint64_t c, unsigned most) const {
  const auto types = timing::types_of(shape);
  if (!types)
    return runtime::failure(ErrorKind::invalid_argument,
                            fmt::format("cuBLAS has no product of {} to {}", shape.type, shape.result));
  const auto product = std::make_shared<timing::Product>(library_, *types, a, b, c);
  timing::blas::Status status = timing::blas::kSuccess;
  std::vector<timing::blas::Heuristic> found;
  const auto done = library_->device->with_driver("cannot ask cuBLAS", [&](const runtime::cuda::Driver&) {
    status = product->describe(shape);
    if (status == timing::blas::kSuccess)
      status = product->heuristics(most, found);
    return runtime::cuda::kSuccess;
  });
  if (!done)
    return Unexpected<Error>{done.error()};
  if (status != timing::blas::kSuccess || found.empty())
    return runtime::failure(
        ErrorKind::unsupported,
        fmt::format("cuBLAS has no algorithm for {} to {} of {} x {} x {}{}", shape.type, shape.result,
                    shape.m, shape.n, shape.k,
                    status == timing::blas::kSuccess ? "" : ": " + library_->call.describe(status)));
  std::vector<Step> steps;
  for (size_t i = 0; i < found.size(); ++i) {
    auto step = std::make_shared<timing::StepImpl>();
    step->name = fmt::format("cuBLAS, heuristic {}", i);
    step->device = library_->device;
    step->start = [product, library = library_, algorithm = found[i].algorithm,
                   name = step->name]() -> Result<void, Error> {
      if (const timing::blas::Status status = product->start(algorithm); status != timing::blas::kSuccess)
        return runtime::failure(ErrorKind::unavailable,
                                fmt::format("{}: {}", name, library->call.describe(status)));
      return {};
    };
    steps.push_back(Step(std::move(step)));
  }
  return steps;
}

} // namespace lemma
