// Files: read whole with a bound, written whole or not at all.
#ifndef TILEVM_VM_FILE_H_
#define TILEVM_VM_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tilevm::vm {

// "-" is standard input. kNotFound, kPermissionDenied, kResourceExhausted (longer than max_bytes) with the path in the message.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes = int64_t{1} << 40);
// The parts one after the other into a temporary file beside path, which is then renamed: a reader sees the old file or the whole new one.
// "-" is standard output.
absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> parts);
absl::Status WriteFile(const std::string& path, absl::string_view contents);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_FILE_H_
