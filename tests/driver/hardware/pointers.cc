// What is known of an address, for every kind of memory.
#include "record.h"

namespace record {
namespace {

CUdeviceptr number(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// All attributes of one address. Those that are addresses or numbers of the run's are compared with it.
void all_attributes(CUdeviceptr address) {
  union {
    unsigned long long whole;
    int number;
    unsigned char small;
  } value;
  for (int attribute = 0; attribute < 23; ++attribute) {
    const Turn turn(std::to_string(attribute));
    const auto which = static_cast<CUpointer_attribute>(attribute);
    value.whole = 0;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      SAY_VALUE(value.whole == address, cuPointerGetAttribute(&value, which, address));
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      SAY_VALUE(value.whole != 0, cuPointerGetAttribute(&value, which, address));
      break;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      SAY_VALUE(value.whole, cuPointerGetAttribute(&value, which, address));
      break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      SAY_VALUE(int{value.small}, cuPointerGetAttribute(&value, which, address));
      break;
    default:
      SAY_VALUE(value.number, cuPointerGetAttribute(&value, which, address));
    }
  }
  CUpointer_attribute several[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
  unsigned type = 77, managed = 77;
  int ordinal = 77;
  void *host = &type, *device = &type;
  void* data[] = {&type, &ordinal, &host, &device, &managed};
  SAY(cuPointerGetAttributes(5, several, data, address));
  NOTE(type);
  NOTE(ordinal);
  NOTE(number(host) == address);
  NOTE(number(device) == address);
  NOTE(host);
  NOTE(device);
  NOTE(managed & 0xff);
  size_t bytes = 0;
  CUdeviceptr base = 0;
  SAY_VALUE(bytes, cuMemGetAddressRange_v2(&base, &bytes, address));
}

void device_pointer() {
  begin();
  all_attributes(device_bytes(1000));
}
void managed_pointer() {
  begin();
  CUdeviceptr address = 0;
  cuMemAllocManaged(&address, 1000, CU_MEM_ATTACH_GLOBAL);
  all_attributes(address);
}
void pinned_pointer() {
  begin();
  void* pinned = nullptr;
  cuMemHostAlloc(&pinned, 1000, 0);
  all_attributes(number(pinned));
}
void registered_pointer() {
  begin();
  alignas(4096) static char own[8192];
  cuMemHostRegister_v2(own, 8192, 0);
  all_attributes(number(own));
}
void pooled_pointer() {
  begin();
  CUdeviceptr address = 0;
  cuMemAllocAsync(&address, 1000, nullptr);
  cuCtxSynchronize();
  all_attributes(address);
}
void mapped_pointer() {
  begin();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const size_t page = size_t{2} << 20;
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  cuMemAddressReserve(&address, 2 * page, 0, 0, 0);
  cuMemCreate(&handle, page, &properties, 0);
  cuMemMap(address, page, 0, handle, 0);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  cuMemSetAccess(address, page, &access, 1);
  all_attributes(address);
}
void variable_pointer() {
  begin();
  CUdeviceptr address = 0;
  size_t bytes = 0;
  cuModuleGetGlobal_v2(&address, &bytes, kernels(), "counter");
  int value = 0;
  CUdeviceptr same = 0;
  CUcontext context = nullptr;
  SAY_VALUE(value, cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  SAY_VALUE(same == address, cuPointerGetAttribute(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
  SAY_VALUE(context, cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  SAY(cuMemFree_v2(address));
}
void unknown_pointer() {
  begin();
  static int own = 0;
  all_attributes(number(&own));
}
void freed_pointer() {
  begin();
  const CUdeviceptr address = device_bytes(1000);
  cuMemFree_v2(address);
  all_attributes(address);
}
void null_pointer() {
  begin();
  all_attributes(0);
  unsigned type = 0, on = 1;
  const CUdeviceptr address = device_bytes(1000);
  SAY(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  SAY(cuPointerGetAttributes(0, nullptr, nullptr, address));
  SAY(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
  SAY_VALUE(type, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
  SAY(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  SAY(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0));
  SAY(cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
}

} // namespace

std::vector<Section> pointer_sections() {
  return {{"pointer: device", device_pointer},     {"pointer: managed", managed_pointer},
          {"pointer: pinned", pinned_pointer},     {"pointer: registered", registered_pointer},
          {"pointer: pool", pooled_pointer},       {"pointer: mapped", mapped_pointer},
          {"pointer: variable", variable_pointer}, {"pointer: unknown", unknown_pointer},
          {"pointer: freed", freed_pointer},       {"pointer: null", null_pointer}};
}

} // namespace record
