// An interpreter of bytes: a dense switch in a loop, which nvcc makes a tree of compares. Each lane runs the
// same program from its own start and with its own registers, so the branch diverges.
extern "C" __global__ void interpreter(const unsigned char* code, unsigned code_bytes, const unsigned* in,
                                       unsigned* out, unsigned steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned pc = i % code_bytes, acc = in[i], x = i, trace = 0;
  for (unsigned step = 0; step < steps; ++step) {
    unsigned op = code[pc];
    pc = pc + 1 == code_bytes ? 0 : pc + 1;
    switch (op) {
    case 0:
      acc += x;
      break;
    case 1:
      acc -= 3 * x;
      break;
    case 2:
      acc *= 2654435761u;
      break;
    case 3:
      acc ^= acc >> 15;
      break;
    case 4:
      x = acc & 0xff;
      break;
    case 5:
      x = x * x + step;
      break;
    case 6:
      trace = trace * 7 + acc;
      break;
    case 7:
      acc = acc << 7 | acc >> 25;
      break;
    case 8:
      if (acc & 1)
        pc = (pc + 3) % code_bytes;
      break;
    case 9:
      acc = ~acc;
      break;
    case 10:
      trace ^= x << 16; // falls through
    case 11:
      acc += 0x9e3779b9u;
      break;
    case 12:
      x = acc / (x | 1);
      break;
    default:
      acc += op;
      break;
    }
  }
  out[i] = acc ^ trace ^ x;
}
