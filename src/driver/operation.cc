// What each operation does.
#include "driver/operation.h"

#include "driver/copy.h"
#include "driver/launch.h"
#include "driver/state.h"

namespace lemma::driver {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

CUresult call_host(const CUDA_HOST_NODE_PARAMS& call) {
  const InHostFunction mark;
  call.fn(call.userData);
  return CUDA_SUCCESS;
}

} // namespace

CUgraphNodeType node_type_of(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const KernelLaunch&) { return CU_GRAPH_NODE_TYPE_KERNEL; },
                        [](const Copy&) { return CU_GRAPH_NODE_TYPE_MEMCPY; },
                        [](const Fill&) { return CU_GRAPH_NODE_TYPE_MEMSET; },
                        [](const HostCall&) { return CU_GRAPH_NODE_TYPE_HOST; },
                        [](const Callback&) { return CU_GRAPH_NODE_TYPE_HOST; },
                        [](const Nothing&) { return CU_GRAPH_NODE_TYPE_EMPTY; },
                        [](const ChildGraph&) { return CU_GRAPH_NODE_TYPE_GRAPH; },
                        [](const RecordEvent&) { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; },
                        [](const WaitEvent&) { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; },
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

CUresult run(const Operation& operation, Context& context) {
  return std::visit(
      Overloaded{
          [&](const KernelLaunch& launch) { return run_launch(launch, context); },
          [](const Copy& copy) { return run_copy(copy.parameters); },
          [](const Fill& fill) { return run_fill(fill.parameters); },
          [](const HostCall& call) { return call_host(call.parameters); },
          [&](const Callback& call) {
            const InHostFunction mark;
            call.function(context.status());
            return CUDA_SUCCESS;
          },
          [](const Nothing&) { return CUDA_SUCCESS; },
          [&](const ChildGraph& child) { return run_graph(*child.graph, context); },
          [](const RecordEvent& record) {
            record.event->reach();
            return CUDA_SUCCESS;
          },
          [](const WaitEvent&) { return CUDA_SUCCESS; }, // it has been reached: all is done in order
          [](const AllocateMemory&) { return CUDA_SUCCESS; },
          [](const FreeMemory& free) { return free_now(free.address); },
      },
      operation);
}

} // namespace lemma::driver
