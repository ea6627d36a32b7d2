// With RUNTIME a stand-in for NVIDIA's libcudart.so.13; without, a library that needs libcudart.so.13 and has
// a DT_RPATH to the stand-in, as the libraries of PyTorch's wheel have one to NVIDIA's.
extern "C" int cudaRuntimeGetVersion(int* version);

#ifdef RUNTIME
extern "C" int cudaRuntimeGetVersion(int* version) {
  *version = 7;
  return 0;
}
#else
extern "C" int runtime_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == 0 ? version : -1;
}
#endif
