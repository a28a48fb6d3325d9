// Reads case files: a kernel in assembly or Triton source, its inputs, and the one right answer (tests/README.md describes the format).
//
// A file holds one case, or several behind `case NAME` lines; `for` lines sweep a case over types or numbers. ParseCases gives one Case for each
// combination, its text already substituted. Literal values are turned into bytes here; recipes and numpy expressions stay text until the
// oracle (tests/oracle.h) has computed them.
#ifndef TILEVM_TESTS_CASE_FILE_H_
#define TILEVM_TESTS_CASE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/types.h"

namespace tilevm::tests {

// How far an answer may be from the expected one; without any member set, bit for bit (any NaN equals any NaN).
struct Tolerance {
  double rel = 0;
  double abs = 0;
  bool nan_bits = false;  // "bits": NaN too must have the expected pattern
  std::string reason;

  bool exact() const { return rel == 0 && abs == 0; }
};

// The elements of a buffer, once known.
struct Elements {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> untouched;  // one per element, or empty: 1 where the text said `_`, the element must keep what it held before
};

struct BufferSpec {
  enum class Role { kIn, kOut, kInOut } role = Role::kIn;
  std::string name;
  isa::DType dtype = isa::DType::kF32;
  isa::Shape shape;
  std::string before_expr, after_expr;  // recipes: for the oracle, empty if the values were literal
  Elements before, after;               // before: in, inout; after: out, inout
  Tolerance tolerance;
  bool uninitialised = false;           // `in x f32[8] = uninitialised`: torch.empty
  int line = 0;

  int64_t elem_count() const { return isa::ElemCount(shape); }
  int64_t byte_count() const { return elem_count() * isa::StorageBytes(dtype); }
};

// A parameter that is not a buffer.
struct ArgSpecText {
  std::string name;
  std::string type;   // "i32", "constexpr", or "" for Python's own rules (1 and None are static)
  std::string value;  // Python literal: 8, 1.5, True, None, "text", f32, (1, 2), or the name of a buffer's pointer inside a tuple
  int line = 0;
};

struct Expectation {
  int line = 0, col = 0;  // in the kernel text, 0:0 if the error has no place
  std::string message;    // the whole message
  bool in_checked = true, in_fast = true;  // the modes that end so; the others run through
};

struct ExpectedReport {
  std::string kind;       // vm::Name of the kind: "out-of-bounds"
  int line = 0, col = 0;
  std::string message;
  bool note = false;
};

struct Case {
  std::string name;       // "add/f32": file, case, sweep values
  std::string file;       // path as given
  int first_line = 0;     // of the case in its file
  bool triton = false;
  std::string source;     // as the front end gets it
  int prelude_lines = 0;  // lines of source before the first one of the case (imports)
  std::vector<BufferSpec> buffers;
  std::vector<ArgSpecText> args;
  int64_t grid[3] = {1, 1, 1};
  std::vector<Expectation> errors;     // at most one
  std::vector<ExpectedReport> reports;
  std::vector<std::string> prints;     // lines of device_print and static_print, in order
  bool check_prints = false;
  std::string pending;                 // why the case is not run yet
  bool poison_masked = false;
  int64_t fuel = 0;                    // 0: the runner's own limit
};

absl::StatusOr<std::vector<Case>> ParseCases(absl::string_view path, absl::string_view text);

// Literal values of one type, separated by blanks: 1 -2 0x7f 1.5e3 inf -inf nan -0.0 True, bits:0x7fc00001, MIN MAX TINY DENORM,
// VALUE*COUNT, `_` for an untouched element. Exactly count elements.
absl::StatusOr<Elements> ParseElements(isa::DType dtype, int64_t count, absl::string_view text);

// One literal (no `_`, no repetition) as the low bits.
absl::StatusOr<uint64_t> ParseLiteral(isa::DType dtype, absl::string_view token);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_CASE_FILE_H_
