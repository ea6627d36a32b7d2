// Each thread puts its numbers into a list on the heap, adds them up and frees it.
#include <cstdint>
#include <cstdlib>

struct Node {
  uint32_t value;
  Node* next;
};

extern "C" __global__ void __launch_bounds__(32) heap_list(const uint32_t* in, uint32_t* out, int n) {
  int t = threadIdx.x;
  Node* head = nullptr;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    Node* node = (Node*)malloc(sizeof(Node)); // @malloc
    node->value = in[i * 32 + t];             // @value
    node->next = head;                        // @next
    head = node;
  }
  uint32_t sum = 0;
#pragma unroll 1
  for (Node* node = head; node != nullptr;) {
    sum = sum * 3 + node->value; // @sum
    Node* next = node->next;     // @step
    free(node);                  // @free
    node = next;
  }
  out[t] = sum; // @store
}
