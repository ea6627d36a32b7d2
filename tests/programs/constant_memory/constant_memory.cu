// Initialized constant memory: a struct, a table indexed by each lane on its own, polynomial coefficients;
// and the kernel's own parameters, indexed at run time (a struct by value).
struct Header {
  unsigned char version;
  short offset;
  double scale;
  unsigned mask[2];
};

struct Weights {
  int w[12];
};

__constant__ Header header = {7, -300, 0.125, {0x0000ffffu, 0xff00ff00u}};
__constant__ float coefficients[6] = {0.5f, -1.25f, 3.0f, 0.1f, -0.7f, 2.0f};
__constant__ unsigned char permutation[16] = {3, 14, 0, 9, 12, 5, 1, 15, 7, 2, 11, 6, 13, 8, 4, 10};
__constant__ const char* names[3] = {"alpha", "be", "gamma ray"};

extern "C" __global__ void constant_memory(const float* x, float* poly, unsigned* mixed, double* scaled,
                                           Weights weights) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float p = coefficients[5];
  for (int c = 4; c >= 0; --c)
    p = fmaf(p, x[i], coefficients[c]);
  poly[i] = p;
  const char* name = names[i % 3];
  unsigned length = 0;
  while (name[length])
    ++length;
  unsigned j = permutation[permutation[i % 16] ^ (i / 16 % 16)];
  mixed[i] = (j << 8 | length << 4 | header.version) ^ (header.mask[i % 2] & i * 0x01010101u) ^
             (unsigned)weights.w[(j + i) % 12];
  scaled[i] = header.scale * (int)i + header.offset;
}
