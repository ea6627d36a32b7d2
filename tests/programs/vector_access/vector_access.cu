// Loads and stores of every width: bytes, halves, pairs and quadruples, and the ones with a cache operator or
// volatile; a structure whose members have different sizes; addresses with a negative offset.
struct Record {
  unsigned char kind;
  signed char delta;
  unsigned short size;
  int value;
  double weight;
  float4 color;
};

extern "C" __global__ void vector_access(const Record* records, const uchar4* bytes, const short2* shorts,
                                         const uint4* quads, const double2* pairs, Record* records_out,
                                         uchar4* bytes_out, short2* shorts_out, uint4* quads_out,
                                         double2* pairs_out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, last = gridDim.x * blockDim.x - 1;
  Record r = records[i];
  r.kind += 200;
  r.delta -= 100;
  r.size *= 3;
  r.value = r.value + r.delta;
  r.weight = r.weight * 2;
  r.color = make_float4(r.color.w, r.color.z, r.color.y, r.color.x);
  records_out[last - i] = r;

  uchar4 c = __ldg(&bytes[i]);
  bytes_out[i] = make_uchar4(c.w, c.x + c.y, c.y, c.z - c.w);
  short2 s = __ldcs(&shorts[i]);
  const short2* end = shorts + last + 1;
  short2 mirrored = end[-1 - (int)i];
  __stcg(&shorts_out[i], make_short2(s.y - mirrored.x, mirrored.y));
  uint4 q = __ldcg(&quads[i]);
  __stwt(&quads_out[i], make_uint4(q.y, q.x, q.w + 1, q.z));
  double2 d = pairs[i];
  __stcs(&pairs_out[i], make_double2(d.y, d.x + d.x));
  volatile unsigned char* v = (volatile unsigned char*)&bytes_out[i];
  v[2] = v[2] ^ v[0];
}
