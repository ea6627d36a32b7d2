// The contexts of the process and each thread's stack of them, and the functions that deal in both.
//
// The stack is a plain thread-local array: cuCtxGetCurrent, which programs call more often than anything
// else, is two reads. At a thread's end, but not the process's, a key's destructor counts what was current
// there.
#include "driver/context.h"

#include "driver/api.h"
#include "driver/call.h"
#include "support/align.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lemma::driver {
namespace {

constexpr size_t kDeepest = 128;
constexpr size_t kKnownDestroyed = 1024;

// The least of some limits, and in what steps they go: an H200's.
constexpr size_t kStackStep = 16, kMostStack = size_t{512} << 10;
constexpr size_t kLeastFifo = 512 << 10, kLeastHeap = 4 << 20, kLeastPendingLaunches = 32;
constexpr size_t kPersistingL2Unit = 3932160, kMostPersistingL2 = 10 * kPersistingL2Unit;

std::atomic<bool> any_failed{false};
std::atomic<unsigned> first_fault{CUDA_SUCCESS};

struct ContextStack {
  Context* contexts[kDeepest];
  size_t depth;
};
thread_local ContextStack stack; // zeros

struct Contexts {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Context>> all; // by handle
  std::deque<Context*> destroyed;                                // of them, oldest first
  Context* primary = nullptr;
  uint64_t retained = 0;
  unsigned primary_flags = 0;
  uint64_t next_id = 1;
};
Contexts& contexts() {
  static Contexts* all = new Contexts; // calls may come after static objects are gone
  return *all;
}

// All that CUDA 13.0 knows.
constexpr unsigned kKnownFlags = CU_CTX_FLAGS_MASK;

bool are_context_flags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  return (flags & ~kKnownFlags) == 0 &&
         (schedule == 0 || schedule == CU_CTX_SCHED_SPIN || schedule == CU_CTX_SCHED_YIELD ||
          schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}

Context* make_context(bool primary, unsigned flags) {
  Contexts& all = contexts();
  auto made = std::make_unique<Context>(all.next_id++, primary, flags);
  Context* context = made.get();
  all.all.emplace(context->handle(), std::move(made));
  return context;
}

// The contexts' mutex is held: find_context().
Context* context_of(CUcontext handle) {
  const Contexts& all = contexts();
  const auto found = all.all.find(handle);
  return found == all.all.end() ? nullptr : found->second.get();
}

// Under the contexts' mutex. Forgets as many of them as there are too many, and nobody has current.
void forget_destroyed(Contexts& all) {
  for (size_t i = all.destroyed.size(); i > kKnownDestroyed; --i) {
    Context* context = all.destroyed.front();
    all.destroyed.pop_front();
    if (context->current_in != 0)
      all.destroyed.push_back(context);
    else
      all.all.erase(context->handle());
  }
}

// --- the thread's stack

void put(size_t place, Context* context) {
  if (context)
    ++context->current_in;
  stack.contexts[place] = context;
}

void clear(size_t place) {
  if (Context* context = stack.contexts[place])
    --context->current_in;
  stack.contexts[place] = nullptr;
}

void clear_stack(void*) {
  while (stack.depth > 0)
    clear(--stack.depth);
}

// Calls clear_stack() when this thread ends.
void clear_at_end_of_thread() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, clear_stack);
    return made;
  }();
  pthread_setspecific(key, &stack);
}

// These two with the contexts' mutex held, or the context, if it is one, could go meanwhile.
void set_current(Context* context) {
  if (stack.depth == 0 && !context)
    return;
  if (stack.depth == 0)
    stack.depth = 1;
  else
    clear(stack.depth - 1);
  put(stack.depth - 1, context);
  clear_at_end_of_thread();
}

CUresult push(Context* context) {
  if (stack.depth == kDeepest)
    return CUDA_ERROR_OUT_OF_MEMORY;
  put(stack.depth++, context);
  clear_at_end_of_thread();
  return CUDA_SUCCESS;
}

CUresult check_device(CUdevice device) {
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

} // namespace

