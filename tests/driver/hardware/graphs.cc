// Graphs: nodes, edges, instantiation, update; nodes of the general form.
#include "record.h"

#include <cstring>

namespace record {
namespace {

void nothing(void*) {}

struct Made {
  CUfunction add;
  CUdeviceptr x;
  int by = 1, n = 32;
  void* arguments[3] = {&x, &by, &n};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_MEMCPY3D copy{};
  CUDA_HOST_NODE_PARAMS host{};
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;

  Made() {
    begin();
    add = function(kernels(), "add");
    x = device_bytes(4096);
    kernel.func = add;
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.blockDimX = 32;
    kernel.kernelParams = arguments;
    fill.dst = x;
    fill.elementSize = 4;
    fill.width = 32;
    fill.height = 1;
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = x;
    copy.dstDevice = x + 1024;
    copy.WidthInBytes = 128;
    copy.Height = copy.Depth = 1;
    host.fn = nothing;
    cuGraphCreate(&graph, 0);
  }
};

void nodes() {
  Made m;
  CUgraph other = nullptr;
  CUgraphNode kernel = nullptr, fill = nullptr, copy = nullptr, host = nullptr, empty = nullptr,
              wrong = nullptr, foreign = nullptr;
  SAY(cuGraphCreate(&other, 1));
  SAY(cuGraphCreate(nullptr, 0));
  SAY(cuGraphCreate(&other, 0));
  SAY(cuGraphAddKernelNode_v2(&kernel, m.graph, nullptr, 0, &m.kernel));
  SAY(cuGraphAddKernelNode_v2(&wrong, m.graph, nullptr, 0, nullptr));
  SAY(cuGraphAddKernelNode_v2(nullptr, m.graph, nullptr, 0, &m.kernel));
  SAY(cuGraphAddKernelNode_v2(&wrong, nullptr, nullptr, 0, &m.kernel));
  CUDA_KERNEL_NODE_PARAMS bad = m.kernel;
  bad.blockDimX = 5000;
  SAY(cuGraphAddKernelNode_v2(&wrong, m.graph, nullptr, 0, &bad));
  bad = m.kernel;
  bad.gridDimX = 0;
  SAY(cuGraphAddKernelNode_v2(&wrong, m.graph, nullptr, 0, &bad));
  bad = m.kernel;
  bad.sharedMemBytes = 100000;
  SAY(cuGraphAddKernelNode_v2(&wrong, m.graph, nullptr, 0, &bad));
  bad = m.kernel;
  bad.func = nullptr;
  SAY(cuGraphAddKernelNode_v2(&wrong, m.graph, nullptr, 0, &bad));
  bad = m.kernel;
  bad.kernelParams = nullptr;
  SAY(cuGraphAddKernelNode_v2(&wrong, m.graph, nullptr, 0, &bad));
  SAY(cuGraphAddMemsetNode(&fill, m.graph, nullptr, 0, &m.fill, nullptr));
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  SAY(cuGraphAddMemsetNode(&fill, m.graph, nullptr, 0, &m.fill, context));
  CUDA_MEMSET_NODE_PARAMS bad_fill = m.fill;
  bad_fill.elementSize = 3;
  SAY(cuGraphAddMemsetNode(&wrong, m.graph, nullptr, 0, &bad_fill, context));
  bad_fill = m.fill;
  bad_fill.dst = 0;
  SAY(cuGraphAddMemsetNode(&wrong, m.graph, nullptr, 0, &bad_fill, context));
  bad_fill = m.fill;
  bad_fill.width = 0;
  SAY(cuGraphAddMemsetNode(&wrong, m.graph, nullptr, 0, &bad_fill, context));
  bad_fill = m.fill;
  bad_fill.elementSize = 1;
  bad_fill.value = 256;
  SAY(cuGraphAddMemsetNode(&wrong, m.graph, nullptr, 0, &bad_fill, context));
  SAY(cuGraphAddMemcpyNode(&copy, m.graph, nullptr, 0, &m.copy, nullptr));
  SAY(cuGraphAddMemcpyNode(&copy, m.graph, &fill, 1, &m.copy, context));
  CUDA_MEMCPY3D bad_copy = m.copy;
  bad_copy.srcDevice = 0;
  SAY(cuGraphAddMemcpyNode(&wrong, m.graph, nullptr, 0, &bad_copy, context));
  bad_copy = m.copy;
  bad_copy.WidthInBytes = 0;
  SAY(cuGraphAddMemcpyNode(&wrong, m.graph, nullptr, 0, &bad_copy, context));
  SAY(cuGraphAddHostNode(&host, m.graph, nullptr, 0, &m.host));
  CUDA_HOST_NODE_PARAMS bad_host{};
  SAY(cuGraphAddHostNode(&wrong, m.graph, nullptr, 0, &bad_host));
  SAY(cuGraphAddEmptyNode(&empty, m.graph, nullptr, 0));
  SAY(cuGraphAddEmptyNode(&foreign, other, nullptr, 0));
  SAY(cuGraphAddEmptyNode(&wrong, m.graph, &foreign, 1));
  const CUgraphNode twice[] = {kernel, kernel};
  SAY(cuGraphAddEmptyNode(&wrong, m.graph, twice, 2));
  SAY(cuGraphAddEmptyNode(&wrong, m.graph, nullptr, 1));
  SAY(cuGraphAddDependencies(m.graph, &kernel, &fill, 1));
  SAY(cuGraphAddDependencies(m.graph, &kernel, &fill, 1));
  SAY(cuGraphAddDependencies(m.graph, &kernel, &kernel, 1));
  SAY(cuGraphAddDependencies(m.graph, &kernel, &foreign, 1));
  SAY(cuGraphAddDependencies(m.graph, nullptr, nullptr, 0));
  SAY(cuGraphRemoveDependencies(m.graph, &fill, &kernel, 1));
  CUgraphEdgeData edge{};
  edge.type = 1;
  SAY(cuGraphAddDependencies_v2(m.graph, &kernel, &host, &edge, 1));
  SAY(cuGraphAddDependencies_v2(m.graph, &fill, &kernel, &edge, 1));
  edge = {};
  edge.from_port = 9;
  SAY(cuGraphAddDependencies_v2(m.graph, &kernel, &empty, &edge, 1));
  size_t count = 0;
  SAY_VALUE(count, cuGraphGetNodes(m.graph, nullptr, &count));
  SAY_VALUE(count, cuGraphGetRootNodes(m.graph, nullptr, &count));
  SAY_VALUE(count, cuGraphGetEdges_v2(m.graph, nullptr, nullptr, nullptr, &count));
  CUgraphNode listed[64] = {};
  count = 64;
  SAY_VALUE(count, cuGraphGetNodes(m.graph, listed, &count));
  NOTE(listed[63]);
  count = 2;
  SAY_VALUE(count, cuGraphGetNodes(m.graph, listed, &count));
  CUgraphNodeType type{};
  SAY_VALUE(type, cuGraphNodeGetType(host, &type));
  SAY_VALUE(type, cuGraphNodeGetType(empty, &type));
  SAY(cuGraphNodeGetType(nullptr, &type));
  SAY(cuGraphNodeGetType(host, nullptr));
  CUDA_KERNEL_NODE_PARAMS got{};
  SAY(cuGraphKernelNodeGetParams_v2(kernel, &got));
  NOTE(got.func == m.add);
  NOTE(got.kern);
  SAY(cuGraphKernelNodeGetParams_v2(host, &got));
  CUDA_MEMSET_NODE_PARAMS got_fill{};
  SAY(cuGraphMemsetNodeGetParams(kernel, &got_fill));
  SAY(cuGraphMemsetNodeGetParams(fill, &got_fill));
  NOTE(got_fill.pitch);
  SAY(cuGraphDestroyNode(empty));
  SAY(cuGraphDestroy(m.graph));
  SAY(cuGraphDestroy(nullptr));
}

void execs() {
  Made m;
  CUgraphNode kernel = nullptr, second = nullptr;
  CUstream stream = nullptr;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuGraphAddKernelNode_v2(&kernel, m.graph, nullptr, 0, &m.kernel));
  SAY(cuGraphAddKernelNode_v2(&second, m.graph, &kernel, 1, &m.kernel));
  SAY(cuGraphInstantiateWithFlags(&m.exec, m.graph, 0));
  SAY(cuGraphInstantiateWithFlags(nullptr, m.graph, 0));
  SAY(cuGraphInstantiateWithFlags(&m.exec, nullptr, 0));
  SAY(cuGraphInstantiateWithFlags(&m.exec, m.graph, 1ull << 40));
  cuuint64_t flags = 99;
  SAY_VALUE(flags, cuGraphExecGetFlags(m.exec, &flags));
  SAY(cuGraphLaunch(m.exec, stream));
  SAY(cuGraphLaunch(nullptr, stream));
  SAY(cuGraphUpload(m.exec, stream));
  SAY(cuStreamSynchronize(stream));
  SAY(cuGraphKernelNodeSetParams_v2(kernel, &m.kernel));
  SAY(cuGraphExecKernelNodeSetParams_v2(m.exec, kernel, &m.kernel));
  CUDA_KERNEL_NODE_PARAMS bad = m.kernel;
  bad.blockDimX = 5000;
  SAY(cuGraphKernelNodeSetParams_v2(kernel, &bad));
  SAY(cuGraphExecKernelNodeSetParams_v2(m.exec, kernel, &bad));
  CUgraphNode later = nullptr;
  SAY(cuGraphAddKernelNode_v2(&later, m.graph, nullptr, 0, &m.kernel));
  SAY(cuGraphExecKernelNodeSetParams_v2(m.exec, later, &m.kernel));
  CUgraphExecUpdateResultInfo info{};
  SAY(cuGraphExecUpdate_v2(m.exec, m.graph, &info));
  NOTE(info.result);
  SAY(cuGraphDestroyNode(later));
  SAY(cuGraphExecUpdate_v2(m.exec, m.graph, &info));
  NOTE(info.result);
  SAY(cuGraphExecUpdate_v2(m.exec, nullptr, &info));
  SAY(cuGraphExecUpdate_v2(m.exec, m.graph, nullptr));
  unsigned enabled = 9;
  SAY(cuGraphNodeSetEnabled(m.exec, kernel, 0));
  SAY_VALUE(enabled, cuGraphNodeGetEnabled(m.exec, kernel, &enabled));
  CUkernelNodeAttrValue value{};
  for (int attribute = 0; attribute < 18; ++attribute) {
    const Turn turn("attribute " + std::to_string(attribute));
    value = {};
    SAY_VALUE(int{value.pad[0]},
              cuGraphKernelNodeGetAttribute(kernel, static_cast<CUkernelNodeAttrID>(attribute), &value));
  }
  CUgraph loop = nullptr;
  CUgraphNode one = nullptr, two = nullptr;
  SAY(cuGraphCreate(&loop, 0));
  SAY(cuGraphAddEmptyNode(&one, loop, nullptr, 0));
  SAY(cuGraphAddEmptyNode(&two, loop, &one, 1));
  SAY(cuGraphAddDependencies(loop, &two, &one, 1));
  SAY(cuGraphInstantiateWithFlags(&m.exec, loop, 0));
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  SAY(cuGraphInstantiateWithParams(&m.exec, loop, &parameters));
  NOTE(parameters.result_out);
  CUgraph clone = nullptr;
  CUgraphNode found = nullptr;
  SAY(cuGraphClone(&clone, m.graph));
  SAY(cuGraphNodeFindInClone(&found, kernel, clone));
  SAY(cuGraphNodeFindInClone(&found, one, clone));
  SAY(cuGraphClone(&clone, nullptr));
  CUgraph empty = nullptr;
  SAY(cuGraphCreate(&empty, 0));
  SAY(cuGraphInstantiateWithFlags(&m.exec, empty, 0));
  SAY(cuGraphLaunch(m.exec, stream));
  SAY(cuStreamSynchronize(stream));
  SAY(cuGraphExecDestroy(m.exec));
  SAY(cuGraphExecDestroy(nullptr));
}

void general_nodes() {
  Made m;
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  CUgraphNode node = nullptr, first = nullptr;
  CUgraphNodeParams p;
  const auto fresh = [&](CUgraphNodeType type) {
    std::memset(&p, 0, sizeof p);
    p.type = type;
  };
  const auto add = [&] { return cuGraphAddNode_v2(&node, m.graph, nullptr, nullptr, 0, &p); };
  fresh(CU_GRAPH_NODE_TYPE_KERNEL);
  p.kernel.func = m.add;
  p.kernel.gridDimX = p.kernel.gridDimY = p.kernel.gridDimZ = p.kernel.blockDimY = p.kernel.blockDimZ = 1;
  p.kernel.blockDimX = 32;
  p.kernel.kernelParams = m.arguments;
  SAY(add());
  first = node;
  SAY(cuGraphNodeSetParams(node, &p));
  SAY(cuGraphAddNode_v2(&node, m.graph, &first, nullptr, 1, &p));
  SAY(cuGraphAddNode(&node, m.graph, &first, 1, &p));
  p.reserved2 = 1;
  SAY(add());
  p.reserved2 = 0;
  p.reserved0[1] = 1;
  SAY(add());
  p.reserved0[1] = 0;
  p.kernel.blockDimX = 5000;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_MEMCPY);
  p.memcpy.copyParams = m.copy;
  SAY(add());
  p.memcpy.copyCtx = context;
  SAY(add());
  SAY(cuGraphNodeSetParams(first, &p));
  SAY(cuGraphNodeSetParams(node, &p));
  p.memcpy.flags = 1;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_MEMSET);
  p.memset.dst = m.x;
  p.memset.elementSize = 4;
  p.memset.width = 32;
  p.memset.height = 1;
  SAY(add());
  p.memset.ctx = context;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_HOST);
  SAY(add());
  p.host.fn = nothing;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_EMPTY);
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_GRAPH);
  SAY(add());
  CUgraph child = nullptr;
  SAY(cuGraphCreate(&child, 0));
  p.graph.graph = child;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  SAY(add());
  CUevent event = nullptr;
  SAY(cuEventCreate(&event, 0));
  p.eventRecord.event = event;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  p.eventWait.event = event;
  SAY(add());
  fresh(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  p.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.alloc.bytesize = 512;
  SAY(add());
  const CUdeviceptr its = p.alloc.dptr;
  NOTE(its != 0);
  fresh(CU_GRAPH_NODE_TYPE_MEM_FREE);
  p.free.dptr = its;
  SAY(cuGraphAddNode_v2(&first, m.graph, &node, nullptr, 1, &p));
  fresh(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  CUstreamBatchMemOpParams write{};
  write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = m.x;
  p.memOp.count = 1;
  p.memOp.paramArray = &write;
  SAY(add());
  p.memOp.ctx = context;
  SAY(add());
  fresh(static_cast<CUgraphNodeType>(77));
  SAY(add());
  SAY(cuGraphAddNode_v2(&node, m.graph, nullptr, nullptr, 0, nullptr));
  SAY(cuGraphInstantiateWithFlags(&m.exec, m.graph, 0));
  SAY(cuGraphLaunch(m.exec, nullptr));
  SAY(cuCtxSynchronize());
  cuuint64_t handle = 0;
  SAY(cuGraphConditionalHandleCreate(reinterpret_cast<CUgraphConditionalHandle*>(&handle), m.graph, context,
                                     1, 0));
}

void memory_nodes() {
  Made m;
  CUgraphNode allocates = nullptr, frees = nullptr, wrong = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS p{};
  SAY(cuGraphAddMemAllocNode(&wrong, m.graph, nullptr, 0, &p));
  p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  SAY(cuGraphAddMemAllocNode(&wrong, m.graph, nullptr, 0, &p));
  p.bytesize = 128;
  SAY(cuGraphAddMemAllocNode(&allocates, m.graph, nullptr, 0, &p));
  SAY(cuGraphAddMemFreeNode(&wrong, m.graph, nullptr, 0, 0x1234));
  SAY(cuGraphAddMemFreeNode(&wrong, m.graph, nullptr, 0, m.x));
  SAY(cuGraphAddMemFreeNode(&wrong, m.graph, nullptr, 0, p.dptr));
  SAY(cuGraphAddMemFreeNode(&frees, m.graph, &allocates, 1, p.dptr));
  SAY(cuGraphAddMemFreeNode(&wrong, m.graph, &frees, 1, p.dptr));
  CUgraph clone = nullptr;
  SAY(cuGraphClone(&clone, m.graph));
  SAY(cuGraphDestroyNode(frees));
  SAY(cuGraphInstantiateWithFlags(&m.exec, m.graph, 0));
  CUgraphExec second = nullptr;
  SAY(cuGraphInstantiateWithFlags(&second, m.graph, 0));
  SAY(cuGraphLaunch(m.exec, nullptr));
  SAY(cuGraphLaunch(m.exec, nullptr));
  SAY(cuCtxSynchronize());
}

} // namespace

std::vector<Section> graph_sections() {
  return {{"graph: nodes", nodes},
          {"graph: executable", execs},
          {"graph: general nodes", general_nodes},
          {"graph: memory", memory_nodes}};
}

} // namespace record
