// What each operation does.
#include "driver/operation.h"

#include "driver/compute.h"
#include "driver/copy.h"
#include "driver/error.h"
#include "driver/launch.h"
#include "driver/memory_operations.h"
#include "driver/state.h"

namespace lemma::driver {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

CUresult call(const lemma::Stream& queue, std::function<void()> function) {
  return status_of(queue.call([function = std::move(function)] {
    const InHostFunction mark;
    function();
  }));
}

} // namespace

CUgraphNodeType node_type_of(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const KernelLaunch&) { return CU_GRAPH_NODE_TYPE_KERNEL; },
                        [](const Copy&) { return CU_GRAPH_NODE_TYPE_MEMCPY; },
                        [](const Fill&) { return CU_GRAPH_NODE_TYPE_MEMSET; },
                        [](const HostCall&) { return CU_GRAPH_NODE_TYPE_HOST; },
                        [](const Computation&) { return CU_GRAPH_NODE_TYPE_HOST; },
                        [](const Callback&) { return CU_GRAPH_NODE_TYPE_HOST; },
                        [](const Nothing&) { return CU_GRAPH_NODE_TYPE_EMPTY; },
                        [](const ChildGraph&) { return CU_GRAPH_NODE_TYPE_GRAPH; },
                        [](const RecordEvent&) { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; },
                        [](const WaitEvent&) { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; },
                        [](const MemoryOperations&) { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; },
                        [](const AllocateMemory&) { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; },
                        [](const FreeMemory&) { return CU_GRAPH_NODE_TYPE_MEM_FREE; },
                    },
                    operation);
}

CUresult check(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const KernelLaunch& launch) { return check_launch(launch); },
                        [](const Copy& copy) { return check_copy(copy.parameters); },
                        [](const Fill& fill) { return check_fill(fill.parameters); },
                        [](const MemoryOperations& several) { return check_memory_operations(several); },
                        [](const FreeMemory& free) {
                          const std::shared_ptr<Allocation> allocation = state().memory.find(free.address);
                          return allocation && allocation->base == free.address &&
                                         allocation->kind == MemoryKind::device
                                     ? CUDA_SUCCESS
                                     : CUDA_ERROR_INVALID_VALUE;
                        },
                        [](const auto&) { return CUDA_SUCCESS; },
                    },
                    operation);
}

CUresult enqueue(const Operation& operation, const lemma::Stream& queue, Context& context,
                 HostMemoryIsRead when) {
  return std::visit(
      Overloaded{
          [&](const KernelLaunch& launch) { return enqueue_launch(launch, queue, context); },
          [&](const Copy& copy) { return enqueue_copy(copy.parameters, queue, when); },
          [&](const Fill& fill) { return enqueue_fill(fill.parameters, queue); },
          [&](const HostCall& host) { return call(queue, [p = host.parameters] { p.fn(p.userData); }); },
          [&](const Computation& computation) { return enqueue_computation(computation, queue, context); },
          [&](const Callback& callback) {
            return call(queue, [f = callback.function, &context] { f(context.status()); });
          },
          [](const Nothing&) { return CUDA_SUCCESS; },
          [&](const ChildGraph& child) { return enqueue_graph(*child.graph, queue, context); },
          [&](const RecordEvent& record) { return record.event->record(queue); },
          [&](const WaitEvent& wait) { return wait.event->make_wait(queue); },
          [&](const MemoryOperations& several) { return enqueue_memory_operations(several, queue, context); },
          [&](const AllocateMemory& memory) { return enqueue_allocation(memory, queue, context); },
          [&](const FreeMemory& free) { return enqueue_free(free.address, queue); },
      },
      operation);
}

} // namespace lemma::driver
