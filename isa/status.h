// Places in source text and the errors that carry them.
//
// An error that a user can cause is an absl::Status whose payload holds the Locs it is about: the place itself first, then the call sites
// that led to it (innermost first). Rooms make them with ErrorAt; nobody formats a place into a message. The outermost caller that holds
// the Module (engine, CLI, test runner) turns the status into text with FormatDiagnostic.
#ifndef TILEVM_ISA_STATUS_H_
#define TILEVM_ISA_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tilevm {

// A place in a source file: file indexes Module::files; line and col count from 1 (col in bytes); 0 is "unknown".
struct Loc {
  int32_t file = -1;
  int32_t line = 0;
  int32_t col = 0;

  bool known() const { return line > 0; }
  bool operator==(const Loc& o) const { return file == o.file && line == o.line && col == o.col; }
};

struct SourceFile {
  std::string name;  // as the user gave it; never made absolute
  std::string text;  // may be empty (stripped)
};

absl::Status MakeErrorAt(Loc loc, absl::StatusCode code, absl::string_view message);

template <typename... Parts>
absl::Status ErrorAt(Loc loc, absl::StatusCode code, const Parts&... parts) {
  return MakeErrorAt(loc, code, absl::StrCat(parts...));
}
// The commonest: the program is wrong.
template <typename... Parts>
absl::Status InvalidAt(Loc loc, const Parts&... parts) {
  return MakeErrorAt(loc, absl::StatusCode::kInvalidArgument, absl::StrCat(parts...));
}
template <typename... Parts>
absl::Status UnimplementedAt(Loc loc, const Parts&... parts) {
  return MakeErrorAt(loc, absl::StatusCode::kUnimplemented, absl::StrCat(parts...));
}

// Gives the status a place if it has none yet; else leaves it.
absl::Status WithLoc(absl::Status status, Loc loc);
// Appends a call site ("called from here").
absl::Status WithCallSite(absl::Status status, Loc loc);
// Appends a note with its own place ("x was defined here").
absl::Status WithNote(absl::Status status, Loc loc, absl::string_view note);

// The place of an error; unknown if it has none.
Loc LocOf(const absl::Status& status);

// "softmax.py:14:9: error: message\n    x = tl.load(p, ...)\n        ^\n" and one "note: called from ..." block for each call site.
std::string FormatDiagnostic(const absl::Status& status, const std::vector<SourceFile>& files);

#define TILEVM_CONCAT_INNER_(a, b) a##b
#define TILEVM_CONCAT_(a, b) TILEVM_CONCAT_INNER_(a, b)

#define TILEVM_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    absl::Status tilevm_status_ = (expr);            \
    if (!tilevm_status_.ok()) return tilevm_status_; \
  } while (false)

#define TILEVM_ASSIGN_OR_RETURN(lhs, expr) TILEVM_ASSIGN_OR_RETURN_IMPL_(TILEVM_CONCAT_(tilevm_statusor_, __LINE__), lhs, expr)
#define TILEVM_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = *std::move(statusor)

}  // namespace tilevm

#endif  // TILEVM_ISA_STATUS_H_
