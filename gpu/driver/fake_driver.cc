// A CUDA driver for tests: one device of compute capability 9.0 whose memory is main memory and whose kernels are functions of the test.
//
// It is loaded by LoadDriver in place of libcuda. A test reaches its controls (fake_driver.h) through dlsym on the same library.
#include "gpu/driver/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gpu/driver/api.h"

using namespace tilevm::gpu;  // NOLINT: every type below is one of api.h

namespace {

FakeControl control;

struct FakeModule {
  std::string cubin_prefix;
};
struct FakeFunction {
  std::string name;
};

struct FakeNode {
  FakeLaunch launch;
  std::vector<unsigned long long> values;
};
std::vector<FakeNode> captured;  // of the stream that is captured, and of the one graph that a test may have

double RunLaunch(const FakeLaunch& launch) {
  ++control.launches;
  return control.run ? control.run(launch) : 1.0;
}

CuResult Fail(const char* call) { return control.fail_call == call ? control.fail_code : 0; }

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) CuResult
#define CALL(name) \
  ++control.calls[name]; \
  if (CuResult result = Fail(name)) return result

extern "C" __attribute__((visibility("default"))) FakeControl* fake_cuda_control() { return &control; }

FAKE cuInit(unsigned) { CALL("cuInit"); return 0; }
FAKE cuDriverGetVersion(int* version) { *version = control.version; return 0; }
FAKE cuGetErrorName(CuResult error, const char** name) { *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE"; return 0; }
FAKE cuGetErrorString(CuResult, const char** text) { *text = "made up by a test"; return 0; }
FAKE cuDeviceGetCount(int* count) { *count = control.devices; return 0; }
FAKE cuDeviceGet(CuDevice* device, int ordinal) { *device = ordinal; return 0; }
FAKE cuDeviceGetName(char* name, int length, CuDevice) { std::strncpy(name, "Fake GPU", static_cast<size_t>(length)); return 0; }
FAKE cuDeviceGetAttribute(int* value, int attribute, CuDevice) {
  switch (attribute) {
    case kAttributeComputeCapabilityMajor: *value = control.major; break;
    case kAttributeComputeCapabilityMinor: *value = control.minor; break;
    case kAttributeMaxGridX: *value = 2147483647; break;
    case kAttributeMaxGridY: case kAttributeMaxGridZ: *value = 65535; break;
    case kAttributeMaxSmemPerBlockOptin: *value = control.smem_per_block; break;
    case kAttributeMultiprocessorCount: *value = 132; break;
    case kAttributeL2CacheBytes: *value = 1 << 20; break;
    default: *value = 1024; break;
  }
  return 0;
}
FAKE cuDeviceTotalMem_v2(size_t* bytes, CuDevice) { *bytes = size_t{1} << 30; return 0; }
FAKE cuDevicePrimaryCtxRetain(CuContext* context, CuDevice) { CALL("cuDevicePrimaryCtxRetain"); *context = reinterpret_cast<CuContext>(&control); return 0; }
FAKE cuDevicePrimaryCtxRelease_v2(CuDevice) { CALL("cuDevicePrimaryCtxRelease"); return 0; }
thread_local std::vector<CuContext> pushed;
FAKE cuCtxGetCurrent(CuContext* context) { *context = pushed.empty() ? nullptr : pushed.back(); return 0; }
FAKE cuCtxSetCurrent(CuContext) { return 0; }
FAKE cuCtxPushCurrent_v2(CuContext context) { pushed.push_back(context); return 0; }
FAKE cuCtxPopCurrent_v2(CuContext* context) {
  cuCtxGetCurrent(context);
  if (!pushed.empty()) pushed.pop_back();
  return 0;
}
FAKE cuCtxGetDevice(CuDevice* device) { *device = 0; return 0; }
FAKE cuCtxSynchronize() { CALL("cuCtxSynchronize"); return 0; }
FAKE cuModuleLoadData(CuModule* module, const void* image) {
  CALL("cuModuleLoadData");
  *module = reinterpret_cast<CuModule>(new FakeModule{std::string(static_cast<const char*>(image), 4)});
  return 0;
}
FAKE cuModuleUnload(CuModule module) { CALL("cuModuleUnload"); delete reinterpret_cast<FakeModule*>(module); return 0; }
FAKE cuModuleGetFunction(CuFunction* function, CuModule, const char* name) {
  static std::map<std::string, FakeFunction*>* functions = new std::map<std::string, FakeFunction*>();
  FakeFunction*& f = (*functions)[name];
  if (f == nullptr) f = new FakeFunction{name};
  *function = reinterpret_cast<CuFunction>(f);
  return 0;
}
FAKE cuModuleGetGlobal_v2(CuDevicePtr*, size_t*, CuModule, const char*) { return 500; }
FAKE cuFuncSetAttribute(CuFunction, int, int) { CALL("cuFuncSetAttribute"); return 0; }
FAKE cuFuncGetAttribute(int* value, int attribute, CuFunction) { *value = attribute == kFuncAttributeMaxThreads ? control.max_threads : 0; return 0; }
FAKE cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int, size_t) { *blocks = 4; return 0; }
FAKE cuLaunchKernel(CuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned, unsigned, unsigned smem, CuStream, void** params, void**) {
  CALL("cuLaunchKernel");
  FakeLaunch launch;
  launch.kernel = reinterpret_cast<FakeFunction*>(function)->name;
  launch.grid[0] = gx;
  launch.grid[1] = gy;
  launch.grid[2] = gz;
  launch.threads = bx;
  launch.smem_bytes = smem;
  launch.params = params;
  if (control.capturing) {
    FakeNode node{launch, {}};
    for (int i = 0; i < control.captured_params; ++i) {
      node.values.push_back(0);
      std::memcpy(&node.values.back(), params[i], 8);
    }
    captured.push_back(std::move(node));
    return 0;
  }
  control.now_us += RunLaunch(launch);
  return 0;
}
FAKE cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void** params, void** extra) {
  if (config->attribute_count != 1 || config->attributes[0].id != kLaunchProgrammaticSerialization || config->attributes[0].value != 1) return 1;
  return cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2], config->smem_bytes,
                        config->stream, params, extra);
}
FAKE cuMemAlloc_v2(CuDevicePtr* address, size_t bytes) {
  CALL("cuMemAlloc");
  if (bytes > control.memory_bytes) return 2;
  *address = reinterpret_cast<CuDevicePtr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(reinterpret_cast<void*>(*address), 0xa5, bytes);
  ++control.live_allocations;
  return 0;
}
FAKE cuMemFree_v2(CuDevicePtr address) { std::free(reinterpret_cast<void*>(address)); --control.live_allocations; return 0; }
FAKE cuMemAllocAsync(CuDevicePtr* address, size_t bytes, CuStream) { return cuMemAlloc_v2(address, bytes); }
FAKE cuMemFreeAsync(CuDevicePtr address, CuStream) { return cuMemFree_v2(address); }
FAKE cuMemcpyHtoD_v2(CuDevicePtr to, const void* from, size_t bytes) { CALL("cuMemcpyHtoD"); std::memcpy(reinterpret_cast<void*>(to), from, bytes); return 0; }
FAKE cuMemcpyDtoH_v2(void* to, CuDevicePtr from, size_t bytes) { CALL("cuMemcpyDtoH"); std::memcpy(to, reinterpret_cast<void*>(from), bytes); return 0; }
FAKE cuMemcpyHtoDAsync_v2(CuDevicePtr to, const void* from, size_t bytes, CuStream) { return cuMemcpyHtoD_v2(to, from, bytes); }
FAKE cuMemcpyDtoHAsync_v2(void* to, CuDevicePtr from, size_t bytes, CuStream) { return cuMemcpyDtoH_v2(to, from, bytes); }
FAKE cuMemcpyDtoDAsync_v2(CuDevicePtr to, CuDevicePtr from, size_t bytes, CuStream) {
  CALL("cuMemcpyDtoD");
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
FAKE cuMemsetD8Async(CuDevicePtr to, unsigned char value, size_t count, CuStream) { std::memset(reinterpret_cast<void*>(to), value, count); return 0; }
FAKE cuPointerGetAttribute(void* value, int attribute, CuDevicePtr address) {
  const bool second = control.of_second_device.Has(address), pinned = control.pinned_by_second_device.Has(address);
  const bool first = control.device_address == 1 || (control.device_address != 0 && address == control.device_address);
  if (control.of_main_memory.Has(address) || !(first || second || pinned)) return 1;
  switch (attribute) {
    case kPointerAttributeMemoryType: *static_cast<int*>(value) = pinned ? kMemoryTypeHost : 2; break;
    case kPointerAttributeDeviceOrdinal: *static_cast<int*>(value) = second || pinned ? 1 : 0; break;
    default: *static_cast<int*>(value) = 0; break;
  }
  return 0;
}
FAKE cuStreamCreate(CuStream*, unsigned) { return 0; }
FAKE cuStreamDestroy_v2(CuStream) { return 0; }
FAKE cuStreamSynchronize(CuStream) { return 0; }
FAKE cuStreamGetCtx(CuStream, CuContext* context) { *context = reinterpret_cast<CuContext>(&control); return 0; }
FAKE cuStreamIsCapturing(CuStream, int* status) { *status = control.capturing ? 1 : 0; return 0; }
FAKE cuStreamBeginCapture_v2(CuStream, int) { captured.clear(); control.capturing = true; return 0; }
FAKE cuStreamEndCapture(CuStream, CuGraph* graph) { control.capturing = false; *graph = reinterpret_cast<CuGraph>(&captured); return 0; }
FAKE cuGraphInstantiateWithFlags(CuGraphExec* exec, CuGraph graph, unsigned long long) { *exec = reinterpret_cast<CuGraphExec>(graph); return 0; }
FAKE cuGraphLaunch(CuGraphExec, CuStream) {
  CALL("cuGraphLaunch");
  for (FakeNode& node : captured) {
    std::vector<void*> params;
    for (unsigned long long& value : node.values) params.push_back(&value);
    node.launch.params = params.data();
    control.now_us += RunLaunch(node.launch);
  }
  return 0;
}
FAKE cuGraphExecDestroy(CuGraphExec) { return 0; }
FAKE cuGraphDestroy(CuGraph) { return 0; }
FAKE cuTensorMapEncodeTiled(void* map, int dtype, unsigned rank, void* address, const unsigned long long* extents, const unsigned long long* strides, const unsigned* box,
                            const unsigned*, int, int swizzle, int, int) {
  CALL("cuTensorMapEncodeTiled");
  if (pushed.empty()) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  FakeMap fields;
  fields.dtype = dtype;
  fields.swizzle = swizzle;
  fields.address = address;
  for (unsigned d = 0; d < rank; ++d) {
    fields.extents.push_back(extents[d]);
    if (d > 0) fields.strides.push_back(strides[d - 1]);
    fields.box.push_back(box[d]);
  }
  std::memset(map, 0, 128);
  const size_t number = control.maps.size();
  std::memcpy(map, &number, sizeof(number));
  control.maps.push_back(std::move(fields));
  return 0;
}
// An event is the time at which it was recorded; time passes in launches only.
FAKE cuEventCreate(CuEvent* event, unsigned) { *event = reinterpret_cast<CuEvent>(new double(0)); return 0; }
FAKE cuEventDestroy_v2(CuEvent event) { delete reinterpret_cast<double*>(event); return 0; }
FAKE cuEventRecord(CuEvent event, CuStream) { *reinterpret_cast<double*>(event) = control.now_us; return 0; }
FAKE cuEventSynchronize(CuEvent) { CALL("cuEventSynchronize"); return 0; }
FAKE cuEventElapsedTime(float* milliseconds, CuEvent start, CuEvent end) {
  *milliseconds = static_cast<float>((*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(start)) / 1000);
  return 0;
}