Context* living_primary_context() {
  Contexts& all = contexts();
  const std::scoped_lock lock(all.mutex);
  return all.primary && all.primary->is_alive() ? all.primary : nullptr;
}

Context* current_context() {
  return stack.depth == 0 ? nullptr : stack.contexts[stack.depth - 1];
}

Context* find_context(CUcontext handle) {
  Contexts& all = contexts();
  const std::scoped_lock lock(all.mutex);
  return context_of(handle);
}

Context::Context(uint64_t id, bool primary, unsigned flags)
    : id(id), is_primary(primary), flags(flags), limits{} {
  revive(flags);
}

void Context::revive(unsigned new_flags) {
  flags = new_flags;
  limits[CU_LIMIT_STACK_SIZE] = 1024;
  limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 8650752;
  limits[CU_LIMIT_MALLOC_HEAP_SIZE] = vgpu::GlobalMemory::kHeapBytes;
  limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 3 * kPersistingL2Unit;
  limits[CU_LIMIT_SHMEM_SIZE] = state().machine.limits.max_shared_bytes_per_cta;
  cache_config = CU_FUNC_CACHE_PREFER_NONE;
  shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  launches_block = are_launches_to_block();
  fault_ = failed_launch_ = CUDA_SUCCESS;
  alive_ = true;
}

void Context::fail(CUresult fault) {
  unsigned none = CUDA_SUCCESS;
  fault_.compare_exchange_strong(none, fault);
  none = CUDA_SUCCESS;
  if (!state().machine.reset_cures)
    first_fault.compare_exchange_strong(none, fault);
  any_failed = true;
}

void Context::fail_launch(CUresult status) {
  unsigned none = CUDA_SUCCESS;
  failed_launch_.compare_exchange_strong(none, status);
}

CUresult Context::status_after_wait(bool had_error) {
  if (const CUresult sticks = status(); sticks != CUDA_SUCCESS)
    return sticks;
  const auto failed = static_cast<CUresult>(failed_launch_.exchange(CUDA_SUCCESS));
  return failed == CUDA_SUCCESS && had_error ? CUDA_ERROR_LAUNCH_FAILED : failed;
}

CUresult Context::process_fault() {
  return static_cast<CUresult>(first_fault.load());
}

bool Context::take_failed() {
  return any_failed.exchange(false);
}

void Context::destroy() {
  synchronize();
  alive_ = false;
  State& all = state();
  const auto mine = [this](const auto& object) { return object.context == this; };
  all.graph_execs.take_if(mine);
  all.functions.take_if(mine);
  all.modules.take_if(mine);
  all.streams.take_if(mine);
  all.events.take_if(mine);
  all.textures.destroy_all_of(*this);
  all.arrays.take_if(mine);
  all.memory.free_all_of(*this);
  const std::scoped_lock lock(mutex_);
  legacy_ = nullptr;
  per_thread_.clear();
}

std::shared_ptr<Stream> Context::legacy_stream() {
  const std::scoped_lock lock(mutex_);
  if (!legacy_)
    legacy_ = std::make_shared<Stream>(*this, state().device.default_stream(), 0, 0, CU_STREAM_LEGACY);
  return legacy_;
}

std::shared_ptr<Stream> Context::per_thread_stream() {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<Stream>& stream = per_thread_[std::this_thread::get_id()];
  if (!stream)
    stream =
        std::make_shared<Stream>(*this, state().device.thread_default_stream(), 0, 0, CU_STREAM_PER_THREAD);
  return stream;
}

bool Context::any_has_work() {
  std::vector<std::shared_ptr<Stream>> streams = state().streams.all();
  {
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    for (const auto& [handle, context] : all.all) {
      const std::scoped_lock own(context->mutex_);
      streams.push_back(context->legacy_);
      for (const auto& [thread, stream] : context->per_thread_)
        streams.push_back(stream);
    }
  }
  return std::ranges::any_of(streams, [](const auto& stream) { return stream && stream->has_work(); });
}

CUresult Context::synchronize(bool* all_ran) {
  const bool ran =
      bool(state().device.synchronize()); // what a kernel has failed with is known from the launch
  if (all_ran)
    *all_ran = ran;
  tell_stream_findings();
  return status();
}

} // namespace lemma::driver

