// Graphs as wholes: what is in them, and their executable copies.
#include "cudart/api.h"
#include "cudart/call.h"

using namespace lemma::cudart;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return pass(&Driver::cuGraphCreate, graph, flags);
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return pass(&Driver::cuGraphClone, clone, original);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return pass(&Driver::cuGraphDestroy, graph);
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return pass(&Driver::cuGraphDestroyNode, node);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                     size_t count) {
  return pass(&Driver::cuGraphAddDependencies_v2, graph, from, to, edges, count);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                        size_t count) {
  return pass(&Driver::cuGraphRemoveDependencies_v2, graph, from, to, edges, count);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return pass(&Driver::cuGraphGetNodes, graph, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return pass(&Driver::cuGraphGetRootNodes, graph, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  return pass(&Driver::cuGraphGetEdges_v2, graph, from, to, edges, count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges, size_t* count) {
  return pass(&Driver::cuGraphNodeGetDependencies_v2, node, dependencies, edges, count);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           cudaGraphEdgeData* edges, size_t* count) {
  return pass(&Driver::cuGraphNodeGetDependentNodes_v2, node, dependents, edges, count);
}
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  return pass(&Driver::cuGraphNodeFindInClone, node, original, clone);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return pass(&Driver::cuGraphNodeGetType, node, type);
}

// --- executable copies

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return pass(&Driver::cuGraphInstantiateWithFlags, exec, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return pass(&Driver::cuGraphInstantiateWithParams, exec, graph, parameters);
}
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return pass(&Driver::cuGraphExecGetFlags, exec, flags);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return pass(&Driver::cuGraphExecUpdate_v2, exec, graph, result);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return pass(&Driver::cuGraphUpload, exec, stream);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return pass(&Driver::cuGraphLaunch, exec, stream);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return pass(&Driver::cuGraphExecDestroy, exec);
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  return pass(&Driver::cuGraphNodeGetEnabled, exec, node, enabled);
}
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  return pass(&Driver::cuGraphNodeSetEnabled, exec, node, enabled);
}
