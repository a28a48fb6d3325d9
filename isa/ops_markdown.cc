// Writes the op table and the element types as Markdown.
#include "isa/ops_markdown.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "isa/ops.h"
#include "isa/types.h"

namespace tilevm::isa {
namespace {

constexpr absl::string_view kIntroduction = R"(# The ops

Generated from `isa/ops.def` by `bazel run //isa:write_ops_md > isa/OPS.md`; do not edit. How they are written is in `docs/assembly.md`, how they are
encoded in `isa/FORMAT.md`.

A signature lists operands and results. The same letter is the same element type or extent: `F` float, `I` integer, `N` number, `B` predicate (i1),
any other letter any element type; `*T` a pointer to T; `[S]` a tile of shape S, `[...B,M,K]` leading extents, then M and K; `V` a value of any kind.
`?` optional, `name*` variadic, `#` static, `@` an immediate of the instruction, `^` a region.

Levels: **Static** is computed by the partial evaluator and never reaches a kernel; **Library** is elaborated into other ops; **Bytecode** is in
bytecode and in typed IR; **Typed** in typed IR only; **Machine** after layout and scheduling passes. Triton spellings are those after `tl.`; a leading
dot is a method of a tensor. The elaboration rule makes the open form typed.
)";

constexpr absl::string_view kMeaning = R"(
## Meaning at the edges

Both engines keep these rules bit for bit, except where a bound is named (design: `docs/architecture.md`).

- Integers wrap. `x // 0` is all ones, `x % 0` is x, `MIN // -1` is MIN, `MIN % -1` is 0. Shift counts are unsigned; a count of the width or more gives 0,
  or the sign for `>>` of a signed number.
- Float to integer truncates and saturates, NaN becomes 0; to i1 is `!= 0`.
- Narrowing float casts round to nearest even (`fp_downcast_rounding="rtz"`: towards zero). f16 and bf16 overflow to infinity. f8e4m3 has no infinity: what is
  too large becomes 448, NaN stays NaN. f8e5m2 saturates to 57344; infinities of the source saturate too, NaN stays NaN.
- `/` and sqrt are correctly rounded. Denormals are kept by + - * / sqrt fma, casts, loads and stores.
- `minimum` and `maximum` ignore NaN unless `propagate_nan`; -0 < +0. `argmin` and `argmax`: NaN loses, then the lowest index.
- `add` of a tile to a tile of another shape broadcasts in the open form only; typed ops have equal shapes.
)";

std::string LevelName(Level level) {
  switch (level) {
    case Level::kStatic: return "Static";
    case Level::kLibrary: return "Library";
    case Level::kBytecode: return "Bytecode";
    case Level::kTyped: return "Typed";
    case Level::kMachine: return "Machine";
  }
  return "";
}

std::string EffectName(Effect effect) {
  switch (effect) {
    case Effect::kPure: return "pure";
    case Effect::kReads: return "reads";
    case Effect::kWrites: return "writes";
    case Effect::kReadsWrites: return "reads, writes";
    case Effect::kControl: return "control";
    case Effect::kDebug: return "debug";
    case Effect::kId: return "id";
  }
  return "";
}

// Text inside a table cell.
std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}, {"*", "\\*"}, {"_", "\\_"}, {"<", "&lt;"}}); }

std::string Surfaces(absl::string_view surface) {
  std::string text;
  for (absl::string_view name : absl::StrSplit(surface, ' ', absl::SkipEmpty())) absl::StrAppend(&text, text.empty() ? "" : " ", "`", name, "`");
  return text;
}

}  // namespace

std::string OpsMarkdown() {
  std::string out(kIntroduction);
  absl::StrAppend(&out, kMeaning, "\n## Element types\n\n| code | name | Triton | bits | kind |\n| --- | --- | --- | --- | --- |\n");
  for (DType dtype : kAllDTypes) {
    absl::string_view kind = IsFloat(dtype) ? "float" : dtype == DType::kI1 ? "predicate" : IsSigned(dtype) ? "signed" : "unsigned";
    absl::StrAppend(&out, "| 0x", absl::Hex(static_cast<int>(dtype), absl::kZeroPad2), " | `", Name(dtype), "` | `", SurfaceName(dtype), "` | ",
                    BitWidth(dtype), " | ", kind, " |\n");
  }
  absl::StrAppend(&out, "\n## Ops\n\n| code | op | signature | level | effect | Triton | elaboration | meaning |\n",
                  "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const OpInfo& info : AllOps()) {
    absl::StrAppend(&out, "| 0x", absl::Hex(info.code, absl::kZeroPad4), " | `", info.mnemonic, "` | `", info.signature, "` | ");
    absl::StrAppend(&out, LevelName(info.level), " | ", EffectName(info.effect), " | ", Surfaces(info.surface), " | ",
                    info.elab == "none" ? "" : Cell(info.elab), " | ", Cell(info.summary), " |\n");
  }
  return out;
}

}  // namespace tilevm::isa