using namespace lemma::driver;
using lemma::align_up;

// --- the primary context

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return initialized([&]() -> CUresult {
    if (!context)
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS)
      return wrong;
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    if (!all.primary || !all.primary->is_alive())
      if (const CUresult fault = Context::process_fault(); fault != CUDA_SUCCESS)
        return fault;
    if (!all.primary)
      all.primary = make_context(true, all.primary_flags);
    else if (!all.primary->is_alive())
      all.primary->revive(all.primary_flags);
    ++all.retained;
    *context = all.primary->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return initialized([&]() -> CUresult {
    if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS)
      return wrong;
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    if (all.retained == 0)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--all.retained == 0 && all.primary->is_alive())
      all.primary->destroy();
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

// What was retained stays so: the context is alive again, empty and without its fault, with the next retain.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return initialized([&]() -> CUresult {
    if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS)
      return wrong;
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    if (all.primary && all.primary->is_alive())
      all.primary->destroy();
    all.primary_flags = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return initialized([&]() -> CUresult {
    if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS)
      return wrong;
    if (!flags || !active)
      return CUDA_ERROR_INVALID_VALUE;
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    *flags = all.primary_flags;
    *active = all.primary && all.primary->is_alive();
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return initialized([&]() -> CUresult {
    if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS)
      return wrong;
    if (!are_context_flags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    all.primary_flags = flags;
    if (all.primary)
      all.primary->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

// --- contexts of the program's own

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
  return initialized([&]() -> CUresult {
    if (!context || !are_context_flags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS)
      return wrong;
    if (parameters && parameters->cigParams)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (parameters && parameters->numExecAffinityParams > 0)
      return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    if (const CUresult fault = Context::process_fault(); fault != CUDA_SUCCESS)
      return fault;
    if (stack.depth == kDeepest)
      return CUDA_ERROR_OUT_OF_MEMORY;
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    Context* made = make_context(false, flags);
    *context = made->handle();
    return push(made);
  });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count, unsigned flags,
                        CUdevice device) {
  CUctxCreateParams parameters = {
      .execAffinityParams = affinity, .numExecAffinityParams = count, .cigParams = nullptr};
  return cuCtxCreate_v4(context, &parameters, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  return initialized([&]() -> CUresult {
    Context* context = handle ? find_context(handle) : nullptr;
    if (!context || context->is_primary)
      return handle ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    if (!context->begin_to_destroy())
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    context->destroy();
    if (current_context() == context)
      clear(--stack.depth);
    Contexts& all = contexts();
    const std::scoped_lock lock(all.mutex);
    all.destroyed.push_back(context);
    forget_destroyed(all);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDestroy(CUcontext context) {
  return cuCtxDestroy_v2(context);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return initialized([&]() -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    const std::scoped_lock lock(contexts().mutex);
    Context* context =
        context_of(handle); // one that is destroyed can be current, and nothing can be done in it
    return context ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return cuCtxPushCurrent_v2(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return initialized([&]() -> CUresult {
    if (stack.depth == 0)
      return CUDA_ERROR_INVALID_CONTEXT;
    Context* popped = stack.contexts[--stack.depth];
    if (context)
      *context = popped ? popped->handle() : nullptr;
    clear(stack.depth);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return cuCtxPopCurrent_v2(context);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return initialized([&]() -> CUresult {
    const std::scoped_lock lock(contexts().mutex);
    Context* context = handle ? context_of(handle) : nullptr;
    if (handle && !context)
      return CUDA_ERROR_INVALID_CONTEXT;
    set_current(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (const CUresult status = why_not_initialized(); status != CUDA_SUCCESS)
    return status;
  if (in_host_function())
    return CUDA_ERROR_NOT_PERMITTED;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  Context* current = current_context();
  *context = current ? current->handle() : nullptr;
  return CUDA_SUCCESS;
}

// --- what a context says of itself

namespace {

// What is known of a context that a kernel has failed in, too.
template <class Body>
CUresult in_living_context(Context* context, Body&& body) {
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  return context->is_alive() ? body(*context) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

// body(the context of that handle, or the current one if it is null)
template <class Body>
CUresult in_named_context(CUcontext handle, Body&& body) {
  if (!handle)
    return in_context(body);
  return initialized([&]() -> CUresult {
    Context* context = find_context(handle);
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult status = context->status(); status != CUDA_SUCCESS)
      return status;
    return body(*context);
  });
}

} // namespace

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return initialized([&]() -> CUresult {
    return in_living_context(handle ? find_context(handle) : current_context(), [&](Context&) -> CUresult {
      if (!device)
        return CUDA_ERROR_INVALID_VALUE;
      *device = 0;
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return cuCtxGetDevice_v2(device, nullptr);
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return in_named_context(handle, [](Context& context) -> CUresult {
    if (Stream::any_captures(context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    bool all_ran = true;
    context.synchronize(&all_ran);
    return context.status_after_wait(!all_ran);
  });
}

CUresult cuCtxSynchronize() {
  return cuCtxSynchronize_v2(nullptr);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return in_named_context(handle, [&](Context& context) -> CUresult {
    if (!id)
      return CUDA_ERROR_INVALID_VALUE;
    *id = context.id;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return initialized([&]() -> CUresult {
    Context* context = handle ? find_context(handle) : current_context();
    if (handle && context && !context->is_alive())
      return CUDA_ERROR_INVALID_CONTEXT;
    return in_living_context(context, [&](Context&) -> CUresult {
      if (!version)
        return CUDA_ERROR_INVALID_VALUE;
      *version = 3020; // of contexts, not of the driver: it has not changed since
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return initialized([&]() -> CUresult {
    return in_living_context(current_context(), [&](Context& context) -> CUresult {
      if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
      *flags = context.flags | (context.is_primary ? unsigned{CU_CTX_MAP_HOST} : 0);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    if (!are_context_flags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return in_context([&](Context& context) -> CUresult {
    if (!value || limit >= CU_LIMIT_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || limit == CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED)
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context.limits[limit];
    return CUDA_SUCCESS;
  });
}

// Kept and given back; the virtual GPU's stack and heap are as large as they are.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return in_context([&](Context& context) -> CUresult {
    switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      if (value > kMostStack)
        return CUDA_ERROR_INVALID_VALUE;
      value = align_up(value, kStackStep);
      break;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      value = std::max(value, kLeastFifo);
      break;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      value = std::max(value, kLeastHeap);
      break;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      value = std::max(value, kLeastPendingLaunches);
      break;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      if (value > 128)
        return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      value = std::min((value + kPersistingL2Unit - 1) / kPersistingL2Unit * kPersistingL2Unit,
                       kMostPersistingL2);
      break;
    case CU_LIMIT_SHMEM_SIZE:
    case CU_LIMIT_CIG_ENABLED:
      return CUDA_ERROR_NOT_PERMITTED;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
    case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
    context.limits[limit] = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return in_context([&](Context& context) -> CUresult {
    if (!config)
      return CUDA_ERROR_INVALID_VALUE;
    *config = context.cache_config;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return in_context([&](Context& context) -> CUresult {
    if (config > CU_FUNC_CACHE_PREFER_EQUAL)
      return CUDA_ERROR_INVALID_VALUE;
    context.cache_config = config;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return in_context([&](Context& context) -> CUresult {
    if (!config)
      return CUDA_ERROR_INVALID_VALUE;
    *config = context.shared_config;
    return CUDA_SUCCESS;
  });
}

// Nothing on any machine since sm_50.
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return in_context([&](Context&) -> CUresult {
    return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return in_context([&](Context&) -> CUresult {
    if (least)
      *least = kLeastPriority;
    if (greatest)
      *greatest = kGreatestPriority;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxResetPersistingL2Cache() {
  return in_context([](Context&) { return CUDA_SUCCESS; });
}

// Nobody profiles: as on a GPU without a profiler.
CUresult cuProfilerStart() {
  return in_context([](Context&) -> CUresult { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop() {
  return in_context([](Context&) -> CUresult { return CUDA_SUCCESS; });
}
