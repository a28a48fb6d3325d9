// The numbers of the .tbc format that writer and reader share. All of them are frozen: a file of release 1 loads in every later release.
//
//   header (40 bytes)  magic[8]  major u16  minor u16  section count u32  file length u64  directory checksum u64  header checksum u64
//   directory          32 bytes a section: id u32  flags u32  offset u64  length u64  checksum u64
//   sections           one after the other, in ascending order of their ids, to the end of the file
//
// Numbers are little-endian, checksums are XXH3-64, counts and ids inside sections are canonical LEB128 varints.
#ifndef TILEVM_ISA_TBC_FORMAT_H_
#define TILEVM_ISA_TBC_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "isa/ops.h"

namespace tilevm::isa {

// A byte above 127 (a 7-bit channel), CR LF (their translation), ^Z (TYPE on DOS stops) and LF (the translation back), as in PNG.
inline constexpr unsigned char kTbcMagic[8] = {0x8f, 'T', 'B', 'C', '\r', '\n', 0x1a, '\n'};
inline constexpr uint16_t kTbcMajor = 1;
inline constexpr uint16_t kTbcMinor = 0;
inline constexpr size_t kHeaderBytes = 40;
inline constexpr size_t kDirectoryEntryBytes = 32;
inline constexpr uint32_t kMaxSections = 64;

enum class SectionId : uint32_t {
  kStrings = 1,
  kConstants = 2,
  kFunctions = 3,  // headers, with the length of each function's code
  kCode = 4,
  kUnits = 5,      // imports and cells
  // Reserved: written by later releases.
  kConfigs = 6,          // autotune configurations and heuristics
  kLaunchMetadata = 17,
  kFatEntries = 18,      // compiled code by architecture and specialization key, with launch slices
  kSelfTest = 19,        // self-test vectors
  kTuning = 16,          // tuning results (tbc_tuning.h)
  // Strippable.
  kFiles = 32,           // names of source files
  kPlaces = 33,          // of functions, parameters and instructions
  kSource = 34,          // text of source files
};

inline constexpr uint32_t kFlagSkippable = 1;   // a reader that does not know the section goes on without it; it has no meaning for the program
inline constexpr uint32_t kFlagCompressed = 2;  // length of the content as a varint, then one zstd frame
inline constexpr uint32_t kKnownFlags = kFlagSkippable | kFlagCompressed;

inline constexpr size_t kMaxSourceBytes = size_t{16} << 20;  // of all files together, decompressed

// --- the first byte of an instruction
//   0x01..0x7f  the op of that code
//   0x80..0x87  the op of code (byte - 0x80) * 256 + next byte
//   0x88..0x8e  an op of kBoundStaticOps whose result the next instruction binds; the bind's name follows the operands
//   0x8f        return without a value
//   0x90..0x9e  const: None False True 0.0 0 1 2 3 4 5 6 7 8 9 -1
//   0x9f        make_slice without operands (":")
//   0xa0..0xff  the op of code byte - 0x80, bound likewise
inline constexpr uint8_t kPagedOp = 0x80;
inline constexpr uint8_t kBoundStatic = 0x88;
inline constexpr Op kBoundStaticOps[] = {Op::kGlobal,    Op::kGetAttr,      Op::kCall, Op::kCallMethod,
                                         Op::kIndex, Op::kMakeTuple, Op::kMakeFunction};
inline constexpr uint8_t kBareReturn = 0x8f;
inline constexpr uint8_t kShortConstant = 0x90;
inline constexpr int kShortConstantCount = 15;
inline constexpr uint8_t kBareSlice = 0x9f;
inline constexpr uint8_t kBoundOp = 0xa0;
inline constexpr uint16_t kFirstBoundCode = 0x20;
inline constexpr uint16_t kFirstPagedCode = 0x80;

// How the register operands of an op are written. An operand is the distance back from the next register to be defined; 0 is absent.
enum class OperandForm : uint8_t {
  kFixed,        // all of them
  kOneOptional,  // all of them, the last may be 0
  kCounted,      // their number, then that many
  kKeyworded,    // number * 4 + min(keywords, 3), then keywords - 3 if there are 3 or more, then operands, then names
  kImplied,      // as many as the region yields or the loop carries
};

inline OperandForm FormOf(const OpInfo& info) {
  switch (info.op) {
    case Op::kCall:
    case Op::kCallMethod:
    case Op::kMakeClass: return OperandForm::kKeyworded;
    case Op::kYield:
    case Op::kBreak:
    case Op::kContinue: return OperandForm::kImplied;
    default: break;
  }
  if (info.variadic) return OperandForm::kCounted;
  size_t optional = info.register_operands.size() - static_cast<size_t>(info.min_registers);
  return optional == 0 ? OperandForm::kFixed : optional == 1 ? OperandForm::kOneOptional : OperandForm::kCounted;
}

// Whether the number of results is written: it is neither in the row nor that of the carried values.
inline bool WritesResultCount(const OpInfo& info) {
  return !info.results.empty() && info.results.back().variadic && info.op != Op::kFor && info.op != Op::kWhile;
}

// What the terminator of a region gives.
struct RegionContext {
  size_t yields = 0;
  size_t carried = 0;  // of the innermost loop

  size_t ImpliedOperands(Op op) const { return op == Op::kYield ? yields : carried; }
};

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_FORMAT_H_
