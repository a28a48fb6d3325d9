// The signature column of ops.def, parsed. Everything here is constexpr: ops.cc parses each row once at compile time to stop the build at a
// slip in the table, and once at start-up to fill OpInfo. The grammar is at the head of ops.def.
#ifndef TILEVM_ISA_SIGNATURE_H_
#define TILEVM_ISA_SIGNATURE_H_

#include <cstddef>

#include "isa/ops.h"

namespace tilevm::isa {

inline constexpr int kMaxOperands = 16;
inline constexpr int kMaxResults = 4;

struct ParsedSignature {
  OperandSpec operands[kMaxOperands];
  int operand_count = 0;
  OperandSpec results[kMaxResults];
  int result_count = 0;
  const char* fault = nullptr;  // what is wrong; null if nothing
};

class SignatureParser {
 public:
  constexpr explicit SignatureParser(absl::string_view text) : text_(text) {}

  constexpr ParsedSignature Parse() {
    if (!Take('(')) return Fault("must start with '('");
    if (!Take(')')) {
      do {
        if (parsed_.operand_count == kMaxOperands) return Fault("too many operands");
        if (!ParseOperand(parsed_.operands[parsed_.operand_count++])) return parsed_;
      } while (Take(','));
      if (!Take(')')) return Fault("')' expected after the operands");
    }
    if (Take('-')) {
      if (!Take('>')) return Fault("'->' expected");
      do {
        if (parsed_.result_count == kMaxResults) return Fault("too many results");
        OperandSpec& result = parsed_.results[parsed_.result_count++];
        if (!ParseValue(result)) return parsed_;
        result.variadic = Take('*');
      } while (Take(','));
    }
    if (pos_ != text_.size()) return Fault("text after the results");
    CheckWhole();
    return parsed_;
  }

 private:
  constexpr ParsedSignature Fault(const char* what) {
    parsed_.fault = what;
    return parsed_;
  }
  constexpr bool Fail(const char* what) {
    parsed_.fault = what;
    return false;
  }
  constexpr char Peek() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  constexpr bool Take(char c) {
    if (Peek() != c) return false;
    ++pos_;
    return true;
  }
  static constexpr bool IsNameChar(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

  constexpr bool ParseOperand(OperandSpec& spec) {
    Peek();
    size_t start = pos_;
    while (pos_ < text_.size() && IsNameChar(text_[pos_])) ++pos_;
    if (pos_ == start) return Fail("an operand needs a name in lower case");
    spec.name = text_.substr(start, pos_ - start);
    spec.variadic = Take('*');
    if (!Take(':')) return Fail("':' expected after an operand's name");
    if (Take('#')) {
      spec.kind = OperandKind::kStatic;
    } else if (Take('@')) {
      spec.kind = OperandKind::kImmediate;
    } else if (Take('^')) {
      spec.kind = OperandKind::kRegion;
    } else if (!ParseValue(spec)) {
      return false;
    }
    spec.optional = Take('?');
    return true;
  }

  constexpr bool ParseValue(OperandSpec& spec) {
    spec.pointer = Take('*');
    char letter = Peek();
    if (letter < 'A' || letter > 'Z') return Fail("an element type is one capital letter");
    ++pos_;
    spec.letter = letter;
    if (Take('[')) {
      size_t start = pos_;
      while (pos_ < text_.size() && text_[pos_] != ']') ++pos_;
      if (pos_ == text_.size()) return Fail("']' is missing");
      spec.shape = text_.substr(start, pos_ - start);
      ++pos_;
    }
    return true;
  }

  static constexpr bool SameText(absl::string_view a, absl::string_view b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

  constexpr void CheckWhole() {
    int immediates = 0;
    int variadics = 0;
    bool optional_seen = false;
    for (int i = 0; i < parsed_.operand_count; ++i) {
      const OperandSpec& spec = parsed_.operands[i];
      bool is_register = spec.kind == OperandKind::kValue || spec.kind == OperandKind::kStatic;
      immediates += spec.kind == OperandKind::kImmediate ? 1 : 0;
      variadics += spec.variadic ? 1 : 0;
      if (spec.variadic && (!is_register || spec.optional)) parsed_.fault = "a variadic operand is a register and not optional";
      if (!is_register && spec.optional) parsed_.fault = "an immediate or a region cannot be optional";
      if (is_register && optional_seen && !spec.optional && !spec.variadic) parsed_.fault = "a required operand after an optional one";
      if (spec.optional) optional_seen = true;
      for (int k = 0; k < i; ++k) {
        if (SameText(parsed_.operands[k].name, spec.name)) parsed_.fault = "two operands of one name";
      }
    }
    if (immediates > 1) parsed_.fault = "more than one immediate";
    if (variadics > 1) parsed_.fault = "more than one variadic operand";
    for (int i = 0; i + 1 < parsed_.result_count; ++i) {
      if (parsed_.results[i].variadic) parsed_.fault = "a variadic result must be the last";
    }
  }

  absl::string_view text_;
  size_t pos_ = 0;
  ParsedSignature parsed_;
};

constexpr ParsedSignature ParseSignature(absl::string_view text) { return SignatureParser(text).Parse(); }
constexpr bool IsValidSignature(absl::string_view text) { return ParseSignature(text).fault == nullptr; }

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_SIGNATURE_H_
