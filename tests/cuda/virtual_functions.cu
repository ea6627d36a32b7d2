// Objects that a kernel makes and another one calls virtual functions of.
#include "check.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int side) : side(side) {}
  __device__ int area() const override { return side * side; }
};
struct Rectangle : Square {
  int other;
  __device__ Rectangle(int side, int other) : Square(side), other(other) {}
  __device__ int area() const override { return side * other; }
};

__global__ void make(Shape** shapes) {
  const int i = threadIdx.x;
  shapes[i] = i % 2 ? static_cast<Shape*>(new Square(i)) : new Rectangle(i, 100);
}
__global__ void measure(Shape** shapes, int* areas) {
  areas[threadIdx.x] = shapes[threadIdx.x]->area();
}
__global__ void destroy(Shape** shapes) {
  delete shapes[threadIdx.x];
}

int main() {
  DeviceArray<Shape*> shapes(32);
  DeviceArray<int> areas(32);
  make<<<1, 32>>>(shapes.data());
  measure<<<1, 32>>>(shapes.data(), areas.data());
  destroy<<<1, 32>>>(shapes.data());
  ok(cudaGetLastError());
  std::vector<int> wanted(32);
  for (int i = 0; i < 32; ++i)
    wanted[i] = i % 2 ? i * i : i * 100;
  equal(wanted, areas.host());
  return result();
}
