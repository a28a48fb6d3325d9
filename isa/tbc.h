// The .tbc file: tile bytecode in its container. isa/FORMAT.md walks through one byte by byte.
//
// A file is a header, a directory and sections; header, directory and each section have their own checksum. What has meaning is in semantic
// sections; places and source text are in sections that can be stripped. The writer is canonical: the same program gives the same bytes,
// whatever the order of its pools in memory.
//
// The reader takes untrusted bytes: it is linear in their number, bounds every count by the bytes left before it reserves memory, limits
// nesting, and verifies the module that it returns. A damaged file is kDataLoss with the byte offset; a section or version of a later
// release that cannot be skipped is kUnimplemented.
#ifndef TILEVM_ISA_TBC_H_
#define TILEVM_ISA_TBC_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/module.h"

namespace tilevm::isa {

struct WriteOptions {
  bool debug = true;            // names of source files, places of instructions
  bool source = true;           // text of source files
  bool compress_source = true;  // with zstd, where that is smaller
};

// Requires VerifyModule(module).ok().
std::string WriteTbc(const Module& module, const WriteOptions& options = {});

absl::StatusOr<Module> ReadTbc(absl::string_view bytes);
bool LooksLikeTbc(absl::string_view bytes);  // by the first bytes, damaged ones too

// SHA-256 over the hashes of the functions and the other semantic sections. Places, source text, tuning results and compiled code do not
// change it. Requires VerifyModule(module).ok().
struct ProgramIdentity {
  std::array<uint8_t, 32> bytes = {};

  std::string ToHex() const;
  bool operator==(const ProgramIdentity& o) const { return bytes == o.bytes; }
  bool operator!=(const ProgramIdentity& o) const { return bytes != o.bytes; }
};
ProgramIdentity Identity(const Module& module);

// What `tilevm info` shows.
struct TbcSection {
  uint32_t id = 0;
  std::string name;  // "code"; "section 99" if unknown
  bool skippable = false;
  bool compressed = false;
  uint64_t offset = 0;
  uint64_t length = 0;
};
struct TbcFunctionInfo {
  std::string name;
  FunctionKind kind = FunctionKind::kPlain;
  uint64_t code_offset = 0;  // in the file
  uint64_t code_bytes = 0;
  uint32_t reg_count = 0;
};
struct TbcInfo {
  int major_version = 0;
  int minor_version = 0;
  uint64_t file_bytes = 0;
  std::vector<TbcSection> sections;
  std::vector<TbcFunctionInfo> functions;
  ProgramIdentity identity;

  uint64_t SectionBytes(absl::string_view name) const;  // 0 without such a section
};
absl::StatusOr<TbcInfo> InspectTbc(absl::string_view bytes);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_H_
