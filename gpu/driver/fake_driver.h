// Controls of the driver for tests (fake_driver.cc).
#ifndef TILEVM_GPU_DRIVER_FAKE_DRIVER_H_
#define TILEVM_GPU_DRIVER_FAKE_DRIVER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3] = {0, 0, 0};
  unsigned threads = 0, smem_bytes = 0;
  void** params = nullptr;
};

struct FakeMap {
  int dtype = 0, swizzle = 0;
  void* address = nullptr;
  std::vector<unsigned long long> extents, strides;
  std::vector<unsigned> box;
};

struct FakeControl {
  int version = 13000, devices = 1, major = 9, minor = 0, smem_per_block = 232448, max_threads = 1024;
  size_t memory_bytes = size_t{1} << 30;   // a larger allocation fails
  unsigned long long device_address = 0;   // the one address that the driver knows as its own; 1: all are
  struct Range {
    unsigned long long begin = 0, end = 0;
    bool Has(unsigned long long address) const { return begin <= address && address < end; }
  };
  Range of_main_memory, of_second_device, pinned_by_second_device;  // whatever device_address says
  std::string fail_call;                   // this call fails ...
  int fail_code = 700;                     // ... with that code
  std::function<double(const FakeLaunch&)> run;  // does what the kernel does and says how many microseconds it took
  double now_us = 0;
  int launches = 0, live_allocations = 0;
  std::map<std::string, int> calls;
  // Launches while a stream is captured are recorded with what their parameters are then, `captured_params` values of 8 bytes each; a graph makes them again.
  int captured_params = 0;
  bool capturing = false;
  std::vector<FakeMap> maps;               // as encoded; the bytes of a map begin with its number here
};

#endif  // TILEVM_GPU_DRIVER_FAKE_DRIVER_H_
