// What streams and graphs are made of: an operation is what an asynchronous function has been asked for. A
// stream runs it, or, while it captures, keeps it as a node of a graph, which runs it as often as it is
// launched.
//
// Tests: tests/driver/.
#pragma once

#include "driver/api.h"
#include "driver/types.h"
#include "lemma/launch.h"
#include "lemma/stream.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace lemma::driver {

class Context;
class Event;
class Function;
class Graph;
class MemoryPool;

struct KernelLaunch {
  std::shared_ptr<Function> function;
  CUDA_KERNEL_NODE_PARAMS
  parameters{}; // as given; the pointers are not followed again
  Dim3 cluster{};
  bool names_cluster = false; // by an attribute of the launch
  bool cooperative = false;
  std::vector<CUlaunchAttribute> attributes = {};
  std::vector<std::byte> arguments = {}; // laid out as the kernel's parameters
  std::vector<void*> pointers = {};      // to each of them, for a program that asks
};
struct Copy {
  CUDA_MEMCPY3D parameters{};
};
struct Fill {
  CUDA_MEMSET_NODE_PARAMS parameters{};
};
struct HostCall {
  CUDA_HOST_NODE_PARAMS parameters{};
};
// cuLemmaCompute's.
struct Computation {
  CUlemmaWork work{};
  std::shared_ptr<void> data; // the work's, released with the last copy
};
// cuStreamAddCallback's: cannot be captured.
struct Callback {
  std::function<void(CUresult)> function;
};
struct Nothing {};
struct ChildGraph {
  std::shared_ptr<Graph> graph;
};
struct RecordEvent {
  std::shared_ptr<Event> event;
};
struct WaitEvent {
  std::shared_ptr<Event> event;
};
// Values that are written to memory and waited for, one after the other.
struct MemoryOperations {
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{}; // the array is in `operations`
  std::vector<CUstreamBatchMemOpParams> operations = {};
};
// A stream has the address at once and the memory when it comes to the operation. A graph's memory is there
// before, and stays, at that address, as long as the graph and what was made from it: what frees it has no
// effect.
struct AllocateMemory {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  std::shared_ptr<MemoryPool> pool = {};
  std::shared_ptr<void> keeper = {}; // of a graph's memory
  CUdeviceptr* address = nullptr;    // else: where the program gets it
};
struct FreeMemory {
  CUdeviceptr address = 0;
};

using Operation = std::variant<KernelLaunch, Copy, Fill, HostCall, Computation, Callback, Nothing, ChildGraph,
                               RecordEvent, WaitEvent, MemoryOperations, AllocateMemory, FreeMemory>;

CUgraphNodeType node_type_of(const Operation& operation);

// What the function that asks for it returns at once: an operation that is refused does not become one.
CUresult check(const Operation& operation);
// When a copy reads the host's own memory, neither pinned nor managed: at once, since the program may change
// it as soon as the function has returned; or, of a graph's node, in its turn, since a node before it may
// write it.
enum class HostMemoryIsRead { at_once, in_turn };
// Puts it into the queue. A fault is the context's from when it happens; the
// status is what the function that asks for it returns.
CUresult enqueue(const Operation& operation, const lemma::Stream& queue, Context& context,
                 HostMemoryIsRead when);

// A graph's memory, at once; its address is in the operation then.
CUresult allocate_for_graph(AllocateMemory& operation, Context& context);
// In the order of the queue.
CUresult enqueue_allocation(const AllocateMemory& operation, const lemma::Stream& queue, Context& context);
// CUDA_ERROR_INVALID_VALUE: nothing was allocated there.
CUresult enqueue_free(CUdeviceptr address, const lemma::Stream& queue);
CUresult free_now(CUdeviceptr address);

} // namespace lemma::driver
