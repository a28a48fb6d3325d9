// What a kernel prints and which asserts failed: the records of gpu/device/records.cuh as the host reads them.
#ifndef TILEVM_GPU_EMIT_RECORDS_H_
#define TILEVM_GPU_EMIT_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "isa/status.h"
#include "isa/types.h"

namespace tilevm::gpu {

// One print or assert of the kernel; a record names it by its number.
struct RecordFormat {
  enum class Kind : uint8_t { kPrint, kAssert } kind = Kind::kPrint;
  std::string text;                  // prefix of a print, message of an assert
  bool hex = false;
  std::vector<isa::Type> operands;   // of a print; of an assert the condition
  Loc loc;
};

inline constexpr int64_t kRecordHeadBytes = 24;  // of the buffer: next, capacity (u64), dropped, failed (u32)

// The first bytes of a buffer of `bytes` bytes, to be copied to the device before a launch; the rest needs no initial value.
std::vector<uint8_t> RecordHead(int64_t bytes);

// How many bytes of the buffer are worth copying back, by its head.
int64_t RecordedBytes(absl::Span<const uint8_t> head);

struct RecordedPrint {
  int64_t program[3];
  std::string line;                  // as the CPU engine prints it, newline included
};
struct RecordedAssert {
  int64_t program[3];
  int64_t lane = 0;
  std::string message;               // "device_assert failed in program (0, 0, 0), lane (2): positive"
  Loc loc;
};
struct RecordedOutput {
  std::vector<RecordedPrint> prints;    // programs in order of the grid (axis 0 fastest), each in the order of its prints
  std::vector<RecordedAssert> asserts;  // the same
  int64_t dropped = 0;                  // records that found no room
};
// Reads a buffer after the launch. kDataLoss if it is no such buffer (a kernel that wrote where it should not).
absl::StatusOr<RecordedOutput> ReadRecords(absl::Span<const uint8_t> buffer, absl::Span<const RecordFormat> formats);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_EMIT_RECORDS_H_
